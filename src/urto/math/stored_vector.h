// Vectors as the arrays of numbers that a state or a step's memory keeps (named_arrays.h), and
// back.
#pragma once

#include <vector>

#include "urto/math/types.h"

namespace urto {

inline Eigen::Map<const Vector> as_vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

inline void store(const Vector& v, std::vector<double>& out) {
  out.assign(v.data(), v.data() + v.size());
}

}  // namespace urto
