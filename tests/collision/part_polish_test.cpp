// Nearest points of round cores to the last digits, where they meet edges.
#include "urto/collision/part_polish.h"

#include <cmath>

#include <gtest/gtest.h>

namespace urto {
namespace {

// The edge of a triangle that passes the side of a cylinder askew: the line's distance from the
// axis less the radius, along the common normal e_x of line and axis. `gap` < 0: they overlap.
Nearest part_polish_skew(double angle, double turn, double gap) {
  const Convex cylinder{.core = CoreKind::cylinder, .size = {0.3, 0.7, 0}, .extent = 0.8};
  const Vec3 across(0, std::sin(angle), std::cos(angle)), beside(1, 0.2, 0.1);
  Convex triangle = triangle_of(across, 0.1 * across + beside, -1.3 * across);
  // Seen from axes that are turned, so that nothing is aligned.
  const Mat3 R = Eigen::AngleAxisd(turn, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  for (Vec3& c : triangle.corners) c = R.transpose() * c;
  return nearest_points({cylinder, triangle, R, Vec3(0.3 + gap, 0.01, 0.05)});
}

TEST(PartPolish, AnEdgePassesTheSideOfACylinderAsLinesDo) {
  for (const double angle : {0.3, 0.7, 1.2, 1.5}) {
    for (const double gap : {0.5, 0.03, 1e-4, 1e-7, -1e-7, -1e-4, -0.01}) {
      for (int k = 0; k < 20; ++k) {
        const Nearest found = part_polish_skew(angle, 0.3 * k, gap);
        EXPECT_NEAR(found.distance, gap, 1e-13) << angle << " " << gap;
        EXPECT_LT((found.normal + Vec3::UnitX()).norm(), 1e-11) << angle << " " << gap;
        EXPECT_LT((found.a - found.b - found.distance * found.normal).norm(), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace urto
