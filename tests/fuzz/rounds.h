// How long a fuzz lasts.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace urto {

/// The usual rounds times URTO_FUZZ_FACTOR, at least one: less where a sanitizer makes them slow,
/// more for a search by hand.
inline int fuzz_rounds(int usual) {
  const char* factor = std::getenv("URTO_FUZZ_FACTOR");
  return factor == nullptr ? usual : std::max(1, static_cast<int>(usual * std::atof(factor)));
}

}  // namespace urto
