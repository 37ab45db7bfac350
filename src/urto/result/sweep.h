// A family of runs of one scene: some of its values are taken from a grid, every combination is a
// run in a directory of its own. docs/sweep.md is the user's page.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace urto {

/// What one setting of the scene runs through.
struct SweepAxis {
  std::string path = {};                 ///< "mu", "bodies.arm.mass"
  std::vector<std::string> values = {};  ///< as an override has them
  /// The values as numbers; empty if one is none.
  std::vector<double> numbers() const;
};

/// "mu=0.1:0.1:0.5" (from, step, to), "h=1e-4:*10:1e-2" (from, factor, to),
/// "simulation.stepper=dvi,hht", or one value. Commas inside brackets and quotes belong to a value.
/// Throws InputError.
SweepAxis parse_sweep_axis(const std::string& text);

struct SweepCase {
  std::vector<std::string> overrides = {};  ///< "mu=0.1", one for each axis
  std::vector<std::size_t> place = {};      ///< on each axis
  std::string name = {};                    ///< of its directory: "mu=0.1,N=3"; no two the same
};

/// Every combination, the last axis fastest. Throws InputError if they are too many.
std::vector<SweepCase> sweep_cases(std::span<const SweepAxis> axes);

}  // namespace urto
