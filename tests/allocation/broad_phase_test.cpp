// The broad phase allocates nothing once it has seen its boxes move for a while, through refits and
// through builds.
#include "urto/collision/broad_phase.h"

#include <gtest/gtest.h>

#include "allocation/counting.h"
#include "collision/random_boxes.h"

namespace urto {
namespace {

using namespace urto::testing;

TEST(BroadPhaseAllocation, NoneOnceWarm) {
  BoxEngine r(2);
  const std::vector<Aabb> start = random_boxes(3, 3000, r);
  std::vector<Aabb> boxes = start;
  std::vector<std::uint8_t> fixed(boxes.size(), 0);
  for (std::size_t k = 0; k < 300; ++k) fixed[k] = 1;
  BroadPhase broad;
  Pairs pairs;
  // To and fro, so that the second round has no more pairs than the first.
  const auto round = [&] {
    for (int step = 0; step < 40; ++step) {
      for (std::size_t k = 300; k < boxes.size(); ++k) {
        const Vec3 d = 5 * std::sin(0.1 * step) * Vec3(std::sin(k), std::cos(k), std::sin(3.0 * k));
        boxes[k] = {start[k].lower + d, start[k].upper + d};
      }
      broad.find(boxes, fixed, pairs);
    }
  };
  round();
  const long builds = broad.counts().moving_builds;
  const long before = allocations_so_far();
  round();
  EXPECT_EQ(allocations_so_far() - before, 0);
  EXPECT_GT(broad.counts().moving_builds, builds);
  EXPECT_FALSE(pairs.empty());
}

}  // namespace
}  // namespace urto
