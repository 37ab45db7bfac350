// The linear systems of semi-smooth Newton methods on F(y) = y − P(z), z = (αλ_k − v(y))/A, v = W₀
// y + …: with D = L Rᵀ the derivative of P,
//     (I + D W₀/A) dy = −F.
// With a mass matrix (W₀ = J H⁻¹ Jᵀ) it is solved in the condensed form H + Jᵀ(D/A)J; given W, in
// the reduced form I + RᵀW L/A, of the size of the active directions only. Both are positive
// definite when D is symmetric (convex law).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/SparseLU>

#include "urto/solver/condensed_matrix.h"
#include "urto/solver/delassus.h"

namespace urto {

/// p = P(z) for each block, and the factors of its derivative D_i = L_i R_iᵀ, dim × rank,
/// column-major, at `start[i]`.
struct Response {
  explicit Response(const SetProduct& K);
  Vector z, p;
  std::vector<int> start, rank;
  std::vector<double> left, right;
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
  /// `compliance` (isotropic, per block) is outside W₀ when W has a mass matrix; without one
  /// everything is in W₀ = W.
  NewtonSystem(Delassus& W, bool symmetric);

  double compliance(int block) const { return compliance_ ? (*compliance_)[block] : 0.0; }
  void apply(const Vector& y, Vector& v);  ///< v = W₀ y
  bool factorize(const Response& response, const Vector& A);
  /// dy = −(I + D W₀/A)⁻¹ F and dv = W₀ dy.
  bool solve(const Response& response, const Vector& A, const Vector& F, Vector& dy, Vector& dv);

 private:
  bool factorize_reduced(const Response& response, const Vector& A);

  Delassus& W_;
  bool symmetric_;
  std::optional<Vector> compliance_;
  std::unique_ptr<CondensedMatrix> condensed_;
  std::vector<double> D_;
  std::vector<int> block_of_, rank_, start_;
  SparseMatrix reduced_;
  SpdFactor factor_;
  Eigen::SparseLU<SparseMatrix> lu_;
  Vector rhs_, solution_, work_;
};

}  // namespace urto
