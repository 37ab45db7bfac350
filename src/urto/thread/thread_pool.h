// Threads that wait for work between the phases of a step: made once, used for every step of a run.
// A run has one pool; detection, assembly, islands and certificates share it.
//
// Nothing that is computed depends on the number of threads: what is shared out are items that do
// not know of each other, each written to a place of its own, and sums over them are taken by one
// thread in the order of the items.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

namespace urto {

class ThreadPool {
 public:
  /// Of at most so many threads, the caller's among them; they are made when first needed.
  explicit ThreadPool(int threads = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls work(thread) for 0 ≤ thread < threads, each on a thread of its own, the last the
  /// caller's; returns when all have. The first exception of the lowest thread is passed on. Not
  /// from inside of `work`.
  template <class F>
  void run(int threads, const F& work) {
    run_on(threads, {address(work), [](const void* f, int thread) { called<F>(f)(thread); }});
  }

  /// Calls work(thread, first, last) for ranges of `grain` items (the last of fewer) that cover 0 ≤
  /// item < count, on whichever thread is free; returns when all are done. The exception of the
  /// first range that throws is passed on, when the others are done.
  template <class F>
  void share(int count, int grain, const F& work) {
    share(threads_, count, grain, work);
  }
  /// By so many threads.
  template <class F>
  void share(int threads, int count, int grain, const F& work) {
    share_out(threads, count, grain,
              {address(work), [](const void* f, int thread, int first, int last) {
                 called<F>(f)(thread, first, last);
               }});
  }

 private:
  // What std::function would be if it never allocated.
  struct Work {
    const void* object;
    void (*call)(const void*, int);
  };
  struct RangeWork {
    const void* object;
    void (*call)(const void*, int, int, int);
  };
  template <class F>
  static const void* address(const F& work) {
    return std::addressof(work);
  }
  template <class F>
  static const std::remove_cvref_t<F>& called(const void* f) {
    return *static_cast<const std::remove_cvref_t<F>*>(f);
  }
  void run_on(int threads, const Work& work);
  void share_out(int threads, int count, int grain, const RangeWork& work);

  struct Team;
  int threads_;
  std::unique_ptr<Team> team_;
};

/// The same ranges in order by the caller where there is no pool.
template <class F>
void share(ThreadPool* pool, int count, int grain, const F& work) {
  if (pool != nullptr) return pool->share(count, grain, work);
  for (int first = 0; first < count; first += grain) work(0, first, std::min(first + grain, count));
}

/// work(item) for each of 0 ≤ item < count, in ranges of `grain`.
template <class F>
void share_items(ThreadPool* pool, int count, int grain, const F& work) {
  share(pool, count, grain, [&work](int, int first, int last) {
    for (int k = first; k < last; ++k) work(k);
  });
}

/// The sum of part(first, last) over ranges of `grain` items, in their order: the same for any
/// number of threads. `parts` is scratch.
template <class T, class F>
T share_sum(ThreadPool* pool, int count, int grain, std::vector<T>& parts, const F& part) {
  parts.assign((count + grain - 1) / grain, T{});
  share(pool, count, grain,
        [&](int, int first, int last) { parts[first / grain] = part(first, last); });
  T sum{};
  for (const T& p : parts) sum += p;
  return sum;
}

/// How many threads `share` may use.
inline int threads_of(const ThreadPool* pool) {
  return pool != nullptr ? pool->threads() : 1;
}

}  // namespace urto
