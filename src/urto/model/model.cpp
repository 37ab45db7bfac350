#include "urto/model/model.h"

#include <cmath>
#include <numbers>

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

std::string item(std::string_view kind, std::string_view name, std::size_t index) {
  return name.empty() ? fmt::format("{} {}", kind, index) : fmt::format("{} '{}'", kind, name);
}

void check_index(const std::string& where, std::string_view what, int found, std::size_t count) {
  if (found < 0 || static_cast<std::size_t>(found) >= count) {
    throw InputError(fmt::format("{}: {}", where, what), std::to_string(found),
                     fmt::format("an index from 0 to {}", static_cast<long>(count) - 1));
  }
}

void check_finite(const std::string& where, std::string_view what,
                  const Eigen::Ref<const Vector>& x) {
  if (!x.allFinite()) {
    throw InputError(fmt::format("{}: {}", where, what), "a value that is not finite",
                     "finite numbers");
  }
}

void check_at_least(const std::string& where, std::string_view what, double found, double least) {
  if (!(found >= least)) {
    throw InputError(fmt::format("{}: {}", where, what), fmt::format("{}", found),
                     fmt::format("at least {}", least));
  }
}

void check_inertia(const std::string& where, const Mat3& inertia) {
  if (!inertia.allFinite())
    throw InputError(where + ": inertia", "a value that is not finite", "finite numbers");
  const double largest = inertia.cwiseAbs().maxCoeff();
  if ((inertia - inertia.transpose()).cwiseAbs().maxCoeff() > 1e-9 * largest) {
    throw InputError(where + ": inertia", "a matrix that is not symmetric", "a symmetric one");
  }
  const Vec3 principal =
      Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  const auto list = fmt::format("principal moments {:.6g}, {:.6g}, {:.6g}", principal[0],
                                principal[1], principal[2]);
  if (!(principal[0] > 0)) throw InputError(where + ": inertia", list, "three positive ones");
  // I₁ + I₂ ≥ I₃ holds for every distribution of mass; equality is a flat plate, so allow rounding.
  if (principal[0] + principal[1] < principal[2] * (1 - 1e-6)) {
    throw InputError(where + ": inertia", list,
                     "the largest at most the sum of the others (no solid has this inertia)");
  }
}

void finalize_bodies(Model& model) {
  model.slots = 0;
  model.layout = {};
  model.slot_body.clear();
  for (std::size_t k = 0; k < model.bodies.size(); ++k) {
    Body& body = model.bodies[k];
    const std::string where = item("body", body.name, k);
    check_finite(where, "position", body.start.position);
    check_finite(where, "rotation", body.start.rotation);
    check_finite(where, "velocity", body.velocity);
    check_finite(where, "angular velocity", body.angular_velocity);
    if (body.start.rotation.norm() == 0)
      throw InputError(where + ": rotation", "a zero quaternion", "one that is not zero");
    body.start.rotation = normalize(body.start.rotation);
    body.slot = -1;
    if (body.kind == BodyKind::kinematic) {
      check_finite(where, "motion axis", body.motion.axis);
      if (body.motion.axis.norm() == 0)
        throw InputError(where + ": motion axis", "a zero vector", "a direction");
      body.motion.axis.normalize();
    }
    if (body.kind != BodyKind::dynamic) continue;
    if (!(body.mass > 0) || !std::isfinite(body.mass)) {
      throw InputError(where + ": mass", fmt::format("{}", body.mass), "a positive number (kg)");
    }
    check_inertia(where, body.inertia);
    body.slot = model.slots++;
    model.layout.add_pose();
    model.slot_body.push_back(static_cast<int>(k));
  }
}

void check_coordinate(const Model& model, const std::string& where, const CoordinateRef& c) {
  check_index(where, "joint", c.joint, model.joints.size());
  check_index(where, "coordinate", c.coordinate, coordinates(model.joints[c.joint].kind).size());
}

void check_softness(const std::string& where, const Softness& s) {
  if (!(s.stiffness > 0))
    throw InputError(where + ": stiffness", fmt::format("{}", s.stiffness), "a positive number");
  check_at_least(where, "damping", s.damping, 0);
}

void finalize_joints(Model& model) {
  model.angle_count = 0;
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    Joint& joint = model.joints[k];
    const std::string where = item("joint", joint.name, k);
    check_index(where, "marker a", joint.marker_a, model.markers.size());
    check_index(where, "marker b", joint.marker_b, model.markers.size());
    const int a = model.markers[joint.marker_a].body;
    const int b = model.markers[joint.marker_b].body;
    if (a == b) {
      throw InputError(where, fmt::format("both markers on body '{}'", model.bodies[a].name),
                       "two bodies");
    }
    if (joint.kind == JointKind::distance && !(joint.length > 0)) {
      throw InputError(where + ": length", fmt::format("{}", joint.length),
                       "a positive distance (m)");
    }
    check_softness(where, joint.softness);
    joint.first_angle = model.angle_count;
    for (const JointCoordinate& c : coordinates(joint.kind))
      model.angle_count += c.is_angle ? 1 : 0;
  }
}

void check_joint_laws(const Model& model) {
  for (std::size_t k = 0; k < model.couplings.size(); ++k) {
    const Coupling& c = model.couplings[k];
    const std::string where = item("coupling", c.name, k);
    if (c.coordinates.empty() || c.coordinates.size() != c.factors.size()) {
      throw InputError(
          where,
          fmt::format("{} coordinates and {} factors", c.coordinates.size(), c.factors.size()),
          "as many of both, at least one");
    }
    for (const CoordinateRef& ref : c.coordinates) check_coordinate(model, where, ref);
    check_softness(where, c.softness);
  }
  for (std::size_t k = 0; k < model.motors.size(); ++k) {
    const Motor& m = model.motors[k];
    const std::string where = item("motor", m.name, k);
    check_coordinate(model, where, m.on);
    check_at_least(where, "max_force", m.max_force, 0);
    check_softness(where, m.softness);
    if (std::isfinite(m.softness.stiffness) && m.mode != MotorMode::position) {
      throw InputError(where + ": stiffness", "compliance of a motor that holds no position",
                       "mode \"position\"");
    }
    if (std::isfinite(m.max_force) && m.mode != MotorMode::speed) {
      throw InputError(where + ": max_force", "a bound on a motor that is not a speed motor",
                       "mode \"speed\"");
    }
  }
  for (std::size_t k = 0; k < model.limits.size(); ++k) {
    const Limit& l = model.limits[k];
    const std::string where = item("limit", l.name, k);
    check_coordinate(model, where, l.on);
    if (!(l.lower <= l.upper)) {
      throw InputError(where, fmt::format("lower {} and upper {}", l.lower, l.upper),
                       "lower ≤ upper");
    }
    if (!(l.restitution >= 0 && l.restitution <= 1)) {
      throw InputError(where + ": restitution", fmt::format("{}", l.restitution),
                       "a number from 0 to 1");
    }
    check_softness(where, l.softness);
  }
  for (std::size_t k = 0; k < model.frictions.size(); ++k) {
    const JointFriction& f = model.frictions[k];
    const std::string where = item("joint friction", f.name, k);
    check_coordinate(model, where, f.on);
    check_at_least(where, "bound", f.bound, 0);
  }
}

void check_increasing(const std::string& where, const std::vector<double>& x,
                      const std::vector<double>& y) {
  if (x.size() != y.size() || x.size() < 2) {
    throw InputError(where + ": table",
                     fmt::format("{} arguments and {} values", x.size(), y.size()),
                     "as many of both, at least two");
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!std::isfinite(x[k]) || !std::isfinite(y[k]) || (k > 0 && !(x[k] > x[k - 1]))) {
      throw InputError(fmt::format("{}: table point {}", where, k),
                       fmt::format("({}, {})", x[k], y[k]), "finite numbers, arguments increasing");
    }
  }
}

void check_function(const std::string& where, const Function& f) {
  if (const auto* table = std::get_if<TableFunction>(&f))
    check_increasing(where, table->t, table->y);
  if (const auto* spline = std::get_if<SplineFunction>(&f)) {
    check_increasing(where, spline->t, spline->y);
    if (spline->curvature.size() != spline->t.size()) {
      throw InputError(where + ": spline", "no second derivatives", "a function from make_spline");
    }
  }
  if (const auto* user = std::get_if<UserFunction>(&f); user != nullptr && !user->evaluate) {
    throw InputError(where + ": user function", "an empty one", "a callable");
  }
}

void check_characteristic(const std::string& where, const Characteristic& c) {
  if (!c.table_x.empty() || !c.table_y.empty()) check_increasing(where, c.table_x, c.table_y);
  if (!std::isfinite(c.slope))
    throw InputError(where + ": slope", fmt::format("{}", c.slope), "a finite number");
}

void check_functions(const Model& model) {
  for (std::size_t k = 0; k < model.bodies.size(); ++k) {
    const std::string where = item("body", model.bodies[k].name, k) + ": motion";
    for (const Function& f : model.bodies[k].motion.position) check_function(where, f);
    check_function(where, model.bodies[k].motion.angle);
  }
  for (std::size_t k = 0; k < model.motors.size(); ++k)
    check_function(item("motor", model.motors[k].name, k), model.motors[k].value);
  for (std::size_t k = 0; k < model.couplings.size(); ++k)
    check_function(item("coupling", model.couplings[k].name, k), model.couplings[k].target);
}

void finalize_forces(Model& model) {
  for (std::size_t k = 0; k < model.forces.size(); ++k) {
    Force& force = model.forces[k];
    const std::string where = item("force", name_of(force), k);
    if (auto* spring = std::get_if<MeasureSpring>(&force)) {
      check_index(where, "marker a", spring->marker_a, model.markers.size());
      check_index(where, "marker b", spring->marker_b, model.markers.size());
      spring->angle_index = is_angle(spring->measure) ? model.angle_count++ : -1;
      check_characteristic(where + ": stiffness", spring->stiffness);
      check_characteristic(where + ": damping", spring->damping);
      check_finite(where, "rest and preload", Eigen::Vector2d(spring->rest, spring->preload));
    } else if (const auto* bushing = std::get_if<Bushing>(&force)) {
      check_index(where, "marker a", bushing->marker_a, model.markers.size());
      check_index(where, "marker b", bushing->marker_b, model.markers.size());
      check_at_least(where, "stiffness", bushing->stiffness.minCoeff(), 0);
      check_at_least(where, "damping", bushing->damping.minCoeff(), 0);
    } else if (const auto* load = std::get_if<Load>(&force)) {
      check_index(where, "marker", load->marker, model.markers.size());
      for (const Function& f : load->force) check_function(where, f);
      for (const Function& f : load->torque) check_function(where, f);
    } else if (const auto* drag = std::get_if<Drag>(&force)) {
      check_index(where, "body", drag->body, model.bodies.size());
      check_at_least(where, "linear", drag->linear, 0);
      check_at_least(where, "angular", drag->angular, 0);
    }
  }
}

void check_shapes(const Model& model) {
  for (std::size_t k = 0; k < model.shapes.size(); ++k) {
    const Shape& s = model.shapes[k];
    const std::string where = fmt::format("shape {}", k);
    check_index(where, "body", s.body, model.bodies.size());
    check_index(where, "material", s.material, model.materials.size());
    const int sizes = s.kind >= ShapeKind::half_space                              ? 0
                      : s.kind == ShapeKind::sphere                                ? 1
                      : s.kind == ShapeKind::box || s.kind == ShapeKind::ellipsoid ? 3
                                                                                   : 2;
    for (int axis = 0; axis < sizes; ++axis) {
      if (!(s.size[axis] > 0) || !std::isfinite(s.size[axis])) {
        throw InputError(where + ": size", fmt::format("{}", s.size[axis]), "positive lengths (m)");
      }
    }
    if (s.kind == ShapeKind::half_space && model.bodies[s.body].kind == BodyKind::dynamic) {
      throw InputError(
          where, fmt::format("a half-space on the dynamic body '{}'", model.bodies[s.body].name),
          "a fixed or kinematic body");
    }
  }
  check_geometry(model);
  for (const auto& pair : model.excluded) {
    for (const int body : pair) check_index("excluded pair", "body", body, model.bodies.size());
  }
}

void check_material(const std::string& where, const Material& m) {
  const auto check_amount = [&](std::string_view what, double found) {
    if (!(found >= 0) || !std::isfinite(found)) {
      throw InputError(fmt::format("{}: {}", where, what), fmt::format("{}", found),
                       "a finite number of at least 0");
    }
  };
  check_amount("friction", m.friction);
  check_amount("static_friction", m.static_friction);
  check_amount("stribeck_speed", m.stribeck_speed);
  if (m.static_friction > 0 && m.static_friction < m.friction) {
    throw InputError(where + ": static_friction", fmt::format("{}", m.static_friction),
                     fmt::format("0 for the same as friction, or at least {}", m.friction));
  }
  if (has_stribeck_effect(m) && m.stribeck_speed == 0) {
    throw InputError(where + ": static_friction", "no stribeck_speed with it",
                     "the speed [m/s] over which friction falls to that of sliding");
  }
  if (!(m.stribeck_exponent > 0 && m.stribeck_exponent <= 10)) {
    throw InputError(where + ": stribeck_exponent", fmt::format("{}", m.stribeck_exponent),
                     "a number above 0, up to 10");
  }
  if (!(m.restitution >= 0 && m.restitution <= 1)) {
    throw InputError(where + ": restitution", fmt::format("{}", m.restitution),
                     "a number from 0 to 1");
  }
  check_amount("restitution_threshold", m.restitution_threshold);
  check_amount("rolling_friction", m.rolling_friction);
  check_amount("spinning_friction", m.spinning_friction);
  check_amount("cohesion", m.cohesion);
  check_amount("cohesion_range", m.cohesion_range);
  check_softness(where, {m.stiffness, m.damping});
  if (std::isfinite(m.stiffness) && m.restitution > 0) {
    throw InputError(where, "both restitution and stiffness",
                     "one of them: a soft contact rebounds by its stiffness and damping");
  }
  if (!std::isfinite(m.stiffness) && m.damping > 0) {
    throw InputError(where, "damping of a rigid contact", "a finite stiffness with it");
  }
}

void check_materials(const Model& model) {
  for (std::size_t k = 0; k < model.materials.size(); ++k) {
    check_material(item("material", model.materials[k].name, k), model.materials[k]);
  }
  for (const Model::MaterialPair& pair : model.material_pairs) {
    check_index("material pair", "first material", pair.a, model.materials.size());
    check_index("material pair", "second material", pair.b, model.materials.size());
    check_material(fmt::format("material pair '{}'", pair.properties.name), pair.properties);
  }
  const Mixing& rules = model.mixing;
  const auto check_rule = [](std::string_view property, MixingRule rule) {
    if (rule != MixingRule::multiply) return;
    throw InputError(fmt::format("mixing of {}", property), "multiply",
                     "another rule: the product of two amounts with a unit has another unit");
  };
  check_rule("restitution_threshold", rules.restitution_threshold);
  check_rule("rolling_friction", rules.rolling_friction);
  check_rule("spinning_friction", rules.spinning_friction);
  check_rule("cohesion", rules.cohesion);
  check_rule("cohesion_range", rules.cohesion_range);
}

// The measure of a joint's coordinate at a state.
MeasureValue measured(const Model& model, const State& state, const Joint& joint,
                      const Measure& m) {
  const Marker& a = model.markers[joint.marker_a];
  const Marker& b = model.markers[joint.marker_b];
  return evaluate(m, place(model, state, a.body), a.frame, place(model, state, b.body), b.frame);
}

}  // namespace

void finalize(Model& model) {
  if (!model.gravity.allFinite())
    throw InputError("gravity", "a value that is not finite", "three finite numbers (m/s²)");
  finalize_bodies(model);
  for (std::size_t k = 0; k < model.markers.size(); ++k) {
    const std::string where = item("marker", model.markers[k].name, k);
    check_index(where, "body", model.markers[k].body, model.bodies.size());
    check_finite(where, "position", model.markers[k].frame.p);
  }
  finalize_joints(model);
  check_joint_laws(model);
  check_functions(model);
  finalize_forces(model);
  check_shapes(model);
  check_materials(model);
}

State initial_state(const Model& model) {
  State state;
  state.q.resize(model.nq());
  state.v.resize(model.nv());
  for (int slot = 0; slot < model.slots; ++slot) {
    const Body& body = model.bodies[model.slot_body[slot]];
    state.q.segment<3>(7 * slot) = body.start.position;
    state.q.segment<4>(7 * slot + 3) = body.start.rotation;
    state.v.segment<3>(6 * slot) = body.velocity;
    state.v.segment<3>(6 * slot + 3) = body.angular_velocity;
  }
  angles(state).assign(model.angle_count, 0.0);
  update_angles(model, state);
  return state;
}

Vec4 rotation(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (b.slot >= 0) return state.q.segment<4>(7 * b.slot + 3);
  if (b.kind == BodyKind::fixed) return b.start.rotation;
  return add_rotation(b.start.rotation, evaluate(b.motion.angle, state.t).value * b.motion.axis);
}

BodyPlace place(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  BodyPlace at;
  if (b.slot >= 0) {
    at.x = state.q.segment<3>(7 * b.slot);
  } else {
    at.x = b.start.position;
    if (b.kind == BodyKind::kinematic) {
      for (int i = 0; i < 3; ++i) at.x[i] += evaluate(b.motion.position[i], state.t).value;
    }
  }
  at.A = rotation_matrix(rotation(model, state, body));
  return at;
}

BodyVelocity velocity(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  BodyVelocity out;
  if (b.slot >= 0) {
    out.v = state.v.segment<3>(6 * b.slot);
    out.omega = state.v.segment<3>(6 * b.slot + 3);
  } else if (b.kind == BodyKind::kinematic) {
    for (int i = 0; i < 3; ++i) out.v[i] = evaluate(b.motion.position[i], state.t).rate;
    out.omega = evaluate(b.motion.angle, state.t).rate * b.motion.axis;
  }
  return out;
}

double continued_angle(double angle, double previous) {
  return angle + 2 * std::numbers::pi * std::round((previous - angle) / (2 * std::numbers::pi));
}

int angle_slot(const Model& model, const CoordinateRef& c) {
  const Joint& joint = model.joints[c.joint];
  const auto all = coordinates(joint.kind);
  if (!all[c.coordinate].is_angle) return -1;
  int slot = joint.first_angle;
  for (int k = 0; k < c.coordinate; ++k) slot += all[k].is_angle ? 1 : 0;
  return slot;
}

double coordinate_value(const Model& model, const State& state, const CoordinateRef& c) {
  const Joint& joint = model.joints[c.joint];
  const double value =
      measured(model, state, joint, coordinates(joint.kind)[c.coordinate].measure).value;
  const int slot = angle_slot(model, c);
  return slot < 0 ? value : continued_angle(value, angles(state)[slot]);
}

double coordinate_rate(const Model& model, const State& state, const CoordinateRef& c) {
  const Joint& joint = model.joints[c.joint];
  const MeasureValue m =
      measured(model, state, joint, coordinates(joint.kind)[c.coordinate].measure);
  const BodyVelocity a = velocity(model, state, model.markers[joint.marker_a].body);
  const BodyVelocity b = velocity(model, state, model.markers[joint.marker_b].body);
  return m.J.segment<3>(0).dot(a.v) + m.J.segment<3>(3).dot(a.omega) + m.J.segment<3>(6).dot(b.v) +
         m.J.segment<3>(9).dot(b.omega);
}

void update_angles(const Model& model, State& state) {
  std::vector<double>& turns = angles(state);
  for (const Joint& joint : model.joints) {
    int slot = joint.first_angle;
    for (const JointCoordinate& c : coordinates(joint.kind)) {
      if (!c.is_angle) continue;
      double& angle = turns[slot++];
      angle = continued_angle(measured(model, state, joint, c.measure).value, angle);
    }
  }
  for (const Force& force : model.forces) {
    const auto* spring = std::get_if<MeasureSpring>(&force);
    if (spring == nullptr || spring->angle_index < 0) continue;
    const Marker& a = model.markers[spring->marker_a];
    const Marker& b = model.markers[spring->marker_b];
    const double value = evaluate(spring->measure, place(model, state, a.body), a.frame,
                                  place(model, state, b.body), b.frame)
                             .value;
    double& angle = turns[spring->angle_index];
    angle = continued_angle(value, angle);
  }
}

int add_body(Model& model, Body body) {
  model.bodies.push_back(std::move(body));
  return static_cast<int>(model.bodies.size()) - 1;
}

int add_marker(Model& model, std::string name, int body, const Pose& pose) {
  model.markers.push_back(
      {std::move(name), body, {pose.position, rotation_matrix(normalize(pose.rotation))}});
  return static_cast<int>(model.markers.size()) - 1;
}

int add_joint(Model& model, Joint joint) {
  model.joints.push_back(std::move(joint));
  return static_cast<int>(model.joints.size()) - 1;
}

}  // namespace urto
