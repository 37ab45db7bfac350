#include "urto/solver/row_blocks.h"

#include <algorithm>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "urto/linalg/checked.h"
#include "urto/linalg/lanes.h"

namespace urto {
namespace {

using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;

// Joints may be redundant in themselves, or lock a direction in which no body can move: the
// pseudo-inverse leaves alone what no body can follow.
SmallMatrix pseudo_inverse(const SmallMatrix& D) {
  const Checked<Eigen::LLT<SmallMatrix>> llt(D);
  if (llt.ok() && llt->rcond() > 1e-10) {
    return llt->solve(SmallMatrix::Identity(D.rows(), D.cols()));
  }
  return Eigen::CompleteOrthogonalDecomposition<SmallMatrix>(D).pseudoInverse();
}

// out = V H⁻¹ for rows V of one body and the columns of its inverse mass.
template <int Width>
void multiply_inverse(const double* V, int rows, int w, const double* inverse, double* out) {
  for (int r = 0; r < rows; ++r) {
    if constexpr (Width > 0) {
      for (int c = 0; c < Width; c += 2) {
        const double* column = inverse + c * Width;
        store(products<Width>(column, column + Width, V + r * Width), out + r * Width + c);
      }
    } else {
      for (int c = 0; c < w; ++c) {
        double sum = 0;
        for (int k = 0; k < w; ++k) sum += V[r * w + k] * inverse[c * w + k];
        out[r * w + c] = sum;
      }
    }
  }
}

// D += U Vᵀ, both triangles of what is symmetric.
template <int Width>
void add_own(const double* U, const double* V, int rows, int w, double* D) {
  if constexpr (Width > 0) w = Width;
  for (int r = 0; r < rows; ++r) {
    for (int s = 0; s <= r; ++s) {
      double sum = 0;
      for (int c = 0; c < w; ++c) sum += U[r * w + c] * V[s * w + c];
      D[s * rows + r] += sum;
      if (s != r) D[r * rows + s] += sum;
    }
  }
}

}  // namespace

void RowBlocks::resize(const BlockRows& J, const SetProduct& K) {
  JHinv.resize(J.values.size());
  start.resize(K.blocks());
  int offset = 0;
  for (int i = 0; i < K.blocks(); ++i) {
    start[i] = offset;
    offset += K.sets[i].dim * K.sets[i].dim;
  }
  diagonal.resize(offset);
  inverse_.resize(offset);
  inverted_.resize(K.blocks());
  mean_diagonal.resize(K.blocks());
  scale.resize(K.blocks());
  if (q.size() != K.rows()) q.resize(K.rows());
}

void RowBlocks::begin(const StepProblem& p, const SparseMatrix& E, int i) {
  const int d = p.K.sets[i].dim;
  const int first = p.K.start[i];
  double* D = diagonal.data() + start[i];
  std::fill_n(D, d * d, 0.0);
  for (int c = 0; c < d; ++c) {
    q[first + c] = p.b[first + c];
    if (E.nonZeros() == 0) continue;
    for (SparseMatrix::InnerIterator it(E, first + c); it; ++it) {
      const auto r = it.row() - first;
      if (r >= 0 && r < d) D[c * d + r] = it.value();
    }
  }
}

void RowBlocks::add_factored(const StepProblem& p, const BlockMatrix& inverse_mass,
                             std::span<const int> node_of_dof, int i) {
  const BlockRows& J = p.J;
  const int d = J.height(i);
  const int first = J.row_start[i];
  double* D = diagonal.data() + start[i];
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const int w = entry.width;
    const int node = node_of_dof[entry.column];
    const double* mass = inverse_mass.values.data() + inverse_mass.offset[node];
    const double* values = J.values.data() + entry.offset;
    const double* load = p.a.data() + entry.column;
    double* out = JHinv.data() + entry.offset;
    w == 6 ? multiply_inverse<6>(values, d, w, mass, out)
           : multiply_inverse<0>(values, d, w, mass, out);
    for (int r = 0; r < d; ++r) {
      for (int c = 0; c < w; ++c) q[first + r] += out[r * w + c] * load[c];
    }
    w == 6 ? add_own<6>(out, values, d, w, D) : add_own<0>(out, values, d, w, D);
  }
}

void RowBlocks::finish(const ConvexSet& set, int i, double trace) {
  const int d = set.dim;
  const double own = Eigen::Map<const Matrix>(diagonal.data() + start[i], d, d).trace();
  if (trace < 0) trace = own;
  mean_diagonal[i] = own > 0 ? own / d : 1;
  scale[i] = trace > 0 ? d / trace : 1;
  inverted_[i] = 0;
}

void RowBlocks::invert(const ConvexSet& set, int i) const {
  const int d = set.dim;
  Eigen::Map<Matrix>(inverse_.data() + start[i], d, d) =
      pseudo_inverse(Eigen::Map<const Matrix>(diagonal.data() + start[i], d, d));
  inverted_[i] = 1;
}

double trace_with_diagonal_mass(const StepProblem& p, int i, const Vector& mass_diagonal) {
  double trace = 0;
  for (int r = p.K.start[i]; r < p.K.start[i + 1]; ++r) trace += compliance(p, r);
  for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = p.J.entries[e];
    const double* values = p.J.values.data() + entry.offset;
    for (int k = 0; k < p.J.height(i) * entry.width; ++k)
      trace += values[k] * values[k] / mass_diagonal[entry.column + k % entry.width];
  }
  return trace;
}

}  // namespace urto
