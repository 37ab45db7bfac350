#include "urto/collision/broad_phase.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

/// A tree that motion has stretched by so much is built anew. A build costs as much as one step of
/// a dense scene and five of a dilute one; 1.05 and 1.2 are slower.
constexpr double stretch_limit = 1.1;
/// A contracting crowd hides its mixing from the stretch.
constexpr int refit_limit = 200;

/// Pairs are kept twice while they are sorted, in vectors that have grown; and are counted by int.
std::size_t most_pairs() {
  constexpr std::uint64_t bytes = 48, most = 2'000'000'000;
  return std::min(memory_limit() / bytes, most);
}

[[noreturn]] void fail_many_pairs(std::size_t most) {
  throw InputError(
      "collision",
      fmt::format("more than {} million pairs of shapes near each other", most / 1000000),
      fmt::format("at most that many with the memory there is, {} (--memory-limit); do "
                  "bodies stand in one place?",
                  memory_text(static_cast<double>(memory_limit()))));
}

}  // namespace

void PairSorter::sort(std::size_t names, const Pairs& found, Pairs& sorted) {
  start_.assign(names + 1, 0);
  for (const auto& pair : found) ++start_[pair[0] + 1];
  for (std::size_t k = 0; k < names; ++k) start_[k + 1] += start_[k];
  sorted.resize(found.size());
  for (const auto& pair : found) sorted[start_[pair[0]]++] = pair;
  std::size_t first = 0;
  for (std::size_t k = 0; k < names; ++k) {
    // start_[k] has moved on to where the pairs of k end.
    std::sort(sorted.data() + first, sorted.data() + start_[k],
              [](const auto& p, const auto& q) { return p[1] < q[1]; });
    first = start_[k];
  }
}

/// Whether other boxes than in the last call are fixed or moving.
bool BroadPhase::update_members(std::span<const std::uint8_t> fixed) {
  const auto same = [](std::uint8_t a, std::uint8_t b) { return (a != 0) == (b != 0); };
  if (std::equal(fixed.begin(), fixed.end(), flags_.begin(), flags_.end(), same)) return false;
  flags_.assign(fixed.begin(), fixed.end());
  fixed_items_.clear();
  moving_items_.clear();
  for (int k = 0; k < static_cast<int>(fixed.size()); ++k)
    (fixed[k] != 0 ? fixed_items_ : moving_items_).push_back(k);
  return true;
}

void BroadPhase::update_fixed(std::span<const Aabb> boxes, bool other_members) {
  bool moved = other_members;
  fixed_boxes_.resize(fixed_items_.size());
  for (std::size_t k = 0; k < fixed_items_.size(); ++k) {
    const Aabb& box = boxes[fixed_items_[k]];
    if (fixed_boxes_[k].lower == box.lower && fixed_boxes_[k].upper == box.upper) continue;
    fixed_boxes_[k] = box;
    moved = true;
  }
  if (!moved) return;
  if (other_members) origin_ = typical_center(boxes);
  fixed_.build(boxes, fixed_items_, origin_);
  ++counts_.fixed_builds;
}

void BroadPhase::update_moving(std::span<const Aabb> boxes, bool other_members) {
  if (!other_members && ++refits_ <= refit_limit) {
    moving_.refit(boxes);
    least_spread_ = std::min(least_spread_, moving_.spread());
    if (moving_.spread() <= stretch_limit * least_spread_) return;
  }
  if (fixed_items_.empty()) origin_ = typical_center(boxes);
  moving_.build(boxes, moving_items_, origin_);
  least_spread_ = moving_.spread();
  refits_ = 0;
  ++counts_.moving_builds;
}

void BroadPhase::find(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed,
                      Pairs& pairs) {
  assert(boxes.size() == fixed.size());
  assert(std::all_of(boxes.begin(), boxes.end(), is_bounded));
  const bool other_members = update_members(fixed);
  update_fixed(boxes, other_members);
  update_moving(boxes, other_members);

  found_.clear();
  const std::size_t most = most_pairs();
  const auto keep = [this, boxes, most](int a, int b, bool certain) {
    if (!certain && !overlap(boxes[a], boxes[b])) return;
    if (found_.size() >= most) fail_many_pairs(most);
    found_.push_back({std::min(a, b), std::max(a, b)});
  };
  moving_.for_pairs(keep);
  moving_.for_pairs_with(fixed_, keep);
  sorter_.sort(boxes.size(), found_, pairs);
}

}  // namespace urto
