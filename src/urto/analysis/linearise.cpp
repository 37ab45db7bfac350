#include "urto/analysis/linearise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/mechanics/forward_dynamics.h"
#include "urto/stepper/one_sided.h"

namespace urto {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;

/// Rows of J by whether their block is soft; `factor` of a row is its stiffness, or its damping.
SparseMatrix soft_part(const Interactions& rows, const SparseMatrix& J, bool damping) {
  Vector factor = Vector::Zero(rows.rows());
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!is_soft(rows.laws[i])) continue;
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r)
      factor[r] = damping ? rows.laws[i].damping : rows.laws[i].stiffness;
  }
  const SparseMatrix scaled = factor.asDiagonal() * J;
  return SparseMatrix(J.transpose()) * scaled;
}

SparseMatrix rigid_part(const Interactions& rows, const SparseMatrix& J) {
  std::vector<int> place(rows.rows(), -1);
  int count = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (is_soft(rows.laws[i])) continue;
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) place[r] = count++;
  }
  Triplets kept;
  for (int c = 0; c < J.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(J, c); it; ++it) {
      if (place[it.row()] >= 0) kept.emplace_back(place[it.row()], c, it.value());
    }
  }
  SparseMatrix out(count, J.cols());
  out.setFromTriplets(kept.begin(), kept.end());
  return out;
}

}  // namespace

Linearisation linearise(const System& mechanics, const State& state) {
  Linearisation out;
  SystemAccess system(mechanics);
  const int n = system.nv();
  State still = state;
  still.v.setZero(n);
  refuse_one_sided(mechanics, still, "linearisation");
  Vector a, rate;
  if (!ForwardDynamics().solve(system, still, 0, out.rows, rate, a, out.lambda))
    throw InputError("linearisation", "a singular mass matrix or not a number",
                     "a mass matrix that is positive definite on the motions the joints allow");
  out.unbalanced = n > 0 ? a.cwiseAbs().maxCoeff() : 0;
  system.force(still, out.force);
  const auto matrix = [&](const Coefficients& c, double geometric) {
    BlockMatrix A;
    A.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
    system.assemble(still, c, Tangent::exact, A);
    if (geometric != 0) system.add_geometric_stiffness(still, out.rows, out.lambda, geometric, A);
    A.finish_assembly();
    return to_sparse(A);
  };
  out.M = matrix({.mass = 1}, 0);
  out.K = matrix({.stiffness = 1}, 1);
  out.D = matrix({.damping = 1}, 0);
  const SparseMatrix J = to_sparse(out.rows.J);
  out.K += soft_part(out.rows, J, false);
  out.D += soft_part(out.rows, J, true);
  out.J = rigid_part(out.rows, J);
  return out;
}

Matrix allowed_motions(const SparseMatrix& M, const SparseMatrix& J) {
  const Checked<Eigen::LLT<Matrix>> llt{Matrix(M)};
  if (!llt.ok()) {
    throw InputError("the mass matrix", "one that is not positive definite",
                     "masses and inertia that are");
  }
  Matrix N = Matrix::Identity(M.rows(), M.rows());
  int rank = 0;
  // Eigen's triangular solves form the address of the first coefficient, which an empty matrix has
  // not.
  if (J.rows() > 0) {
    Matrix rows = Matrix(J).transpose();
    llt->matrixL().solveInPlace(rows);
    // Rows of different units are made equally long, so that one threshold fits all.
    for (int c = 0; c < rows.cols(); ++c) {
      if (rows.col(c).norm() > 0) rows.col(c).normalize();
    }
    Eigen::ColPivHouseholderQR<Matrix> qr(rows);
    qr.setThreshold(1e-9);
    rank = static_cast<int>(qr.rank());
    N = qr.householderQ() * N;
  }
  Matrix free = N.rightCols(M.rows() - rank);
  if (free.cols() > 0) llt->matrixU().solveInPlace(free);
  return free;
}

StateSpace state_space(const Linearisation& l) {
  const Matrix N = allowed_motions(l.M, l.J);
  const int f = static_cast<int>(N.cols());
  StateSpace s;
  s.A.setZero(2 * f, 2 * f);
  s.A.topRightCorner(f, f).setIdentity();
  s.A.bottomLeftCorner(f, f) = -N.transpose() * (l.K * N);
  s.A.bottomRightCorner(f, f) = -N.transpose() * (l.D * N);
  s.B.setZero(2 * f, l.M.rows());
  s.B.bottomRows(f) = N.transpose();
  s.C.setZero(l.M.rows(), 2 * f);
  s.C.leftCols(f) = N;
  return s;
}

}  // namespace urto
