// What the library says when somebody is wrong.
#pragma once

#include <concepts>
#include <string>

#include "urto/error.h"

namespace urto::samples {

template <std::invocable Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace urto::samples
