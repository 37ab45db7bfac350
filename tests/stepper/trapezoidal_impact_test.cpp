// Impacts of the linearly implicit trapezoidal method (stepper/two_phase_impact.h): Poisson's law
// beside Newton's on what has closed forms, with energies. Numbers of recipe 002 unless a closed
// form is given.
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/trapezoidal_runs.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

using namespace urto::testing;

// A ball from 1 m with e = ½: its bounces in closed form, each at its own time within a step.
TEST(TrapezoidalLcp, BallBouncesAtTheTimesOfTheClosedForm) {
  BouncingBall ball;
  ball.restitution = 0.5;
  State start;
  start.q = Vector::Constant(1, 1 + ball.radius);
  start.v = Vector::Zero(1);
  for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
    SimulationOptions o = trapezoidal();
    o.stepper.restitution_law = law;
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    const State end = run(ball, start, o, 150, 0.01, &impacts);
    const double g = ball.weight / ball.ball_mass, fall = std::sqrt(2 / g);
    double t = fall, speed = g * fall;
    ASSERT_GT(impacts.size(), 10U);
    for (int k = 0; k < 8; ++k) {
      EXPECT_NEAR(impacts[k].t, t, 1e-12) << k;
      EXPECT_NEAR(impacts[k].approach, -speed, 1e-11) << k;
      EXPECT_NEAR(impacts[k].after, 0.5 * speed, 1e-11) << k;
      EXPECT_NEAR(impacts[k].energy, -0.375 * speed * speed, 1e-10) << k;
      EXPECT_LE(impacts[k].compression, 0);
      speed *= 0.5;
      t += 2 * speed / g;
    }
    // Past the accumulation of its bounces, 3 falls of √(2/g), it lies.
    EXPECT_NEAR(end.q[0], ball.radius, 1e-10);
    EXPECT_NEAR(end.v[0], 0, 1e-9);
  }
}

/// Balls of mass one in a row on a line, radius ½, touching.
class Cradle final : public RowSystem {
 public:
  int balls;
  double restitution;

  Cradle(int count, double e) : RowSystem(count), balls(count), restitution(e) {}
  State start() const {
    State s;
    s.q = Vector::LinSpaced(balls, 0, balls - 1);
    s.q[0] -= 0.25;
    s.v = Vector::Zero(balls);
    s.v[0] = 1;
    return s;
  }

 protected:
  Matrix mass() const override { return Matrix::Identity(balls, balls); }
  Vector load() const override { return Vector::Zero(balls); }
  std::vector<Law> laws() const override {
    const Law contact{
        .kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear};
    return std::vector<Law>(balls - 1, contact);
  }
  void row(const Vector& q, int block, int /*r*/, Row& out) const override {
    out.g = q[block + 1] - q[block] - 1;
    out.J[block + 1] = 1;
    out.J[block] = -1;
  }
};

// Newton's cradle: one impact after the other hands the velocity on to the last ball. All at once,
// compression leaves the mean velocity ⅕ to all, and Poisson's e gives each impulse back once more:
// (−3 … 1, in fifths) by hand: impulses 4, 3, 2, 1 fifths, twice.
TEST(TrapezoidalLcp, CradleHandsTheVelocityOnWhereImpactsAreSequential) {
  const Cradle cradle(5, 1);
  SimulationOptions o = trapezoidal();
  for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
    o.stepper.restitution_law = law;
    o.stepper.impact_order = ImpactOrder::sequential;
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    const State s = run(cradle, cradle.start(), o, 10, 0.1, &impacts);
    EXPECT_EQ(impacts.size(), 4U);
    EXPECT_LT((s.v - Vector::Unit(5, 4)).norm(), 1e-9);
    EXPECT_NEAR(s.q[4], 4.75, 1e-9);
  }
  o.stepper.restitution_law = RestitutionLaw::poisson;
  o.stepper.impact_order = ImpactOrder::simultaneous;
  const State s = run(cradle, cradle.start(), o, 3, 0.1);
  Vector expected(5);
  expected << 1 - 2 * 0.8, 0.4, 0.4, 0.4, 0.4;
  EXPECT_LT((s.v - expected).norm(), 1e-9) << s.v.transpose();
  EXPECT_NEAR(s.v.sum(), 1, 1e-12);
  EXPECT_NEAR(s.v.squaredNorm(), 1, 1e-9);
}

/// A rod in a plane (x, y, θ) that meets the floor with its lower end: normal and tangential
/// inertia are coupled.
class FallingRod final : public RowSystem {
 public:
  double friction = 0.3, restitution = 0.6, inclination = 0.7;

  FallingRod() : RowSystem(3) {}
  State start(double along, double down) const {
    State s;
    s.q = Vec3(0, std::sin(inclination) + 1e-3, inclination);
    s.v = Vec3(along, -down, 0);
    return s;
  }

 protected:
  Matrix mass() const override { return Vec3(1, 1, 1.0 / 3).asDiagonal(); }  // length two
  Vector load() const override { return Vec3::Zero(); }
  std::vector<Law> laws() const override {
    return {{.kind = LawKind::coulomb,
             .dim = 2,
             .friction = friction,
             .restitution = restitution,
             .recovery = Recovery::linear}};
  }
  void row(const Vector& q, int /*block*/, int r, Row& out) const override {
    const double c = std::cos(q[2]), s = std::sin(q[2]);
    if (r == 0) {
      out.g = q[1] - s;
      out.J << 0, 1, -c;
    } else {
      out.J << 1, 0, s;
    }
  }
};

/// E. J. Routh's impact with Poisson's hypothesis: impulses grow along friction's line until slip
/// stops, then along the line of sticking where that is inside the cone, or of reverse slip, until
/// the normal impulse is (1 + e) times that of greatest compression. u = W p + u⁻, integrated in
/// steps.
struct Routh {
  double normal = 0, tangential = 0, reversed = 0;
};

Routh routh(const Eigen::Matrix2d& W, const Eigen::Vector2d& before, double mu, double e) {
  Eigen::Vector2d p = Eigen::Vector2d::Zero(), u = before;
  const int pieces = 400000;
  const double dp = 5 * std::abs(before[0]) / W(0, 0) / pieces;
  double end = 0;
  Routh out;
  for (int k = 0; k < 4 * pieces; ++k) {
    double friction = -mu * (u[1] > 0 ? 1 : -1);
    const double sticking = -W(1, 0) / W(1, 1);
    if (std::abs(u[1]) <= 2 * dp * (std::abs(W(1, 0)) + mu * W(1, 1))) {
      if (std::abs(sticking) <= mu) {
        friction = sticking;
      } else {
        friction = sticking > 0 ? mu : -mu;
        out.reversed = 1;
      }
    }
    p += dp * Eigen::Vector2d(1, friction);
    u = before + W * p;
    if (end == 0 && u[0] >= 0) end = (1 + e) * p[0];
    if (end > 0 && p[0] >= end) break;
  }
  out.normal = p[0];
  out.tangential = p[1];
  return out;
}

/// Of the rod: u = W p + u⁻ along normal and tangent.
Eigen::Matrix2d yielding(const FallingRod& rod) {
  const double c = std::cos(rod.inclination), s = std::sin(rod.inclination);
  Eigen::Matrix2d W;
  W << 1 + 3 * c * c, -3 * c * s, -3 * c * s, 1 + 3 * s * s;
  return W;
}

struct RodImpact {
  Eigen::Vector2d impulse;
  double energy = 0, compression = 0;
};

RodImpact rod_impact(const FallingRod& rod, double along, const SimulationOptions& o) {
  std::vector<TrapezoidalLcpStepper::Impact> impacts;
  const State end = run(rod, rod.start(along, 1), o, 1, 0.01, &impacts);
  EXPECT_EQ(impacts.size(), 1U);
  const double c = std::cos(rod.inclination), s = std::sin(rod.inclination);
  const Eigen::Vector2d after(end.v[1] - c * end.v[2], end.v[0] + s * end.v[2]);
  return {yielding(rod).inverse() * (after - Eigen::Vector2d(-1, along)), impacts.at(0).energy,
          impacts.at(0).compression};
}

// With friction bounded by all of the normal impulse the two phases are Routh's wherever the slip
// keeps its direction through both, or sticks from some time on within the first; where it stops or
// turns in between, each phase only knows the slip that it ends with.
TEST(TrapezoidalLcp, FrictionalImpactsAreRouthsWhileTheSlipKeepsItsDirection) {
  SimulationOptions o = trapezoidal();
  o.stepper.restitution_friction = RestitutionFriction::total;
  FallingRod rod;
  const Eigen::Matrix2d W = yielding(rod);
  struct Case {
    double along, friction;
    bool agrees;
  };
  for (const Case& k : {Case{4, 0.3, true}, Case{-6, 0.3, true}, Case{-4, 0.1, true}}) {
    rod.friction = k.friction;
    const RodImpact found = rod_impact(rod, k.along, o);
    const Routh exact = routh(W, Eigen::Vector2d(-1, k.along), k.friction, rod.restitution);
    EXPECT_EQ(exact.reversed, 0);
    EXPECT_NEAR(found.impulse[0], exact.normal, 1e-4 * exact.normal) << k.along;
    EXPECT_NEAR(found.impulse[1], exact.tangential, 2e-4 * exact.normal) << k.along;
    EXPECT_LE(found.compression, 0);
  }
}

// Where the slip stops or turns within the impact, each phase knows only the slip that it ends with
// and its friction is that of the last part all along: not Routh's impulses. How far off, with the
// energies, for the table of docs/steppers/trapezoidal-lcp.md. What must hold: compression gains no
// energy, friction stays in its cone, and Newton's law gains none in all.
TEST(TrapezoidalLcp, SlipThatReversesWithinAnImpactIsNotRouths) {
  FallingRod rod;
  rod.inclination = 1.1;
  for (const double friction : {0.1, 0.2, 0.8}) {
    rod.friction = friction;
    const double along = 0.2;
    const Routh exact = routh(yielding(rod), Eigen::Vector2d(-1, along), friction, rod.restitution);
    const Eigen::Vector2d u = Eigen::Vector2d(-1, along) +
                              yielding(rod) * Eigen::Vector2d(exact.normal, exact.tangential);
    // Work of impulses on the mean velocity is the change of energy.
    const double energy =
        0.5 * Eigen::Vector2d(exact.normal, exact.tangential).dot(u + Eigen::Vector2d(-1, along));
    const auto write = [&](const char* name, double normal, double tangential, double gain) {
      RecordProperty(fmt::format("{}_{:g}", name, friction),
                     fmt::format("{:.4f} {:.4f} {:.4f}", normal, tangential, gain));
    };
    write("routh", exact.normal, exact.tangential, energy);
    for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
      for (const auto bound : {RestitutionFriction::extra, RestitutionFriction::total}) {
        SimulationOptions o = trapezoidal();
        o.stepper.restitution_law = law;
        o.stepper.restitution_friction = bound;
        const RodImpact found = rod_impact(rod, along, o);
        write(law == RestitutionLaw::newton         ? "newton"
              : bound == RestitutionFriction::extra ? "poisson-extra"
                                                    : "poisson-total",
              found.impulse[0], found.impulse[1], found.energy);
        EXPECT_LE(found.compression, 1e-12);
        EXPECT_LE(std::abs(found.impulse[1]), friction * found.impulse[0] + 1e-9);
        // Sticking to the end, with all of the normal impulse to hold it, is Routh's.
        const bool sticks = law == RestitutionLaw::poisson && exact.reversed == 0;
        if (sticks && bound == RestitutionFriction::total) {
          EXPECT_NEAR(found.impulse[0], exact.normal, 1e-4 * exact.normal);
          EXPECT_NEAR(found.impulse[1], exact.tangential, 2e-4 * exact.normal);
        }
        if (law == RestitutionLaw::newton) {
          EXPECT_LE(found.energy, 1e-9);
        }
      }
    }
  }
}

// T. R. Kane's pendulum-like gain: by Newton's law friction may give energy, which the kernel
// limits; by Poisson's with Routh's bound this impact loses.
TEST(TrapezoidalLcp, ImpactsOfARodReportTheirEnergy) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> along(-3, 3), angle(0.2, 1.3);
  double newton_most = 0, poisson_most = 0;
  for (int trial = 0; trial < 200; ++trial) {
    FallingRod rod;
    rod.inclination = angle(random);
    rod.friction = 0.6;
    const State start = rod.start(along(random), 1);
    for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
      SimulationOptions o = trapezoidal();
      o.stepper.restitution_law = law;
      o.stepper.restitution_friction = RestitutionFriction::total;
      std::vector<TrapezoidalLcpStepper::Impact> impacts;
      run(rod, start, o, 1, 0.002, &impacts);
      for (const auto& impact : impacts) {
        EXPECT_LE(impact.compression, 1e-12);
        double& most = law == RestitutionLaw::newton ? newton_most : poisson_most;
        most = std::max(most, impact.energy);
      }
    }
  }
  RecordProperty("newton_gain", fmt::format("{:.2e}", newton_most));
  RecordProperty("poisson_gain", fmt::format("{:.2e}", poisson_most));
  EXPECT_LE(newton_most, 1e-8);
}

// A block that falls flat on its two corners: both laws throw it up with e.
TEST(TrapezoidalLcp, BlockThatFallsFlatReboundsFromBothCorners) {
  BlockOnCorners block;
  block.friction = 0.4;
  State start;
  start.q = Vec3(0, 0.5 * block.height + 0.1, 0);
  start.v = Vec3(0, -1, 0);
  for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
    SimulationOptions o = trapezoidal();
    o.stepper.restitution_law = law;
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    run(block, start, o, 10, 0.01, &impacts);
    ASSERT_EQ(impacts.size(), 2U);
    const double speed = std::sqrt(1 + 2 * block.gravity * 0.1);
    for (const auto& impact : impacts) {
      EXPECT_NEAR(impact.approach, -speed, 1e-9);
      EXPECT_NEAR(impact.after, 0.5 * speed, 1e-9);
    }
  }
}

// Housner's block (1963): it passes from one corner to the other with the angular momentum about
// the new one kept, ω⁺ = (1 − (3/2) sin²α) ω⁻ where tan α = width/height, and the corner that it
// leaves has no impulse. With e = 0 the two laws are one; with e both give the corner that is hit e
// times its speed, and lose less.
TEST(TrapezoidalLcp, RockingBlockPassesToItsOtherCornerByHousnersRatio) {
  BlockOnCorners block;
  block.width = 0.5;
  block.friction = 5;
  block.gravity = 0;
  const double alpha = std::atan(block.width / block.height);
  const double radius = 0.5 * std::hypot(block.width, block.height);
  const double ratio = 1 - 1.5 * std::pow(std::sin(alpha), 2);
  // Turning about one corner, the other a little above the floor.
  const double tilt = 1e-6, speed = -1;
  State start;
  start.q = Vec3(0, radius * std::cos(alpha - tilt), tilt);
  start.v = Vec3(-speed * radius * std::cos(alpha - tilt), speed * radius * std::sin(alpha - tilt),
                 speed);
  const double inertia = block.inertia() + block.block_mass * radius * radius;
  std::array<double, 2> lost{};
  for (const double e : {0.0, 0.5}) {
    block.restitution = e;
    for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
      SimulationOptions o = trapezoidal();
      o.stepper.restitution_law = law;
      o.stepper.restitution_friction = RestitutionFriction::total;
      std::vector<TrapezoidalLcpStepper::Impact> impacts;
      const State end = run(block, start, o, 1, 1e-5, &impacts);
      ASSERT_EQ(impacts.size(), 1U);
      const auto note = fmt::format("e = {}, law {}", e, static_cast<int>(law));
      const double kinetic = 0.5 * inertia * speed * speed;
      EXPECT_LE(impacts[0].compression, 0) << note;
      EXPECT_NEAR(impacts[0].after, -e * impacts[0].approach, tilt) << note;
      if (e == 0) {
        EXPECT_NEAR(end.v[2], ratio * speed, 1e-5) << note;
        EXPECT_NEAR(impacts[0].energy, -(1 - ratio * ratio) * kinetic, 1e-5 * kinetic) << note;
        lost[0] = -impacts[0].energy;
      } else {
        EXPECT_LT(-impacts[0].energy, lost[0]) << note;
        EXPECT_LE(impacts[0].energy, 1e-12) << note;
      }
      RecordProperty(fmt::format("energy_{:g}_{}", e, static_cast<int>(law)),
                     fmt::format("{:.4f}", impacts[0].energy / kinetic));
    }
  }
}

/// Two masses on a vertical line over a floor, the first below; between them one more row.
class Pair final : public RowSystem {
 public:
  enum class Between { rigid_rod, bounded_motor, limit } between = Between::rigid_rod;
  double restitution = 0.5, lower = 1, upper = 2, length = 1;

  Pair() : RowSystem(2) {}

 protected:
  Matrix mass() const override { return Eigen::Vector2d(lower, upper).asDiagonal(); }
  Vector load() const override { return Vector::Zero(2); }
  std::vector<Law> laws() const override {
    const Law floor{
        .kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear};
    Law law;
    if (between == Between::bounded_motor)
      law = {.kind = LawKind::box, .lower = -3, .upper = 3, .on_velocity = true};
    if (between == Between::limit) law = floor;
    return {floor, law};
  }
  void row(const Vector& q, int block, int /*r*/, Row& out) const override {
    if (block == 0) {
      out.g = q[0];
      out.J[0] = 1;
    } else {  // of the limit the rod is a rope
      out.g = length - (q[1] - q[0]);
      out.J << 1, -1;
    }
  }
};

// What is hit while it hangs on something, without gravity. On a rigid rod both masses turn round
// with e. A motor of bounded force has no impulse: the mass that it holds goes on. Where a rope
// tightens the law is that of two masses: the relative speed turns round with e, and the momentum
// stays.
TEST(TrapezoidalLcp, ImpactsOfJointsMotorsAndLimitsHaveTheirClosedForms) {
  for (const auto law : {RestitutionLaw::poisson, RestitutionLaw::newton}) {
    SimulationOptions o = trapezoidal();
    o.stepper.restitution_law = law;
    Pair pair;
    State start;
    start.q = Eigen::Vector2d(1e-3, 1 + 1e-3);
    start.v = Eigen::Vector2d(-1, -1);
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    State end = run(pair, start, o, 1, 2e-3, &impacts);
    ASSERT_EQ(impacts.size(), 1U);
    EXPECT_LT((end.v - Eigen::Vector2d(0.5, 0.5)).norm(), 1e-10);
    EXPECT_NEAR(impacts[0].energy, -0.5 * 3 * 0.75, 1e-10);
    if (law == RestitutionLaw::poisson) {
      EXPECT_NEAR(impacts[0].compression, -0.5 * 3, 1e-10);
    }

    pair.between = Pair::Between::bounded_motor;
    pair.upper = 1e3;  // so that the motor's force itself does little in the step
    impacts.clear();
    end = run(pair, start, o, 1, 2e-3, &impacts);
    ASSERT_EQ(impacts.size(), 1U);
    EXPECT_NEAR(impacts[0].after, 0.5, 1e-10);
    EXPECT_NEAR(impacts[0].energy, -0.5 * 0.75, 1e-10);
    // After it the motor slips and pulls with what it has, 3 N for 1 ms.
    EXPECT_NEAR(end.v[0], 0.5 - 3e-3, 1e-9);
    EXPECT_NEAR(end.v[1], -1 + 3e-6, 1e-9);

    pair.between = Pair::Between::limit;
    pair.upper = 2;
    start.q = Eigen::Vector2d(0.5, 1.499);
    start.v = Eigen::Vector2d(0, 1);
    impacts.clear();
    end = run(pair, start, o, 1, 2e-3, &impacts);
    ASSERT_EQ(impacts.size(), 1U);
    EXPECT_NEAR(impacts[0].approach, -1, 1e-10);
    EXPECT_NEAR(impacts[0].after, 0.5, 1e-10);
    // 2/3 of all moves on; the relative speed −e.
    EXPECT_NEAR(end.v[1] - end.v[0], -0.5, 1e-10);
    EXPECT_NEAR(pair.lower * end.v[0] + pair.upper * end.v[1], 2, 1e-10);
    EXPECT_NEAR(impacts[0].energy, -0.5 * (2.0 / 3) * 0.75, 1e-10);
  }
}

}  // namespace
}  // namespace urto
