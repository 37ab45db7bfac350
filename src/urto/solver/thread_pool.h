// Threads that wait for work between solves: made once, used for every step of a run.
#pragma once

#include <functional>
#include <memory>

namespace urto {

class ThreadPool {
 public:
  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls work(thread) for 0 ≤ thread < threads, each on a thread of its own, the last the
  /// caller's; returns when all have. Threads are made the first time that so many are asked for.
  /// The first exception of the lowest thread is passed on.
  void run(int threads, const std::function<void(int)>& work);

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace urto
