// First-order non-smooth systems (recipe 003 §§1.1, 5.4):
//
//     M ẋ = f(t, x) + r,    y = h(t, x, λ),    r = g(t, x, λ),    −y ∈ N_[lower,upper](λ)
//
// the last line row by row: y ≥ 0 where λ is at its lower bound, y ≤ 0 where it is at its upper
// one, y = 0 between. Circuits with diodes, relays, sliding-mode controllers and sweeping processes
// are of this kind. A system is constant data and functions; nothing in it changes during a run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "urto/math/types.h"

namespace urto {

/// A time, and one strictly inside the step that is being taken: what jumps (a switch, a pulse) is
/// asked where it is constant, what is smooth where the scheme asks.
struct Moment {
  double t = 0, inside = 0;
};

// ---- f

using StateFunction = std::function<Vector(const Moment&, const Vector& x)>;
using StateMatrix = std::function<SparseMatrix(const Moment&, const Vector& x)>;

struct Field {
  StateFunction f = {};
  StateMatrix jacobian = {};  ///< ∂f/∂x; a field without it is refused
  bool linear = false;        ///< f = A(t) x + b(t)
  bool constant = false;      ///< A does not depend on t
};

/// f = A x + b.
Field linear_field(SparseMatrix A, Vector b);
/// f = A(t) x + b(t); an empty b is zero.
Field varying_field(std::function<SparseMatrix(const Moment&)> A,
                    std::function<Vector(const Moment&)> b = {});
/// f = A x + b(t).
Field driven_field(SparseMatrix A, std::function<Vector(const Moment&)> b);
/// f + T u(t, x): a control term with its derivative by x (recipe 003 §3.1). Without `by_state` u
/// depends on time only.
Field with_control(Field field, SparseMatrix T, StateFunction u, StateMatrix by_state = {});

// ---- h and g

using RelationFunction =
    std::function<Vector(const Moment&, const Vector& x, const Vector& lambda)>;
using RelationMatrix =
    std::function<SparseMatrix(const Moment&, const Vector& x, const Vector& lambda)>;

enum class RelationKind : std::uint8_t {
  linear,    ///< y = C x + D λ + e, r = B λ
  type1,     ///< y = h(t, x), r = g(t, λ)
  type2,     ///< y = h(t, x, λ), r = g(t, λ)
  nonlinear  ///< y = h(t, x, λ), r = g(t, x, λ)
};

/// The matrices of a linear relation at one moment; what is empty is zero.
struct LinearRelation {
  SparseMatrix C = {}, D = {}, B = {};
  Vector e = {};
};

struct Relation {
  RelationKind kind = RelationKind::linear;
  std::function<LinearRelation(const Moment&)> linear = {};  ///< of that kind, instead of the rest
  RelationFunction h = {}, g = {};
  RelationMatrix C = {}, D = {};  ///< ∂h/∂x, ∂h/∂λ
  RelationMatrix K = {}, B = {};  ///< ∂g/∂x, ∂g/∂λ; an empty D or K is zero
};

Relation linear_relation(LinearRelation constant);
Relation linear_relation(std::function<LinearRelation(const Moment&)> varying);
Relation type1_relation(StateFunction h, StateMatrix C,
                        std::function<Vector(const Moment&, const Vector& lambda)> g,
                        std::function<SparseMatrix(const Moment&, const Vector& lambda)> B);
Relation type2_relation(RelationFunction h, RelationMatrix C, RelationMatrix D,
                        std::function<Vector(const Moment&, const Vector& lambda)> g,
                        std::function<SparseMatrix(const Moment&, const Vector& lambda)> B);
Relation nonlinear_relation(RelationFunction h, RelationMatrix C, RelationMatrix D,
                            RelationFunction g, RelationMatrix K, RelationMatrix B);

// ---- Laws

/// The interval of one row's multiplier.
struct MultiplierBounds {
  double lower = 0, upper = std::numeric_limits<double>::infinity();
};
/// 0 ≤ y ⟂ λ ≥ 0.
constexpr MultiplierBounds complementarity_law() {
  return {};
}
/// y = 0.
constexpr MultiplierBounds equality_law() {
  return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
}
/// λ ∈ −Sgn(y) with the values `lower` and `upper`: a relay, a box, a sign with many values at 0.
constexpr MultiplierBounds relay_law(double lower = -1, double upper = 1) {
  return {lower, upper};
}

// ---- The system

struct FirstOrderSystem {
  int states = 0;
  SparseMatrix mass = {};  ///< M; the identity if it is empty
  Field field = {};        ///< zero if it has no function
  Relation relation = {};
  std::vector<MultiplierBounds> laws = {};  ///< of each row
  /// The first time after t at which something jumps, +∞ if nothing does; steps end there.
  std::function<double(double t)> next_jump = {};

  int rows() const { return static_cast<int>(laws.size()); }
  bool linear() const { return field.linear && relation.kind == RelationKind::linear; }
};

/// Throws InputError, with `name` in front, for functions that are missing, sizes that do not fit
/// at (t, x, λ = the projection of 0), bounds that are empty.
void validate(const FirstOrderSystem& system, double t, const Vector& x, std::string_view name);

// With zeros for what a system does not have.
SparseMatrix mass_of(const FirstOrderSystem& system);
Vector field_at(const FirstOrderSystem& s, const Moment& now, const Vector& x);
SparseMatrix field_jacobian_at(const FirstOrderSystem& s, const Moment& now, const Vector& x);
/// A relation at one moment, with its derivatives.
struct RelationPoint {
  Vector y = {}, r = {};
  SparseMatrix C = {}, D = {}, K = {}, B = {};
};
RelationPoint relation_at(const FirstOrderSystem& s, const Moment& now, const Vector& x,
                          const Vector& lambda);

}  // namespace urto
