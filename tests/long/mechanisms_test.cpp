// Two hundred mechanisms drawn at random, 10⁵ steps of a millisecond each: rods, discs and blocks
// of all proportions, spins to 1000 rad/s, joints of all kinds, springs to 10⁴ N/m, contacts.
// Nobody knows their motions; what is known is that energy comes from loads, motors and the
// separation of overlaps only, and that every step has a solution.
#include <algorithm>

#include <gtest/gtest.h>

#include "long/random_mechanism.h"
#include "urto/result/recorder.h"
#include "urto/result/result.h"
#include "urto/result/run.h"
#include "urto/result/verdict.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr int of_each_part = 20;

class RandomMechanisms : public ::testing::TestWithParam<int> {};

/// What moves: the largest kinetic energy and the range of the potential.
struct Scale {
  double kinetic = 0, low = 0, high = 0;
  explicit Scale(const EnergyAudit& e) : kinetic(e.kinetic), low(e.potential), high(e.potential) {}
  void add(const EnergyAudit& e) {
    kinetic = std::max(kinetic, e.kinetic);
    low = std::min(low, e.potential);
    high = std::max(high, e.potential);
  }
  double size() const { return kinetic + high - low; }
};

SimulationOptions settings(double step, double duration) {
  SimulationOptions o;
  o.step = step;
  o.duration = duration;
  return o;
}

struct Found {
  double gain = 0;  ///< the largest, relative to what moves
  double when = 0;
  double unexplained = 0;
  long missed = 0;
  std::string failure;
};

Found run_of(const Model& m, const SimulationOptions& o) {
  Simulation run(m, o);
  run.start();
  Scale scale(run.energy());
  double gain = 0, unexplained = 0;
  Found out;
  while (run.advance()) {
    const EnergyAudit& e = run.energy();
    scale.add(e);
    const double here = e.total() - e.start - std::max(0.0, e.supplied) - e.recovery;
    if (here > gain) {
      gain = here;
      out.when = run.state().t;
    }
    unexplained = std::max(unexplained, std::abs(e.unexplained()));
  }
  out.gain = gain / scale.size();
  out.unexplained = unexplained / scale.size();
  out.missed = run.checkpoint().missed;
  out.failure = run.failure();
  return out;
}

/// Of the first steps of a run.
Level verdict_of(const Model& m, const SimulationOptions& o) {
  Scene scene{.model = m, .options = o};
  Simulation run(m, o);
  run.start();
  Result result{.description = first_moment(scene).result.description};
  const ModelScales scales = scales_of(m);
  while (run.advance()) result.steps.push_back(record_step(run, scales));
  result.status = record_status(run);
  return judge(ResultValues(result)).level;
}

// A scheme of first order: a spring of hω = 3 or a spin of hω = 1 stores and gives back some per
// cent in a step. Where both meet on one body, a step of a radian may pump (one of these two
// hundred): then the verdict has to say so, and a tenth of the step has not to.
TEST_P(RandomMechanisms, NeverGainEnergyAndSolveEveryStep) {
  constexpr double tolerated = 0.05;
  for (int k = 0; k < of_each_part; ++k) {
    const unsigned seed = of_each_part * GetParam() + k;
    const Model m = random_mechanism(seed);
    const Found found = run_of(m, settings(1e-3, 100));
    EXPECT_EQ(found.failure, "") << seed;
    EXPECT_EQ(found.missed, 0) << seed;
    EXPECT_LT(found.unexplained, 1e-9) << seed;
    if (found.gain <= tolerated) continue;
    EXPECT_EQ(verdict_of(m, settings(1e-3, 1)), Level::failure)
        << seed << " gains " << found.gain << " at " << found.when << " s";
    const Found finer = run_of(m, settings(1e-4, 10));
    EXPECT_LE(finer.gain, tolerated) << seed;
    EXPECT_EQ(finer.missed, 0) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(TenTimesTwenty, RandomMechanisms, ::testing::Range(0, 10));

}  // namespace
}  // namespace urto
