// The second-order system: all that a time stepper may ask of mechanics (design §2). The full 3D model is one (RigidSystem); the
// small systems of the papers, given by formulas, are others. A handful of virtual calls a step, none a row.
#pragma once

#include "urto/mechanics/interactions.h"
#include "urto/model/force.h"
#include "urto/model/model.h"

namespace urto {

/// How interactions are to be measured.
struct InteractionQuery {
  double h = 0;                ///< [s] the step ahead: what can be reached within it becomes a row
  double envelope = 0;         ///< ε_e [m]
  bool accelerations = false;  ///< fill jdot_v too
  bool equalities_only =
      false;  ///< joints, couplings, position motors: what a position must satisfy
  bool velocity_equalities = false;  ///< besides those: speed motors without a bound
};

struct Energies {  ///< [J]
  double kinetic = 0, potential = 0;
};

/// A contact now, and what happened to the place where its two bodies met at an earlier time.
struct ContactShift {
  Mat3 axes = Mat3::Identity();  ///< (n, t₁, t₂) of the rows, world
  Vec3 point = Vec3::Zero();     ///< world
  Vec3 slip = Vec3::Zero();      ///< of A's point of then relative to B's: zero if both move as one
  Vec3 turn = Vec3::Zero();      ///< mean rotation vector of the two, world
};

class System {
 public:
  virtual ~System() = default;
  System() = default;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  virtual int nq() const = 0;
  virtual int nv() const = 0;
  /// q ⊕ δ.
  virtual void add_increment(const Vector& q, const Vector& delta, Vector& out) const = 0;
  /// to ⊖ from.
  virtual Vector difference(const Vector& to, const Vector& from) const = 0;
  /// T(δ) with q ⊕ (δ + ε) = (q ⊕ δ) ⊕ (T(δ) ε + O(ε²)), one block a body, not symmetric. Left without blocks where ⊕ is a sum.
  virtual void increment_tangent(const Vector& delta, BlockMatrix& T) const;

  /// M(q), block by block.
  virtual void mass(const State& state, BlockMatrix& M) const = 0;
  /// f(q, v, t), overwritten.
  virtual void force(const State& state, Vector& f) = 0;
  /// Moves the gyroscopic moments from f, a `force` of this state, into v: what they do to v within h, without changing its kinetic energy. For steppers of first order, to which explicit moments would give energy.
  virtual void turn_freely(const State& state, double h, Vector& v, Vector& f) const;
  /// −∂f/∂q and −∂f/∂v, overwritten.
  virtual void tangents(const State& state, Tangent kind, ForceTangents& out) = 0;
  virtual void interactions(const State& state, const InteractionQuery& query,
                            Interactions& out) = 0;
  /// True if `interactions` can ever offer a row that is no equality: contacts, limits, dry friction.
  virtual bool may_be_one_sided() const { return false; }
  /// (Jᵀλ)_q of the rows last measured, as blocks of −∂(Jᵀλ)/∂q to add to a stiffness.
  virtual void geometric_stiffness(const State& state, const Interactions& rows,
                                   const Vector& lambda, ForceTangents& out) = 0;
  /// Called on every accepted state: counters of turns and the like.
  virtual void accept(State& state) const = 0;
  virtual Energies energies(const State& state) = 0;
  /// (dissipated by damping ≥ 0, supplied by loads and motors' force laws) [W].
  virtual std::array<double, 2> powers(const State& state) = 0;
  /// Of a contact of the rows last measured. Its bodies met at `point` at the time `from`, and the configuration moved by `increment` since then, to the time `to`.
  virtual ContactShift contact_shift(const RowOrigin&, const Vec3& /*point*/,
                                     const Vector& /*increment*/, double /*from*/,
                                     double /*to*/) const {
    return {};
  }
  /// A person's name for a row block.
  virtual std::string describe(const RowOrigin& origin) const = 0;
};

inline void System::turn_freely(const State&, double, Vector&, Vector&) const {}

inline void System::increment_tangent(const Vector&, BlockMatrix& T) const {
  T.start.resize(1);
  T.offset.resize(1);
  T.values.clear();
}

}  // namespace urto
