// Signed gaps of pairs of convex solids. Three witnesses that know nothing of the method: where
// solids are apart, the distance between two of their points is never too small and the separation
// along a direction never too large, so that both together prove a gap; where they overlap, no
// direction may show a smaller depth; and FCL, where it is apart (its build here asserts inside
// overlaps).
#include "urto/collision/narrow_phase.h"

#include <fcl/fcl.h>

#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "urto/collision/box_box.h"
#include "urto/collision/closed_forms.h"
#include "urto/collision/expanding_polytope.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::capsule, ShapeKind::box,
                           ShapeKind::cylinder, ShapeKind::cone,    ShapeKind::ellipsoid,
                           ShapeKind::hull};

struct KindPair {
  ShapeKind a, b;
};

std::vector<KindPair> kind_pairs() {
  std::vector<KindPair> out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (std::size_t j = i; j < kinds.size(); ++j) out.push_back({kinds[i], kinds[j]});
  }
  return out;
}

std::string name_of(const ::testing::TestParamInfo<KindPair>& info) {
  return std::string(to_string(info.param.a)) + "_" + std::string(to_string(info.param.b));
}

bool is_closed_form(const PlacedPair& p) {
  const bool boxes = p.a.core == CoreKind::box && p.b.core == CoreKind::box;
  const bool segment_box = (p.a.core == CoreKind::segment && p.b.core == CoreKind::box);
  Nearest out;
  return boxes || segment_box || closed_form({p.a, p.b}, out);
}

class PairOf : public ::testing::TestWithParam<KindPair> {};

TEST_P(PairOf, GapIsProvenByPointsAndPlanes) {
  Random random(1);
  const auto [kind_a, kind_b] = GetParam();
  for (int k = 0; k < many_pairs; ++k) {
    const PlacedPair p = random_pair(random, kind_a, kind_b);
    const Closest c = closest(p.a, p.at_a, p.b, p.at_b);
    const double tolerance = (is_closed_form(p) ? 1e-9 : 1e-6) * p.size();
    ASSERT_NEAR(c.normal.norm(), 1, 1e-12) << k;
    // Below: no direction shows more; above: these points are that near. The direction between
    // points as near as that carries the rounding of their coordinates.
    const double cores = std::abs(c.gap + p.a.radius + p.b.radius);
    const double rounding = cores > 0 ? 1e-15 * p.size() * p.size() / cores : 0;
    ASSERT_NEAR(separation_along(p, c.normal), c.gap,
                tolerance + std::min(rounding, 1e-7 * p.size()))
        << k;
    if (c.gap > 1e-6 * p.size()) {
      ASSERT_NEAR((c.a - c.b).norm(), c.gap, tolerance) << k;
    } else {
      for (int d = 0; d < 10; ++d) {
        const Vec3 n =
            d < 5
                ? random.unit()
                : (c.normal + std::pow(10, random.uniform(-6, -1)) * random.normal()).normalized();
        ASSERT_LE(separation_along(p, n), c.gap + tolerance) << k;
      }
    }
  }
}

TEST_P(PairOf, PointsLieOnBothSurfaces) {
  Random random(2);
  const auto [kind_a, kind_b] = GetParam();
  if (kind_b == ShapeKind::hull) GTEST_SKIP() << "no formula for the surface of a hull";
  for (int k = 0; k < many_pairs / 10; ++k) {
    const PlacedPair p = random_pair(random, kind_a, kind_b);
    const Closest c = closest(p.a, p.at_a, p.b, p.at_b);
    if (c.gap <= 1e-6 * p.size()) continue;
    const SurfacePoint on_a = nearest_on_surface(p.a, p.at_a.R.transpose() * (c.a - p.at_a.x));
    const SurfacePoint on_b = nearest_on_surface(p.b, p.at_b.R.transpose() * (c.b - p.at_b.x));
    ASSERT_NEAR(on_a.distance, p.a.radius, 1e-9 * p.size()) << k;
    ASSERT_NEAR(on_b.distance, p.b.radius, 1e-9 * p.size()) << k;
  }
}

TEST_P(PairOf, ChangingSidesChangesTheNormalsSignOnly) {
  Random random(3);
  const auto [kind_a, kind_b] = GetParam();
  for (int k = 0; k < many_pairs / 20; ++k) {
    const PlacedPair p = random_pair(random, kind_a, kind_b);
    const Closest forth = closest(p.a, p.at_a, p.b, p.at_b);
    const Closest back = closest(p.b, p.at_b, p.a, p.at_a);
    ASSERT_NEAR(forth.gap, back.gap, 1e-6 * p.size()) << k;
    // Apart the normal is unique.
    if (forth.gap > 1e-3 * p.size()) {
      ASSERT_GT(-forth.normal.dot(back.normal), 1 - 1e-6) << k;
    }
  }
}

// d gap = n·(δx_a + δθ_a × r_a − δx_b): by central differences, where the gap is smooth: the normal
// turns by little from one side to the other. Deep inside, directions are many and change places.
TEST_P(PairOf, GradientOfTheGapIsTheNormalAtThePoint) {
  Random random(4);
  const auto [kind_a, kind_b] = GetParam();
  int smooth = 0;
  for (int k = 0; k < many_pairs / 20; ++k) {
    PlacedPair p = random_pair(random, kind_a, kind_b);
    const Closest c = closest(p.a, p.at_a, p.b, p.at_b);
    if (std::abs(c.gap) < 1e-3 * p.size()) continue;
    if (c.gap < -0.1 * std::min(p.a.extent, p.b.extent)) continue;
    const double step = 1e-5 * std::min(p.a.extent, p.b.extent);
    const Vec3 shift = random.unit(), turn = random.unit() / p.a.extent;
    const auto gap_at = [&](double s) {
      const Place moved{p.at_a.x + s * shift, rotation_matrix(quaternion_exp(s * turn)) * p.at_a.R};
      return closest(p.a, moved, p.b, p.at_b);
    };
    const Closest after = gap_at(step), before = gap_at(-step);
    const double ahead = (after.gap - c.gap) / step, behind = (c.gap - before.gap) / step;
    const double turned =
        std::max((after.normal - c.normal).norm(), (before.normal - c.normal).norm());
    const double moved = std::max((after.a - c.a).norm(), (before.a - c.a).norm());
    if (std::abs(ahead - behind) > 1e-3 || turned > 5e-4 || moved > 2e-3 * p.a.extent) continue;
    ++smooth;
    const double predicted = c.normal.dot(shift + turn.cross(c.a - p.at_a.x));
    ASSERT_NEAR(predicted, 0.5 * (ahead + behind), 2e-3) << k;
  }
  EXPECT_GT(smooth, many_pairs / 200);
}

std::unique_ptr<fcl::CollisionGeometryd> fcl_geometry(const Shape& s) {
  switch (s.kind) {
    case ShapeKind::sphere:
      return std::make_unique<fcl::Sphered>(s.size[0]);
    case ShapeKind::box:
      return std::make_unique<fcl::Boxd>(2 * s.size);
    case ShapeKind::capsule:
      return std::make_unique<fcl::Capsuled>(s.size[0], 2 * s.size[1]);
    case ShapeKind::cylinder:
      return std::make_unique<fcl::Cylinderd>(s.size[0], 2 * s.size[1]);
    case ShapeKind::cone:
      return std::make_unique<fcl::Coned>(s.size[0], 2 * s.size[1]);
    default:
      return std::make_unique<fcl::Ellipsoidd>(s.size);
  }
}

TEST_P(PairOf, AgreesWithFclWhereApart) {
  Random random(5);
  const auto [kind_a, kind_b] = GetParam();
  if (kind_b == ShapeKind::hull) GTEST_SKIP() << "hulls are proven by points and planes";
  int compared = 0, off = 0;
  for (int k = 0; k < many_pairs; ++k) {
    Shape shape_a = random.shape(kind_a), shape_b = random.shape(kind_b);
    shape_a.margin = shape_b.margin = 0;
    const Convex a = convex_of(shape_a, nullptr), b = convex_of(shape_b, nullptr);
    const double size = a.extent + b.extent;
    const Place at_a{random.normal(), random.rotation()};
    const Place at_b{at_a.x + random.uniform(0.2, 1.5) * size * random.unit(), random.rotation()};
    const Closest c = closest(a, at_a, b, at_b);
    if (c.gap < 1e-3 * size) continue;
    fcl::Transform3d in_a = fcl::Transform3d::Identity(), in_b = in_a;
    in_a.linear() = at_a.R;
    in_a.translation() = at_a.x;
    in_b.linear() = at_b.R;
    in_b.translation() = at_b.x;
    fcl::DistanceRequestd request;
    request.distance_tolerance = 1e-10;
    fcl::DistanceResultd result;
    const double theirs = fcl::distance(fcl_geometry(shape_a).get(), in_a,
                                        fcl_geometry(shape_b).get(), in_b, request, result);
    ++compared;
    off += std::abs(theirs - c.gap) > 1e-6 * size ? 1 : 0;
    ASSERT_NEAR(theirs, c.gap, 1e-3 * size) << k;
  }
  EXPECT_GT(compared, many_pairs / 20);
  // FCL's iterations end early now and then; GapIsProvenByPointsAndPlanes says who is right.
  EXPECT_LE(off, 1 + compared / 1000);
}

INSTANTIATE_TEST_SUITE_P(NarrowPhase, PairOf, ::testing::ValuesIn(kind_pairs()), name_of);

TEST(NarrowPhase, FormulasAgreeWithTheGeneralMethod) {
  Random random(6);
  for (const auto& [kind_a, kind_b] : kind_pairs()) {
    for (int k = 0; k < many_pairs / 50; ++k) {
      const PlacedPair p = random_pair(random, kind_a, kind_b);
      const ConvexPair pair{p.a, p.b, p.at_a.R.transpose() * p.at_b.R,
                            p.at_a.R.transpose() * (p.at_b.x - p.at_a.x)};
      Nearest formula;
      if (!closed_form(pair, formula)) continue;
      ASSERT_NEAR(nearest_points(pair).distance, formula.distance, 1e-6 * p.size())
          << to_string(kind_a) << " " << to_string(kind_b) << " " << k;
    }
  }
}

TEST(NarrowPhase, SeparatingAxesAndPolytopeAgreeOnBoxesThatOverlap) {
  Random random(7);
  int overlapping = 0;
  for (int k = 0; k < many_pairs / 5; ++k) {
    const PlacedPair p = random_pair(random, ShapeKind::box, ShapeKind::box);
    const ConvexPair pair{p.a, p.b, p.at_a.R.transpose() * p.at_b.R,
                          p.at_a.R.transpose() * (p.at_b.x - p.at_a.x)};
    const Nearest axes = box_axes(pair, 1e300);
    if (axes.distance > 0) continue;
    ++overlapping;
    ASSERT_NEAR(expand_polytope(pair).distance, axes.distance, 1e-9 * p.size()) << k;
  }
  EXPECT_GT(overlapping, many_pairs / 25);
}

}  // namespace
}  // namespace urto
