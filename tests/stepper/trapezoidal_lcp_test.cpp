// The linearly implicit trapezoidal method with contacts, apart from its paper's examples
// (tests/papers/trapezoidal_lcp_test.cpp) and impacts (trapezoidal_impact_test.cpp): orders,
// energies, theorems, the 3D model. Numbers of recipe 002 unless a closed form is given.
#include "urto/stepper/trapezoidal_lcp.h"

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/trapezoidal_runs.h"
#include "urto/math/rotation.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

using namespace urto::testing;

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

// ---- Theorems

// The linear test equation v' = λv and the oscillator: R(z) = (1 + z/2)/(1 − z/2) whatever z, so
// that |R(∞)| = 1 (recipe 002 §2.1).
TEST(TrapezoidalLcp, StabilityFunctionIsThatOfTheTrapezoidalRule) {
  const auto one = [](double x) { return Matrix::Constant(1, 1, x); };
  State start;
  start.q = Vector::Constant(1, 0.3);
  start.v = Vector::Constant(1, 0.7);
  for (const double z : {0.01, 0.5, 2.0, 7.0, 1e3, 1e9}) {
    const LinearSystem damped(one(2), one(2 * z), one(0), Vector::Zero(1));
    const double v = run(damped, start, trapezoidal(), 1, 1).v[0];
    EXPECT_NEAR(v / 0.7, (1 - z / 2) / (1 + z / 2), 1e-13) << z;
    // q + iv/ω turns by twice the angle of 1 − iz/2.
    const LinearSystem spring(one(2), one(0), one(2 * z * z), Vector::Zero(1));
    const State s = run(spring, start, trapezoidal(), 1, 1);
    const std::complex<double> before(0.3, 0.7 / z), after(s.q[0], s.v[0] / z);
    const std::complex<double> half(1, -z / 2);
    EXPECT_LT(std::abs(after - before * half / std::conj(half)), 1e-13 * std::abs(before)) << z;
  }
}

/// By which power of two the error of one step falls when it is halved.
template <class Error>
double local_order(const Error& error) {
  return std::log2(error(0.01) / error(0.005));
}

// Recipe 002 §2.1, errors of one step. M constant: h³ with the exact Jacobian; without one h² of v
// and, because the position still has the mean velocity, h³ of q. M(q): at the start of the step h²
// of v, half a step ahead h³.
TEST(TrapezoidalLcp, LocalErrorsAreThoseOfTheTable) {
  PointSystem swing;
  swing.add_point(1);
  swing.springs.push_back(
      {.a = {.point = 0}, .b = {}, .length = 0.8, .stiffness = 50, .damping = 2});
  State at;
  at.q = Vec3(0.6, -0.7, 0.1);
  at.v = Vec3(0.5, 1, -0.4);
  const CartPendulum cart;
  State leaning;
  leaning.q = Eigen::Vector2d(0, 1.2);
  leaning.v = Eigen::Vector2d(0.3, 0.8);
  struct Case {
    const System& system;
    const State& start;
    ImplicitForces forces;
    bool midpoint;
    double order_of_q, order_of_v;
  };
  const Case cases[] = {{swing, at, ImplicitForces::exact, true, 3, 3},
                        {swing, at, ImplicitForces::none, true, 3, 2},
                        {swing, at, ImplicitForces::semidefinite, true, 3, 2},
                        {cart, leaning, ImplicitForces::exact, true, 3, 3},
                        {cart, leaning, ImplicitForces::exact, false, 3, 2}};
  for (const Case& c : cases) {
    SimulationOptions o = trapezoidal();
    o.stepper.implicit_forces = c.forces;
    o.stepper.midpoint_rows = c.midpoint;
    const auto error = [&](double h, bool of_v) {
      const State rough = run(c.system, c.start, o, 1, h);
      const State fine = run(c.system, c.start, trapezoidal(), 400, h / 400);
      return of_v ? (rough.v - fine.v).norm() : (Vector(rough.q) - Vector(fine.q)).norm();
    };
    const auto note = fmt::format("forces {} midpoint {}", static_cast<int>(c.forces), c.midpoint);
    EXPECT_NEAR(local_order([&](double h) { return error(h, false); }), c.order_of_q, 0.15) << note;
    EXPECT_NEAR(local_order([&](double h) { return error(h, true); }), c.order_of_v, 0.15) << note;
  }
}

struct RandomCart {
  CartsAtStopper::Data data;
  State start;
  double h = 0;
};

// Floors pressed, the stopper out of reach of the step.
RandomCart random_cart(std::mt19937& random, bool at_equilibrium) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  RandomCart out;
  out.data = {.spring = std::pow(10, uniform(0, 12)),
              .damper = std::pow(10, uniform(0, 12)),
              .friction = uniform(0, 0.8)};
  out.h = std::pow(10, uniform(-4, 0));
  const double stretch = at_equilibrium ? 0 : uniform(-1, 1) / std::sqrt(out.data.spring);
  out.start = CartsAtStopper::start(out.data.equilibrium + stretch, 0);
  out.start.v[0] = uniform(0, 2);
  out.start.v[2] = uniform(-2, 2);
  return out;
}

// Theorem 9.1 with what dampers take (recipe 002 §2.12), for one step of any length and stiffness,
// friction acting; of springs at equilibrium corollary 9.2: a bound that no stiffness is in.
TEST(TrapezoidalLcp, EnergyInequalityOfAStepHoldsForEveryStiffness) {
  std::mt19937 random(91);
  SimulationOptions o = trapezoidal();
  o.stepper.drift_control = DriftControl::none;
  o.stepper.friction_bound = FrictionBound::polygon;
  o.solver.tolerance = 1e-11;
  int looked_at = 0;
  double closest = 1;
  for (int trial = 0; trial < 400; ++trial) {
    const bool at_equilibrium = trial % 2 == 0;
    const RandomCart c = random_cart(random, at_equilibrium);
    const CartsAtStopper system(c.data);
    std::vector<TrapezoidalLcpStepper::Impact> impacts;
    const State end = run(system, c.start, o, 1, c.h, &impacts);
    if (!impacts.empty()) continue;
    ++looked_at;
    const Vector s = c.start.v + end.v;
    const Vector load = Eigen::Vector4d(0, -c.data.gravity, 0, -c.data.gravity);
    const Vector w1 = end.v - 0.5 * c.h * load, w2 = c.start.v + 0.5 * c.h * load;
    const double phi = c.start.q[0] - c.data.equilibrium;
    const double after = w1.squaredNorm() + c.data.spring * std::pow(phi + 0.5 * c.h * s[0], 2) +
                         0.5 * c.h * c.data.damper * std::pow(s[2] - s[0], 2);
    const double before = w2.squaredNorm() + c.data.spring * phi * phi;
    EXPECT_LE(after, before * (1 + 1e-9)) << trial;
    closest = std::min(closest, 1 - after / before);
    if (at_equilibrium) {
      EXPECT_LE(w1.norm(), w2.norm() * (1 + 1e-9)) << trial;
    }
  }
  EXPECT_GT(looked_at, 200);
  RecordProperty("closest", fmt::format("{:.1e}", closest));
}

// Theorem 9.3: what spring and damper do in one step tends to the multipliers of rigid links, c_γ =
// −¼h²γ∇φᵀs and c_δ = −½hδ∇ψᵀs (recipe 002 §2.13), by O(1/stiffness). Without friction: where
// links hold a cart that also sticks, who holds it is not unique.
TEST(TrapezoidalLcp, ForcesOfStiffLinksTendToTheMultipliersOfRigidOnes) {
  const double h = 0.01;
  SimulationOptions o = trapezoidal();
  o.stepper.drift_control = DriftControl::none;
  o.stepper.friction_bound = FrictionBound::polygon;
  o.solver.tolerance = 1e-12;
  State start = CartsAtStopper::start(0.2, 0);
  start.v[0] = 0.3;
  start.v[2] = -0.7;
  const CartsAtStopper links({.friction = 0, .rigid = true});
  TrapezoidalLcpStepper stepper(links, o);
  StepMemory memory;
  StepReport report;
  State end = start;
  ASSERT_EQ(stepper.step(end, h, memory, report).status, StepStatus::done);
  const Eigen::Vector2d rigid = stepper.impulses().tail<2>();
  EXPECT_GT(rigid.cwiseAbs().minCoeff(), 0.1);
  double last = 0;
  for (const double stiffness : {1e6, 1e7, 1e8, 1e9}) {
    const CartsAtStopper soft({.spring = 100 * stiffness, .damper = stiffness, .friction = 0});
    const Vector s = start.v + run(soft, start, o, 1, h).v;
    const Eigen::Vector2d forces(-0.25 * h * h * 100 * stiffness * s[0],
                                 -0.5 * h * stiffness * (s[2] - s[0]));
    const double off = (forces - rigid).norm();
    if (last > 0) {
      EXPECT_NEAR(last / off, 10, 0.5) << stiffness;
    }
    last = off;
  }
  EXPECT_LT(last, 1e-5);
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
