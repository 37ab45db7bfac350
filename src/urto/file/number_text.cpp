#include "urto/file/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace urto {

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 99.95) return fmt::format("{:.3g} s ", seconds);
  return fmt::format("{:.0f} s ", seconds);
}

std::string format_residual(double residual) {
  return std::isnan(residual) ? "nan" : fmt::format("{:.1e}", residual);
}

std::string counted(long count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace urto
