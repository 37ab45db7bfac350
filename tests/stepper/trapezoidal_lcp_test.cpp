// The linearly implicit trapezoidal method with contacts, apart from its paper's examples
// (tests/papers/trapezoidal_lcp_test.cpp): orders, impacts, energies, the 3D model. Numbers of
// recipe 002 unless a closed form is given.
#include "urto/stepper/trapezoidal_lcp.h"

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/math/rotation.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

using namespace urto::testing;

SimulationOptions trapezoidal() {
  SimulationOptions o;
  o.stepper.name = "trapezoidal-lcp";
  o.solver.tolerance = 1e-10;
  return o;
}

State run(const System& system, State state, const SimulationOptions& o, int steps, double h,
          std::vector<TrapezoidalLcpStepper::Impact>* impacts = nullptr) {
  TrapezoidalLcpStepper stepper(system, o);
  StepMemory memory;
  StepReport report;
  const double start = state.t;
  for (int k = 0; k < steps; ++k) {
    const StepOutcome outcome = stepper.step(state, h, memory, report);
    EXPECT_EQ(outcome.status, StepStatus::done) << outcome.message;
    EXPECT_TRUE(report.meets_tolerance)
        << report.certificate.residual() << " " << report.solve.message;
    state.t = start + (k + 1) * h;
    if (impacts != nullptr)
      impacts->insert(impacts->end(), stepper.impacts().begin(), stepper.impacts().end());
  }
  return state;
}

/// Energy of a state of any system.
double energy(const System& system, const State& state) {
  SystemAccess access(system);
  const Energies e = access.energies(state);
  return e.kinetic + e.potential;
}

// ---- Orders

// A point mass slides in a bowl of radius one from 60°, g = 9.8: the recipe's gaps at t = 1 for h =
// 2⁻⁵ … 2⁻⁹, without stabilisation.
TEST(TrapezoidalLcp, CurvedContactIsOfSecondOrderWithTheMidpointNormalAndOfFirstWithout) {
  MassInBowl bowl;
  bowl.gravity = 9.8;
  State start;
  start.q = Vec3(std::sin(std::numbers::pi / 3), 0, -0.5);
  start.v = Vec3::Zero();
  SimulationOptions o = trapezoidal();
  o.stepper.drift_control = DriftControl::none;
  const std::array<std::array<double, 5>, 2> gaps{{{-8.4e-2, -4.1e-2, -2.0e-2, -1.0e-2, -5.0e-3},
                                                   {-5.3e-5, -1.3e-5, -3.2e-6, -8.1e-7, -2.0e-7}}};
  for (const bool midpoint : {false, true}) {
    o.stepper.midpoint_rows = midpoint;
    const State fine = run(bowl, start, o, 1 << 12, std::ldexp(1.0, -12));
    double last = 0;
    for (int k = 0; k < 5; ++k) {
      const State s = run(bowl, start, o, 32 << k, std::ldexp(1.0, -5 - k));
      const double gap = 1 - s.q.norm();
      EXPECT_NEAR(gap, gaps[midpoint ? 1 : 0][k], 0.06 * std::abs(gap)) << midpoint << " " << k;
      const double error = std::abs(s.q[0] - fine.q[0]);
      if (k > 1) {
        EXPECT_NEAR(last / error, midpoint ? 4 : 2, midpoint ? 0.3 : 0.35) << k;
      }
      last = error;
    }
  }
}

// The projection holds the mass on the bowl and keeps the order.
TEST(TrapezoidalLcp, ProjectionHoldsACurvedContactToRounding) {
  MassInBowl bowl;
  bowl.gravity = 9.8;
  State start;
  start.q = Vec3(std::sin(std::numbers::pi / 3), 0, -0.5);
  start.v = Vec3::Zero();
  const State fine = run(bowl, start, trapezoidal(), 1 << 11, std::ldexp(1.0, -11));
  double last = 0;
  for (int k = 0; k < 4; ++k) {
    const State s = run(bowl, start, trapezoidal(), 32 << k, std::ldexp(1.0, -5 - k));
    EXPECT_LT(std::abs(1 - s.q.norm()), 1e-11);
    EXPECT_LT(std::abs(s.q.dot(s.v)), 1e-9);
    const double error = (Vector(s.q) - Vector(fine.q)).norm();
    if (k > 0) {
      EXPECT_GT(last / error, 3.4) << k;
    }
    last = error;
  }
}

Model free_body() {
  Model m = empty_model({0, 0, 0});
  const int body = add_rigid(m, "body", Vec3::Zero(), 1, Vec3(1, 2, 3).asDiagonal());
  m.bodies[body].angular_velocity = {1, 0.3, 0.5};
  finalize(m);
  return m;
}

// Recipe 002 §2.11: principal inertias 1, 2, 3, t = 2. The skew Jacobian keeps the energy and is of
// first order, the exact one the other way round.
TEST(TrapezoidalLcp, ExactGyroscopicJacobianIsOfSecondOrderAndTheSkewOneKeepsTheEnergy) {
  const Model m = free_body();
  const RigidSystem system(m);
  const State start = initial_state(m);
  for (const auto forces : {ImplicitForces::exact, ImplicitForces::semidefinite}) {
    SimulationOptions o = trapezoidal();
    o.stepper.implicit_forces = forces;
    o.solver.tolerance = 1e-12;
    SimulationOptions exact = o;
    exact.stepper.implicit_forces = ImplicitForces::exact;
    const Vec3 fine = run(system, start, exact, 1 << 13, std::ldexp(1.0, -12)).v.tail<3>();
    double last = 0;
    for (int k = 0; k < 4; ++k) {
      const State s = run(system, start, o, 32 << k, 2.0 / (32 << k));
      const double error = (s.v.tail<3>() - fine).norm();
      const double ratio = forces == ImplicitForces::exact ? 4 : 2;
      if (k > 0) {
        EXPECT_NEAR(last / error, ratio, 0.1) << k;
      }
      last = error;
      if (forces == ImplicitForces::semidefinite) {
        EXPECT_NEAR(energy(system, s), energy(system, start), 1e-12);
      }
    }
  }
}

// A mass matrix that depends on the configuration: taken half a step ahead it costs no order.
TEST(TrapezoidalLcp, MassOfTheConfigurationHalfAStepAheadIsOfSecondOrder) {
  const CartPendulum cart;
  State start;
  start.q = Eigen::Vector2d(0, 1.2);
  start.v = Eigen::Vector2d(0.3, 0);
  for (const bool midpoint : {true, false}) {
    SimulationOptions o = trapezoidal();
    o.stepper.midpoint_rows = midpoint;
    SimulationOptions finer = o;
    finer.stepper.midpoint_rows = true;
    const State fine = run(cart, start, finer, 4096, 1.0 / 4096);
    double last = 0;
    for (int k = 0; k < 4; ++k) {
      const double error =
          (Vector(run(cart, start, o, 32 << k, 1.0 / (32 << k)).q) - Vector(fine.q)).norm();
      if (k > 1) {
        EXPECT_NEAR(last / error, midpoint ? 4 : 2, 0.4) << midpoint << " " << k;
      }
      last = error;
    }
  }
}

// A mass on a rod, one second: off its circle by O(h²) where nothing is done,
// by rounding with the projection, in between with half of the error in the rows; each keeps its
// energy to second order.
TEST(TrapezoidalLcp, DriftOfEachTreatment) {
  class Hung final : public RowSystem {
   public:
    Hung() : RowSystem(2) {}

   protected:
    Matrix mass() const override { return Matrix::Identity(2, 2); }
    Vector load() const override { return Eigen::Vector2d(0, -9.8); }
    std::vector<Law> laws() const override { return {{}}; }
    void row(const Vector& q, int /*block*/, int /*r*/, Row& out) const override {
      out.g = 0.5 * (q.squaredNorm() - 1);
      out.J = q;
      out.turning = Matrix::Identity(2, 2);
    }
  } hung;
  State start;
  start.q = Eigen::Vector2d(std::sin(1.0), -std::cos(1.0));
  start.v = Vector::Zero(2);
  for (const auto control :
       {DriftControl::none, DriftControl::right_hand_side, DriftControl::projection}) {
    SimulationOptions o = trapezoidal();
    o.stepper.drift_control = control;
    std::array<double, 2> drift{}, gain{};
    for (int k = 0; k < 2; ++k) {
      State s = start;
      for (int part = 0; part < 8; ++part) {
        s = run(hung, s, o, 8 << k, 1.0 / (64 << k));
        drift[k] = std::max(drift[k], std::abs(s.q.norm() - 1));
        gain[k] = std::max(gain[k], std::abs(energy(hung, s) - energy(hung, start)));
      }
    }
    const auto note = fmt::format("{}: {:.1e} {:.1e}, {:.1e} {:.1e} J", static_cast<int>(control),
                                  drift[0], drift[1], gain[0], gain[1]);
    RecordProperty(fmt::format("control{}", static_cast<int>(control)), note);
    if (control == DriftControl::projection) {
      EXPECT_LT(drift[0], 1e-11) << note;
    } else {
      EXPECT_GT(drift[0] / drift[1], 3.3) << note;
      EXPECT_LT(drift[0], 2e-3) << note;
    }
    EXPECT_TRUE(gain[0] < 1e-9 || gain[0] / gain[1] > 3.3) << note;
  }
}

// ---- Impacts

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

// With friction bounded by all of the normal impulse the two phases are Routh's wherever the slip
// keeps its direction through both, or sticks from some time on within the first; where it stops or
// turns in between, each phase only knows the slip that it ends with.
TEST(TrapezoidalLcp, FrictionalImpactsAreRouthsWhileTheSlipKeepsItsDirection) {
  SimulationOptions o = trapezoidal();
  o.stepper.restitution_friction = RestitutionFriction::total;
  FallingRod rod;
  const double c = std::cos(rod.inclination), s = std::sin(rod.inclination);
  Eigen::Matrix2d W;
  W << 1 + 3 * c * c, -3 * c * s, -3 * c * s, 1 + 3 * s * s;
  const Eigen::Matrix2d inverse = W.inverse();
  struct Case {
    double along, friction;
    bool agrees;
  };
  for (const Case& k : {Case{4, 0.3, true}, Case{-6, 0.3, true}, Case{-4, 0.1, true}}) {
    rod.friction = k.friction;
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    const State end = run(rod, rod.start(k.along, 1), o, 1, 0.01, &impacts);
    ASSERT_EQ(impacts.size(), 1U);
    const Eigen::Vector2d before(-1, k.along);
    const Eigen::Vector2d after(end.v[1] - c * end.v[2], end.v[0] + s * end.v[2]);
    const Eigen::Vector2d impulse = inverse * (after - before);
    const Routh exact = routh(W, before, k.friction, rod.restitution);
    EXPECT_NEAR(impulse[0], exact.normal, 1e-4 * exact.normal) << k.along;
    EXPECT_NEAR(impulse[1], exact.tangential, 2e-4 * exact.normal) << k.along;
    EXPECT_LE(impacts[0].compression, 0);
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

// ---- The 3D model

// A cube slides on a rough floor and stops: v²/(2μg) further on, friction by the circle and by
// polygons with a corner along the motion.
TEST(TrapezoidalLcp, CubeStopsAtItsBrakingDistance) {
  for (const int edges : {0, 4, 8}) {
    Model m = empty_model();
    m.materials[0] = {.friction = 0.3};
    add_floor(m);
    const int cube = add_cube(m, "cube", {0, 0, 0.5}, 1, 2);
    m.bodies[cube].velocity = {2, 0, 0};
    finalize(m);
    SimulationOptions o = trapezoidal();
    o.solver.tolerance = 1e-8;
    if (edges > 0) {
      o.stepper.friction_bound = FrictionBound::polygon;
      o.stepper.friction_edges = edges;
    }
    o.duration = 1;
    o.step = 5e-3;
    Simulation run(m, o);
    run.start();
    while (run.advance()) EXPECT_TRUE(run.report().meets_tolerance) << run.report().solve.message;
    const double way = 4 / (2 * 0.3 * 9.81);
    EXPECT_NEAR(position(m, run.state(), cube).x(), way, 3e-5) << edges;
    EXPECT_NEAR(position(m, run.state(), cube).z(), 0.5, 1e-7) << edges;
    EXPECT_LT(run.state().v.norm(), 1e-6) << edges;
    EXPECT_LT(std::abs(run.energy().unexplained()), 1e-6) << edges;
  }
}

// Balls on a pile, hinged rods beside it: steps are certified and nothing falls through the floor.
TEST(TrapezoidalLcp, PileOfBallsComesToRestOnTheFloor) {
  Model m = empty_model();
  m.materials[0] = {.friction = 0.4, .restitution = 0.2};
  add_floor(m);
  std::mt19937 random(8);
  std::uniform_real_distribution<double> shift(-0.05, 0.05);
  for (int k = 0; k < 12; ++k)
    add_ball(
        m, fmt::format("ball-{}", k),
        {0.3 * (k % 2) + shift(random), 0.3 * (k / 2 % 2) + shift(random), 0.2 + 0.25 * (k / 4)},
        0.1, 1);
  finalize(m);
  SimulationOptions o = trapezoidal();
  o.solver.tolerance = 1e-7;
  o.duration = 1;
  o.step = 5e-3;
  Simulation run(m, o);
  run.start();
  double start = energy(run.system(), run.state());
  while (run.advance()) {
  }
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_LE(run.checkpoint().missed, run.checkpoint().steps / 20);
  EXPECT_LT(run.checkpoint().worst_penetration, 1e-3);
  EXPECT_LT(energy(run.system(), run.state()), start);
  for (int k = 0; k < 12; ++k) EXPECT_GT(run.state().q[7 * k + 2], 0.1 - 1e-3);
}

// Theorem 8.1: with springs, impacts and gyroscopic terms the kinetic energy stays below a bound
// that does not depend on h.
TEST(TrapezoidalLcp, EnergyOfRandomSystemsStaysBoundedAsTheStepGoesToZero) {
  std::mt19937 random(21);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int trial = 0; trial < 6; ++trial) {
    Model m = empty_model();
    m.materials[0] = {.friction = uniform(0, 0.6), .restitution = uniform(0, 0.8)};
    add_floor(m);
    for (int k = 0; k < 3; ++k) {
      const int body =
          add_cube(m, fmt::format("cube-{}", k), {0.8 * k, uniform(-0.2, 0.2), uniform(0.5, 0.9)},
                   0.4, uniform(0.5, 3));
      m.bodies[body].inertia.diagonal() *= 1;
      m.bodies[body].inertia(0, 0) *= 1.4;
      m.bodies[body].inertia(2, 2) *= 0.8;
      m.bodies[body].velocity = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
      m.bodies[body].angular_velocity = {uniform(-4, 4), uniform(-4, 4), uniform(-4, 4)};
    }
    finalize(m);
    for (const double h : {1e-2, 5e-3, 2.5e-3}) {
      SimulationOptions o = trapezoidal();
      o.solver.tolerance = 1e-8;
      o.step = h;
      o.duration = 0.5;
      Simulation run(m, o);
      run.start();
      const double start = energy(run.system(), run.state());
      double most = start;
      while (run.advance()) most = std::max(most, energy(run.system(), run.state()));
      EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
      EXPECT_LT(most, 1.02 * start) << trial << " " << h;
    }
  }
}

// A step that ends at an impact says so, and what of.
TEST(TrapezoidalLcp, StepsEndAtImpactsWhereThatIsWanted) {
  BouncingBall ball;
  State state;
  state.q = Vector::Constant(1, 1 + ball.radius);
  state.v = Vector::Zero(1);
  SimulationOptions o = trapezoidal();
  o.stepper.end_at_impacts = true;
  TrapezoidalLcpStepper stepper(ball, o);
  StepMemory memory;
  StepReport report;
  const StepOutcome outcome = stepper.step(state, 1, memory, report);
  EXPECT_EQ(outcome.status, StepStatus::event);
  EXPECT_NEAR(outcome.t, std::sqrt(0.2), 1e-12);
  EXPECT_EQ(outcome.t, state.t);
  EXPECT_GT(state.v[0], 0);
  EXPECT_NE(outcome.event.find("impact"), std::string::npos);
  EXPECT_EQ(stepper.step(state, 0.1, memory, report).status, StepStatus::done);
}

}  // namespace
}  // namespace urto
