#include "urto/analysis/linearise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/linalg/saddle_lu.h"
#include "urto/mechanics/forward_dynamics.h"
#include "urto/stepper/one_sided.h"

namespace urto {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;

/// Jᵀ diag(factor) J of the soft rows; the factor of a row is its stiffness, or its damping.
SparseMatrix soft_part(const HeldRows& held, const SparseMatrix& J, bool damping) {
  const Interactions& rows = held.rows;
  Vector factor = Vector::Zero(rows.rows());
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
      if (held.role[r] == RowRole::soft)
        factor[r] = damping ? rows.laws[i].damping : rows.laws[i].stiffness;
    }
  }
  const SparseMatrix scaled = factor.asDiagonal() * J;
  return SparseMatrix(J.transpose()) * scaled;
}

SparseMatrix rigid_part(const HeldRows& held, const SparseMatrix& J) {
  std::vector<int> place(held.role.size(), -1);
  int count = 0;
  for (std::size_t r = 0; r < held.role.size(); ++r) {
    if (held.role[r] == RowRole::rigid) place[r] = count++;
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

State at_rest(const System& system, const State& state) {
  State still = state;
  still.v.setZero(system.nv());
  return still;
}

/// M, D, K and J with the rows as they are held; all but `unbalanced`.
Linearisation matrices_about(SystemAccess& system, const State& still, const HeldRows& held) {
  Linearisation out;
  out.lambda = held.lambda;
  out.rows = held.rows;
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
  out.K += soft_part(held, J, false);
  out.D += soft_part(held, J, true);
  out.J = rigid_part(held, J);
  return out;
}

/// The largest acceleration that forces and reactions leave: M a − Jᵀμ = f + Jᵀλ, J a = 0.
double unbalanced(const Linearisation& l) {
  const int n = static_cast<int>(l.M.rows());
  const int m = static_cast<int>(l.J.rows());
  if (n == 0) return 0;
  SaddleLu lu;
  lu.start(n, n + m);
  lu.add(l.M, 0, 0);
  lu.add_rows(l.J);
  if (!lu.factorize()) {
    throw InputError("linearisation", "a singular mass matrix or not a number",
                     "a mass matrix that is positive definite on the motions the joints allow");
  }
  Vector rhs = Vector::Zero(n + m), a;
  Vector force = l.force;
  transpose_multiply_add(l.rows.J, l.lambda, force);
  rhs.head(n) = force;
  lu.solve(rhs, a);
  return a.head(n).cwiseAbs().maxCoeff();
}

}  // namespace

Linearisation linearise(const System& mechanics, const State& state) {
  SystemAccess system(mechanics);
  const State still = at_rest(mechanics, state);
  refuse_one_sided(mechanics, still, "linearisation");
  Interactions rows;
  Vector a, rate, lambda;
  if (!ForwardDynamics().solve(system, still, 0, rows, rate, a, lambda)) {
    throw InputError("linearisation", "a singular mass matrix or not a number",
                     "a mass matrix that is positive definite on the motions the joints allow");
  }
  HeldRows held = held_equalities(mechanics, still);
  held.lambda = lambda;
  Linearisation out = matrices_about(system, still, held);
  out.unbalanced = system.nv() > 0 ? a.cwiseAbs().maxCoeff() : 0;
  return out;
}

Linearisation linearise(const System& mechanics, const State& state, const HeldRows& held) {
  SystemAccess system(mechanics);
  Linearisation out = matrices_about(system, at_rest(mechanics, state), held);
  out.unbalanced = unbalanced(out);
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
