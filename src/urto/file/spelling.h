// What a misspelt word was probably meant to be.
#pragma once

#include <span>
#include <string_view>

namespace urto {

/// The candidate nearest to `word` by edit distance; empty when none is near (beyond half of the
/// letters it is another word).
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace urto
