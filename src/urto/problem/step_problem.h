// The step problem: what every time stepper of mechanics reduces to, and the contract between
// stepper and solver.
//
//     H x − Jᵀ λ = a          H symmetric positive definite: block-diagonal mass, or sparse M +
//                             stiffness + damping
//     u = J x + E λ + b       E symmetric positive semi-definite: compliance, usually zero
//     λ ∈ K,  −û ∈ N_K(λ)     K a product of convex sets, one for each row block of J
//
// û = u for convex ("associated") friction, û = u + (μ‖u_T‖, 0, 0) on every cone for exact Coulomb
// friction. x are velocities [m/s, rad/s] and λ impulses [N·s, N·m·s] in the non-smooth steppers;
// nothing here depends on it.
//
// Eliminating x gives the local form u = W λ + q with the Delassus matrix W = J H⁻¹ Jᵀ + E and q =
// J H⁻¹ a + b. A problem that is given by W and q (FCLIB's "local" form) is a step problem without
// x: dofs() = 0, E = W, b = q.
//
// Sources: design §2; recipe 000 (114)–(123); recipe 001 §2.5 (boxed system; compliance 2.7.10).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/math/convex_set.h"
#include "urto/math/types.h"

namespace urto {

enum class Friction : std::uint8_t { exact, convex };

// NOLINTNEXTLINE(bugprone-exception-escape): Eigen moves a sparse matrix by copying.
struct StepProblem {
  std::variant<BlockMatrix, SparseMatrix> H;  ///< by blocks from mechanics, sparse from files
  BlockRows J;
  SparseMatrix E;  ///< rows × rows; no stored entries when there is no compliance
  Vector a, b;
  SetProduct K;

  int dofs() const { return static_cast<int>(a.size()); }
  int rows() const { return K.rows(); }
  int blocks() const { return K.blocks(); }
  int contacts() const;  ///< blocks with friction or a unilateral row
};

/// The problem u = W λ + q, λ ∈ K, without primal unknowns.
StepProblem local_problem(const SparseMatrix& W, const Vector& q, SetProduct K);

/// The problem M v = Jᵀr + f, u = J v + w; M is kept block by block where it is block-diagonal.
StepProblem global_problem(const SparseMatrix& M, const SparseMatrix& J, const Vector& f,
                           const Vector& w, SetProduct K);

/// Throws InputError (with `name` in front) if sizes do not fit, a number is not finite, a friction
/// coefficient is negative, a box is empty, or H or E are not symmetric to `symmetry_tolerance`
/// relative to their largest entry.
void validate(const StepProblem& problem, std::string_view name, double symmetry_tolerance = 0.02);

/// H if it is block-diagonal, stored by blocks; null otherwise.
const BlockMatrix* block_diagonal_mass(const StepProblem& problem);
/// H, whatever way it is stored.
SparseMatrix sparse_mass(const StepProblem& problem);
/// The diagonal of H.
Vector mass_diagonal(const StepProblem& problem);
/// E_rr.
double compliance(const StepProblem& problem, int row);
/// E = diag(values), in the storage that is there.
void set_compliance(StepProblem& problem, std::span<const double> values);

/// y = H x.
void multiply_mass(const StepProblem& problem, const Vector& x, Vector& y,
                   ThreadPool* threads = nullptr);

/// max |A − Aᵀ| / max |A|; zero for an empty matrix.
double asymmetry(const SparseMatrix& A);

}  // namespace urto
