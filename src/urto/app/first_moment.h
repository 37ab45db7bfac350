// The first moment of a scene that a user named: `urto view` shows it, `urto info` and
// `urto check` tell of it.
#pragma once

#include <string>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/result/run.h"

namespace urto::app {

/// Messages about a model do not know the file it is from.
inline FirstMoment load_first_moment(const Scene& scene, const std::string& file) {
  try {
    return first_moment(scene);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace urto::app
