// Runs a scene from its start, or from a checkpoint, to its end, and leaves the files of a run in a
// directory: result.h5, checkpoint.h5 and what is made from them. `urto run` is this function with
// flags.
//
// Until the consistent start has succeeded nothing is written; from then on everything recorded is
// kept, whatever happens.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "urto/result/derived_files.h"
#include "urto/result/result.h"
#include "urto/result/summary.h"
#include "urto/scene/scene.h"

namespace urto {

/// Where a run is, after each step.
struct RunProgress {
  double time = 0, end_time = 0;  ///< [s] simulated
  int contacts = 0;
  double worst_residual = 0;
};

struct RunRequest {
  std::filesystem::path directory = {};
  bool resume = false;  ///< goes on from the checkpoint in the directory
  std::vector<DerivedFiles> derived = {};

  // Each may be left empty.
  std::function<void(const StartReport& start, const std::vector<std::string>& warnings)> on_start =
      {};
  std::function<void(double time, long steps)> on_resume = {};
  std::function<void(const RunProgress& progress)> on_step = {};
  /// Of the runs at smaller steps, with the setting `verify`.
  std::function<void(const VerificationProgress& progress)> on_verify = {};
  std::function<bool()> stop = {};  ///< asked before every step; true interrupts the run
};

struct RunOutcome {
  RunSummary summary = {};
  StartReport start = {};                         ///< not of a resumed run
  std::vector<std::string> warnings = {};         ///< of the start (start_look.h); the same
  std::vector<std::filesystem::path> files = {};  ///< what there is now
  std::vector<std::string> unwritten = {};        ///< why a file that was not required is not there
  bool verification_interrupted = false;          ///< the run itself had finished
  std::string broken = {};  ///< why recording ended before the run did: the disk is full
};

/// The names of a run's files.
std::filesystem::path result_path(const std::filesystem::path& directory);
std::filesystem::path checkpoint_path(const std::filesystem::path& directory);

/// Throws InputError for a scene that cannot be run, for a checkpoint or directory that cannot be
/// used, and if the directory holds files under our names that are not ours: they are not ours to
/// replace.
RunOutcome run_scene(const Scene& scene, const RunRequest& request);

/// The assembled first moment of a scene, with every contact within reach of its first step, whose
/// forces nobody knows yet.
struct FirstMoment {
  Result result = {};  ///< one frame
  StartReport start = {};
  State state = {};
  Interactions rows;  ///< of the first step
};
FirstMoment first_moment(const Scene& scene);

}  // namespace urto
