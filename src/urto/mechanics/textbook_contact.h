// Systems of the papers that meet something, given by formulas: a bouncing ball, a bouncing
// pendulum, a block that rocks on its corners, a mass in a bowl, an elastic bar against a wall (O.
// Brüls, V. Acary and A. Cardona, "Simultaneous enforcement of constraints at position and velocity
// levels in the nonsmooth generalized-α scheme", §10; recipe 004 §3, its supplement V12).
#pragma once

#include <string>
#include <vector>

#include "urto/mechanics/textbook.h"

namespace urto {

/// Up to twelve coordinates in one flat node with a constant mass matrix, a constant load and rows
/// given by formulas. All rows are always there, whatever their gaps.
class RowSystem : public System {
 public:
  /// A row at a configuration: g, J, and ∂Jᵀ/∂q, of a normal row the second derivatives of g.
  struct Row {
    double g = 0;
    Vector J;
    Matrix turning;
  };

  const Layout& layout() const final { return layout_; }
  bool may_be_one_sided() const final { return true; }
  void force(const State& state, SystemWorkspace& work, Vector& f) const final;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const final;
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const final;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const final;
  void add_geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                               double factor, SystemWorkspace& work, BlockMatrix& out) const final;
  Energies energies(const State& state, SystemWorkspace& work) const final;

 protected:
  explicit RowSystem(int coordinates) { layout_.add_flat(coordinates); }

  virtual Matrix mass() const = 0;
  virtual Vector load() const = 0;
  /// One per block, in the order of the rows.
  virtual std::vector<Law> laws() const = 0;
  /// `out` comes with zeros of the right sizes.
  virtual void row(const Vector& q, int block, int r, Row& out) const = 0;
  /// Where the potential energy is zero [J].
  virtual double datum() const { return 0; }

 private:
  Row measured(const Vector& q, int block, int r) const;
  Layout layout_ = {};
};

/// The height of its centre over a floor.
class BouncingBall final : public RowSystem {
 public:
  double weight = 10, ball_mass = 1, radius = 0.2, restitution = 0.8;

  BouncingBall() : RowSystem(1) {}

 protected:
  Matrix mass() const override;
  Vector load() const override;
  std::vector<Law> laws() const override;
  void row(const Vector& q, int block, int r, Row& out) const override;
  double datum() const override { return weight * radius; }
};

/// A rod (x, y, θ) hinged at its upper end to the origin, x = l cos θ and y = l sin θ of its mass,
/// swings against a wall at x = l/√2.
class BouncingPendulum final : public RowSystem {
 public:
  double bob = 1, inertia = 0.1, length = 1, gravity = 10, restitution = 0.8;

  BouncingPendulum() : RowSystem(3) {}
  /// At rest at an angle.
  State start(double angle) const;

 protected:
  Matrix mass() const override;
  Vector load() const override;
  std::vector<Law> laws() const override;
  void row(const Vector& q, int block, int r, Row& out) const override;
};

/// A rectangle (x, y, θ) over a floor that its two lower corners may touch, with friction or
/// without.
class BlockOnCorners final : public RowSystem {
 public:
  double block_mass = 1, width = 1, height = 1.5, gravity = 9.81, restitution = 0.5;
  double friction = 0;  ///< μ; 0: rows along the normal only
  double slope = 0;     ///< [rad] gravity leans towards +x by this

  BlockOnCorners() : RowSystem(3) {}
  double inertia() const { return block_mass * (width * width + height * height) / 12; }

 protected:
  Matrix mass() const override;
  Vector load() const override;
  std::vector<Law> laws() const override;
  void row(const Vector& q, int block, int r, Row& out) const override;
};

/// A point mass inside a sphere of radius one around the origin.
class MassInBowl final : public RowSystem {
 public:
  double point_mass = 1, gravity = 9.81, friction = 0, restitution = 0;

  MassInBowl() : RowSystem(3) {}

 protected:
  Matrix mass() const override;
  Vector load() const override;
  std::vector<Law> laws() const override;
  void row(const Vector& q, int block, int r, Row& out) const override;
};

/// Two point masses in a plane on massless rods, the first hung from the origin, beside a wall at x
/// = 0 (recipe 002 §3, E1: F. A. Potra, M. Anitescu, B. Gavrea and J. Trinkle, §10.1). Coordinates
/// (x₁, y₁, x₂, y₂).
class PendulumAtWall final : public RowSystem {
 public:
  double gravity = 9.8, restitution = 0.1;

  PendulumAtWall() : RowSystem(4) {}
  /// At rest, the rods π/3 and π/5 off the vertical.
  static State start();

 protected:
  Matrix mass() const override;
  Vector load() const override;
  std::vector<Law> laws() const override;
  void row(const Vector& q, int block, int r, Row& out) const override;
};

/// Two carts of mass one on a rough floor: a spring from a wall to the first, a damper between
/// them, a stopper for the first at x = 0 (recipe 002 §3, E2 and E3). Coordinates (x₁, y₁, x₂, y₂),
/// y the height over the floor.
class CartsAtStopper final : public LinearSystem {
 public:
  struct Data {
    double spring = 100, damper = 100;  ///< γ [N/m], δ [N·s/m]
    double equilibrium = 0.2, friction = 0.05, restitution = 0.3, gravity = 9.8;
    bool rigid = false;  ///< rows in place of spring and damper: their limit
  };
  explicit CartsAtStopper(const Data& data);
  /// Five apart, with one velocity.
  static State start(double place, double speed);

  bool may_be_one_sided() const override { return true; }
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;

 private:
  Data data_;
};

/// The woodpecker toy as published (Ch. Glocker, "Dynamik von Starrkörpersystemen mit Reibung und
/// Stössen", 1995, p. 162; R. I. Leine, Ch. Glocker and D. H. van Campen, "Nonlinear dynamics of
/// the woodpecker toy", 2001): a sleeve that stays on the axis of a pole, and a bird on a spring at
/// it, with gaps that are linear in the angles. Coordinates (y, φ_M, φ_S): the height of the
/// sleeve, its angle, the bird's. Rows: the beak, the sleeve's lower and its upper edge, each with
/// friction.
class WoodpeckerToy final : public LinearSystem {
 public:
  WoodpeckerToy();
  static State start();

  bool may_be_one_sided() const override { return true; }
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
};

/// A bar of linear elements that may meet a wall with its first node; displacements from where it
/// starts, unstretched, a distance off the wall (D. Doyen, A. Ern and S. Piperno, "Time-integration
/// schemes for the finite element dynamic Signorini problem", 2011).
class ImpactingBar final : public LinearSystem {
 public:
  struct Data {
    int elements = 200;
    double youngs = 900, density = 1, length = 10, distance = 5.005;  ///< cross-section 1 m²
    bool lumped = false;                                              ///< else a consistent mass
    double damping = 0;                                               ///< [s] of the stiffness
  };
  explicit ImpactingBar(const Data& data);
  /// Flying at the wall.
  State start(double speed) const;

  bool may_be_one_sided() const override { return true; }
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;

 private:
  struct Matrices;
  ImpactingBar(const Data& data, const Matrices& all);
  double distance_;
};

}  // namespace urto
