// Systems given by formulas, small enough to check by hand, behind the same interface as the full
// model: point masses with rods, springs and guides (pendulums in redundant coordinates, chains,
// carts, spring–mass networks), linear oscillators of any size, a cart with a pendulum, a rocking
// block, and a chain of nodes of any sizes.
#pragma once

#include <string>
#include <vector>

#include "urto/mechanics/system.h"

namespace urto {

/// Two ends of a link: a point mass by its number, or −1 with a fixed place.
struct LinkEnd {
  int point = -1;
  Vec3 place = Vec3::Zero();
};

/// A rod holds ½(‖d‖² − L²) = 0 (recipe 000, T2: not ‖d‖ − L, so that its multiplier is force over
/// length).
struct Rod {
  LinkEnd a = {}, b = {};
  double length = 1;
};

struct PointSpring {
  LinkEnd a = {}, b = {};
  double length = 1, stiffness = 0, damping = 0;
};

/// Holds n·x = offset + rate · t of one point.
struct Guide {
  int point = 0;
  Vec3 normal = Vec3::UnitY();
  double offset = 0, rate = 0;
};

class PointSystem final : public System {
 public:
  std::vector<Rod> rods = {};
  std::vector<PointSpring> springs = {};
  std::vector<Guide> guides = {};
  Vec3 gravity{0, -9.81, 0};

  /// Returns its number.
  int add_point(double mass);
  const std::vector<double>& masses() const { return masses_; }

  const Layout& layout() const override { return layout_; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
  void add_geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                               double factor, SystemWorkspace& work,
                               BlockMatrix& out) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;
  Powers powers(const State& state, SystemWorkspace& work) const override;
  std::string describe(const Interactions& rows, int block) const override;

 private:
  Layout layout_ = {};
  std::vector<double> masses_ = {};
};

/// Points hanging one from the next along `direction` from the origin, at rest; `state` gets their
/// places.
void make_point_chain(int links, double length, double mass, const Vec3& direction,
                      PointSystem& system, State& state);

/// M q̈ + D q̇ + K q = load. One node where the matrices are small; one per coordinate, coupled where
/// they have entries, above that.
class LinearSystem final : public System {
 public:
  LinearSystem(Matrix M, Matrix D, Matrix K, Vector load);

  const Layout& layout() const override { return layout_; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;
  Powers powers(const State& state, SystemWorkspace& work) const override;

 private:
  Layout layout_ = {};
  SparseMatrix M_, D_, K_;
  Vector load_;
};

/// A cart that slides along x with a point mass on a rod hinged to it, in minimal coordinates (s, θ
/// from the hanging position): its mass matrix depends on θ.
class CartPendulum final : public System {
 public:
  double cart = 1, bob = 1, length = 1, gravity = 9.81;

  CartPendulum() { layout_.add_flat(2); }
  const Layout& layout() const override { return layout_; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  void add_inertial_stiffness(const State& state, const Vector& a, double factor,
                              SystemWorkspace& work, BlockMatrix& out) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;

 private:
  Eigen::Matrix2d mass(double theta) const;
  Layout layout_ = {};
};

/// A rectangular block that rocks on the two lower edges of a rough floor without sliding (G. W.
/// Housner, "The behavior of inverted pendulum structures during earthquakes", 1963). With R the
/// half diagonal and α its angle from the vertical,
///
///     (4/3) m R² φ̈ = −m g R sin(α − φ),     φ ≥ 0,     φ̇⁺ = −(1 − (3/2) sin²α) φ̇⁻ where φ = 0
///
/// The coordinate is φ = |θ|, the tilt about whichever edge carries: the block is its own mirror
/// image, so passing on to the other edge, with the angular momentum about it kept, is a rebound of
/// φ by Newton's law. Smooth steppers go from impact to impact, dvi through them.
class RockingBlock final : public System {
 public:
  double weight = 1;  ///< m g [N]
  double gravity = 9.81;
  double radius = 1;   ///< R [m]
  double slope = 0.2;  ///< α [rad]

  RockingBlock() { layout_.add_flat(1); }
  /// p² = m g R/((4/3) m R²) [1/s²].
  double rate_squared() const { return 0.75 * gravity / radius; }
  /// Housner's ratio of angular velocities after and before an impact.
  double impact_ratio() const;
  /// Of rocking from φ₀ at rest, impacts not counted, for slender blocks: (4/p) acosh(1/(1 − φ₀/α))
  /// [s].
  double slender_period(double tilt) const;

  const Layout& layout() const override { return layout_; }
  bool may_be_one_sided() const override { return true; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;
  std::string describe(const Interactions& rows, int block) const override;

 private:
  double inertia() const { return weight * radius / rate_squared(); }
  Layout layout_ = {};
};

/// Nodes of any sizes in a row, each tied to the next by a spring and a damper between their first
/// coordinates and by a mass that couples the two, as a consistent finite-element mass does; poses
/// besides flat nodes. The first node may be held by a row. For tests of what must not depend on a
/// size.
class NodeChain final : public System {
 public:
  double stiffness = 100, damping = 0.1;  ///< [N/m, N·s/m] of every spring
  double coupling = 0.1;                  ///< off-diagonal mass between neighbours [kg]
  bool held = false;  ///< an equality keeps the first coordinate of the first node at zero

  void add_flat_node(int size);
  void add_pose_node();
  /// Everything at rest, poses unturned, the first coordinates stretched by `stretch` from one node
  /// to the next.
  State start(double stretch) const;

  const Layout& layout() const override { return layout_; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
  Energies energies(const State& state, SystemWorkspace& work) const override;
  Powers powers(const State& state, SystemWorkspace& work) const override;

 private:
  Layout layout_ = {};
};

}  // namespace urto
