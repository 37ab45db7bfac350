// Every scene that comes with the program runs to its end, and its verdict is no failure: what
// `urto run` says of it is exit code 0.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "urto/result/recorder.h"
#include "urto/result/result.h"
#include "urto/result/run.h"
#include "urto/result/verdict.h"
#include "urto/scene/scene.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> bundled() {
  std::vector<fs::path> out;
  for (const auto& file : fs::recursive_directory_iterator(URTO_SCENES_DIR)) {
    if (file.path().extension() == ".json") out.push_back(file.path());
  }
  std::ranges::sort(out);
  return out;
}

class BundledScene : public ::testing::TestWithParam<fs::path> {};

TEST_P(BundledScene, IsNoFailure) {
  const Scene scene = load_scene(GetParam());
  Simulation run(scene.model, scene.options);
  run.start();
  Result result{.description = first_moment(scene).result.description};
  const ModelScales scales = scales_of(scene.model);
  while (run.advance()) result.steps.push_back(record_step(run, scales));
  result.status = record_status(run);
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  const Verdict verdict = judge(ResultValues(result));
  std::string said;
  for (const Finding& f : verdict.findings) said += f.what + ": " + f.text + "\n";
  EXPECT_NE(verdict.level, Level::failure) << said;
}

INSTANTIATE_TEST_SUITE_P(Scenes, BundledScene, ::testing::ValuesIn(bundled()),
                         [](const ::testing::TestParamInfo<fs::path>& info) {
                           std::string name = info.param.stem().string();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace urto
