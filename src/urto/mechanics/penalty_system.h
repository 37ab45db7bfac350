// A system whose contacts are forces: the rows of its contacts are taken away, and
//
//     F_N = k δⁿ max(0, 1 + d δ̇)
//     F_T = −μ F_N u_T/√(‖u_T‖² + v_s²)                         smoothed, or
//     F_T = −Π(k_t ξ + c_t u_T),  ‖Π(·)‖ ≤ μ F_N,  ξ̇ = u_T      a spring that slips, ‖k_t ξ‖ ≤ μ F_N
//
// of the penetration δ = −g and the slip u_T is added to f (Hunt and Crossley 1975; n = 3/2 is Hertz's law of spheres; Cundall and Strack 1979). Smooth steppers can then be compared with hard
// contact on the same scene. Smoothed friction creeps: a body on an incline slides at about v_s tan θ/√(μ² − tan² θ). The spring does not: it is kept in State::friction by the contact's id.
//
// A force must be a function of the state: ξ at a state is that of the last accepted one, turned with the contact, and how far the points of the two bodies that met there slid apart since. `accept` cuts what is above the bound off. Copies of a
// state carry their own springs, so a step that is given up leaves no trace.
#pragma once

#include "urto/mechanics/system.h"
#include "urto/model/penalty_law.h"

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
  void increment_tangent(const Vector& delta, BlockMatrix& T) const override {
    inner_.increment_tangent(delta, T);
  }
  void mass(const State& state, BlockMatrix& M) const override { inner_.mass(state, M); }
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  /// Equalities only.
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                           ForceTangents& out) override {
    inner_.geometric_stiffness(state, rows, lambda, out);
  }
  /// Contacts that touch get a spring, others lose theirs.
  void accept(State& state) const override;
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State& state) override;
  std::string describe(const RowOrigin& origin) const override { return inner_.describe(origin); }

 private:
  /// One touching pair: force F on the rows (n, t₁, t₂) and its derivatives.
  struct Push {
    int block = 0;
    double depth = 0;
    double bound = 0;  ///< μ F_N
    Vec3 velocity = Vec3::Zero();
    Vec3 force = Vec3::Zero();
    Mat3 by_place = Mat3::Zero();     ///< ∂F/∂(g, ξ)
    Mat3 by_velocity = Mat3::Zero();  ///< ∂F/∂u
    // The spring of friction.
    double stiffness =
        0;  ///< k_t; 0 while it has no memory: smoothed, or a contact that began within the step
    Eigen::Vector2d stretch = Eigen::Vector2d::Zero();  ///< ξ
    Mat3 axes = Mat3::Identity();
    Vec3 point = Vec3::Zero();
  };
  bool remembers() const { return law_.tangential_stiffness > 0; }
  void find_pushes(const State& state) const;
  void recall_stretch(const State& state, int block, Push& p) const;
  void push(double gap, double friction, Push& p) const;
  void add_smooth_friction(double friction, const Vec3& normal_rates, Push& p) const;
  void add_spring_friction(double friction, const Vec3& normal_rates, Push& p) const;
  Eigen::Vector2d held_stretch(const Push& p) const;

  System& inner_;
  PenaltyLaw law_;
  // Scratch, refilled by every call.
  mutable Interactions rows_;
  mutable std::vector<Push> pushes_ = {};
  mutable Vector moved_;  ///< since the accepted state
};

}  // namespace urto
