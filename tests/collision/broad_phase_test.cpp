// The broad phase finds exactly the pairs that testing all of them finds, in the same order,
// whatever the boxes and however they move.
#include "urto/collision/broad_phase.h"

#include <limits>

#include <gtest/gtest.h>

#include "collision/random_boxes.h"

namespace urto {
namespace {

using namespace urto::testing;

Pairs all_pairs(const std::vector<Aabb>& boxes, const std::vector<std::uint8_t>& fixed) {
  Pairs pairs;
  for (int a = 0; a < static_cast<int>(boxes.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(boxes.size()); ++b) {
      if ((fixed[a] == 0 || fixed[b] == 0) && overlap(boxes[a], boxes[b])) pairs.push_back({a, b});
    }
  }
  return pairs;
}

std::vector<std::uint8_t> some_fixed(std::size_t count, double share, BoxEngine& r) {
  std::vector<std::uint8_t> fixed(count);
  for (auto& f : fixed) f = uniform(r, 0, 1) < share ? 1 : 0;
  return fixed;
}

TEST(BroadPhase, AgreesWithAllPairsOnRandomSets) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    BoxEngine r(seed);
    const int kind = static_cast<int>(seed) % box_set_kinds;
    const int count = static_cast<int>(uniform(r, 0, seed % 40 < 10 ? 250 : 40));
    const auto boxes = random_boxes(kind, count, r);
    const auto fixed = some_fixed(boxes.size(), seed % 3 == 0 ? 0 : uniform(r, 0, 1), r);
    BroadPhase broad;
    Pairs pairs;
    broad.find(boxes, fixed, pairs);
    ASSERT_EQ(pairs, all_pairs(boxes, fixed)) << "seed " << seed << ", kind " << kind;
    found += pairs.size();
  }
  EXPECT_GT(found, 100000U);
}

TEST(BroadPhase, AgreesWithAllPairsWhileBoxesMoveComeAndGo) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    BoxEngine r(seed);
    const int kind = static_cast<int>(seed) % box_set_kinds;
    auto boxes = random_boxes(kind, 80, r);
    auto fixed = some_fixed(boxes.size(), 0.2, r);
    BroadPhase broad;
    Pairs pairs;
    for (int step = 0; step < 60; ++step) {
      // Mostly a little; now and then everything somewhere else; fixed ones only when told to.
      const double way = step % 20 == 19 ? 5 : 0.02;
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        if (fixed[k] != 0 && step % 15 != 14) continue;
        const Vec3 d = uniform3(r, -way, way);
        boxes[k] = {boxes[k].lower + d, boxes[k].upper + d};
      }
      if (step % 25 == 24) {
        boxes.push_back(random_box(kind, 3, r));
        fixed.push_back(0);
      }
      if (step % 30 == 29) {
        boxes.erase(boxes.begin());
        fixed.erase(fixed.begin());
      }
      if (step == 40) fixed[0] = fixed[0] != 0 ? 0 : 1;
      broad.find(boxes, fixed, pairs);
      ASSERT_EQ(pairs, all_pairs(boxes, fixed)) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(BroadPhase, AnswerDoesNotDependOnWhatWasAskedBefore) {
  BoxEngine r(3);
  auto boxes = random_boxes(3, 2000, r);
  const auto fixed = some_fixed(boxes.size(), 0.1, r);
  BroadPhase old;
  Pairs from_old;
  for (int step = 0; step < 30; ++step) {
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (fixed[k] != 0) continue;
      const Vec3 d = uniform3(r, -0.05, 0.05);
      boxes[k] = {boxes[k].lower + d, boxes[k].upper + d};
    }
    old.find(boxes, fixed, from_old);
  }
  BroadPhase fresh;
  Pairs from_fresh;
  fresh.find(boxes, fixed, from_fresh);
  EXPECT_EQ(from_old, from_fresh);
  EXPECT_FALSE(from_fresh.empty());
}

TEST(BroadPhase, TreeOfFixedBoxesIsBuiltOnlyWhenOneChanges) {
  BoxEngine r(5);
  auto boxes = random_boxes(3, 500, r);
  auto fixed = some_fixed(boxes.size(), 0.5, r);
  fixed[0] = 1;
  BroadPhase broad;
  Pairs pairs;
  for (int step = 0; step < 20; ++step) {
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (fixed[k] == 0) boxes[k].upper[0] += 0.01;
    }
    broad.find(boxes, fixed, pairs);
  }
  EXPECT_EQ(broad.counts().fixed_builds, 1);
  EXPECT_LT(broad.counts().moving_builds, 5);
  boxes[0].upper[2] += 3;
  broad.find(boxes, fixed, pairs);
  EXPECT_EQ(broad.counts().fixed_builds, 2);
  EXPECT_EQ(pairs, all_pairs(boxes, fixed));
}

TEST(BroadPhase, NoBoxesOneBoxAndOnlyFixedBoxesHaveNoPairs) {
  BroadPhase broad;
  Pairs pairs{{1, 2}};
  broad.find({}, {}, pairs);
  EXPECT_TRUE(pairs.empty());
  std::vector<Aabb> boxes(1);
  broad.find(boxes, std::vector<std::uint8_t>{0}, pairs);
  EXPECT_TRUE(pairs.empty());
  boxes.resize(30);
  broad.find(boxes, std::vector<std::uint8_t>(30, 1), pairs);
  EXPECT_TRUE(pairs.empty());
  broad.find({}, {}, pairs);
  EXPECT_TRUE(pairs.empty());
}

TEST(BroadPhase, AllOverlappingGivesEveryPairInOrder) {
  const int n = 300;
  const std::vector<Aabb> boxes(n, {Vec3(-1, -1, -1), Vec3(1, 1, 1)});
  BroadPhase broad;
  Pairs pairs;
  broad.find(boxes, std::vector<std::uint8_t>(n, 0), pairs);
  ASSERT_EQ(pairs.size(), static_cast<std::size_t>(n * (n - 1) / 2));
  EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
}

// Single precision cannot tell these apart; the answer can.
TEST(BroadPhase, BoxesThatMissByLessThanSinglePrecisionAreNotPairs) {
  const double gap = 1e-12;
  std::vector<Aabb> boxes{{Vec3(0, 0, 0), Vec3(1, 1, 1)},
                          {Vec3(1 + gap, 0, 0), Vec3(2, 1, 1)},
                          {Vec3(0, 1, 0), Vec3(1, 2, 1)},
                          {Vec3(100, 100, 100), Vec3(101, 101, 101)}};
  BroadPhase broad;
  Pairs pairs;
  broad.find(boxes, std::vector<std::uint8_t>(4, 0), pairs);
  EXPECT_EQ(pairs, (Pairs{{0, 2}}));
}

// Asserted where assertions are on; elsewhere the answer means nothing, but nothing breaks.
TEST(BroadPhaseDeathTest, BoxesThatAreNotBoxesAreTheCallersMistake) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  BoxEngine r(1);
  for (const double bad : {nan, inf, -inf}) {
    auto boxes = random_boxes(0, 50, r);
    for (int k = 0; k < 50; k += 7) boxes[k].lower[k % 3] = bad;
    BroadPhase broad;
    Pairs pairs;
    EXPECT_DEBUG_DEATH(broad.find(boxes, std::vector<std::uint8_t>(50, 0), pairs), "is_bounded");
  }
}

}  // namespace
}  // namespace urto
