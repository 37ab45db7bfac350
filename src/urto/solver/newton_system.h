// The linear systems of semi-smooth Newton methods on F(y) = y − P(z), z = (αλ_k − v(y))/A, v = W₀
// y + …: with D = L Rᵀ the derivative of P,
//     (I + D W₀/A) dy = −F.
// With a mass matrix (W₀ = J H⁻¹ Jᵀ) it is solved in the condensed form H + Jᵀ(D/A)J; given W, in
// the reduced form I + RᵀW L/A, of the size of the active directions only. Both are positive
// definite when D is symmetric (convex law).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "urto/solver/condensed_matrix.h"
#include "urto/solver/delassus.h"

namespace urto {

/// p = P(z) for each block, and the factors of its derivative D_i = L_i R_iᵀ, dim × rank,
/// column-major, at `start[i]`.
struct Response {
  void set(const SetProduct& K);
  Vector z, p;
  std::vector<int> start = {}, rank = {};
  std::vector<double> left = {}, right = {};
  bool symmetric = true;
};

/// P = Π_K: the convex law. L = R.
void project_response(const SetProduct& K, Response& response);
void differentiate_projection(const SetProduct& K, Response& response);

/// Alart and Curnier's map on cones, P(z) = (z_N⁺, the disk of radius μ z_N⁺ projected from z_T),
/// Π_K elsewhere: its fixed points λ = P(λ − u/α) satisfy Coulomb's law exactly, without De Saxcé's
/// term (recipe 003 §5.16).
void alart_curnier_response(const SetProduct& K, Response& response);
void differentiate_alart_curnier(const SetProduct& K, Response& response);

class NewtonSystem {
 public:
  /// W is used until `release`; storage is kept. `compliance` (isotropic, per block) is outside W₀
  /// when W has a mass matrix; without one everything is in W₀ = W.
  void set(Delassus& W, bool symmetric);
  /// Gives factors back to W's store: after that only `set` may be called.
  void release();

  double compliance(int block) const { return is_condensed_ ? compliance_[block] : 0.0; }
  void apply(const Vector& y, Vector& v);  ///< v = W₀ y
  [[nodiscard]] bool factorize(const Response& response, const Vector& A);
  /// dy = −(I + D W₀/A)⁻¹ F and dv = W₀ dy.
  [[nodiscard]] bool solve(const Response& response, const Vector& A, const Vector& F, Vector& dy,
                           Vector& dv);

 private:
  using SmallMatrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;
  using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;

  void assemble_reduced(const Response& response, const Vector& A);
  [[nodiscard]] bool factorize_reduced(const Response& response, const Vector& A);
  bool solve_condensed(Vector& dy, Vector& dv);
  bool solve_reduced(const Response& response, const Vector& A, Vector& dy, Vector& dv);

  Delassus* W_ = nullptr;
  bool symmetric_ = true, is_condensed_ = false;
  Vector compliance_;
  CondensedMatrix condensed_;
  std::vector<double> D_ = {};
  Vector rhs_, solution_;

  // The reduced form, compressed: its size changes from step to step, and Eigen's own storage with
  // it. Factors by its pattern, which follows the ranks.
  std::vector<int> block_of_ = {}, rank_ = {}, start_ = {}, outer_ = {}, inner_ = {};
  std::vector<double> values_ = {}, right_side_ = {}, reduced_solution_ = {};
  std::vector<std::pair<int, SmallMatrix>> blocks_ = {};
  std::optional<LentFactor<SpdFactor>> cholesky_;
  std::optional<LentFactor<SparseLu>> lu_;
};

}  // namespace urto
