// Twenty-eight pendulums on joints, springs and an actuator for five seconds, as ADAMS computed
// them: the last tenth of a second of the tables that Project Chrono validates its joints with.
//
// The mechanisms are those of Chrono's unit tests (M. Taylor and R. Serban, src/tests/unit_tests/
// joints/utest_JOINT_*.cpp and data/testing/joints/adams_models); the numbers are ADAMS' own output
// from data/testing/joints/*/*_ADAMS_{Pos,Quat,Rforce}.txt of github.com/projectchrono/chrono,
// Copyright (c) 2013 Chrono Development Team, BSD 3-clause licence (tests/data/README.md has it).
// ADAMS wrote six digits (seven in some).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "urto/math/rotation.h"

namespace urto::testing {

/// How the pendulum hangs on the ground.
enum class AdamsLink {
  cylindrical,
  distance,
  actuator,
  prismatic,
  revolute,
  revolute_spherical,
  torsion_spring,
  spherical,
  spring,
  universal
};

/// By how much a run may differ from ADAMS: what was measured, with a little room.
struct AdamsBound {
  double position = 1e-4;  ///< [m]
  double rotation = 1e-4;  ///< [rad]
  double force = 1e-2;     ///< [N]
};

struct AdamsCase {
  std::string name;
  AdamsLink link;
  Vec3 at = Vec3::Zero();         ///< of the joint on the ground
  Vec4 turn{1, 0, 0, 0};          ///< of the joint and of the pendulum
  std::optional<Vec3> body = {};  ///< where the pendulum starts, if not 2 m along the joint's x
  Vec3 end = Vec3::Zero();        ///< of a spring or link on the pendulum, world axes at the start
  Vec3 axis = Vec3::UnitZ();      ///< of the revolute part of a revolute-spherical link
  Vec3 inertia{0.04, 0.1, 0.1};   ///< [kg m²]
  double stiffness = 0, damping = 0;   ///< of springs
  double nonlinear = 0;                ///< [N/m², N·m/rad²] k₂ |s| s besides
  double speed = 0;                    ///< of the actuator [m/s]
  std::array<Vec3, 3> position = {};   ///< at 4.90, 4.95 and 5 s
  std::optional<Vec4> rotation = {};   ///< at 5 s
  std::optional<Vec3> force = {};      ///< at 5 s, on the ground [N]
  AdamsBound bound = {};               ///< of extrapolated adaptive steps
  AdamsBound second_order_bound = {};  ///< of generalised-alpha at 0.2 ms
};

inline std::vector<AdamsCase> adams_cases() {
  const Vec4 down = quaternion_exp({-M_PI / 2, 0, 0}), tilted = quaternion_exp({-M_PI / 4, 0, 0});
  const Vec3 origin = Vec3::Zero(), away(1, 2, 3);
  // ADAMS' REULER angles (a, b, c) are Rz(a) Rx(b) Rz(c).
  const auto euler = [](double a, double b, double c) {
    return quaternion_product(
        quaternion_product(quaternion_exp({0, 0, a}), quaternion_exp({b, 0, 0})),
        quaternion_exp({0, 0, c}));
  };
  const double quarter = M_PI / 2, eighth = M_PI / 4;
  const Vec3 hooke(0.1, 0.1, 0.04);
  using L = AdamsLink;
  std::vector<AdamsCase> c;
  c.push_back({.name = "Cylindrical_Case01",
               .link = L::cylindrical,
               .at = origin,
               .position = {{{2, 0, -1.177290e2}, {2, 0, -1.201440e2}, {2, 0, -1.225830e2}}},
               .force = origin});
  c.push_back({.name = "Cylindrical_Case02",
               .link = L::cylindrical,
               .at = origin,
               .turn = down,
               .position = {{{-1.993130, 0, -1.656600e-1},
                             {-1.998030, 0, -8.873030e-2},
                             {-1.999680, 0, -3.555870e-2}}},
               .force = Vec3(-5.102310e-1, 0, -2.482590e-1)});
  c.push_back({.name = "Cylindrical_Case03",
               .link = L::cylindrical,
               .at = away,
               .turn = tilted,
               .position = {{{1.707070, -5.554150e1, -5.718730e1},
                             {1.464210, -5.669630e1, -5.844750e1},
                             {1.209960, -5.788520e1, -5.969800e1}}},
               .rotation = Vec4(6.867170e-1, -2.844470e-1, 2.560010e-1, 6.180400e-1),
               .force = Vec3(2.118870, 1.431280e1, -1.431280e1)});
  c.push_back({.name = "Distance_Case01",
               .link = L::distance,
               .at = origin,
               .body = Vec3(0, 2, 0),
               .end = {0, 2, 0},
               .position = {{{0, -1.998588, -7.514041e-2},
                             {0, -1.999822, -2.671134e-2},
                             {0, -1.999998, -2.779575e-3}}},
               .force = Vec3(0, -4.099856e-2, -5.697934e-5)});
  c.push_back({.name = "Distance_Case02",
               .link = L::distance,
               .at = away,
               .body = Vec3(-1, 4, 3),
               .end = {1, 4, 3},
               .position = {{{2.895967e-2, 3.006306, -1.449707e-1},
                             {1.976187e-1, 2.837139, -4.595075e-1},
                             {3.652558e-1, 2.664910, -7.909707e-1}}},
               .rotation = Vec4(6.396194e-1, -4.893494e-1, -4.731699e-1, -3.571197e-1),
               .force = Vec3(-5.379110e-1, 9.010248, -2.502392e1)});
  c.push_back({.name = "Distance_Case03",
               .link = L::distance,
               .at = origin,
               .turn = quaternion_exp({0, 0, -quarter}),
               .body = Vec3(0, 4, 0),
               .end = {0, 2, 0},
               .position = {{{0, 3.969119, -1.080875e-1},
                             {0, 3.963385, -1.927471e-1},
                             {0, 3.955759, -3.015866e-1}}},
               .rotation = Vec4(7.068680e-1, 1.837603e-2, 1.837603e-2, -7.068680e-1),
               .force = Vec3(0, 9.489150e-1, -1.964742e-1)});
  c.push_back({.name = "LinActuator_Case01",
               .link = L::actuator,
               .at = origin,
               .body = origin,
               .inertia = {1, 1, 1},
               .speed = 1,
               .position = {{{0, 0, 4.9}, {0, 0, 4.95}, {0, 0, 5}}},
               .force = Vec3(0, 0, -9.80665)});
  c.push_back(
      {.name = "LinActuator_Case02",
       .link = L::actuator,
       .at = origin,
       .turn = quaternion_exp({0, eighth, 0}),
       .body = origin,
       .inertia = {1, 1, 1},
       .speed = 0.5,
       .position = {{{1.732410, 0, 1.732410}, {1.750090, 0, 1.750090}, {1.767770, 0, 1.767770}}}});
  c.push_back({.name = "Prismatic_Case01",
               .link = L::prismatic,
               .at = origin,
               .position = {{{2, 0, -1.177290e2}, {2, 0, -1.201440e2}, {2, 0, -1.225830e2}}}});
  c.push_back({.name = "Prismatic_Case02",
               .link = L::prismatic,
               .at = away,
               .turn = tilted,
               .position = {{{3, -5.686440e1, -5.586440e1},
                             {3, -5.807190e1, -5.707190e1},
                             {3, -5.929160e1, -5.829160e1}}},
               .force = Vec3(0, 4.903320, -4.903320)});
  c.push_back({.name = "Prismatic_Case03",
               .link = L::prismatic,
               .at = away,
               .turn = down,
               .position = {{{3, 2, 3}, {3, 2, 3}, {3, 2, 3}}},
               .force = Vec3(0, 0, -9.806650)});
  c.push_back({.name = "Revolute_Case01",
               .link = L::revolute,
               .at = origin,
               .turn = down,
               .position = {{{-1.993130, 0, -1.656600e-1},
                             {-1.998030, 0, -8.873030e-2},
                             {-1.999680, 0, -3.555870e-2}}},
               .force = Vec3(-5.102250e-1, 0, -2.482590e-1)});
  c.push_back({.name = "Revolute_Case02",
               .link = L::revolute,
               .at = away,
               .turn = tilted,
               .position = {{{1.707070, 3.322890, 1.677110},
                             {1.464210, 3.375590, 1.624410},
                             {1.209960, 3.406400, 1.593600}}},
               .rotation = Vec4(6.867170e-1, -2.844470e-1, 2.560010e-1, 6.180400e-1),
               .force = Vec3(2.118950, 9.409770, -1.921640e1)});
  c.push_back({.name = "RevSpherical_Case01",
               .link = L::revolute_spherical,
               .at = origin,
               .body = Vec3(2, 2, 0),
               .end = {2, 0, 0},
               .inertia = {0.1, 0.04, 0.1},
               .position = {{{-1.394100, 1.306840, -1.808910},
                             {-1.360960, 1.273390, -1.538840},
                             {-1.327820, 1.240030, -1.286830}}},
               .rotation = Vec4(-5.378110e-1, 4.036500e-1, 1.441060e-1, -7.259890e-1),
               .force = Vec3(-1.046010e-4, -1.629160e-1, -1.021940)});
  c.push_back({.name = "RevSpherical_Case02",
               .link = L::revolute_spherical,
               .at = away,
               .body = Vec3(3, 4, 3),
               .end = {3, 2, 3},
               .axis = Vec3(0, 1, 1),
               .inertia = {0.1, 0.04, 0.1},
               .position = {{{3.036080e-1, 4.871890, 1.753110},
                             {1.834420e-1, 5.082110, 1.714140},
                             {6.287720e-2, 5.283350, 1.652080}}},
               .rotation = Vec4(-8.721720e-1, 6.766130e-2, -4.578260e-1, -1.585350e-1),
               .force = Vec3(-5.622250, 5.828660e1, -2.324010)});
  c.push_back({.name = "RotSpring_Case01",
               .link = L::torsion_spring,
               .at = origin,
               .turn = down,
               .stiffness = 200,
               .damping = 10,
               .position = {{{1.990450, 0, -1.952120e-1},
                             {1.990442, 0, -1.952969e-1},
                             {1.990439, 0, -1.953254e-1}}}});
  c.push_back({.name = "RotSpring_Case02",
               .link = L::torsion_spring,
               .at = origin,
               .turn = down,
               .stiffness = 50,
               .damping = 10,
               .nonlinear = 10,
               .position = {{{1.882345, 0, -6.758528e-1},
                             {1.882399, 0, -6.757016e-1},
                             {1.882432, 0, -6.756116e-1}}},
               .rotation = Vec4(6.966376e-1, -6.966376e-1, 1.212272e-1, 1.212272e-1)});
  c.push_back({.name = "Spherical_Case01",
               .link = L::spherical,
               .at = origin,
               .position = {{{-1.993090, 0, -1.660850e-1},
                             {-1.998010, 0, -8.926020e-2},
                             {-1.999670, 0, -3.619290e-2}}},
               .force = Vec3(-5.116710e-1, 0, -2.484480e-1)});
  c.push_back({.name = "Spherical_Case02",
               .link = L::spherical,
               .at = away,
               .turn = tilted,
               .position = {{{-9.931270e-1, 2, 2.834340},
                             {-9.980310e-1, 2, 2.911270},
                             {-9.996840e-1, 2, 2.964440}}},
               .rotation = Vec4(8.213320e-3, -3.402070e-3, 9.238430e-1, 3.826680e-1),
               .force = Vec3(-5.102110e-1, 0, -2.482530e-1)});
  for (const char* kind : {"TranSpring", "TranSpringCB"}) {
    c.push_back({.name = std::string(kind) + "_Case01",
                 .link = L::spring,
                 .at = origin,
                 .body = origin,
                 .end = origin,
                 .stiffness = 10,
                 .damping = 0.5,
                 .position = {{{0, 0, -1.253060}, {0, 0, -1.261300}, {0, 0, -1.262420}}}});
    c.push_back({.name = std::string(kind) + "_Case02",
                 .link = L::spring,
                 .at = origin,
                 .body = Vec3(0, 2, 0),
                 .end = {0, 2, 0},
                 .stiffness = 100,
                 .damping = 5,
                 .position = {{{0, -1.841917, -1.080502},
                               {0, -1.903756, -9.166518e-1},
                               {0, -1.945198, -7.674010e-1}}}});
  }
  c.push_back({.name = "TranSpringCB_Case03",
               .link = L::spring,
               .at = away,
               .body = Vec3(-1, 4, 3),
               .end = {1, 4, 3},
               .stiffness = 50,
               .damping = 5,
               .nonlinear = 10,
               .position = {{{-1.493814, 4.464803, 1.419364},
                             {-1.471550, 4.443354, 1.382497},
                             {-1.444917, 4.419559, 1.322425}}},
               .rotation = Vec4(2.925514e-1, -7.801378e-1, 2.213414e-1, -5.067609e-1)});
  c.push_back({.name = "TranSpringCB_Case04",
               .link = L::spring,
               .at = origin,
               .turn = quaternion_exp({0, 0, -quarter}),
               .body = Vec3(0, 4, 0),
               .end = {0, 2, 0},
               .stiffness = 50,
               .damping = 5,
               .nonlinear = 10,
               .position = {{{0, 3.987235, -6.387751e-1},
                             {0, 3.981326, -6.001308e-1},
                             {0, 3.974236, -5.858086e-1}}},
               .rotation = Vec4(7.062138e-1, -3.552558e-2, -3.552558e-2, -7.062138e-1)});
  c.push_back({.name = "Universal_Case01",
               .link = L::universal,
               .at = origin,
               .turn = euler(0, quarter, 0),
               .body = Vec3(0, 2, 0),
               .inertia = hooke,
               .position = {{{0, -1.993090, -1.660850e-1},
                             {0, -1.998010, -8.926020e-2},
                             {0, -1.999670, -3.619290e-2}}}});
  c.push_back({.name = "Universal_Case02",
               .link = L::universal,
               .at = origin,
               .turn = euler(quarter, quarter, -quarter),
               .body = Vec3(-2, 0, 0),
               .inertia = hooke,
               .position = {{{1.993090, 0, -1.660850e-1},
                             {1.998010, 0, -8.926020e-2},
                             {1.999670, 0, -3.619290e-2}}}});
  c.push_back({.name = "Universal_Case03",
               .link = L::universal,
               .at = origin,
               .turn = euler(-eighth, quarter, eighth),
               .body = Vec3(std::sqrt(2.0), std::sqrt(2.0), 0),
               .inertia = hooke,
               .position = {{{-1.429540, -1.387560, -1.762920e-1},
                             {-1.433510, -1.391290, -9.679010e-2},
                             {-1.434950, -1.392570, -4.101800e-2}}},
               .rotation = Vec4(5.013540e-1, -6.997980e-1, 5.314970e-3, -5.088210e-1),
               .force = Vec3(-4.167370e-1, -4.046100e-1, -2.511640e-1)});
  // What was measured (docs/benchmarks-adams.md), with a little room.
  const auto set = [&](const std::string& name, const AdamsBound& bound, const AdamsBound& second) {
    for (AdamsCase& k : c) {
      if (k.name != name) continue;
      k.bound = bound;
      k.second_order_bound = second;
    }
  };
  // Six digits of 122 m.
  for (const char* name : {"Cylindrical_Case01", "Prismatic_Case01"})
    set(name, {.position = 5e-4}, {.position = 5e-4});
  // Coarser runs of ADAMS, see ClosedFormsAreKeptWhereAdamsDiffersFromThem.
  for (const char* name :
       {"Spherical_Case01", "Universal_Case01", "Universal_Case02", "Universal_Case03"})
    set(name, {.position = 8e-4, .rotation = 5e-4}, {.position = 8e-4});
  set("Distance_Case02", {}, {.position = 2e-4, .force = 3e-2});
  // Whips about: the force on it rises to 58 N within hundredths of a second.
  set("RevSpherical_Case02", {}, {.position = 1e-3, .force = 1.5});
  return c;
}

}  // namespace urto::testing
