// What is kept for problems of one size, for many sizes. Eigen's vectors are as long as their
// storage: one vector for problems of changing sizes would be allocated anew for each. So what
// solves islands is kept once for each size of island that comes, the latest ones of them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "urto/solver/fixed_rows.h"

namespace urto {

struct ProblemSize {
  int dofs = 0, blocks = 0, rows = 0;
  int fixed_rows = 0;  ///< the interior point leaves them out, and is smaller by them

  void add(const ConvexSet& set) {
    ++blocks;
    rows += set.dim;
    fixed_rows += urto::fixed_rows(set);
  }
  bool operator==(const ProblemSize&) const = default;
};

template <class T>
class KeptBySize {
 public:
  /// The one for this size, made by `make()` if there is none. It stays where it is until another
  /// is asked for.
  template <class Make>
  T& of(const ProblemSize& size, Make make) {
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                    [&](const Kept& kept) { return kept.size == size; });
    if (found != kept_.rend()) {
      std::rotate(std::next(found).base(), found.base(), kept_.end());
      return *kept_.back().object;
    }
    forget_oldest(size);
    kept_.push_back({size, make()});
    return *kept_.back().object;
  }
  int sizes() const { return static_cast<int>(kept_.size()); }

 private:
  /// Unknowns of all sizes together; the latest size is kept whatever it has. An interior point
  /// with all that may follow it has some two hundred numbers an unknown.
  static constexpr long most_unknowns = 50'000;

  struct Kept {
    ProblemSize size;
    std::unique_ptr<T> object;
  };
  static long unknowns(const ProblemSize& size) { return size.dofs + size.rows; }

  void forget_oldest(const ProblemSize& next) {
    long all = unknowns(next);
    for (const Kept& kept : kept_) all += unknowns(kept.size);
    auto end = kept_.begin();
    for (; end != kept_.end() && all > most_unknowns; ++end) all -= unknowns(end->size);
    kept_.erase(kept_.begin(), end);
  }

  std::vector<Kept> kept_ = {};  ///< the latest last
};

}  // namespace urto
