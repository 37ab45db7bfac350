// Arithmetic in scenes: "=2*pi*f/3". A small recursive-descent evaluator, without side effects.
//
//   sum     = product (("+" | "-") product)*
//   product = sign (("*" | "/") sign)*
//   sign    = ("+" | "-") sign | power
//   power   = primary ("^" sign)?            right-associative, binds more than a sign before it
//   primary = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace urto::scene {

using Variables = std::map<std::string, double, std::less<>>;

/// Thrown by evaluate_expression; the caller knows the file and the place.
struct ExpressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Finds the value of a name; throws ExpressionError if there is none.
using Lookup = std::function<double(std::string_view name)>;

/// `text` is what follows the "=", which messages count as character 1. Never returns not-a-number.
double evaluate_expression(std::string_view text, const Lookup& lookup);

/// The names in an expression, in order: of functions, constants and what a lookup is asked for.
std::vector<std::string_view> identifiers_in(std::string_view text);

/// A name of a constant or a function, which no parameter may have.
bool is_reserved_name(std::string_view name);
/// Letters, digits and _, not starting with a digit.
bool is_identifier(std::string_view name);

}  // namespace urto::scene
