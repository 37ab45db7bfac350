// What forces between two markers share: the coordinates they act on, with gradients. Private to
// force.cpp and force_tangents.cpp.
#pragma once

#include "urto/model/force.h"
#include "urto/model/model.h"

namespace urto {

using Vec6 = Eigen::Matrix<double, 6, 1>;
using Mat6 = Eigen::Matrix<double, 6, 6>;
using Mat6x12 = Eigen::Matrix<double, 6, 12>;

/// Two markers as a measure sees them.
struct MarkerPair {
  const LocalFrame& a;
  const LocalFrame& b;
  BodyPlace A, B;
  int dof_a = -1, dof_b = -1;  ///< −1 for bodies that are not dynamic
  Row12 v;                     ///< (v_A, Ω_A, v_B, Ω_B), prescribed velocities included
};
MarkerPair marker_pair(const Model& model, const State& state, int marker_a, int marker_b);

struct SpringTerms {
  double stretch = 0;       ///< s − s₀
  double rate = 0;          ///< ṡ
  Row12 gradient;           ///< ∇s
  double force = 0;         ///< along ∇s, damping and preload included
  double stiffness = 0;     ///< −∂force/∂s
  double damping = 0;       ///< −∂force/∂ṡ
  double damper_force = 0;  ///< c(ṡ)
};
SpringTerms spring_terms(const MeasureSpring& spring, const MarkerPair& pair, const State& state);

/// The six coordinates of a bushing: w in a's axes, and the rotation vector θ of b against a. With
/// Q = exp(θ) = F_aᵀ F_b and T the right Jacobian, θ̇ = T⁻¹(θ) R_bᵀΩ_b − T⁻¹(−θ) R_aᵀΩ_a, since
/// T⁻¹(θ) Qᵀ = T⁻ᵀ(θ) = T⁻¹(−θ).
struct BushingTerms {
  Vec6 coordinate, rate, force;
  Mat6x12 gradient;  ///< rate = gradient · v
};
BushingTerms bushing_terms(const Bushing& bushing, const MarkerPair& pair);

/// A load as a wrench on its body.
struct LoadTerms {
  Vec3 force;                    ///< world
  Vec3 body_force, body_torque;  ///< force and torque at the marker, in body axes
};
LoadTerms load_terms(const Load& load, const Marker& marker, const Mat3& A, double t);

}  // namespace urto
