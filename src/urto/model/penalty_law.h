// The numbers of contact by penalty: a normal force from the penetration δ, friction smoothed in
// the slip or by a spring that slips at its bound.
#pragma once

namespace urto {

struct PenaltyLaw {
  double stiffness = 1e6;  ///< k [N/mⁿ] of k δⁿ
  double exponent = 1.5;   ///< n: 1 a linear spring, 3/2 Hertz's spheres
  double damping = 0;      ///< d [s/m] of Hunt and Crossley's factor 1 + d δ̇
  double slip = 0.01;      ///< v_s [m/s]: friction is μ F u/√(u² + v_s²)
  /// k_t [N/m]: above zero friction is a spring with memory instead, and v_s is not used.
  double tangential_stiffness = 0;
  double tangential_damping = 0;  ///< c_t [N·s/m] beside that spring
};

}  // namespace urto
