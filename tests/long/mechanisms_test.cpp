// Two hundred mechanisms drawn at random, 10⁵ steps of a millisecond each: rods, discs and blocks
// of all proportions, spins to 1000 rad/s, joints of all kinds, springs to 10⁴ N/m, contacts.
// Nobody knows their motions; what is known is that energy comes from loads, motors and the
// separation of overlaps only, and that every step has a solution.
#include <algorithm>

#include <gtest/gtest.h>

#include "long/random_mechanism.h"

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

TEST_P(RandomMechanisms, NeverGainEnergyAndSolveEveryStep) {
  for (int k = 0; k < of_each_part; ++k) {
    const unsigned seed = of_each_part * GetParam() + k;
    const Model m = random_mechanism(seed);
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = 100;
    Simulation run(m, o);
    run.start();
    Scale scale(run.energy());
    double gain = 0, when = 0;
    while (run.advance()) {
      const EnergyAudit& e = run.energy();
      scale.add(e);
      const double here = e.total() - e.start - std::max(0.0, e.supplied) - e.recovery;
      if (here > gain) {
        gain = here;
        when = run.state().t;
      }
    }
    EXPECT_EQ(run.run_state(), RunState::finished) << seed << ": " << run.failure();
    EXPECT_EQ(run.checkpoint().missed, 0) << seed;
    // A scheme of first order: a spring of hω = 3 or a spin of hω = 1 stores and gives back some
    // per cent in a step.
    EXPECT_LE(gain, 0.05 * scale.size()) << seed << " at " << when << " s";
  }
}

INSTANTIATE_TEST_SUITE_P(TenTimesTwenty, RandomMechanisms, ::testing::Range(0, 10));

}  // namespace
}  // namespace urto
