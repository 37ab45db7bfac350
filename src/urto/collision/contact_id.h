// How the id of a contact is made: its two shapes, then what of them meets. So ids in order list
// the contacts of one pair together.
#pragma once

#include <cstdint>

namespace urto {

constexpr int contact_feature_bits = 15;

/// Of two shapes, the same for all contacts between them, in the order of their ids.
constexpr std::uint64_t contact_pair(std::uint64_t id) {
  return id >> contact_feature_bits;
}

}  // namespace urto
