// Queries by box and by ray find all that testing every box finds, after builds and after refits;
// trees stay shallow.
#include "urto/collision/aabb_tree.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "collision/random_boxes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<int> queried(const AabbTree& tree, const Aabb& box) {
  std::vector<int> items;
  tree.for_overlaps(box, [&items](int item) { items.push_back(item); });
  std::sort(items.begin(), items.end());
  return items;
}

/// Where the ray enters the box, or infinity.
double ray_entry(const Aabb& box, const Vec3& from, const Vec3& direction) {
  double enter = 0;
  double leave = inf;
  for (int k = 0; k < 3; ++k) {
    if (direction[k] == 0) {
      if (from[k] < box.lower[k] || from[k] > box.upper[k]) return inf;
      continue;
    }
    const double a = (box.lower[k] - from[k]) / direction[k];
    const double b = (box.upper[k] - from[k]) / direction[k];
    enter = std::max(enter, std::min(a, b));
    leave = std::min(leave, std::max(a, b));
  }
  return enter <= leave ? enter : inf;
}

TEST(AabbTree, BoxQueryFindsAllThatOverlapAndLittleElse) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    BoxEngine r(seed);
    const int kind = static_cast<int>(seed) % box_set_kinds;
    auto boxes = random_boxes(kind, static_cast<int>(uniform(r, 0, 200)), r);
    AabbTree tree;
    tree.build(boxes);
    ASSERT_EQ(tree.size(), static_cast<int>(boxes.size()));
    for (int round = 0; round < 2; ++round) {
      double largest = 0;
      for (const Aabb& box : boxes) {
        largest = std::max({largest, (box.lower - tree.origin()).cwiseAbs().maxCoeff(),
                            (box.upper - tree.origin()).cwiseAbs().maxCoeff()});
      }
      for (int k = 0; k < 10; ++k) {
        const Aabb query = random_box(kind, 5, r);
        // What the query may add is nearer than the rounding of the two.
        const double reach = (query.upper - tree.origin()).cwiseAbs().maxCoeff() +
                             (query.lower - tree.origin()).cwiseAbs().maxCoeff();
        const Aabb wider = inflated(query, 1.3e-7 * (largest + reach));
        const auto found = queried(tree, query);
        ASSERT_TRUE(std::adjacent_find(found.begin(), found.end()) == found.end());
        for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
          const bool there = std::binary_search(found.begin(), found.end(), i);
          if (overlap(boxes[i], query)) {
            ASSERT_TRUE(there) << "seed " << seed << ", box " << i;
          } else if (there) {
            ASSERT_TRUE(overlap(boxes[i], wider)) << "seed " << seed << ", box " << i;
          }
        }
      }
      for (Aabb& box : boxes) {
        const Vec3 d = uniform3(r, -0.5, 0.5);
        box = {box.lower + d, box.upper + d};
      }
      tree.refit(boxes);
    }
  }
}

TEST(AabbTree, RayMeetsAllBoxesOnItsWay) {
  std::size_t met = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    BoxEngine r(seed);
    const int kind = static_cast<int>(seed) % box_set_kinds;
    const auto boxes = random_boxes(kind, static_cast<int>(uniform(r, 1, 150)), r);
    AabbTree tree;
    tree.build(boxes);
    double rounding = 1e-30;
    for (const Aabb& box : boxes) {
      rounding = std::max({rounding, 3e-7 * (box.lower - tree.origin()).cwiseAbs().maxCoeff(),
                           3e-7 * (box.upper - tree.origin()).cwiseAbs().maxCoeff()});
    }
    for (int k = 0; k < 10; ++k) {
      const Vec3 from = boxes[0].center() + uniform3(r, -4, 4) * (k == 9 ? 1e6 : 1);
      Vec3 direction = boxes[k % boxes.size()].center() - from;
      if (k % 3 == 1) direction[k % 2] = 0;
      if (direction.isZero(0)) continue;
      const double reach = k % 2 == 0 ? inf : 0.8;
      std::vector<int> found;
      tree.for_ray(from, direction, reach, [&found](int item, double so_far) {
        found.push_back(item);
        return so_far;
      });
      std::sort(found.begin(), found.end());
      ASSERT_TRUE(std::adjacent_find(found.begin(), found.end()) == found.end());
      for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
        const bool there = std::binary_search(found.begin(), found.end(), i);
        const double t = ray_entry(boxes[i], from, direction);
        if (t < inf && t <= reach) {
          ++met;
          ASSERT_TRUE(there) << "seed " << seed << ", ray " << k << ", box " << i;
        } else if (there) {
          ASSERT_LT(ray_entry(inflated(boxes[i], rounding), from, direction), inf)
              << "seed " << seed << ", ray " << k << ", box " << i;
        }
      }
    }
  }
  EXPECT_GT(met, 10000U);
}

TEST(AabbTree, NearestHitPrunesWhatIsBehindIt) {
  std::vector<Aabb> boxes;
  for (int k = 0; k < 10000; ++k) boxes.push_back({Vec3(2 * k, 0, 0), Vec3(2 * k + 1, 1, 1)});
  AabbTree tree;
  tree.build(boxes);
  int seen = 0;
  double nearest = inf;
  int hit = -1;
  tree.for_ray({9000.5 + 1, 0.5, 0.5}, {1, 0, 0}, inf, [&](int item, double reach) {
    ++seen;
    const double t = ray_entry(boxes[item], {9001.5, 0.5, 0.5}, {1, 0, 0});
    if (t >= reach) return reach;
    nearest = t;
    hit = item;
    return t;
  });
  EXPECT_EQ(hit, 4501);
  EXPECT_DOUBLE_EQ(nearest, 0.5);
  EXPECT_LE(seen, 8);
}

TEST(AabbTree, PairsOfTwoTreesAreThoseOfTheirItems) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    BoxEngine r(seed);
    const auto boxes = random_boxes(static_cast<int>(seed) % box_set_kinds, 120, r);
    std::vector<int> left;
    std::vector<int> right;
    for (int k = 0; k < 120; ++k) (uniform(r, 0, 1) < 0.3 ? left : right).push_back(k);
    AabbTree a;
    AabbTree b;
    a.build(boxes, left, boxes[0].center());
    b.build(boxes, right, boxes[0].center());
    std::vector<std::array<int, 2>> found;
    a.for_pairs_with(b, [&](int i, int j, bool certain) {
      EXPECT_TRUE(!certain || overlap(boxes[i], boxes[j]));
      if (overlap(boxes[i], boxes[j])) found.push_back({i, j});
    });
    std::sort(found.begin(), found.end());
    std::vector<std::array<int, 2>> expected;
    for (const int i : left) {
      for (const int j : right) {
        if (overlap(boxes[i], boxes[j])) expected.push_back({i, j});
      }
    }
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(AabbTree, IsShallowOnUnkindSets) {
  // Every box half as far from zero as the one before: area splits peel off one at a time.
  std::vector<Aabb> halving;
  for (int k = 0; k < 1000; ++k)
    halving.push_back({Vec3::Zero(), Vec3::Constant(std::ldexp(1, -k))});
  AabbTree tree;
  tree.build(halving);
  EXPECT_LE(tree.depth(), 91);
  EXPECT_EQ(queried(tree, halving.back()).size(), 1000U);

  tree.build(std::vector<Aabb>(100000));  // all the same
  EXPECT_LE(tree.depth(), 17);

  BoxEngine r(1);
  tree.build(random_boxes(0, 100000, r));
  EXPECT_LE(tree.depth(), 40);
}

// A ball that fell off the table and falls on must not cost the others their precision.
TEST(AabbTree, StrayBoxDoesNotMakeTheOthersCandidates) {
  std::vector<Aabb> boxes;
  for (int k = 0; k < 1000; ++k) {
    const Vec3 corner = Vec3(k % 10, k / 10 % 10, k / 100) * 0.01;
    boxes.push_back({corner, corner + Vec3::Constant(0.009)});
  }
  boxes[500] = {Vec3(0, 0, -1e9), Vec3(1, 1, 1 - 1e9)};
  AabbTree tree;
  tree.build(boxes);
  int candidates = 0;
  tree.for_pairs([&candidates](int, int, bool) { ++candidates; });
  EXPECT_EQ(candidates, 0);
}

TEST(AabbTree, EmptyTreeAnswersNothing) {
  AabbTree tree;
  EXPECT_TRUE(queried(tree, {}).empty());
  tree.build({});
  tree.refit({});
  EXPECT_TRUE(queried(tree, {}).empty());
  tree.for_ray(Vec3::Zero(), Vec3::UnitX(), inf, [](int, double reach) {
    ADD_FAILURE();
    return reach;
  });
  tree.for_pairs([](int, int, bool) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace urto
