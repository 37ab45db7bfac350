// The order in which people expect names with numbers in them: b2 before b10.
#pragma once

#include <string_view>

namespace urto::app {

/// True if a comes before b: runs of digits are compared as numbers, all else by character. Names
/// that differ in leading zeros only are told apart by their length.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace urto::app
