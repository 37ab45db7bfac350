// The pendulum of recipe 000, T2, in redundant coordinates, against its table and closed form.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/smooth_runs.h"
#include "urto/model/textbook.h"

namespace urto {
namespace {

using testing::order;
using testing::run_smooth;
using testing::smooth_options;
using testing::SmoothRun;

struct Pendulum {
  PointSystem system;
  State start;
  Pendulum() { make_point_chain(1, 1, 1, Vec3::UnitX(), system, start); }
};

const Vec3 end_place(-0.986291751, -0.165010853, 0);
constexpr double end_multiplier = -4.856269;

double error_of(const SmoothRun& run) {
  return (Vec3(run.state.q) - end_place).norm();
}

TEST(SmoothPendulum, ErrorsAreThoseOfTheTable) {
  struct Row {
    const char* name;
    double parameter;
    std::array<double, 4> errors;
  };
  const std::vector<Row> table{
      {"implicit-euler", 0, {2.67e-1, 1.48e-1, 7.81e-2, 4.02e-2}},
      {"linear-implicit-euler", 0, {1.41e-2, 8.04e-3, 4.26e-3, 2.19e-3}},
      {"trapezoidal", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"newmark", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"hht", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"hht", -0.1, {3.054e-3, 7.491e-4, 1.855e-4, 4.615e-5}},
      {"hht", -0.2, {3.505e-3, 8.538e-4, 2.107e-4, 5.232e-5}},
      {"hht", -0.3, {3.706e-3, 9.010e-4, 2.221e-4, 5.512e-5}},
      {"generalised-alpha", 1, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"generalised-alpha", 0.8, {2.485e-3, 6.194e-4, 1.547e-4, 3.865e-5}},
      {"generalised-alpha", 0.5, {3.720e-3, 9.041e-4, 2.228e-4, 5.530e-5}},
      {"generalised-alpha", 0, {1.756e-2, 3.872e-3, 8.894e-4, 2.120e-4}},
  };
  for (const Row& row : table) {
    SimulationOptions o = smooth_options(row.name);
    o.stepper.hht_alpha = row.parameter;
    o.stepper.spectral_radius = row.parameter;
    for (int k = 0; k < 4; ++k) {
      Pendulum p;
      const SmoothRun run = run_smooth(p.system, p.start, o, 1, 50 << k);
      // Three or four digits are printed.
      EXPECT_NEAR(error_of(run), row.errors[k], 4e-3 * row.errors[k] + 2e-8)
          << row.name << ' ' << row.parameter << ' ' << k;
      EXPECT_EQ(run.cuts, 0);
    }
  }
}

}  // namespace
}  // namespace urto
