// Certificates against hand-made candidates: each number is known in closed form, and each kind of
// violation shows in its own number.
#include "urto/problem/certificate.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

// A 2 kg point mass on the ground, moving along x: the simplest contact with everything in it.
StepProblem sliding_on_ground() {
  return sliding_mass({.mass = 2, .mu = 0.5, .velocity = 3, .gap = 0, .step = 0.1});
}

// The exact solution by hand: N = m g h, friction μ N against the motion.
constexpr double weight = 2 * 9.81 * 0.1;
Vector exact_impulse() {
  return Vec3(weight, -0.5 * weight, 0);
}
Vector exact_velocity() {
  return Vec3(3 - 0.5 * weight / 2, 0, 0);
}

TEST(Certificate, IsZeroAtTheExactSolution) {
  const Certificate c =
      certify(sliding_on_ground(), exact_velocity(), exact_impulse(), Friction::exact);
  EXPECT_LT(c.residual(), 1e-15);
  EXPECT_LT(c.momentum, 1e-15);
  EXPECT_LT(c.penetration, 1e-15);
  EXPECT_LT(c.cone_violation, 1e-15);
  EXPECT_LT(c.dissipation, 1e-14);
  EXPECT_LT(c.complementarity, 1e-14);
  EXPECT_LT(std::abs(c.duality_gap), 1e-14);
}

TEST(Certificate, ConvexLawSeesThatASlidingContactWouldHaveToRise) {
  // Associated friction wants u_N = μ‖u_T‖: at the exact solution it misses by μ‖u_T‖ (recipe 000
  // §2.7.3).
  const Certificate c =
      certify(sliding_on_ground(), exact_velocity(), exact_impulse(), Friction::convex);
  EXPECT_GT(c.natural_map, 0.1);
}

TEST(Certificate, MomentumSeesAWrongVelocity) {
  const Vector x = exact_velocity() + Vec3(0.1, 0, 0);
  const Certificate c = certify(sliding_on_ground(), x, exact_impulse(), Friction::exact);
  // ‖H dx‖ = 0.2 over ‖a‖ + ‖Jᵀλ‖ + ‖H x‖.
  const double size = Vec3(6, 0, -weight).norm() + exact_impulse().norm() + 2 * x.norm();
  EXPECT_NEAR(c.momentum, 0.2 / size, 1e-14);
}

TEST(Certificate, PenetrationIsTheApproachVelocity) {
  const Certificate c =
      certify(sliding_on_ground(), Vec3(3, 0, -0.7), Vec3::Zero(), Friction::exact);
  EXPECT_NEAR(c.penetration, 0.7, 1e-15);
}

TEST(Certificate, ConeViolationIsTheDistanceToTheCone) {
  Vector lambda = exact_impulse();
  lambda[1] = -weight;  // twice what μ = 0.5 allows
  const Certificate c = certify(sliding_on_ground(), exact_velocity(), lambda, Friction::exact);
  // Distance of (N, N) to the line t = N/2: (N − N/2)/√(1 + 1/4).
  EXPECT_NEAR(c.cone_violation, 0.5 * weight / std::sqrt(1.25), 1e-12);
}

TEST(Certificate, DissipationIsWhatFrictionFailsToTake) {
  Vector lambda = exact_impulse();
  lambda[1] = 0;  // slides without friction
  const Vector x = Vec3(3, 0, 0);
  const Certificate c = certify(sliding_on_ground(), x, lambda, Friction::exact);
  EXPECT_NEAR(c.dissipation, 0.5 * weight * 3, 1e-12);
}

TEST(Certificate, FclibErrorIsRelativeToTheFreeVelocity) {
  const Certificate c =
      certify(sliding_on_ground(), Vec3(3, 0, -0.981), Vec3::Zero(), Friction::exact);
  // λ = 0: û = (−0.981 + 0.5·3, 3, 0) = (0.519, 3, 0); −û projects on the cone as on the ray (1,
  // −0.5).
  const double s = (-0.519 + 0.5 * 3) / 1.25;
  EXPECT_NEAR(c.natural_map_absolute, std::hypot(s, 0.5 * s), 1e-12);
  EXPECT_NEAR(c.natural_map, c.natural_map_absolute / std::hypot(0.981, 3), 1e-12);
}

TEST(Certificate, ScaledResidualDoesNotDependOnUnits) {
  // Grams instead of kilograms and millimetres instead of metres: λ in g·mm/s.
  const StepProblem si = sphere_packing({.contacts = 60, .mass_ratio = 100});
  StepProblem other = si;
  const double mass = 1e3;
  const double length = 1e3;
  auto& H = std::get<BlockMatrix>(other.H);
  for (int k = 0; k < H.blocks(); ++k) {
    Eigen::Map<Matrix> block(H.values.data() + H.offset[k], 6, 6);
    block.topLeftCorner<3, 3>() *= mass;
    block.bottomRightCorner<3, 3>() *= mass * length * length;
  }
  for (int k = 0; k < other.J.columns / 6; ++k) {
    other.a.segment<3>(6 * k) *= mass * length;
    other.a.segment<3>(6 * k + 3) *= mass * length * length;
  }
  for (const auto& entry : other.J.entries) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 3; c < 6; ++c) other.J.values[entry.offset + 6 * r + c] *= length;
    }
  }
  other.b *= length;
  const SolveOptions rough{.solver = "sor", .max_iterations = 5};
  const Solution a = solve(si, rough);
  const Vector lambda = a.lambda * mass * length;
  Vector x = a.x;
  for (int k = 0; k < x.size() / 6; ++k) x.segment<3>(6 * k) *= length;
  const Certificate c = certify(other, x, lambda, Friction::exact);
  EXPECT_GT(a.certificate.natural_map_scaled, 1e-6);
  EXPECT_NEAR(c.natural_map_scaled, a.certificate.natural_map_scaled,
              1e-9 * a.certificate.natural_map_scaled);
  EXPECT_GT(std::abs(c.natural_map - a.certificate.natural_map), 1e-3 * a.certificate.natural_map);
}

TEST(Certificate, HeavyBodiesDoNotDrownTheVelocity) {
  // 1e12 kg: forming λ − (λ − û) would lose û; the certificate must still see an error of 1e-3 m/s.
  StepProblem p = sliding_mass({.mass = 1e12, .mu = 0.5, .velocity = 0, .gap = 0, .step = 0.1});
  const Vector lambda = Vec3(9.81e11, 0, 0);
  const Certificate good = certify(p, Vec3::Zero(), lambda, Friction::exact);
  EXPECT_LT(good.natural_map, 1e-14);
  p.b[0] = 1e-3;
  const Certificate bad = certify(p, Vec3::Zero(), lambda, Friction::exact);
  EXPECT_NEAR(bad.natural_map_absolute, 1e-3, 1e-15);
}

TEST(Certificate, OpenFrictionlessConeIsNoViolation) {
  StepProblem p = sliding_mass({.mu = 0, .velocity = 1, .gap = 1});
  const Certificate c = certify(p, Vec3(1, 0, -0.0981), Vec3::Zero(), Friction::exact);
  EXPECT_LT(c.residual(), 1e-15);
}

// A point mass on a rail along (1, 1, 1): two equality rows across it. It coasts, so that q = J H⁻¹
// a is zero but for rounding.
StepProblem coasting_on_a_rail(double speed) {
  StepProblem p = sliding_mass({.mass = 3, .mu = 0, .velocity = 0, .gap = 1});
  p.K = {};
  for (int k = 0; k < 3; ++k) p.K.push_back(ConvexSet::free(1));
  const double a = 1 / std::sqrt(6.0), b = 1 / std::sqrt(2.0), c = 1 / std::sqrt(3.0);
  const Matrix across{
      {a, a, -2 * a}, {b, -b, 0}, {a, -2 * a, a}};  // the third depends on the others
  BlockRows J;
  J.columns = 3;
  J.row_start = {0};
  J.entry_start = {0};
  for (int k = 0; k < 3; ++k) {
    J.row_start.push_back(k + 1);
    J.entry_start.push_back(k + 1);
    J.entries.push_back({.column = 0, .width = 3, .offset = 3 * k});
    for (int d = 0; d < 3; ++d) J.values.push_back(across(k, d));
  }
  p.J = J;
  p.a = 3 * speed * Vec3(c, c, c);
  p.b = Vector::Zero(3);
  p.E = SparseMatrix(3, 3);
  return p;
}

TEST(Certificate, RoundingOfACoastingMechanismIsNoError) {
  for (const double speed : {1.0, 1e-6, 0.7, 123.4}) {
    const StepProblem p = coasting_on_a_rail(speed);
    const Vector x = p.a / 3 * (1 + 2.2e-16);
    const Certificate c = certify(p, x, Vector::Zero(3), Friction::exact);
    EXPECT_LT(c.residual(), 1e-14) << speed;
  }
}

TEST(Certificate, ARealErrorOfACoastingMechanismIsSeen) {
  // A velocity across the rail of 1e-6 of that along it. Row 1 sees it whole, row 3 sees −½·√3 … of
  // it; the terms of the rows are some speeds, so that the residual is a part of 1e-6, and it is so
  // in every unit.
  for (const double speed : {1.0, 1e-6, 123.4}) {
    const StepProblem p = coasting_on_a_rail(speed);
    const Vector x = p.a / 3 + 1e-6 * speed * Vec3(1, -1, 0);
    const Certificate c = certify(p, x, Vector::Zero(3), Friction::exact);
    EXPECT_GT(c.natural_map, 1e-7) << speed;
    EXPECT_GT(c.natural_map_scaled, 1e-7) << speed;
    EXPECT_LT(c.natural_map, 1e-5) << speed;
  }
}

TEST(Certificate, SmallMotionsAcrossTheJointsAreStillMeasured) {
  // q is 1e-9 of the speed: a million times rounding, so it is the scale, and an x that leaves it
  // is wrong.
  StepProblem p = coasting_on_a_rail(1);
  const Vector along = p.a / 3;
  p.a += 3e-9 * Vec3(1, -1, 0);
  const Certificate c = certify(p, p.a / 3, Vector::Zero(3), Friction::exact);
  EXPECT_GT(c.natural_map, 0.9);
  EXPECT_GT(certify(p, along, Vector::Zero(3), Friction::exact).momentum, 1e-10);
}

TEST(Certificate, LargeForcesThatCancelAreRoundingOfTheBalance) {
  // Two masses of 1 kg on a stiff spring, h²k = 1e12: moving together nothing is stretched, but H x
  // is a difference of terms of 1e12.
  StepProblem p = sliding_mass({.mass = 1, .mu = 0, .velocity = 0, .gap = 1});
  SparseMatrix H(3, 3);
  H.insert(0, 0) = 1 + 1e12;
  H.insert(1, 1) = 1 + 1e12;
  H.insert(0, 1) = H.insert(1, 0) = -1e12;
  H.insert(2, 2) = 1;
  p.H = H;
  p.a = Vec3(0.1, 0.1, 0);
  const double off = 1e-16;  // a unit in the last place
  EXPECT_LT(certify(p, Vec3(0.1 + off, 0.1, 0), Vec3::Zero(), Friction::exact).momentum, 1e-14);
  EXPECT_GT(certify(p, Vec3(0.1 + 1e6 * off, 0.1, 0), Vec3::Zero(), Friction::exact).momentum, 0.1);
}

TEST(Certificate, ASingularMassHasACertificateToo) {
  // Rounding makes H = M + h²K singular where h²K is 10¹⁶ times M; H⁻¹a, the scale, is then none.
  StepProblem p = sliding_mass({.mass = 1, .mu = 0, .velocity = 0, .gap = 1});
  SparseMatrix H(3, 3);
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) H.insert(row, column) = row == column ? 1 : -1;
  }
  H.insert(2, 2) = 1;
  p.H = H;
  p.a = Vec3(0, 0, 1);
  EXPECT_LT(certify(p, Vec3(5, 5, 1), Vec3::Zero(), Friction::exact).residual(), 1e-14);
  EXPECT_GT(certify(p, Vec3(5, 4, 1), Vec3::Zero(), Friction::exact).residual(), 0.1);
}

TEST(Certificate, MotionsWhoseSquaresUnderflowAreNone) {
  // What dies out along its joints by twenty digits a step (1e-12 of the regularisation, and again)
  // comes to numbers whose norms are zero although they are not.
  StepProblem p = coasting_on_a_rail(0);
  const Vector nearly = Vector::Constant(3, 2.5e-152);
  EXPECT_EQ(certify(p, Vector::Zero(3), nearly, Friction::exact).residual(), 0);
  const Vector wrong = Vector::Constant(3, 1e-100);
  EXPECT_GT(certify(p, Vector::Zero(3), wrong, Friction::exact).momentum, 0.1);
}

TEST(Certificate, NotANumberNeverMeetsATolerance) {
  const Vector nan = Vector::Constant(3, std::numeric_limits<double>::quiet_NaN());
  const Certificate c = certify(sliding_on_ground(), nan, nan, Friction::exact);
  EXPECT_FALSE(c.meets(1e100));
}

TEST(Certificate, DualityGapClosesAtTheConvexSolution) {
  const StepProblem p = box_stack({.levels = 3, .mu = 0.4, .push = 0.1});
  const Solution s = solve(p, {.solver = "prox", .tolerance = 1e-10, .friction = Friction::convex});
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_LT(std::abs(s.certificate.duality_gap), 1e-9);
}

}  // namespace
}  // namespace urto
