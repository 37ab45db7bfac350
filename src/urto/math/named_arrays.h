// Arrays of numbers by name: what a system or a stepper carries from one accepted state to the next
// beside its own variables. Whoever writes a checkpoint or copies a state needs to know the names
// only, so a new stepper needs no new file format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace urto {

struct NamedArrays {
  struct Array {
    std::string name = {};
    std::vector<double> values = {};
    bool operator==(const Array&) const = default;
  };
  std::vector<Array> arrays = {};  ///< in the order in which they were made

  /// Null if there is none of that name.
  const std::vector<double>* find(std::string_view name) const {
    for (const Array& a : arrays) {
      if (a.name == name) return &a.values;
    }
    return nullptr;
  }
  /// Made, empty, when missing.
  std::vector<double>& at(std::string_view name) {
    for (Array& a : arrays) {
      if (a.name == name) return a.values;
    }
    arrays.push_back({std::string(name), {}});
    return arrays.back().values;
  }
  void clear() { arrays.clear(); }
  bool operator==(const NamedArrays&) const = default;
};

}  // namespace urto
