// One contact by itself: closed forms, and the three local solvers against each other.
#include "urto/solver/local_contact.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace urto {
namespace {

struct Contact {
  Mat3 M;
  Vec3 q;
  double mu;
};

// W_ii of a rigid body touched off centre: M = Jᵀ-rows of a random arm, so that the coupling of
// normal and tangent is realistic.
Contact random_contact(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0, 1);
  Mat3 A;
  for (int i = 0; i < 9; ++i) A(i / 3, i % 3) = normal(random);
  const double scale = std::pow(10, 6 * unit(random) - 3);
  Contact c;
  c.M = scale * (A * A.transpose() * unit(random) + Mat3::Identity());
  c.q = Vec3(normal(random), normal(random), normal(random));
  c.mu = 0.05 + unit(random);
  return c;
}

TEST(LocalContact, TakesOffWhenTheFreeVelocitySeparates) {
  const Mat3 M = Mat3::Identity();
  const Vec3 q(0.1, 5, -3);
  Vec3 r(1, 1, 1);
  ASSERT_TRUE(solve_local_quartic(ConvexSet::cone(0.5), M, q.data(), r.data()).solved);
  EXPECT_EQ(r, Vec3::Zero());
  r = Vec3(1, 1, 1);
  ASSERT_TRUE(
      solve_local_newton(ConvexSet::cone(0.5), M, q.data(), r.data(), Friction::exact, 1e-14)
          .solved);
  EXPECT_EQ(r, Vec3::Zero());
}

TEST(LocalContact, SticksInsideTheCone) {
  const Mat3 M = Vec3(2, 4, 4).asDiagonal();
  const Vec3 q(-2, 0.4, 0);  // r = (1, −0.1, 0), inside μ = 0.5
  for (const Friction law : {Friction::exact, Friction::convex}) {
    Vec3 r = Vec3::Zero();
    ASSERT_TRUE(solve_local_newton(ConvexSet::cone(0.5), M, q.data(), r.data(), law, 1e-14).solved);
    EXPECT_NEAR((r - Vec3(1, -0.1, 0)).norm(), 0, 1e-14);
  }
}

TEST(LocalContact, SlidesAgainstTheVelocityWithoutCoupling) {
  const Mat3 M = Vec3(2, 4, 4).asDiagonal();
  const Vec3 q(-2, 3, 4);  // r_N = 1, friction μ against (3, 4)/5
  Vec3 r = Vec3::Zero();
  ASSERT_TRUE(solve_local_quartic(ConvexSet::cone(0.5), M, q.data(), r.data()).solved);
  EXPECT_NEAR((r - Vec3(1, -0.3, -0.4)).norm(), 0, 1e-13);
}

TEST(LocalContact, ConvexSlidingRisesByMuTimesTheSlip) {
  const Mat3 M = Mat3::Identity();
  const Vec3 q(-1, 4, 0);
  const double mu = 0.3;
  Vec3 r = Vec3::Zero();
  ASSERT_TRUE(
      solve_local_newton(ConvexSet::cone(mu), M, q.data(), r.data(), Friction::convex, 1e-14)
          .solved);
  const Vec3 u = M * r + q;
  EXPECT_NEAR(u[0], mu * u.tail<2>().norm(), 1e-13);
  EXPECT_NEAR(std::abs(r[1]), mu * r[0], 1e-13);
}

// Recipe 003 §6.4 T3, to its fourteen printed digits.
TEST(LocalContact, RecipeT3) {
  Mat3 M;
  M << 2, .5, -.3, .5, 1.5, .2, -.3, .2, 1;
  const Vec3 q(-1, .8, -1.2);
  const Vec3 expected(0.56056880521867, -0.13473578757097, 0.17923238883951);
  Vec3 r = Vec3::Zero();
  ASSERT_TRUE(solve_local_quartic(ConvexSet::cone(0.4), M, q.data(), r.data()).solved);
  EXPECT_NEAR((r - expected).norm(), 0, 2e-14);
  r.setZero();
  const LocalResult newton =
      solve_local_newton(ConvexSet::cone(0.4), M, q.data(), r.data(), Friction::exact, 1e-14);
  ASSERT_TRUE(newton.solved);
  EXPECT_LE(newton.iterations, 6);
  EXPECT_NEAR((r - expected).norm(), 0, 2e-14);
  r.setZero();
  ASSERT_TRUE(solve_local_projection(ConvexSet::cone(0.4), M, q.data(), r.data(), Friction::exact,
                                     1e-14, 2000)
                  .solved);
  EXPECT_NEAR((r - expected).norm(), 0, 1e-12);
}

TEST(LocalContact, QuarticAndAlartCurnierAgreeOnTenThousandContacts) {
  std::mt19937_64 random(7);
  int slipping = 0;
  for (int k = 0; k < 10000; ++k) {
    const Contact c = random_contact(random);
    const ConvexSet set = ConvexSet::cone(c.mu);
    Vec3 quartic = Vec3::Zero();
    Vec3 newton = Vec3::Zero();
    ASSERT_TRUE(solve_local_quartic(set, c.M, c.q.data(), quartic.data()).solved)
        << "contact " << k;
    ASSERT_TRUE(
        solve_local_newton(set, c.M, c.q.data(), newton.data(), Friction::exact, 1e-15 * c.q.norm())
            .solved ||
        local_residual(set, c.M, c.q.data(), newton.data(), Friction::exact) < 1e-13 * c.q.norm())
        << "contact " << k;
    const double size = c.q.norm();
    ASSERT_LT(local_residual(set, c.M, c.q.data(), quartic.data(), Friction::exact), 1e-12 * size)
        << "contact " << k;
    ASSERT_LT(local_residual(set, c.M, c.q.data(), newton.data(), Friction::exact), 1e-12 * size)
        << "contact " << k;
    ASSERT_LT((c.M * (quartic - newton)).norm(), 1e-12 * size) << "contact " << k;
    const Vec3 u = c.M * newton + c.q;
    if (newton[0] > 0 && u.tail<2>().norm() > 1e-9 * size) ++slipping;
  }
  EXPECT_GT(slipping, 1000);  // the quartic is really exercised
}

TEST(LocalContact, PlanarContactAgreesWithSpatialOneWithoutSidewaysMotion) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 1000; ++k) {
    Contact c = random_contact(random);
    c.mu = std::min(c.mu, 0.4);
    c.M(0, 2) = c.M(2, 0) = c.M(1, 2) = c.M(2, 1) = 0;
    c.q[2] = 0;
    const Matrix planar = c.M.topLeftCorner<2, 2>();
    Eigen::Vector2d r2 = Eigen::Vector2d::Zero();
    Vec3 r3 = Vec3::Zero();
    ASSERT_TRUE(
        solve_local_quartic(ConvexSet::cone(c.mu, 2), planar, c.q.data(), r2.data()).solved);
    ASSERT_TRUE(solve_local_newton(ConvexSet::cone(c.mu), c.M, c.q.data(), r3.data(),
                                   Friction::exact, 1e-14)
                    .solved);
    const Vec3 lifted(r2[0], r2[1], 0);
    ASSERT_LT((c.M * (lifted - r3)).norm(), 1e-9) << "contact " << k;
  }
}

TEST(LocalContact, ZeroFrictionLeavesTheTangentAlone) {
  Mat3 M;
  M << 2, .5, -.3, .5, 1.5, .2, -.3, .2, 1;
  const Vec3 q(-1, .8, -1.2);
  for (int which = 0; which < 2; ++which) {
    Vec3 r = Vec3::Zero();
    if (which == 0) {
      solve_local_quartic(ConvexSet::cone(0), M, q.data(), r.data());
    } else {
      solve_local_newton(ConvexSet::cone(0), M, q.data(), r.data(), Friction::exact, 1e-15);
    }
    EXPECT_NEAR((r - Vec3(0.5, 0, 0)).norm(), 0, 1e-14);
  }
}

TEST(LocalContact, ProjectionTreatsRollingResistance) {
  // A sphere pressed on the ground: sliding and rolling both at their bounds.
  const Matrix M = Eigen::Matrix<double, 5, 5>::Identity();
  Eigen::Matrix<double, 5, 1> q;
  q << -1, 3, 0, 0, 2;
  const ConvexSet set = ConvexSet::rolling_cone(0.2, 0.05);
  Eigen::Matrix<double, 5, 1> r = Eigen::Matrix<double, 5, 1>::Zero();
  ASSERT_TRUE(
      solve_local_projection(set, M, q.data(), r.data(), Friction::exact, 1e-13, 1000).solved);
  EXPECT_NEAR(r[0], 1, 1e-12);
  EXPECT_NEAR(r[1], -0.2, 1e-12);
  EXPECT_NEAR(r[4], -0.05, 1e-12);
}

// A block with moments: M of two random bodies that touch, in rows of lengths ℓ so that forces and
// moments differ by ℓ².
struct RollingContact {
  ConvexSet set;
  Matrix M;
  Vector q;
};

RollingContact random_rolling(std::mt19937_64& random, int dim) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0, 1);
  Matrix A(dim, dim);
  for (double& x : A.reshaped()) x = normal(random);
  const double length = std::pow(10, 4 * unit(random) - 2);
  Vector scale = Vector::Ones(dim);
  scale.tail(dim - 3).setConstant(1 / length);
  RollingContact c;
  c.M = scale.asDiagonal() * (A * A.transpose() * unit(random) + Matrix::Identity(dim, dim)) *
        scale.asDiagonal();
  c.q = scale.cwiseProduct(Vector::NullaryExpr(dim, [&] { return normal(random); }));
  const double mu = unit(random), rolling = length * unit(random), spinning = length * unit(random);
  c.set = dim == 4   ? ConvexSet::spinning_cone(mu, spinning)
          : dim == 5 ? ConvexSet::rolling_cone(mu, rolling)
                     : ConvexSet::rolling_cone(mu, rolling, spinning);
  return c;
}

TEST(LocalContact, NewtonTreatsRollingAndSpinningInAnyUnits) {
  std::mt19937_64 random(5);
  for (const Friction law : {Friction::exact, Friction::convex}) {
    for (const int dim : {4, 5, 6}) {
      int missed = 0;
      for (int k = 0; k < 2000; ++k) {
        const RollingContact c = random_rolling(random, dim);
        Vector r = Vector::Zero(dim);
        const double goal = 1e-10 * c.q.norm();
        const auto result = solve_local_newton(c.set, c.M, c.q.data(), r.data(), law, goal);
        if (!result.solved) {
          ++missed;
          continue;
        }
        EXPECT_LE(local_residual(c.set, c.M, c.q.data(), r.data(), law), 1e3 * goal);
      }
      // It says so when it misses; Gauss–Seidel then goes on with what it has.
      EXPECT_LE(missed, 2) << dim;
    }
  }
}

TEST(LocalContact, RollingConeHoldsWhileItsMomentIsWithinTheBound) {
  // n = 1, a moment of 0.04 asked for: held with μ_r = 0.05, turning on with 0.03.
  const Matrix M = Matrix::Identity(5, 5);
  const Vector q{{-1., 0, 0, 0, 0.04}};
  for (const double bound : {0.05, 0.03}) {
    Vector r = Vector::Zero(5);
    const ConvexSet set = ConvexSet::rolling_cone(0, bound);
    ASSERT_TRUE(solve_local_newton(set, M, q.data(), r.data(), Friction::exact, 1e-14).solved);
    EXPECT_LT((r - Vector{{1., 0, 0, 0, -std::min(0.04, bound)}}).norm(), 1e-13);
  }
}

}  // namespace
}  // namespace urto
