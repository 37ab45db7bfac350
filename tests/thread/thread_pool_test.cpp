// What all phases of a step rely on.
#include "urto/thread/thread_pool.h"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace urto {
namespace {

TEST(ThreadPool, SharesEveryItemOnceInRangesThatDoNotDependOnTheThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int count : {0, 1, 7, 64, 65, 1000}) {
      for (const int grain : {1, 7, 64, 5000}) {
        std::vector<int> seen(count, 0);
        std::atomic<int> wrong = 0;
        pool.share(count, grain, [&](int thread, int first, int last) {
          const bool range = first % grain == 0 && last == std::min(first + grain, count);
          wrong += range && thread >= 0 && thread < threads ? 0 : 1;
          for (int k = first; k < last; ++k) ++seen[k];
        });
        EXPECT_EQ(wrong, 0) << threads << " " << count << " " << grain;
        EXPECT_EQ(seen, std::vector<int>(count, 1)) << threads << " " << count << " " << grain;
      }
    }
  }
}

// Rounds so short that threads are still awake, or just asleep, when the next one begins.
TEST(ThreadPool, ManyShortRoundsLoseNothing) {
  ThreadPool pool(3);
  std::vector<long> sums(100, 0);
  for (int round = 0; round < 2000; ++round)
    share_items(&pool, 100, 1 + round % 50, [&](int k) { sums[k] += k; });
  for (int k = 0; k < 100; ++k) EXPECT_EQ(sums[k], 2000L * k);
}

TEST(ThreadPool, PassesOnTheExceptionOfTheFirstRangeAndGoesOn) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::string what;
    try {
      pool.share(100, 10, [](int, int first, int) {
        if (first >= 30) throw std::runtime_error(std::to_string(first));
      });
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    EXPECT_EQ(what, "30");
  }
  int sum = 0;
  share_items(nullptr, 10, 3, [&](int k) { sum += k; });
  EXPECT_EQ(sum, 45);
}

}  // namespace
}  // namespace urto
