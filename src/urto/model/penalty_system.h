// A system whose contacts are forces: the rows of its contacts are taken away, and
//
//     F_N = k δⁿ max(0, 1 + d δ̇),     F_T = −μ F_N u_T/√(‖u_T‖² + v_s²)
//
// of the penetration δ = −g and the slip u_T is added to f (Hunt and Crossley 1975; n = 3/2 is Hertz's law of spheres). Smooth steppers can then be compared with hard
// contact on the same scene. Friction without memory creeps: a body on an incline slides at about v_s tan θ/√(μ² − tan² θ).
#pragma once

#include "urto/model/penalty_law.h"
#include "urto/model/system.h"

namespace urto {

class PenaltySystem final : public System {
 public:
  /// The inner system must outlive this one.
  PenaltySystem(System& inner, const PenaltyLaw& law) : inner_(inner), law_(law) {}

  int nq() const override { return inner_.nq(); }
  int nv() const override { return inner_.nv(); }
  void add_increment(const Vector& q, const Vector& delta, Vector& out) const override {
    inner_.add_increment(q, delta, out);
  }
  Vector difference(const Vector& to, const Vector& from) const override {
    return inner_.difference(to, from);
  }
  void increment_tangent(const Vector& delta, BlockDiagonal& T) const override {
    inner_.increment_tangent(delta, T);
  }
  void mass(const State& state, BlockDiagonal& M) const override { inner_.mass(state, M); }
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  /// Equalities only.
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                           ForceTangents& out) override {
    inner_.geometric_stiffness(state, rows, lambda, out);
  }
  void accept(State& state) const override { inner_.accept(state); }
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State& state) override;
  std::string describe(const RowOrigin& origin) const override { return inner_.describe(origin); }

 private:
  /// One touching pair: force F on the rows (n, t₁, t₂) and its derivatives.
  struct Push {
    int block = 0;
    double depth = 0;
    Vec3 velocity = Vec3::Zero();
    Vec3 force = Vec3::Zero();
    Vec3 by_gap = Vec3::Zero();       ///< ∂F/∂g
    Mat3 by_velocity = Mat3::Zero();  ///< ∂F/∂u
  };
  void find_pushes(const State& state);
  Push push_of(double gap, const Vec3& velocity, double friction) const;

  System& inner_;
  PenaltyLaw law_;
  Interactions rows_;
  std::vector<Push> pushes_ = {};
};

}  // namespace urto
