// A system whose contacts are forces: the rows of its contacts are taken away, and
//
//     F_N = k δⁿ max(0, 1 + d δ̇)
//     F_T = −μ F_N u_T/√(‖u_T‖² + v_s²)                         smoothed, or
//     F_T = −Π(k_t ξ + c_t u_T),  ‖Π(·)‖ ≤ μ F_N,  ξ̇ = u_T    a spring that slips, ‖k_t ξ‖ ≤ μ F_N
//
// of the penetration δ = −g and the slip u_T is added to f (Hunt and Crossley 1975; n = 3/2 is
// Hertz's law of spheres; Cundall and Strack 1979). Smooth steppers can then be compared with hard
// contact on the same scene. Smoothed friction creeps: a body on an incline slides at about v_s tan
// θ/√(μ² − tan² θ). The spring does not: it is kept in the state's named array "friction" by the
// contact's id.
//
// A force must be a function of the state: ξ at a state is that of the last accepted one, turned
// with the contact, and how far the points of the two bodies that met there slid apart since.
// `accept` cuts what is above the bound off. Copies of a state carry their own springs, so a step
// that is given up leaves no trace.
#pragma once

#include "urto/mechanics/system.h"
#include "urto/model/penalty_law.h"

namespace urto {

/// Springs of friction as they were at the accepted state (q, t).
struct FrictionMemory {
  struct Spring {
    std::uint64_t id = 0;                               ///< of the contact
    Vec3 stretch = Vec3::Zero();                        ///< world, in the tangent plane [m]
    Vec3 normal = Vec3::UnitZ(), point = Vec3::Zero();  ///< of the contact, world
  };
  double t = 0;
  Configuration q = {};
  std::vector<Spring> springs = {};  ///< sorted by id
};
/// From and to the state's named array "friction"; empty where there is none.
void recall_friction(const State& state, FrictionMemory& out);
void remember_friction(const FrictionMemory& memory, State& state);

class PenaltySystem final : public System {
 public:
  /// The inner system must outlive this one. Friction with memory needs one that follows its
  /// contacts (contact_tracking).
  PenaltySystem(const System& inner, const PenaltyLaw& law);

  const Layout& layout() const override { return inner_.layout(); }
  std::unique_ptr<SystemWorkspace> make_workspace() const override;
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  /// Equalities only.
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
  void add_geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                               double factor, SystemWorkspace& work,
                               BlockMatrix& out) const override;
  void add_inertial_stiffness(const State& state, const Vector& a, double factor,
                              SystemWorkspace& work, BlockMatrix& out) const override;
  /// Contacts that touch get a spring, others lose theirs.
  void accept(State& state, SystemWorkspace& work) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;
  Powers powers(const State& state, SystemWorkspace& work) const override;
  std::string describe(const Interactions& rows, int block) const override {
    return inner_.describe(rows, block);
  }

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
  struct Scratch;  ///< the workspace: that of the inner system, its rows, and the pairs that push
  static Scratch& scratch(SystemWorkspace& work);
  bool remembers() const { return law_.tangential_stiffness > 0; }
  void find_pushes(const State& state, Scratch& s) const;
  void recall_stretch(const State& state, int block, Scratch& s, Push& p) const;
  void push(double gap, const Law& law, Push& p) const;
  void add_smooth_friction(const Law& law, const Vec3& normal_rates, Push& p) const;
  void add_spring_friction(const Law& law, const Vec3& normal_rates, Push& p) const;
  static Eigen::RowVector2d bound_rate(const Law& law, const Push& p);
  Eigen::Vector2d held_stretch(const Push& p) const;

  const System& inner_;
  PenaltyLaw law_;
};

}  // namespace urto
