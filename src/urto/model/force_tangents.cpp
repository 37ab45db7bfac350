// Tangents of forces. Exact ones follow from f = F ∇s with ∂∇s/∂q = K (measure.h); a bushing's
// rotation needs the derivative of T⁻¹ besides.
#include <algorithm>
#include <cmath>

#include "urto/model/force.h"
#include "urto/model/force_terms.h"
#include "urto/model/model.h"

namespace urto {
namespace {

struct PairTangent {
  Mat12 stiffness, damping;
};

// c′(a)/a for c(a) = (1 − ½a cot ½a)/a², the coefficient of θ̃² in T⁻¹(θ). The closed form loses
// a⁻⁴ rounding errors; c is Σ |B₂ₖ|/(2k)! a²ᵏ⁻², with Bernoulli's numbers.
double coefficient_slope(double a) {
  const double x = a * a;
  if (a < 0.5) {
    return 1. / 360 +
           x * (1. / 7560 + x * (1. / 201600 + x * (1. / 5987520 + x * (691. / 130767436800. +
                                                                        x * (1. / 6227020800.)))));
  }
  const double s = std::sin(0.5 * a), c = std::cos(0.5 * a);
  return ((0.5 * c / (s * a)) + 0.25 / (s * s) - 2 / x) / x;
}

// ∂(T⁻¹(θ) y)/∂θ at constant y, from T⁻¹(θ) = I + ½θ̃ + c(‖θ‖) θ̃²
// (rotation.h) and θ̃²y = θ(θ·y) − y(θ·θ).
Mat3 inverse_jacobian_slope(const Vec3& theta, const Vec3& y) {
  const double a = theta.norm();
  const double c = a < 1e-3 ? 1. / 12 + a * a / 720 : (1 - 0.5 * a / std::tan(0.5 * a)) / (a * a);
  const Vec3 twice = theta.cross(theta.cross(y));
  return -0.5 * skew(y) +
         c * (theta.dot(y) * Mat3::Identity() + theta * y.transpose() - 2 * y * theta.transpose()) +
         coefficient_slope(a) * twice * theta.transpose();
}

// −∂(F∇s)/∂q beyond the term with the spring's slope: −F K, and the damper's d ∇s (∂ṡ/∂q) with
// ṡ = ∇s·v.
void add_curvature(const Measure& m, const MarkerPair& pair, const Row12& gradient, double force,
                   double damping, Mat12& stiffness) {
  const Mat12 K = second_derivative(m, pair.A, pair.a, pair.B, pair.b);
  const Row12 rate_slope = K.transpose() * pair.v;
  stiffness.noalias() -= force * K;
  stiffness.noalias() += (damping * gradient) * rate_slope.transpose();
}

// The wanted part of a stiffness k ≥ 0 along a gradient, ω² = k ∇sᵀM⁻¹∇s.
template <class Gradient>
double part_of(double k, const Gradient& gradient, const TangentFactors& factors) {
  if (factors.inverse_mass == nullptr || k == 0) return k;
  return k * factors.part.weight(k * gradient.dot(*factors.inverse_mass * gradient));
}

PairTangent pair_tangent(const MeasureSpring& spring, const MarkerPair& pair, const State& state,
                         Tangent kind, const TangentFactors& factors) {
  const SpringTerms s = spring_terms(spring, pair, state);
  const bool exact = kind == Tangent::exact;
  const double k = exact ? s.stiffness : part_of(std::max(s.stiffness, 0.0), s.gradient, factors);
  const double d = exact ? s.damping : std::max(s.damping, 0.0);
  const Mat12 square = s.gradient * s.gradient.transpose();
  PairTangent t{k * square, d * square};
  if (exact) add_curvature(spring.measure, pair, s.gradient, s.force, d, t.stiffness);
  return t;
}

PairTangent pair_tangent(const Bushing& bushing, const MarkerPair& pair, const State&, Tangent kind,
                         const TangentFactors& factors) {
  const BushingTerms s = bushing_terms(bushing, pair);
  const bool exact = kind == Tangent::exact;
  Vec6 k = exact ? bushing.stiffness : Vec6(bushing.stiffness.cwiseMax(0));
  if (!exact) {
    for (int i = 0; i < 6; ++i) k[i] = part_of(k[i], Row12(s.gradient.row(i)), factors);
  }
  const Vec6 d = exact ? bushing.damping : Vec6(bushing.damping.cwiseMax(0));
  const Mat6x12 kG = k.asDiagonal() * s.gradient, dG = d.asDiagonal() * s.gradient;
  PairTangent t{s.gradient.transpose() * kG, s.gradient.transpose() * dG};
  if (!exact) return t;
  for (std::uint8_t i = 0; i < 3; ++i) {
    add_curvature({MeasureKind::along, i, 0}, pair, s.gradient.row(i).transpose(), s.force[i], d[i],
                  t.stiffness);
  }
  // The torques are −R_a T⁻¹(θ) τ on A and R_b T⁻¹(−θ) τ on B; the rates are as in force_terms.h.
  const Vec3 theta = s.coordinate.tail<3>(), torque = s.force.tail<3>();
  const Vec3 u_a = pair.a.R.transpose() * pair.v.segment<3>(3);
  const Vec3 u_b = pair.b.R.transpose() * pair.v.segment<3>(9);
  const Mat3x12 G = s.gradient.bottomRows<3>();
  const Mat3 on_a = pair.a.R * inverse_jacobian_slope(theta, torque);
  const Mat3 on_b = pair.b.R * inverse_jacobian_slope(-theta, torque);
  const Mat3 rate_slope = inverse_jacobian_slope(theta, u_b) + inverse_jacobian_slope(-theta, u_a);
  const Mat3x12 damped = d.tail<3>().asDiagonal() * rate_slope * G;
  t.stiffness.middleRows<3>(3) += on_a * G;
  t.stiffness.middleRows<3>(9) += on_b * G;
  t.stiffness += G.transpose() * damped;
  return t;
}

/// What tangents are added to, and with which factors.
struct Target {
  Tangent kind;
  TangentFactors factors;
  BlockMatrix& out;

  void add(int row, int column, const Mat6& stiffness, const Mat6& damping) const {
    const Mat6 sum = factors.damping * damping + factors.stiffness * stiffness;
    out.add(row, column, sum);
  }
  void add_stiffness(int node, const Mat6& stiffness) const {
    if (factors.stiffness != 0) out.add(node, node, stiffness, factors.stiffness);
  }
};

template <class Between>
void add(const Between& force, const Model& model, const State& state, const Target& target) {
  const int nodes[2] = {model.bodies[model.markers[force.marker_a].body].slot,
                        model.bodies[model.markers[force.marker_b].body].slot};
  if (nodes[0] < 0 && nodes[1] < 0) return;
  const MarkerPair pair = marker_pair(model, state, force.marker_a, force.marker_b);
  const PairTangent t = pair_tangent(force, pair, state, target.kind, target.factors);
  for (Eigen::Index i = 0; i < 2; ++i) {
    for (Eigen::Index j = 0; j < 2; ++j) {
      if (nodes[i] < 0 || nodes[j] < 0) continue;
      target.add(nodes[i], nodes[j], t.stiffness.block<6, 6>(6 * i, 6 * j),
                 t.damping.block<6, 6>(6 * i, 6 * j));
    }
  }
}

void add(const Load& load, const Model& model, const State& state, const Target& target) {
  const Marker& marker = model.markers[load.marker];
  const int node = model.bodies[marker.body].slot;
  if (node < 0 || target.kind == Tangent::semidefinite) return;
  const Mat3 A = place(model, state, marker.body).A;
  const LoadTerms l = load_terms(load, marker, A, state.t);
  Mat6 stiffness = Mat6::Zero();
  if (load.follows) {
    // δ(A F) = −A F̃ θ; the torque is constant in body axes.
    stiffness.topRightCorner<3, 3>() = A * skew(l.body_force);
  } else {
    // δ(Aᵀ F) = (Aᵀ F)~ θ.
    stiffness.bottomRightCorner<3, 3>() =
        -skew(marker.frame.p) * skew(l.body_force) - skew(l.body_torque);
  }
  target.add_stiffness(node, stiffness);
}

void add(const CentralGravity& gravity, const Model& model, const State& state,
         const Target& target) {
  if (target.kind == Tangent::semidefinite) return;
  for (int slot = 0; slot < model.slots; ++slot) {
    const Vec3 d = state.q.segment<3>(model.layout.q_start[slot]) - gravity.centre;
    const double r = d.norm();
    if (r == 0) continue;
    const Vec3 n = d / r;
    const double scale = gravity.strength * model.bodies[model.slot_body[slot]].mass / (r * r * r);
    Mat6 stiffness = Mat6::Zero();
    stiffness.topLeftCorner<3, 3>() = scale * (Mat3::Identity() - 3 * n * n.transpose());
    target.add_stiffness(slot, stiffness);
  }
}

void add(const Drag& drag, const Model& model, const State&, const Target& target) {
  const int node = model.bodies[drag.body].slot;
  if (node < 0 || target.factors.damping == 0) return;
  Vec6 d;
  d << Vec3::Constant(drag.linear), Vec3::Constant(drag.angular);
  if (target.kind == Tangent::semidefinite) d = d.cwiseMax(0).eval();
  const Mat6 damping = d.asDiagonal();
  target.out.add(node, node, damping, target.factors.damping);
}

void add(const UserForce&, const Model&, const State&, const Target&) {}

}  // namespace

void add_tangents(const Force& force, const Model& model, const State& state, Tangent kind,
                  const TangentFactors& factors, BlockMatrix& out) {
  if (factors.damping == 0 && factors.stiffness == 0) return;
  const Target target{.kind = kind, .factors = factors, .out = out};
  std::visit([&](const auto& f) { add(f, model, state, target); }, force);
}

}  // namespace urto
