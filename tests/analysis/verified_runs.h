// Runs that are verified, and the same runs' true errors: estimates beside what they estimate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/analysis/verification.h"
#include "urto/math/rotation.h"

namespace urto::testing {

inline SampledMotion sampled(const Model& model, const SimulationOptions& options) {
  Simulation run(model, options);
  run.start();
  MotionSampler sampler(run);
  sampler.start();
  while (run.advance()) sampler.add(true);
  return sampler.finish();
}

struct VerifiedRun {
  SampledMotion motion;
  Verification found;
};

inline VerifiedRun verified(const Model& model, const SimulationOptions& options) {
  VerifiedRun out{sampled(model, options), {}};
  EXPECT_EQ(out.motion.failure, "");
  out.found = verify_run(model, options, out.motion);
  return out;
}

/// Largest and mean over time of an error known at the samples.
struct TrueError {
  double worst = 0, mean = 0;
};
inline TrueError true_error(const SampledMotion& motion,
                            const std::function<double(std::size_t sample)>& error) {
  TrueError out;
  for (std::size_t s = 0; s < motion.samples(); ++s) {
    const double e = error(s);
    out.worst = std::max(out.worst, e);
    const double after = s + 1 < motion.samples() ? motion.time[s + 1] - motion.time[s] : 0;
    const double before = s > 0 ? motion.time[s] - motion.time[s - 1] : 0;
    out.mean += 0.5 * (before + after) * e;
  }
  if (!motion.time.empty() && motion.time.back() > 0) out.mean /= motion.time.back();
  return out;
}

inline Vec3 position_at(const SampledMotion& motion, std::size_t sample, int body) {
  return Vec3(motion.position.data() + 3 * (sample * static_cast<std::size_t>(motion.bodies) +
                                            static_cast<std::size_t>(body)));
}
inline Vec4 rotation_at(const SampledMotion& motion, std::size_t sample, int body) {
  return Vec4(motion.rotation.data() + 4 * (sample * static_cast<std::size_t>(motion.bodies) +
                                            static_cast<std::size_t>(body)));
}

/// Of one body's place, given in closed form.
inline TrueError position_error(const SampledMotion& motion, int body,
                                const std::function<Vec3(double)>& exact) {
  return true_error(motion, [&](std::size_t s) {
    return (position_at(motion, s, body) - exact(motion.time[s])).norm();
  });
}
inline TrueError rotation_error(const SampledMotion& motion, int body,
                                const std::function<Vec4(double)>& exact) {
  return true_error(motion, [&](std::size_t s) {
    return rotation_difference(rotation_at(motion, s, body), exact(motion.time[s])).norm();
  });
}
/// Of kinetic and potential energy together.
inline TrueError energy_error(const SampledMotion& motion,
                              const std::function<double(double)>& exact) {
  return true_error(motion, [&](std::size_t s) {
    return std::abs(motion.energy[3 * s + 2] - exact(motion.time[s]));
  });
}

/// The positions of all bodies against those of the same run with steps 1/parts as long.
inline TrueError error_against_fine(const Model& model, const SimulationOptions& options,
                                    const SampledMotion& motion, int parts) {
  const SampledMotion fine =
      sample_run(model, with_shorter_steps(options, parts), {motion.time, {}});
  EXPECT_EQ(fine.failure, "");
  TrueError out;
  for (int body = 0; body < motion.bodies; ++body) {
    const TrueError e = true_error(motion, [&](std::size_t s) {
      return (position_at(motion, s, body) - position_at(fine, s, body)).norm();
    });
    out.worst = std::max(out.worst, e.worst);
    out.mean = std::max(out.mean, e.mean);
  }
  return out;
}

inline const QuantityError& error_of(const VerifiedRun& run, std::string_view name) {
  static const QuantityError none;
  const QuantityError* found = run.found.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? *found : none;
}

/// The estimate is neither more than `factor` times too large nor too small, at its worst and in
/// the mean. Of a scheme that is exact on its motion both are rounding, which no estimate
/// foretells.
inline void expect_within(double factor, const QuantityError& estimate, const TrueError& truth,
                          const std::string& what = {}) {
  constexpr double rounding = 1e-12;  // of positions, velocities and energies near one
  EXPECT_GT(truth.worst, 0) << what << " " << estimate.name;
  if (truth.worst < rounding && estimate.worst < rounding) return;
  EXPECT_LT(estimate.worst, factor * truth.worst) << what << " " << estimate.name;
  EXPECT_GT(estimate.worst, truth.worst / factor) << what << " " << estimate.name;
  EXPECT_LT(estimate.mean, factor * truth.mean) << what << " " << estimate.name;
  EXPECT_GT(estimate.mean, truth.mean / factor) << what << " " << estimate.name;
}

}  // namespace urto::testing
