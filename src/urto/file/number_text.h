// Numbers as people read them, in tables and messages.
#pragma once

#include <string>
#include <string_view>

namespace urto {

std::string format_seconds(double seconds);    ///< "12 ms", "3.4 s "
std::string format_residual(double residual);  ///< "1.2e-09"
/// "1 body", "2 bodies".
std::string counted(long count, std::string_view one, std::string_view many);

}  // namespace urto
