// The verdict of mechanisms drawn at random: joints of all kinds, rotors to 1000 rad/s, springs and
// contacts. At a millisecond a spring of a few tenths of a radian a step, or a spin of one, deserve
// a remark; none is nonsense.
#include <gtest/gtest.h>

#include "long/random_mechanism.h"
#include "urto/result/recorder.h"
#include "urto/result/result.h"
#include "urto/result/verdict.h"

namespace urto {
namespace {

std::string texts(const Verdict& verdict) {
  std::string out;
  for (const Finding& f : verdict.findings) out += f.what + ": " + f.text + "\n";
  return out;
}

TEST(MechanismVerdicts, AreNoFailureAtAMillisecond) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Scene scene{.model = testing::random_mechanism(seed)};
    scene.options.step = 1e-3;
    scene.options.duration = 1;
    Simulation run(scene.model, scene.options);
    run.start();
    Result result{.description = describe(scene)};
    const ModelScales scales = scales_of(scene.model);
    while (run.advance()) result.steps.push_back(record_step(run, scales));
    result.status = record_status(run);
    const Verdict verdict = judge(ResultValues(result));
    EXPECT_NE(verdict.level, Level::failure) << seed << "\n" << texts(verdict);
  }
}

}  // namespace
}  // namespace urto
