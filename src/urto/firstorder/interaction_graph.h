// Several linear first-order systems with the interactions between them, and the problem of one
// step assembled block by block over the graph that they make (recipe 003 §§1.1, 5.1 to 5.3).
//
//     M_i ẋ_i = A_i x_i + b_i + Σ_β B_β^i λ_β,     y_α = Σ_i C_α^i x_i + D_α λ_α + e_α
#pragma once

#include <optional>
#include <vector>

#include "urto/firstorder/first_order_system.h"

namespace urto {

/// One dynamical system of a graph. An empty M is the identity, an empty b zero.
struct SubSystem {
  Matrix A;
  Matrix M = {};
  Vector b = {};
  double theta = 1;  ///< each may have its own
};

/// What an interaction measures of a system, and how it acts on it.
struct InteractionLink {
  int system = 0;
  Matrix C, B;  ///< C_α^i and B_α^i
};

struct Interaction {
  std::vector<InteractionLink> links = {};
  Matrix D = {};  ///< empty: zero
  Vector e = {};
  std::vector<MultiplierBounds> laws = {};
  int size() const { return static_cast<int>(laws.size()); }
};

struct InteractionGraph {
  std::vector<SubSystem> systems;
  std::vector<Interaction> interactions;
};

/// Throws InputError for sizes that do not fit and systems that do not exist.
void validate(const InteractionGraph& graph);

/// Of each interaction those that share a system with it, itself left out.
std::vector<std::vector<int>> linked_interactions(const InteractionGraph& graph);

/// y = M λ + q of an implicit step (θ of each system, γ = 1) from `x`, the states of all systems
/// behind each other.
struct OneStepProblem {
  Matrix M = {};
  Vector q = {};
  std::vector<int> start = {};  ///< of each interaction's rows; one more at the end
};
/// By blocks: (α, β) is δ_αβ D_α + h Σ_j C_α^j W_j⁻¹ B_β^j over the systems that both touch.
OneStepProblem assemble_by_blocks(const InteractionGraph& graph, double h, const Vector& x);
/// The same as one product D + h C W⁻¹ B of matrices of everything.
OneStepProblem assemble_globally(const InteractionGraph& graph, double h, const Vector& x);

/// The graph as one system, for the steppers.
FirstOrderSystem joined_system(const InteractionGraph& graph);

// ---- Relative degree (recipe 003 §4.1)

/// The smallest r for which λ acts on the r-th derivative of y = C x + D λ, ẋ = A x + B λ: 0 if D
/// is regular, else the r with C Aⁱ B = 0 for i < r − 1 and C Aʳ⁻¹ B regular. None if there is no
/// such r up to the number of states. Numbers below `zero` of the largest of the same product of
/// absolute values are zero.
std::optional<int> relative_degree(const Matrix& A, const Matrix& B, const Matrix& C,
                                   const Matrix& D, double zero = 1e-12);
/// Row by row, of λ_j's own action on y_j over all systems that the interaction touches
/// (1.24–1.28); −1 where there is none.
std::vector<int> row_relative_degrees(const InteractionGraph& graph, int interaction,
                                      double zero = 1e-12);

}  // namespace urto
