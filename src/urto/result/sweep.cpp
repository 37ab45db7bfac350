#include "urto/result/sweep.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"

namespace urto {
namespace {

constexpr std::size_t most_runs = 100000, longest_name = 120;

std::optional<double> number_of(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(x))
    return std::nullopt;
  return x;
}

/// Splits where no bracket and no quote is open.
std::vector<std::string> split_outside(const std::string& text, char at) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}')) --depth;
    if (c == at && depth <= 0 && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// Twelve digits: 0.1 + 2 · 0.1 is written, and set, as 0.3.
std::string plain(double x) {
  return fmt::format("{:.12g}", x);
}

[[noreturn]] void fail_range(const std::string& text, const std::string& found,
                             const std::string& expected) {
  throw InputError(fmt::format("--set {}", text), found, expected);
}

std::vector<std::string> range(const std::string& text, double from, double step, double to) {
  if (step == 0 || (to - from) / step < 0) {
    fail_range(text, fmt::format("a step of {:g} from {:g} to {:g}", step, from, to),
               "one that leads there");
  }
  const double steps = std::floor((to - from) / step * (1 + 1e-9) + 1e-9);
  if (!(steps < static_cast<double>(most_runs)))
    fail_range(text, fmt::format("{:.3g} values", steps + 1), fmt::format("at most {}", most_runs));
  std::vector<std::string> out;
  for (double k = 0; k <= steps; ++k) out.push_back(plain(from + k * step));
  return out;
}

std::vector<std::string> powers(const std::string& text, double from, double factor, double to) {
  const double steps = std::log(to / from) / std::log(factor);
  if (!(factor > 0) || factor == 1 || !(to / from > 0) || !(steps >= 0)) {
    fail_range(text, fmt::format("a factor of {:g} from {:g} to {:g}", factor, from, to),
               "one that leads there");
  }
  if (!(steps < static_cast<double>(most_runs)))
    fail_range(text, fmt::format("{:.3g} values", steps + 1), fmt::format("at most {}", most_runs));
  std::vector<std::string> out;
  for (double k = 0; k <= std::floor(steps + 1e-9); ++k)
    out.push_back(plain(from * std::pow(factor, k)));
  return out;
}

/// The values between two colons; nothing if the text is no range.
std::optional<std::vector<std::string>> range_of(const std::string& text,
                                                 const std::string& value) {
  const std::vector<std::string> parts = split_outside(value, ':');
  if (parts.size() != 3) return std::nullopt;
  const bool by_factor = parts[1].starts_with('*');
  const auto from = number_of(parts[0]), to = number_of(parts[2]),
             step = number_of(std::string_view(parts[1]).substr(by_factor ? 1 : 0));
  if (!from || !step || !to) return std::nullopt;
  return by_factor ? powers(text, *from, *step, *to) : range(text, *from, *step, *to);
}

/// What a name of a directory may have: letters and digits of any language, and plain marks.
std::string safe(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool odd = static_cast<unsigned char>(c) < ' ' || c == '/' || c == '\\' || c == ' ' ||
                     c == '"' || c == '\'' || c == '*' || c == '?' || c == '<' || c == '>' ||
                     c == '|' || c == ':' || c == '\x7f';
    out += odd ? '-' : c;
  }
  return out;
}

}  // namespace

std::vector<double> SweepAxis::numbers() const {
  std::vector<double> out;
  for (const std::string& value : values) {
    const std::optional<double> x = number_of(value);
    if (!x) return {};
    out.push_back(*x);
  }
  return out;
}

SweepAxis parse_sweep_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(fmt::format("--set '{}'", text), "no path=values",
                     "for example mu=0.1:0.1:0.5 or bodies.arm.mass=1,2,4");
  }
  SweepAxis axis{.path = text.substr(0, equals), .values = {}};
  const std::string value = text.substr(equals + 1);
  if (auto between = range_of(text, value)) {
    axis.values = std::move(*between);
  } else {
    axis.values = split_outside(value, ',');
  }
  std::set<std::string> seen;
  for (const std::string& v : axis.values) {
    if (v.empty() && axis.values.size() > 1)
      fail_range(text, "nothing between two commas", "a value");
    if (!seen.insert(v).second) fail_range(text, fmt::format("'{}' twice", v), "every value once");
  }
  return axis;
}

std::vector<SweepCase> sweep_cases(std::span<const SweepAxis> axes) {
  std::size_t count = 1;
  std::set<std::string> paths, names;
  for (const SweepAxis& axis : axes) {
    if (!paths.insert(axis.path).second)
      throw InputError("--set", fmt::format("'{}' twice", axis.path), "every setting once");
    count *= axis.values.size();
    if (count > most_runs)
      throw InputError("--set", fmt::format("more than {} runs", most_runs), "a coarser grid");
  }
  std::vector<SweepCase> out(count);
  for (std::size_t k = 0; k < count; ++k) {
    SweepCase& c = out[k];
    c.place.resize(axes.size());
    std::size_t rest = k;
    for (std::size_t a = axes.size(); a-- > 0; rest /= axes[a].values.size())
      c.place[a] = rest % axes[a].values.size();
    std::vector<std::string> words;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      c.overrides.push_back(axes[a].path + "=" + axes[a].values[c.place[a]]);
      if (axes[a].values.size() > 1) words.push_back(safe(c.overrides.back()));
    }
    c.name = fmt::format("{}", fmt::join(words, ","));
    if (c.name.empty()) c.name = "run";
    if (c.name.size() > longest_name || c.name.starts_with('.') || !names.insert(c.name).second) {
      c.name = fmt::format("run-{}", k + 1);
      names.insert(c.name);
    }
  }
  return out;
}

}  // namespace urto
