// Sparse factors kept from one solve to the next for their symbolic analysis (design §6). A factor
// is lent to one user at a time, given back when the user is gone, and found again by its pattern.
// Only kernels whose analysis reads the pattern alone: with a store or without one a solve gives
// the same bits, and so does a run that was resumed (MUMPS's analysis looks at values, so its
// factors live for one solve). Owned by whoever solves one problem after another; not to be shared
// between threads.
#pragma once

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "urto/linalg/sparse_factors.h"
#include "urto/linalg/spd_factor.h"

namespace urto {

class SymbolicStore {
 public:
  int factors() const;

 private:
  template <class Kernel>
  friend class LentFactor;

  struct Pattern {
    Pattern() = default;
    explicit Pattern(const SparseRef& A);  ///< A compressed
    bool matches(const SparseRef& A) const;
    std::vector<int> outer = {}, inner = {};
  };
  template <class Kernel>
  struct Kept {
    Pattern pattern;
    std::unique_ptr<Kernel> kernel;
  };
  /// Entries of all patterns of one kind of kernel together; the latest one is kept whatever its
  /// size.
  static constexpr std::size_t most_entries = 1'000'000;
  /// Of one kind; looking through them must cost less than an analysis.
  static constexpr std::size_t most_factors = 4000;

  template <class Kernel>
  Kept<Kernel> take(const SparseRef& A) {
    auto& kept = std::get<std::vector<Kept<Kernel>>>(kept_);
    const auto found =
        std::find_if(kept.rbegin(), kept.rend(), [&](auto& k) { return k.pattern.matches(A); });
    if (found == kept.rend()) return {Pattern(A), nullptr};
    Kept<Kernel> taken = std::move(*found);
    kept.erase(std::next(found).base());
    return taken;
  }
  template <class Kernel>
  void give_back(Kept<Kernel> factor) {
    auto& kept = std::get<std::vector<Kept<Kernel>>>(kept_);
    kept.push_back(std::move(factor));
    std::size_t entries = 0;
    std::size_t factors = 0;
    auto oldest = kept.end();
    while (oldest != kept.begin()) {
      entries += std::prev(oldest)->pattern.inner.size();
      if ((entries > most_entries && oldest != kept.end()) || ++factors > most_factors) break;
      --oldest;
    }
    kept.erase(kept.begin(), oldest);
  }

  std::tuple<std::vector<Kept<SpdFactor>>, std::vector<Kept<SparseLdlt>>,
             std::vector<Kept<SparseLu>>>
      kept_ = {};
};

/// A factor analysed for one pattern.
template <class Kernel>
class LentFactor {
 public:
  /// From the store if it has one for the pattern of A; else new. No store, null: new, and gone
  /// with this.
  LentFactor(SymbolicStore* store, const SparseRef& A) : store_(store) {
    if (store_ != nullptr) factor_ = store_->take<Kernel>(A);
    is_new_ = !factor_.kernel;
    if (!is_new_) {
      factor_.kernel->forget();  // whatever it was lent for before
      return;
    }
    factor_.kernel = std::make_unique<Kernel>();
    if constexpr (requires(Kernel kernel) { kernel.analyze(A); }) {
      factor_.kernel->analyze(A);
    } else {
      factor_.kernel->analyzePattern(A);
    }
  }
  ~LentFactor() {
    if (store_ != nullptr && factor_.kernel) store_->give_back<Kernel>(std::move(factor_));
  }
  LentFactor(const LentFactor&) = delete;
  LentFactor& operator=(const LentFactor&) = delete;

  bool is_new() const { return is_new_; }
  Kernel* operator->() { return factor_.kernel.get(); }
  const Kernel* operator->() const { return factor_.kernel.get(); }

 private:
  SymbolicStore* store_;
  SymbolicStore::Kept<Kernel> factor_ = {};
  bool is_new_ = true;
};

}  // namespace urto
