// Joints, springs and an actuator against ADAMS: docs/benchmarks-adams.md has the table.
#include "papers/adams_joints.h"

#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "oracles/pendulum.h"
#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

struct Pendulum {
  Model model = empty_model({0, 0, -9.80665});
  int body = -1;
};

/// A marker of the world and one of the pendulum, both at the joint at the start.
Joint joint_of(Model& m, const AdamsCase& c, int body, const Vec3& on_pendulum, const Vec4& frame) {
  const Mat3 A = rotation_matrix(c.turn);
  const Vec3 arm = A.transpose() * (on_pendulum - m.bodies[body].start.position);
  Joint joint;
  joint.marker_a = add_marker(m, "ground", 0, {c.at, frame});
  joint.marker_b = add_marker(
      m, "pendulum", body, {arm, quaternion_from_matrix(A.transpose() * rotation_matrix(frame))});
  return joint;
}

void add_spring(Model& m, const AdamsCase& c, const Joint& between, Measure measure, double rest,
                int angle) {
  MeasureSpring s;
  s.name = "spring";
  s.marker_a = between.marker_a;
  s.marker_b = between.marker_b;
  s.measure = measure;
  s.rest = rest;
  s.angle_index = angle;
  s.damping.slope = c.damping;
  s.stiffness.user = [k = c.stiffness, k2 = c.nonlinear](double x) {
    return std::array{(k + k2 * std::abs(x)) * x, k + 2 * k2 * std::abs(x)};
  };
  m.forces.emplace_back(s);
}

Pendulum pendulum(const AdamsCase& c) {
  Pendulum p;
  Model& m = p.model;
  const Mat3 A = rotation_matrix(c.turn);
  const Vec3 start = c.body ? *c.body : Vec3(c.at + A * Vec3(2, 0, 0));
  p.body = add_rigid(m, "pendulum", start, 1, c.inertia.asDiagonal());
  m.bodies[p.body].start.rotation = c.turn;
  const auto join_as = [&](JointKind kind) {
    Joint joint = joint_of(m, c, p.body, c.at, c.turn);
    joint.name = std::string(to_string(kind));
    joint.kind = kind;
    return add_joint(m, joint);
  };
  const auto hold_distance = [&] {
    Joint joint = joint_of(m, c, p.body, c.end, Vec4(1, 0, 0, 0));
    joint.name = "distance";
    joint.kind = JointKind::distance;
    joint.length = (c.end - c.at).norm();
    add_joint(m, joint);
  };
  switch (c.link) {
    case AdamsLink::cylindrical:
      join_as(JointKind::cylindrical);
      break;
    case AdamsLink::prismatic:
      join_as(JointKind::prismatic);
      break;
    case AdamsLink::revolute:
      join_as(JointKind::revolute);
      break;
    case AdamsLink::spherical:
      join_as(JointKind::spherical);
      break;
    case AdamsLink::universal:
      join_as(JointKind::universal);
      break;
    case AdamsLink::distance:
      hold_distance();
      break;
    case AdamsLink::actuator: {
      const int slide = join_as(JointKind::prismatic);
      m.bodies[p.body].velocity = c.speed * A.col(2);
      m.motors.push_back(
          {.name = "actuator", .on = {slide, 0}, .value = PolynomialFunction{{0, c.speed}}});
      break;
    }
    case AdamsLink::revolute_spherical: {
      // A massless rod on a hinge, with a ball at its other end: it turns in the hinge's plane.
      hold_distance();
      const Mat3 frame = contact_frame(c.axis.normalized());
      Mat3 world;
      world << frame.col(1), frame.col(2), frame.col(0);
      Joint joint = joint_of(m, c, p.body, c.end, quaternion_from_matrix(world));
      joint.name = "plane";
      joint.kind = JointKind::point_on_plane;
      add_joint(m, joint);
      break;
    }
    case AdamsLink::torsion_spring: {
      const int hinge = join_as(JointKind::revolute);
      add_spring(m, c, m.joints[hinge], coordinates(JointKind::revolute)[0].measure, 0, -1);
      break;
    }
    case AdamsLink::spring:
      add_spring(m, c, joint_of(m, c, p.body, c.end, Vec4(1, 0, 0, 0)),
                 {MeasureKind::distance, 0, 0}, (c.end - c.at).norm(), -1);
      break;
  }
  finalize(m);
  return p;
}

/// What joints and motors pull the ground with at the last step.
Vec3 force_on_ground(const Simulation& run) {
  Vector sum = Vector::Zero(6);
  transpose_multiply_add(run.rows().J, run.impulses(), sum);
  return -sum.head<3>() / run.report().h;
}

struct Differences {
  double position = 0, rotation = 0, force = 0;
};

SimulationOptions extrapolated() {
  SimulationOptions o;
  o.duration = 5;
  o.step = 1e-2;
  o.adaptive = true;
  o.error_tolerance = 1e-7;
  o.max_step = 1e-2;
  return o;
}

SimulationOptions second_order() {
  SimulationOptions o;
  o.duration = 5;
  o.step = 2e-4;
  o.stepper.name = "generalised-alpha";
  return o;
}

constexpr std::array times{4.9, 4.95, 5.0};

/// Calls look(k) at each of the times.
void run_through(Simulation& run, const std::function<void(std::size_t)>& look) {
  run.start();
  for (std::size_t k = 0; k < times.size(); ++k) {
    while (run.advance_to(times[k])) {
    }
    ASSERT_NE(run.run_state(), RunState::failed) << run.failure();
    look(k);
  }
  EXPECT_EQ(run.checkpoint().missed, 0);
}

Differences differences(const AdamsCase& c, const SimulationOptions& options) {
  const Pendulum p = pendulum(c);
  Simulation run(p.model, options);
  Differences out;
  run_through(run, [&](std::size_t k) {
    const Vec3 apart = position(p.model, run.state(), p.body) - c.position[k];
    out.position = std::max(out.position, apart.norm());
  });
  if (c.rotation) {
    const Vec4 q = rotation(p.model, run.state(), p.body);
    out.rotation = rotation_difference(q, c.rotation->normalized()).norm();
  }
  if (c.force) out.force = (force_on_ground(run) - *c.force).norm();
  return out;
}

class AdamsJoints : public ::testing::TestWithParam<std::size_t> {
 protected:
  AdamsCase adams() const { return adams_cases()[GetParam()]; }
};

TEST_P(AdamsJoints, ExtrapolatedStepsEndWhereAdamsDoes) {
  const AdamsCase c = adams();
  const Differences d = differences(c, extrapolated());
  RecordProperty("position", fmt::format("{:.1e}", d.position));
  RecordProperty("rotation", fmt::format("{:.1e}", d.rotation));
  EXPECT_LT(d.position, c.bound.position);
  EXPECT_LT(d.rotation, c.bound.rotation);
}

TEST_P(AdamsJoints, GeneralisedAlphaFindsTheReactionsOfAdams) {
  const AdamsCase c = adams();
  const Differences d = differences(c, second_order());
  RecordProperty("position", fmt::format("{:.1e}", d.position));
  RecordProperty("force", fmt::format("{:.1e}", d.force));
  EXPECT_LT(d.position, c.second_order_bound.position);
  if (!c.force) return;
  EXPECT_LT(d.force, c.second_order_bound.force);
}

/// Where the pendulum is in closed form, if it has one: it swings in a plane, slides, or both. A
/// universal joint lets it swing about the first of its axes only where that lies level.
std::optional<Vec3> exact(const AdamsCase& c, double t) {
  constexpr double g = 9.80665;
  const Vec3 axis = rotation_matrix(c.turn).col(2), down = -Vec3::UnitZ();
  const Vec3 start = c.body ? *c.body : Vec3(c.at + 2 * rotation_matrix(c.turn).col(0));
  const Vec3 slid = 0.5 * g * t * t * down.dot(axis) * axis;
  // Swings through the plane of `out` and `below`, let go at `out`.
  const auto swing = [&](const Vec3& below, double length) {
    const Vec3 out = (start - c.at).normalized();
    if (below.norm() < 1e-12) return start;
    const double angle = oracle::pendulum_angle(t, M_PI / 2, g * below.norm(), length);
    return Vec3(c.at + 2 * (std::sin(angle) * out + std::cos(angle) * below.normalized()));
  };
  const Vec3 across = down - down.dot(axis) * axis;
  const double rod = (4 + 0.1) / 2;  // (m r² + I) / (m r)
  switch (c.link) {
    case AdamsLink::prismatic:
      return start + slid;
    case AdamsLink::actuator:
      return start + c.speed * t * axis;
    case AdamsLink::revolute:
      return swing(across, rod);
    case AdamsLink::cylindrical:
      return swing(across, rod) + slid;
    case AdamsLink::spherical:
      return swing(down, rod);
    case AdamsLink::universal:
      if (c.name == "Universal_Case03") return std::nullopt;
      return swing(down, rod);
    case AdamsLink::distance:
      // A point at the end of a massless rod: the pendulum hangs there by its centre.
      if (c.name != "Distance_Case01") return std::nullopt;
      return swing(down, 2);
    default:
      return std::nullopt;
  }
}

// What ADAMS differs by in the coarser cases is its own error, and the digits that it wrote.
TEST_P(AdamsJoints, ClosedFormsAreKeptWhereAdamsDiffersFromThem) {
  const AdamsCase c = adams();
  if (!exact(c, 0)) GTEST_SKIP() << "no closed form";
  const Pendulum p = pendulum(c);
  Simulation run(p.model, extrapolated());
  double own = 0, theirs = 0;
  run_through(run, [&](std::size_t k) {
    const Vec3 there = *exact(c, times[k]);
    own = std::max(own, (position(p.model, run.state(), p.body) - there).norm());
    theirs = std::max(theirs, (c.position[k] - there).norm());
  });
  RecordProperty("own", fmt::format("{:.1e}", own));
  RecordProperty("adams", fmt::format("{:.1e}", theirs));
  EXPECT_LT(own, 2e-6);
  EXPECT_LT(own, theirs + 1e-12);
}

std::string name_of(const ::testing::TestParamInfo<std::size_t>& at) {
  return adams_cases()[at.param].name;
}

INSTANTIATE_TEST_SUITE_P(Cases, AdamsJoints, ::testing::Range(std::size_t{0}, adams_cases().size()),
                         name_of);

}  // namespace
}  // namespace urto
