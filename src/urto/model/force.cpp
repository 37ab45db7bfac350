#include "urto/model/force.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "urto/model/force_terms.h"
#include "urto/model/model.h"

namespace urto {
namespace {

// ---- Characteristics

// The segment of a table that x is in; the first and the last one reach to infinity.
struct Segment {
  std::size_t k = 0;
  double slope = 0;
};

Segment segment(const std::vector<double>& x, const std::vector<double>& y, double at) {
  assert(x.size() == y.size());
  if (x.size() < 2) return {};
  const auto next = std::upper_bound(x.begin() + 1, x.end() - 1, at);
  const std::size_t k = static_cast<std::size_t>(next - x.begin()) - 1;
  return {k, (y[k + 1] - y[k]) / (x[k + 1] - x[k])};
}

// Area under a table from its first point to `at`.
double table_area(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const Segment s = segment(x, y, at);
  double area = 0;
  for (std::size_t k = 0; k < s.k; ++k) area += 0.5 * (y[k] + y[k + 1]) * (x[k + 1] - x[k]);
  const double d = at - x[s.k];
  return area + d * (y[s.k] + 0.5 * s.slope * d);
}

double gauss(const Characteristic& c, double lo, double hi) {
  // Five points, exact to degree nine.
  constexpr double x1 = 0.5384693101056831, x2 = 0.9061798459386640;
  constexpr double w0 = 0.5688888888888889, w1 = 0.4786286704993665, w2 = 0.2369268850561891;
  const double m = 0.5 * (lo + hi), r = 0.5 * (hi - lo);
  return r * (w0 * c.user(m)[0] + w1 * (c.user(m - x1 * r)[0] + c.user(m + x1 * r)[0]) +
              w2 * (c.user(m - x2 * r)[0] + c.user(m + x2 * r)[0]));
}

// A user's characteristic may have corners, which halving finds; the depth bounds the price of
// noise.
double user_area(const Characteristic& c, double lo, double hi, double whole, int depth) {
  const double m = 0.5 * (lo + hi);
  const double left = gauss(c, lo, m), right = gauss(c, m, hi);
  const double size = std::max(std::abs(left), std::abs(right));
  if (depth == 0 || std::abs(left + right - whole) <= 1e-13 * size) return left + right;
  return user_area(c, lo, m, left, depth - 1) + user_area(c, m, hi, right, depth - 1);
}

// ∫₀ˣ of a characteristic: the energy of a spring.
double integral(const Characteristic& c, double x) {
  if (c.user) return user_area(c, 0, x, gauss(c, 0, x), 12);
  if (c.table_x.empty()) return 0.5 * c.slope * x * x;
  return table_area(c.table_x, c.table_y, x) - table_area(c.table_x, c.table_y, 0);
}

// ---- Wrenches

Row12 wrench(const MeasureSpring& spring, const MarkerPair& pair, const State& state) {
  const SpringTerms s = spring_terms(spring, pair, state);
  return s.force * s.gradient;
}

Row12 wrench(const Bushing& bushing, const MarkerPair& pair, const State&) {
  const BushingTerms s = bushing_terms(bushing, pair);
  return s.gradient.transpose() * s.force;
}

template <class Between>
void add(const Between& force, const Model& model, const State& state, Vector& f) {
  const MarkerPair pair = marker_pair(model, state, force.marker_a, force.marker_b);
  const Row12 w = wrench(force, pair, state);
  if (pair.dof_a >= 0) f.segment<6>(pair.dof_a) += w.head<6>();
  if (pair.dof_b >= 0) f.segment<6>(pair.dof_b) += w.tail<6>();
}

void add(const Load& load, const Model& model, const State& state, Vector& f) {
  const Marker& marker = model.markers[load.marker];
  const int at = dof(model, marker.body);
  if (at < 0) return;
  const LoadTerms l = load_terms(load, marker, place(model, state, marker.body).A, state.t);
  f.segment<3>(at) += l.force;
  f.segment<3>(at + 3) += marker.frame.p.cross(l.body_force) + l.body_torque;
}

void add(const CentralGravity& gravity, const Model& model, const State& state, Vector& f) {
  for (Eigen::Index slot = 0; slot < model.slots; ++slot) {
    const Vec3 d = state.q.segment<3>(7 * slot) - gravity.centre;
    const double r = d.norm();
    // At the centre itself the direction is undefined; any other choice would not be finite.
    if (r == 0) continue;
    f.segment<3>(6 * slot) -=
        gravity.strength * model.bodies[model.slot_body[slot]].mass / (r * r * r) * d;
  }
}

void add(const Drag& drag, const Model& model, const State& state, Vector& f) {
  const int at = dof(model, drag.body);
  if (at < 0) return;
  f.segment<3>(at) -= drag.linear * state.v.segment<3>(at);
  f.segment<3>(at + 3) -= drag.angular * state.v.segment<3>(at + 3);
}

void add(const UserForce& force, const Model& model, const State& state, Vector& f) {
  if (force.add) force.add(model, state, f);
}

// ---- Energy and power

double potential(const MeasureSpring& spring, const Model& model, const State& state) {
  const MarkerPair pair = marker_pair(model, state, spring.marker_a, spring.marker_b);
  const double stretch = spring_terms(spring, pair, state).stretch;
  return integral(spring.stiffness, stretch) - spring.preload * stretch;
}

double potential(const Bushing& bushing, const Model& model, const State& state) {
  const MarkerPair pair = marker_pair(model, state, bushing.marker_a, bushing.marker_b);
  const Vec6 s = bushing_terms(bushing, pair).coordinate;
  return 0.5 * s.dot(bushing.stiffness.cwiseProduct(s));
}

double potential(const CentralGravity& gravity, const Model& model, const State& state) {
  double sum = 0;
  for (Eigen::Index slot = 0; slot < model.slots; ++slot) {
    const double r = (state.q.segment<3>(7 * slot) - gravity.centre).norm();
    sum -= gravity.strength * model.bodies[model.slot_body[slot]].mass / r;
  }
  return sum;
}

template <class Other>
double potential(const Other&, const Model&, const State&) {
  return 0;
}

double dissipated(const MeasureSpring& spring, const Model& model, const State& state) {
  const MarkerPair pair = marker_pair(model, state, spring.marker_a, spring.marker_b);
  const SpringTerms s = spring_terms(spring, pair, state);
  return s.damper_force * s.rate;
}

double dissipated(const Bushing& bushing, const Model& model, const State& state) {
  const MarkerPair pair = marker_pair(model, state, bushing.marker_a, bushing.marker_b);
  const Vec6 rate = bushing_terms(bushing, pair).rate;
  return rate.dot(bushing.damping.cwiseProduct(rate));
}

double dissipated(const Drag& drag, const Model& model, const State& state) {
  const int at = dof(model, drag.body);
  if (at < 0) return 0;
  return drag.linear * state.v.segment<3>(at).squaredNorm() +
         drag.angular * state.v.segment<3>(at + 3).squaredNorm();
}

template <class Other>
double dissipated(const Other&, const Model&, const State&) {
  return 0;
}

// A prescribed motion has to hold against the force, and what it gives enters the system.
template <class Between>
double supplied_by_motion(const Between& force, const Model& model, const State& state) {
  const MarkerPair pair = marker_pair(model, state, force.marker_a, force.marker_b);
  if (pair.dof_a >= 0 && pair.dof_b >= 0) return 0;
  const Row12 w = wrench(force, pair, state);
  double power = 0;
  if (pair.dof_a < 0) power -= w.head<6>().dot(pair.v.head<6>());
  if (pair.dof_b < 0) power -= w.tail<6>().dot(pair.v.tail<6>());
  return power;
}

double supplied(const MeasureSpring& spring, const Model& model, const State& state) {
  return supplied_by_motion(spring, model, state);
}

double supplied(const Bushing& bushing, const Model& model, const State& state) {
  return supplied_by_motion(bushing, model, state);
}

double supplied(const Load& load, const Model& model, const State& state) {
  const Marker& marker = model.markers[load.marker];
  const int at = dof(model, marker.body);
  if (at < 0) return 0;
  const LoadTerms l = load_terms(load, marker, place(model, state, marker.body).A, state.t);
  return l.force.dot(state.v.segment<3>(at)) +
         (marker.frame.p.cross(l.body_force) + l.body_torque).dot(state.v.segment<3>(at + 3));
}

double supplied(const UserForce& force, const Model& model, const State& state) {
  Vector f = Vector::Zero(model.nv());
  add(force, model, state, f);
  return f.dot(state.v);
}

template <class Other>
double supplied(const Other&, const Model&, const State&) {
  return 0;
}

}  // namespace

std::array<double, 2> evaluate(const Characteristic& c, double x) {
  if (c.user) return c.user(x);
  if (c.table_x.empty()) return {c.slope * x, c.slope};
  const Segment s = segment(c.table_x, c.table_y, x);
  return {c.table_y[s.k] + s.slope * (x - c.table_x[s.k]), s.slope};
}

const std::string& name_of(const Force& force) {
  return std::visit([](const auto& kind) -> const std::string& { return kind.name; }, force);
}

MarkerPair marker_pair(const Model& model, const State& state, int marker_a, int marker_b) {
  const Marker& a = model.markers[marker_a];
  const Marker& b = model.markers[marker_b];
  MarkerPair pair{a.frame,
                  b.frame,
                  place(model, state, a.body),
                  place(model, state, b.body),
                  dof(model, a.body),
                  dof(model, b.body),
                  Row12()};
  const BodyVelocity va = velocity(model, state, a.body), vb = velocity(model, state, b.body);
  pair.v << va.v, va.omega, vb.v, vb.omega;
  return pair;
}

SpringTerms spring_terms(const MeasureSpring& spring, const MarkerPair& pair, const State& state) {
  const MeasureValue m = evaluate(spring.measure, pair.A, pair.a, pair.B, pair.b);
  SpringTerms s;
  s.stretch =
      (spring.angle_index < 0 ? m.value
                              : continued_angle(m.value, angles(state)[spring.angle_index])) -
      spring.rest;
  s.rate = m.J.dot(pair.v);
  s.gradient = m.J;
  const auto [elastic, stiffness] = evaluate(spring.stiffness, s.stretch);
  const auto [viscous, damping] = evaluate(spring.damping, s.rate);
  s.force = spring.preload - elastic - viscous;
  s.stiffness = stiffness;
  s.damping = damping;
  s.damper_force = viscous;
  return s;
}

BushingTerms bushing_terms(const Bushing& bushing, const MarkerPair& pair) {
  BushingTerms s;
  for (std::uint8_t i = 0; i < 3; ++i) {
    const MeasureValue m = evaluate({MeasureKind::along, i, 0}, pair.A, pair.a, pair.B, pair.b);
    s.coordinate[i] = m.value;
    s.gradient.row(i) = m.J.transpose();
  }
  const Mat3 Q = (pair.A.A * pair.a.R).transpose() * (pair.B.A * pair.b.R);
  const Vec3 theta = quaternion_log(quaternion_from_matrix(Q));
  const Mat3 T = right_jacobian_inverse(theta);
  s.coordinate.tail<3>() = theta;
  s.gradient.bottomRows<3>().setZero();
  s.gradient.block<3, 3>(3, 3) = -T.transpose() * pair.a.R.transpose();
  s.gradient.block<3, 3>(3, 9) = T * pair.b.R.transpose();
  s.rate = s.gradient * pair.v;
  s.force = -bushing.stiffness.cwiseProduct(s.coordinate) - bushing.damping.cwiseProduct(s.rate);
  return s;
}

LoadTerms load_terms(const Load& load, const Marker& marker, const Mat3& A, double t) {
  Vec3 force, torque;
  for (int i = 0; i < 3; ++i) {
    force[i] = evaluate(load.force[i], t).value;
    torque[i] = evaluate(load.torque[i], t).value;
  }
  LoadTerms l;
  if (load.follows) {
    l.body_force = marker.frame.R * force;
    l.body_torque = marker.frame.R * torque;
    l.force = A * l.body_force;
  } else {
    l.body_force = A.transpose() * force;
    l.body_torque = A.transpose() * torque;
    l.force = force;
  }
  return l;
}

void add_force(const Force& force, const Model& model, const State& state, Vector& f) {
  std::visit([&](const auto& kind) { add(kind, model, state, f); }, force);
}

double potential_energy(const Force& force, const Model& model, const State& state) {
  return std::visit([&](const auto& kind) { return potential(kind, model, state); }, force);
}

double dissipated_power(const Force& force, const Model& model, const State& state) {
  return std::visit([&](const auto& kind) { return dissipated(kind, model, state); }, force);
}

double supplied_power(const Force& force, const Model& model, const State& state) {
  return std::visit([&](const auto& kind) { return supplied(kind, model, state); }, force);
}

}  // namespace urto
