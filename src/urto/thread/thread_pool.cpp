#include "urto/thread/thread_pool.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace urto {
namespace {

// How often a thread looks for work, or for the end of it, before it sleeps: some ten microseconds.
// To wake a thread takes about as long, and the phases of a step follow each other faster.
constexpr int looks = 300;
// Of the ranges of `share`; more threads than that share some.
constexpr int most_stretches = 64;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

template <class F>
bool comes_soon(F&& condition) {
  for (int k = 0; k < looks; ++k) {
    if (condition()) return true;
    pause();
  }
  return condition();
}

}  // namespace

struct ThreadPool::Team {
  std::mutex mutex;
  std::condition_variable begin, end;
  const Work* work = nullptr;
  std::atomic<long> round = 0;  ///< counts the calls of `run_on`
  int wanted = 0;               ///< threads of this round, the caller's not counted
  std::atomic<int> busy = 0;
  bool over = false;
  std::vector<std::exception_ptr> errors = {};
  std::vector<std::thread> threads = {};

  void call(int thread, const Work& f) {
    try {
      f.call(f.object, thread);
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  }

  void serve(int thread, long seen) {
    for (;;) {
      comes_soon([&] { return round != seen; });
      std::unique_lock lock(mutex);
      begin.wait(lock, [&] { return over || (round != seen && thread < wanted); });
      if (over) return;
      seen = round;
      const Work& f = *work;
      lock.unlock();
      call(thread, f);
      lock.lock();
      if (--busy == 0) end.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(1, threads)), team_(std::make_unique<Team>()) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(team_->mutex);
    team_->over = true;
  }
  team_->begin.notify_all();
  for (std::thread& thread : team_->threads) thread.join();
}

void ThreadPool::run_on(int threads, const Work& work) {
  Team& team = *team_;
  if (threads <= 1) return work.call(work.object, 0);
  {
    const std::lock_guard lock(team.mutex);
    team.errors.assign(threads, nullptr);
    team.work = &work;
    team.wanted = threads - 1;
    team.busy = threads - 1;
    const long before = team.round++;
    while (static_cast<int>(team.threads.size()) < threads - 1) {
      const int number = static_cast<int>(team.threads.size());
      team.threads.emplace_back([&team, number, before] { team.serve(number, before); });
    }
  }
  team.begin.notify_all();
  team.call(threads - 1, work);
  comes_soon([&] { return team.busy == 0; });
  std::unique_lock lock(team.mutex);
  team.end.wait(lock, [&] { return team.busy == 0; });
  for (const std::exception_ptr& error : team.errors) {
    if (error) std::rethrow_exception(error);
  }
}

void ThreadPool::share_out(int threads, int count, int grain, const RangeWork& work) {
  const int ranges = (count + grain - 1) / grain;
  threads = std::min(threads, ranges);
  if (threads <= 1) {
    for (int first = 0; first < count; first += grain)
      work.call(work.object, 0, first, std::min(first + grain, count));
    return;
  }
  // Each thread has its own stretch of ranges, the same in every phase, so that it finds what it
  // left in its cache; who is done takes from the others.
  struct alignas(64) Stretch {
    std::atomic<int> next = 0;
    int end = 0;
  };
  std::array<Stretch, most_stretches> stretches;
  const int parts = std::min(threads, most_stretches);
  for (int t = 0; t < parts; ++t) {
    stretches[t].next = static_cast<int>(static_cast<long>(ranges) * t / parts);
    stretches[t].end = static_cast<int>(static_cast<long>(ranges) * (t + 1) / parts);
  }
  std::mutex mutex;
  std::exception_ptr error;
  int failed = ranges;  // the first range that threw
  run(threads, [&](int thread) {
    for (int t = 0; t < parts; ++t) {
      Stretch& stretch = stretches[(thread + t) % parts];
      for (int k = stretch.next++; k < stretch.end; k = stretch.next++) {
        try {
          work.call(work.object, thread, k * grain, std::min((k + 1) * grain, count));
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (k < failed) error = std::current_exception();
          failed = std::min(failed, k);
        }
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace urto
