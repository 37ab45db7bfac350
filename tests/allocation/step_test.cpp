// The step loop allocates nothing once warm (design §6).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "allocation/counting.h"
#include "stepper/every_law.h"
#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

long allocations_in(Simulation& run, int steps) {
  const long before = allocations_so_far();
  for (int k = 0; k < steps; ++k) EXPECT_TRUE(run.advance());
  return allocations_so_far() - before;
}

TEST(StepAllocation, HundredLinkChainAllocatesNothing) {
  const Model m = rod_chain(100, 0.1, 0.1);
  SimulationOptions o;
  o.duration = 10;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 20);
  EXPECT_EQ(allocations_in(run, 200), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

/// An arm in a soft bearing, on which everything acts that has a force and rows that hold always or
/// yield: bushing, springs along a line and about an axis, drag, a load, a motor that gives a
/// force, a soft one that keeps to a place, a coupling that yields.
Model soft_machine() {
  Model m = empty_model({0, -9.81, 0});
  const Mat3 I = 0.02 * Mat3::Identity();
  const int arm = add_rigid(m, "arm", {0.2, 0, 0}, 1, I);
  const int fork = add_rigid(m, "fork", {0.6, 0, 0}, 0.5, I);
  const int wheel = add_rigid(m, "wheel", {1, 0, 0}, 0.3, I);
  const int bearing = join(m, "bearing", JointKind::revolute, 0, arm, {0, 0, 0});
  m.joints[bearing].softness = {.stiffness = 1e4, .damping = 20};
  const int cross = join(m, "cross", JointKind::universal, arm, fork, {0.4, 0, 0});
  const int axle = join(m, "axle", JointKind::cylindrical, fork, wheel, {0.8, 0, 0});
  m.motors.push_back({.name = "turn",
                      .on = {axle, 0},
                      .value = HarmonicFunction{.amplitude = 0.2, .frequency = 1},
                      .softness = {.stiffness = 50, .damping = 1}});
  m.motors.push_back(
      {.name = "push", .on = {axle, 1}, .mode = MotorMode::force, .value = ConstantFunction{0.3}});
  m.couplings.push_back({.name = "gear",
                         .coordinates = {{bearing, 0}, {cross, 0}},
                         .factors = {1, 0.5},
                         .softness = {.stiffness = 200, .damping = 1}});
  MeasureSpring line{.marker_a = add_marker(m, "", 0, {{0.5, 1, 0.2}, identity_quaternion()}),
                     .marker_b = add_marker(m, "", fork, {}),
                     .rest = 0.9,
                     .preload = 0.1};
  line.stiffness.slope = 100;
  line.damping.slope = 1;
  m.forces.emplace_back(line);
  MeasureSpring about = line;
  about.marker_a = m.joints[cross].marker_a;
  about.marker_b = m.joints[cross].marker_b;
  about.measure = coordinates(JointKind::universal)[1].measure;
  about.rest = 0;
  m.forces.emplace_back(about);
  Bushing bushing{.marker_a = add_marker(m, "", 0, {{1, 0, 0}, identity_quaternion()}),
                  .marker_b = add_marker(m, "", wheel, {})};
  bushing.stiffness.setConstant(20);
  bushing.damping.setConstant(0.5);
  m.forces.emplace_back(bushing);
  m.forces.emplace_back(Drag{.body = wheel, .linear = 0.5, .angular = 0.02});
  Load load{.marker = add_marker(m, "", arm, {}), .follows = true};
  load.force[1] = ConstantFunction{2};
  m.forces.emplace_back(load);
  finalize(m);
  return m;
}

TEST(StepAllocation, EveryStepperAllocatesNothingOnChainsAndOnSoftMachines) {
  for (const bool soft : {false, true}) {
    const Model m = soft ? soft_machine() : rod_chain(10, 0.1, 0.1);
    for (const StepperInfo& info : steppers()) {
      // What yields was not looked at there yet.
      if (soft && info.name == "trapezoidal-lcp") continue;
      SimulationOptions o;
      o.stepper.name = info.name;
      o.duration = 10;
      o.step = 1e-4;
      Simulation run(m, o);
      run.start();
      allocations_in(run, 20);
      EXPECT_EQ(allocations_in(run, 50), 0) << info.name << (soft ? " soft" : "");
      EXPECT_EQ(run.checkpoint().missed, 0) << info.name << (soft ? " soft" : "");
    }
  }
}

TEST(StepAllocation, GridOfAThousandBodiesAtRestAllocatesNothing) {
  // 20 × 50 balls side by side on the floor: a thousand contacts, a thousand islands.
  Model m = empty_model();
  add_floor(m);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 50; ++j) add_ball(m, "", {0.25 * i, 0.25 * j, 0.1}, 0.1, 1 + i);
  }
  finalize(m);
  SimulationOptions o;
  o.duration = 10;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 10);
  EXPECT_EQ(run.report().solve.islands, 1000);
  EXPECT_EQ(allocations_in(run, 50), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

// Contacts that press, cubes that slide and come to rest, a rotor with its gyroscopic moments, a
// hanging chain, and the projection after each step.
TEST(StepAllocation, TrapezoidalStepsWithContactsAllocateNothing) {
  Model m = empty_model();
  m.materials[0] = {.friction = 0.4, .restitution = 0.2};
  add_floor(m);
  for (int i = 0; i < 5; ++i) {
    const int cube = add_cube(m, "", {0.5 * i, 0, 0.1}, 0.2, 1);
    m.bodies[cube].velocity = {0, 0.1 * i, 0};
    add_ball(m, "", {0.5 * i, 0.5, 0.1}, 0.1, 1);
  }
  const int rotor = add_rigid(m, "rotor", Vec3(0, 0, 50), 1, Vec3(1, 2, 3).asDiagonal());
  m.bodies[rotor].angular_velocity = {1, 0.3, 0.5};
  finalize(m);
  SimulationOptions o;
  o.stepper.name = "trapezoidal-lcp";
  o.duration = 10;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 200);
  EXPECT_EQ(run.report().active, 25);
  EXPECT_EQ(allocations_in(run, 50), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

// Pairs, rows and islands are dealt to whichever thread is free: none of them may need memory for
// what it did not get so far.
TEST(StepAllocation, TwoThreadsAllocateNothing) {
  Model m = empty_model();
  add_floor(m);
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 50; ++j)
      add_ball(m, "", {0.21 * i + 0.3 * (i / 2), 0.5 * j, 0.1}, 0.1, 1 + i);
  }
  finalize(m);
  SimulationOptions o;
  o.duration = 10;
  o.threads = 2;
  o.contact_envelope = 0.02;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 20);
  EXPECT_EQ(run.report().contacts, 1500 + 750);
  EXPECT_EQ(allocations_in(run, 50), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(StepAllocation, StacksOfTenBodiesAllocateNothing) {
  // A 10 × 10 × 10 grid: a hundred columns of ten, touching.
  Model m = empty_model();
  add_floor(m);
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 10; ++j) {
      for (int k = 0; k < 10; ++k) add_ball(m, "", {0.5 * i, 0.5 * j, 0.1 + 0.2 * k}, 0.1, 1);
    }
  }
  finalize(m);
  SimulationOptions o;
  o.duration = 10;
  o.contact_envelope = 0.005;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 30);
  EXPECT_EQ(allocations_in(run, 20), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(StepAllocation, RollingSpinningSoftAndStickyContactsAllocateNothing) {
  Model m = empty_model({0.3, 0, -9.81});
  m.materials = {
      {.name = "rough", .friction = 0.4, .rolling_friction = 2e-3, .spinning_friction = 1e-3},
      {.name = "soft", .friction = 0.4, .stiffness = 1e6, .damping = 100},
      {.name = "sticky", .friction = 0.4, .cohesion = 2}};
  m.mixing.cohesion = MixingRule::maximum;
  add_floor(m);
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 3; ++k) {
      add_ball(m, "", {0.5 * i, 0, 0.1 + 0.2 * k}, 0.1, 1);
      m.shapes.back().material = (i + k) % 3;
    }
  }
  finalize(m);
  SimulationOptions o;
  o.duration = 10;
  o.contact_envelope = 0.005;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 30);
  EXPECT_EQ(allocations_in(run, 20), 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

// Lattices of 3 × 3 balls coupled by springs, on the floor, in two sizes: H couples their nodes.
Model lattices() {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 6; ++k) {
    const int rows = 2 + k % 2;
    int left = 0;
    for (int n = 0; n < 3 * rows; ++n) {
      const int body = add_ball(m, "", {2.0 * k + 0.31 * (n % 3), 0.3 * (n / 3), 0.1}, 0.1, 1);
      if (n % 3 > 0) {
        MeasureSpring spring;
        spring.marker_a = add_marker(m, "", left, {});
        spring.marker_b = add_marker(m, "", body, {});
        spring.rest = 0.3;
        spring.stiffness.slope = 1000;
        m.forces.push_back(spring);
      }
      left = body;
    }
  }
  finalize(m);
  return m;
}

TEST(StepAllocation, SpringsBetweenBodiesInContactAllocateNothing) {
  const Model m = lattices();
  SimulationOptions o;
  o.duration = 10;
  Simulation run(m, o);
  run.start();
  allocations_in(run, 100);
  EXPECT_EQ(allocations_in(run, 50), 0);
  EXPECT_EQ(run.report().solve.handed_on, 0);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(StepAllocation, NamedSweepsOnEqualIslandsAllocateNothing) {
  Model m = empty_model();
  add_floor(m);
  for (int i = 0; i < 50; ++i) {
    add_ball(m, "", {0.5 * i, 0, 0.1}, 0.1, 1 + i);
    add_ball(m, "", {0.5 * i, 0, 0.3}, 0.1, 1);
  }
  finalize(m);
  for (const char* solver : {"nsgs", "sor", "ssor", "jacobi"}) {
    SimulationOptions o;
    o.duration = 10;
    o.solver.solver = solver;
    o.solver.tolerance = 1e-6;
    Simulation run(m, o);
    run.start();
    allocations_in(run, 20);
    EXPECT_EQ(run.report().solve.handed_on, 50);
    EXPECT_EQ(allocations_in(run, 20), 0) << solver;
    EXPECT_EQ(run.checkpoint().missed, 0) << solver;
  }
}

// Towers of cubes on a tilted floor, each cube ten times as heavy as the one below it: sweeps need
// some tenfold for each storey, so that the higher towers are handed on. Some faces are icy, some
// are soft.
Model towers(int highest, bool mixed) {
  Model m = empty_model({2, 0.3, -9.3});
  m.materials = {{.name = "rough", .friction = 0.4},
                 {.name = "ice", .friction = 0},
                 {.name = "soft", .friction = 0.4, .stiffness = 1e6, .damping = 100}};
  add_floor(m);
  for (int height = 2; height <= highest; ++height) {
    for (int k = 0; k < height; ++k) {
      add_cube(m, "", {0.3 * height, 0.01 * k, 0.05 + 0.1 * k}, 0.1, 0.1 * std::pow(10, k));
      if (mixed) m.shapes.back().material = (height + k) % 3;
    }
  }
  finalize(m);
  return m;
}

struct Repeated {
  int handing_on = 0;  ///< steps that did
  std::set<std::string> methods = {};
};

/// Who sticks and who slides changes from step to step, contacts come and go, and what is new is
/// analysed. So each step of a run is taken again from the same state by the same solver; the
/// fourth time it must allocate nothing.
Repeated take_steps_again(Simulation& run, int steps) {
  Repeated result;
  run.start();
  for (int k = 0; k < steps; ++k) {
    const Checkpoint before = run.checkpoint();
    long count = 0;
    for (int turn = 0; turn < 4; ++turn) {
      run.resume(before);
      count = allocations_in(run, 1);
    }
    if (k > 0) {  // the first step makes what a run remembers
      EXPECT_EQ(count, 0) << "in step " << k;
    }
    const StepSolveReport& solve = run.report().solve;
    if (solve.handed_on == 0) continue;
    ++result.handing_on;
    result.methods.insert(solve.solver);
  }
  return result;
}

/// A rod between stops, one hard and one soft, with dry friction in its hinge; another in a soft
/// bush, driven by a motor that slips and one that keeps up; a ball on rubber, one glued.
Model machine_of_every_law() {
  Model m = model_of_every_law();
  const CoordinateRef hinge = m.limits.front().on;
  Limit soft = m.limits.front();
  soft.upper = std::numeric_limits<double>::infinity();
  soft.lower = -0.25;
  soft.restitution = 0;
  soft.softness = {.stiffness = 1e3, .damping = 2};
  m.limits.push_back(soft);
  Motor strong = m.motors.front();
  strong.on = hinge;
  strong.value = HarmonicFunction{.amplitude = 3, .frequency = 1};
  strong.max_force = 1;
  m.motors.push_back(strong);
  finalize(m);
  return m;
}

TEST(StepAllocation, LimitsFrictionAndMotorsWithABoundAllocateNothing) {
  for (const StepperInfo& info : steppers()) {
    // These allocate where contacts or limits meet: docs/architecture.md, Memory.
    if (!info.contacts || info.name == "trapezoidal-lcp" || info.name == "nonsmooth-alpha")
      continue;
    Model m = machine_of_every_law();
    for (Limit& limit : m.limits) limit.restitution *= info.restitution ? 1 : 0;
    SCOPED_TRACE(info.name);
    SimulationOptions o;
    o.stepper.name = info.name;
    o.duration = 10;
    Simulation run(m, o);
    take_steps_again(run, 400);  // through both stops
  }
}

TEST(StepAllocation, IslandsThatAutoHandsOnAllocateNothing) {
  std::set<std::string> methods;
  int handing_on = 0;  // mostly where faces are soft
  for (const bool mixed : {false, true}) {
    SCOPED_TRACE(mixed);
    const Model m = towers(6, mixed);
    SimulationOptions o;
    o.duration = 10;
    Simulation run(m, o);
    const Repeated repeated = take_steps_again(run, 30);
    handing_on += repeated.handing_on;
    methods.insert(repeated.methods.begin(), repeated.methods.end());
  }
  EXPECT_GE(handing_on, 3);
  const auto ends_with = [&](const char* name) {
    return std::any_of(methods.begin(), methods.end(),
                       [&](const std::string& path) { return path.ends_with(name); });
  };
  EXPECT_TRUE(ends_with("ipm")) << "from sweeps to the interior point";
}

TEST(StepAllocation, NamedSolversOnIslandsAllocateNothing) {
  for (const bool mixed : {false, true}) {
    const Model m = towers(4, mixed);
    for (const char* solver : {"ipm", "prox", "admm", "spg", "apgd"}) {
      SCOPED_TRACE(solver);
      SimulationOptions o;
      o.duration = 10;
      o.solver.solver = solver;
      o.solver.tolerance = 1e-6;
      o.solver.max_iterations = 300;
      Simulation run(m, o);
      const Repeated repeated = take_steps_again(run, 10);
      EXPECT_EQ(repeated.handing_on, 10);
      EXPECT_EQ(repeated.methods, std::set<std::string>{solver});
    }
  }
}

}  // namespace
}  // namespace urto
