// What `urto run` and `urto info` say about a run. Both read it from the result file, so that they cannot
// disagree with it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/result/result_file.h"
#include "urto/stepper/consistent_start.h"

namespace urto::app {

struct RunSummary {
  std::string title, urto_version, stepper, friction, solver;
  double tolerance = 0, duration = 0, step = 0;
  std::string status, failure;
  double time = 0, wall_seconds = 0;
  long steps = 0, rejected = 0, missed = 0, frames = 0;
  int bodies = 0, joints = 0, dofs = 0, equality_rows = 0, rank = 0;
  double worst_residual = 0, worst_residual_time = 0, worst_joint_error = 0, worst_penetration = 0;
  int most_contacts = 0;
  /// [J] at the end: kinetic, potential, supplied, friction, impact, damping, recovery, numerical.
  std::array<double, 8> energy{};
  double start_energy = 0;
  /// [s] of all steps: rows, assemble, solve, certify, advance.
  std::array<double, 5> seconds{};

  double total_seconds() const;  ///< of the phases
  bool finished() const { return status == "finished"; }
};

extern const std::array<const char*, 8> energy_names;
extern const std::array<const char*, 5> phase_names;

RunSummary read_summary(const ResultReader& result);
void print_summary(const RunSummary& summary, bool timings);
nlohmann::json to_json(const RunSummary& summary);

/// "rod: 3 of its 5 rows depend on hinge" and the report's own warnings.
std::vector<std::string> warnings_of(const StartReport& report);
nlohmann::json to_json(const StartReport& report);

/// "1 body", "2 bodies".
std::string counted(long count, std::string_view one, std::string_view many);

}  // namespace urto::app
