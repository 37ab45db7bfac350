// Systems given by formulas, small enough to check by hand, behind the same interface as the full model: point masses with rods,
// springs and guides (pendulums in redundant coordinates, chains, carts, spring–mass networks), linear oscillators, and a rocking block.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "urto/mechanics/system.h"

namespace urto {

/// What systems whose configurations form a vector space have in common.
class FlatSystem : public System {
 public:
  int nq() const final { return nv(); }
  void add_increment(const Vector& q, const Vector& delta, Vector& out) const final {
    out = q + delta;
  }
  Vector difference(const Vector& to, const Vector& from) const final { return to - from; }
  void accept(State&) const final {}
};

/// Two ends of a link: a point mass by its number, or −1 with a fixed place.
struct LinkEnd {
  int point = -1;
  Vec3 place = Vec3::Zero();
};

/// A rod holds ½(‖d‖² − L²) = 0 (recipe 000, T2: not ‖d‖ − L, so that its multiplier is force over length).
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

class PointSystem final : public FlatSystem {
 public:
  std::vector<double> masses = {};
  std::vector<Rod> rods = {};
  std::vector<PointSpring> springs = {};
  std::vector<Guide> guides = {};
  Vec3 gravity{0, -9.81, 0};

  int nv() const override { return 3 * static_cast<int>(masses.size()); }
  void mass(const State& state, BlockMatrix& M) const override;
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                           ForceTangents& out) override;
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State& state) override;
  std::string describe(const RowOrigin& origin) const override;
};

/// Points hanging one from the next along `direction` from the origin, at rest; `state` gets their places.
void make_point_chain(int links, double length, double mass, const Vec3& direction,
                      PointSystem& system, State& state);

/// M q̈ + D q̇ + K q = load, of at most six coordinates.
class LinearSystem final : public FlatSystem {
 public:
  LinearSystem(Matrix M, Matrix D, Matrix K, Vector load);

  int nv() const override { return static_cast<int>(M_.rows()); }
  void mass(const State& state, BlockMatrix& M) const override;
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State&, const Interactions&, const Vector&,
                           ForceTangents&) override {}
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State& state) override;
  std::string describe(const RowOrigin&) const override { return "no row"; }

 private:
  Matrix M_, D_, K_;
  Vector load_;
};

/// A cart that slides along x with a point mass on a rod hinged to it, in minimal coordinates (s, θ from the hanging position): its mass matrix
/// depends on θ.
class CartPendulum final : public FlatSystem {
 public:
  double cart = 1, bob = 1, length = 1, gravity = 9.81;

  int nv() const override { return 2; }
  void mass(const State& state, BlockMatrix& M) const override;
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State&, const Interactions&, const Vector&,
                           ForceTangents&) override {}
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State&) override { return {0, 0}; }
  std::string describe(const RowOrigin&) const override { return "no row"; }
};

/// A rectangular block that rocks on the two lower edges of a rough floor without sliding (G. W. Housner, "The behavior of inverted pendulum structures during earthquakes", 1963). With R the
/// half diagonal and α its angle from the vertical,
///
///     (4/3) m R² φ̈ = −m g R sin(α − φ),     φ ≥ 0,     φ̇⁺ = −(1 − (3/2) sin²α) φ̇⁻ where φ = 0
///
/// The coordinate is φ = |θ|, the tilt about whichever edge carries: the block is its own mirror image, so passing on to the other edge, with the angular momentum about it kept, is a rebound of φ by
/// Newton's law. Smooth steppers go from impact to impact, dvi through them.
class RockingBlock final : public FlatSystem {
 public:
  double weight = 1;  ///< m g [N]
  double gravity = 9.81;
  double radius = 1;   ///< R [m]
  double slope = 0.2;  ///< α [rad]

  /// p² = m g R/((4/3) m R²) [1/s²].
  double rate_squared() const { return 0.75 * gravity / radius; }
  /// Housner's ratio of angular velocities after and before an impact.
  double impact_ratio() const;
  /// Of rocking from φ₀ at rest, impacts not counted, for slender blocks: (4/p) acosh(1/(1 − φ₀/α)) [s].
  double slender_period(double tilt) const;

  int nv() const override { return 1; }
  bool may_be_one_sided() const override { return true; }
  void mass(const State& state, BlockMatrix& M) const override;
  void force(const State& state, Vector& f) override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State&, const Interactions&, const Vector&,
                           ForceTangents&) override {}
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State&) override { return {0, 0}; }
  std::string describe(const RowOrigin&) const override { return "the edge that comes down"; }
};

}  // namespace urto
