#include "urto/solver/thread_pool.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace urto {

struct ThreadPool::Team {
  std::mutex mutex;
  std::condition_variable begin, end;
  const std::function<void(int)>* work = nullptr;
  long round = 0;  ///< counts the calls of `run`
  int wanted = 0;  ///< threads of this round, the caller's not counted
  int busy = 0;
  bool over = false;
  std::vector<std::exception_ptr> errors = {};
  std::vector<std::thread> threads = {};

  void call(int thread, const std::function<void(int)>& f) {
    try {
      f(thread);
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  }

  void serve(int thread, long seen) {
    for (;;) {
      std::unique_lock lock(mutex);
      begin.wait(lock, [&] { return over || (round != seen && thread < wanted); });
      if (over) return;
      seen = round;
      const std::function<void(int)>& f = *work;
      lock.unlock();
      call(thread, f);
      lock.lock();
      if (--busy == 0) end.notify_one();
    }
  }
};

ThreadPool::ThreadPool() : team_(std::make_unique<Team>()) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(team_->mutex);
    team_->over = true;
  }
  team_->begin.notify_all();
  for (std::thread& thread : team_->threads) thread.join();
}

void ThreadPool::run(int threads, const std::function<void(int)>& work) {
  Team& team = *team_;
  if (threads <= 1) {
    work(0);
    return;
  }
  {
    const std::lock_guard lock(team.mutex);
    team.errors.assign(threads, nullptr);
    team.work = &work;
    team.wanted = team.busy = threads - 1;
    const long before = team.round++;
    while (static_cast<int>(team.threads.size()) < threads - 1) {
      const int number = static_cast<int>(team.threads.size());
      team.threads.emplace_back([&team, number, before] { team.serve(number, before); });
    }
  }
  team.begin.notify_all();
  team.call(threads - 1, work);
  std::unique_lock lock(team.mutex);
  team.end.wait(lock, [&] { return team.busy == 0; });
  for (const std::exception_ptr& error : team.errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace urto
