#include "urto/scene/scene_expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace urto::scene {
namespace {

struct Constant {
  std::string_view name;
  double value;
};
constexpr Constant constants[] = {{"pi", M_PI}, {"inf", std::numeric_limits<double>::infinity()}};

using Unary = double (*)(double);
struct UnaryFunction {
  std::string_view name;
  Unary f;
};
const UnaryFunction unary_functions[] = {
    {"sin", std::sin},   {"cos", std::cos},   {"tan", std::tan},     {"asin", std::asin},
    {"acos", std::acos}, {"atan", std::atan}, {"sqrt", std::sqrt},   {"abs", std::fabs},
    {"exp", std::exp},   {"log", std::log},   {"floor", std::floor},
};

using Binary = double (*)(double, double);
struct BinaryFunction {
  std::string_view name;
  Binary f;
};
const BinaryFunction binary_functions[] = {
    {"atan2", std::atan2}, {"min", std::fmin}, {"max", std::fmax}, {"mod", std::fmod}};

template <typename List>
const auto* find_name(const List& list, std::string_view name) {
  const auto it = std::find_if(std::begin(list), std::end(list),
                               [&](const auto& entry) { return entry.name == name; });
  return it == std::end(list) ? nullptr : &*it;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  double evaluate() {
    const double x = sum();
    if (peek() != '\0') fail("an operator or the end");
    if (std::isnan(x)) throw ExpressionError("the value is not a number");
    return x;
  }

 private:
  /// The next character after blanks; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(std::string_view expected) {
    peek();
    const std::string found =
        at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 1)) : "the end";
    throw ExpressionError(
        fmt::format("at character {}: found {}, expected {}", at_ + 2, found, expected));
  }

  double sum() {
    double x = product();
    for (;;) {
      if (take('+')) {
        x += product();
      } else if (take('-')) {
        x -= product();
      } else {
        return x;
      }
    }
  }

  double product() {
    double x = sign();
    for (;;) {
      if (take('*')) {
        x *= sign();
      } else if (take('/')) {
        x /= sign();
      } else {
        return x;
      }
    }
  }

  double sign() {
    // Every recursion passes here; a hostile text must not use up the stack.
    if (++depth_ > 200) throw ExpressionError("nested too deep");
    double x = 0;
    if (take('-')) {
      x = -sign();
    } else if (take('+')) {
      x = sign();
    } else {
      x = primary();
      if (take('^')) x = std::pow(x, sign());
    }
    --depth_;
    return x;
  }

  double primary() {
    const char c = peek();
    if (take('(')) {
      const double x = sum();
      if (!take(')')) fail("')'");
      return x;
    }
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return name();
    fail("a number, a name or '('");
  }

  double number() {
    double x = 0;
    const char* first = text_.data() + at_;
    const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), x);
    if (error != std::errc{}) fail("a number");
    at_ += static_cast<std::size_t>(last - first);
    return x;
  }

  double name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (const auto* f = find_name(unary_functions, word)) return f->f(arguments(1)[0]);
    if (const auto* f = find_name(binary_functions, word)) {
      const std::vector<double> x = arguments(2);
      return f->f(x[0], x[1]);
    }
    if (const auto* constant = find_name(constants, word)) return constant->value;
    try {
      return lookup_(word);
    } catch (const ExpressionError& error) {
      throw ExpressionError(fmt::format("at character {}: {}", start + 2, error.what()));
    }
  }

  std::vector<double> arguments(int count) {
    std::vector<double> x;
    if (!take('(')) fail("'('");
    for (int i = 0; i < count; ++i) {
      if (i > 0 && !take(',')) fail("','");
      x.push_back(sum());
    }
    if (!take(')')) fail("')'");
    return x;
  }

  std::string_view text_;
  const Lookup& lookup_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate_expression(std::string_view text, const Lookup& lookup) {
  return Evaluator(text, lookup).evaluate();
}

std::vector<std::string_view> identifiers_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_digit(text[at]) || text[at] == '.') {  // 1e5 has no name in it
      double unused = 0;
      const auto [end, error] =
          std::from_chars(text.data() + at, text.data() + text.size(), unused);
      at = std::max(at + 1, static_cast<std::size_t>(end - text.data()));
    } else if (is_letter(text[at])) {
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
      names.push_back(text.substr(start, at - start));
    } else {
      ++at;
    }
  }
  return names;
}

bool is_reserved_name(std::string_view name) {
  return find_name(constants, name) != nullptr || find_name(unary_functions, name) != nullptr ||
         find_name(binary_functions, name) != nullptr;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || is_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace urto::scene
