// The verdict of mechanisms drawn at random: joints of all kinds, rotors to 1000 rad/s, springs and
// contacts. At 0.1 ms no rotor turns by more than a tenth of a radian a step, whose error is half a
// hundredth of a part: none is nonsense. (At a millisecond it is a radian, and some are.)
#include <gtest/gtest.h>

#include "long/random_mechanism.h"
#include "urto/result/recorder.h"
#include "urto/result/result.h"
#include "urto/result/run.h"
#include "urto/result/verdict.h"

namespace urto {
namespace {

std::string texts(const Verdict& verdict) {
  std::string out;
  for (const Finding& f : verdict.findings) out += f.what + ": " + f.text + "\n";
  return out;
}

TEST(MechanismVerdicts, AreNoFailureAtATenthOfARadianAStep) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Scene scene;
    scene.model = testing::random_mechanism(seed);
    scene.options.step = 1e-4;
    scene.options.duration = 0.1;
    Simulation run(scene.model, scene.options);
    run.start();
    Result result{.description = first_moment(scene).result.description};
    const ModelScales scales = scales_of(scene.model);
    while (run.advance()) result.steps.push_back(record_step(run, scales));
    result.status = record_status(run);
    const Verdict verdict = judge(ResultValues(result));
    EXPECT_NE(verdict.level, Level::failure) << seed << "\n" << texts(verdict);
  }
}

}  // namespace
}  // namespace urto
