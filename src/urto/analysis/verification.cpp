#include "urto/analysis/verification.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/math/rotation.h"

namespace urto {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
/// Differences below this part of a quantity's size are what solvers and sums leave over.
constexpr double rounding = 1e-9;
/// Differences are said not to shrink when the second is more than this part of the first: order ½.
constexpr double not_shrinking = 0.7071;
/// Steps between samples of runs with impacts, at least.
constexpr double least_steps = 8;

enum class Quantity : std::uint8_t { position, rotation, coordinate, energy, contact_impulse };

struct Kind {
  Quantity quantity;
  std::string_view name, unit;
  std::vector<double> SampledMotion::*values;
  int stored;  ///< numbers of an item in a sample …
  int width;   ///< … and of its error: a rotation's is an angle
};
constexpr Kind kinds[] = {
    {Quantity::position, "position", "m", &SampledMotion::position, 3, 3},
    {Quantity::rotation, "rotation", "rad", &SampledMotion::rotation, 4, 1},
    {Quantity::coordinate, "coordinate", "m, rad", &SampledMotion::coordinate, 1, 1},
    {Quantity::energy, "energy", "J", &SampledMotion::energy, 1, 1},
    {Quantity::contact_impulse, "contact_impulse", "N·s", &SampledMotion::contact_impulse, 3, 3}};

int items_of(const Kind& kind, const SampledMotion& motion) {
  switch (kind.quantity) {
    case Quantity::position:
    case Quantity::rotation:
      return motion.bodies;
    case Quantity::coordinate:
      return motion.coordinates;
    case Quantity::energy:
      return 3;
    case Quantity::contact_impulse:
      return motion.impulses ? motion.bodies : 0;
  }
  return 0;
}

/// Two motions' difference of one item at one sample, by components.
Vec3 difference(const Kind& kind, const SampledMotion& a, const SampledMotion& b, std::size_t at) {
  const auto stored = static_cast<std::size_t>(kind.stored);
  const double* x = (a.*kind.values).data() + at * stored;
  const double* y = (b.*kind.values).data() + at * stored;
  Vec3 out = Vec3::Zero();
  if (kind.quantity == Quantity::rotation) {
    out[0] = rotation_difference(Vec4(x), Vec4(y)).norm();
  } else {
    for (int k = 0; k < kind.width; ++k) out[k] = x[k] - y[k];
  }
  return out;
}

/// Of the quantity in a run: the largest range of an item's components.
double variation(const Kind& kind, const SampledMotion& run, int items) {
  if (kind.quantity == Quantity::rotation) return std::numbers::pi;
  if (run.samples() == 0) return 0;
  const std::vector<double>& values = run.*kind.values;
  const auto width = static_cast<std::size_t>(items) * static_cast<std::size_t>(kind.stored);
  double most = 0;
  for (std::size_t c = 0; c < width; ++c) {
    double low = values[c], high = low;
    for (std::size_t s = 1; s < run.samples(); ++s) {
      low = std::min(low, values[s * width + c]);
      high = std::max(high, values[s * width + c]);
    }
    most = std::max(most, high - low);
  }
  return most;
}

/// What differences of a quantity have to be compared with to be small: not its value, which may
/// be zero or far from the origin.
double natural_size(const Kind& kind, const SampledMotion& run, double scale) {
  switch (kind.quantity) {
    case Quantity::position:
      return run.length;
    case Quantity::rotation:
      return 1;
    case Quantity::coordinate:
      return std::max(scale, std::min(run.length, 1.0));
    case Quantity::energy:
      return run.work;
    case Quantity::contact_impulse:
      return run.momentum;
  }
  return scale;
}

/// Time that a sample stands for, as in the trapezoidal rule.
std::vector<double> weights_of(const std::vector<double>& time) {
  std::vector<double> w(time.size(), 0.0);
  for (std::size_t s = 1; s < time.size(); ++s) {
    w[s - 1] += 0.5 * (time[s] - time[s - 1]);
    w[s] += 0.5 * (time[s] - time[s - 1]);
  }
  return w;
}

/// Two motions' difference at each sample: the root of the mean square of all items.
std::vector<double> distances(const Kind& kind, const SampledMotion& a, const SampledMotion& b) {
  const auto items = static_cast<std::size_t>(items_of(kind, a));
  std::vector<double> out(a.samples(), 0.0);
  for (std::size_t s = 0; s < out.size(); ++s) {
    for (std::size_t i = 0; i < items; ++i)
      out[s] += difference(kind, a, b, s * items + i).squaredNorm();
    out[s] = std::sqrt(out[s] / static_cast<double>(std::max<std::size_t>(items, 1)));
  }
  return out;
}

double mean(const std::vector<double>& values, const std::vector<double>& weights,
            std::size_t first, std::size_t end) {
  double sum = 0, time = 0;
  for (std::size_t s = first; s < end; ++s) {
    sum += weights[s] * values[s];
    time += weights[s];
  }
  return time > 0 ? sum / time : 0;
}

/// The largest value within `reach` samples of each: what happens at an impact a little early or
/// late belongs to the band there.
std::vector<double> spread_out(const std::vector<double>& band, std::size_t width,
                               std::size_t reach) {
  std::vector<double> out = band;
  const std::size_t samples = width > 0 ? band.size() / width : 0;
  for (std::size_t s = 0; s < samples; ++s) {
    const std::size_t end = std::min(samples, s + reach + 1);
    for (std::size_t r = s > reach ? s - reach : 0; r < end; ++r) {
      for (std::size_t c = 0; c < width; ++c)
        out[s * width + c] = std::max(out[s * width + c], band[r * width + c]);
    }
  }
  return out;
}

/// p of a motion whose runs are `first` apart at steps h and h/r, `second` at h/r and h/R:
/// (1 − r⁻ᵖ) / (r⁻ᵖ − R⁻ᵖ), which rises with p, is first/second.
double observed_order(double first, double second, double r, double R) {
  double low = -8, high = 16;
  for (int k = 0; k < 60; ++k) {
    const double p = 0.5 * (low + high);
    const double a = std::pow(r, -p), b = std::pow(R, -p);
    // Multiplied out: 0/0 at p = 0.
    const bool less = p > 0   ? (1 - a) * second < first * (a - b)
                      : p < 0 ? (a - 1) * second < first * (b - a)
                              : std::log(r) * second < first * std::log(R / r);
    (less ? low : high) = p;
  }
  return 0.5 * (low + high);
}

/// Whether a change of velocity within a step is by an impact, which shorter steps leave as large
/// as it is.
bool is_impact(const VelocityJump& run, const VelocityJump& finer, double ratio) {
  return run.size > 0 && finer.size * std::sqrt(ratio) > run.size;
}

/// How many times as many steps another run took: at least a few more, or nothing can be said.
double step_ratio(const SampledMotion& run, const SampledMotion& finer) {
  const bool none = run.steps.empty() || run.steps.back() == 0;
  return none ? 2 : std::max(finer.steps.back() / run.steps.back(), 1.1);
}

/// The order that the extrapolation goes by.
double usable_order(double observed, int expected) {
  const bool in_range = observed >= 0.5 && observed <= expected + 1;
  return in_range ? observed : expected;
}

class Comparison {
 public:
  explicit Comparison(const RefinedMotions& motions);
  Verification run();

 private:
  const SampledMotion& finest() const { return m_.quarter != nullptr ? *m_.quarter : m_.half; }
  bool shrinks(const Kind& kind, double typical, std::size_t& parted) const;
  QuantityError error_of(const Kind& kind) const;
  void measure(const Kind& kind, double factor, QuantityError& out) const;

  const RefinedMotions& m_;
  std::vector<double> weights_;
  std::size_t end_ = 0;  ///< samples of which errors are given
  int expected_ = 1;
};

/// Whether bodies met in a run, or ran against a limit, at some speed.
bool have_impacts(const SampledMotion& run, const SampledMotion& finer) {
  if (!run.nonsmooth) return false;
  const double ratio = step_ratio(run, finer);
  // Of what solvers leave over none is an impact.
  const double least = rounding * run.length / run.step;
  for (std::size_t k = 0; k < run.jump.size(); ++k) {
    if (run.jump[k].size > least && is_impact(run.jump[k], finer.jump[k], ratio)) return true;
    const double turn = run.turn_jump[k].size;
    if (turn * run.step > rounding && is_impact(run.turn_jump[k], finer.turn_jump[k], ratio))
      return true;
  }
  return false;
}

void check_times(const SampledMotion& run, const SampledMotion& other, std::string_view name) {
  if (other.time == run.time) return;
  throw InputError(fmt::format("verification: the run at {} of the step", name),
                   fmt::format("{} samples at other times", other.samples()),
                   fmt::format("the {} sample times of the run", run.samples()));
}

Comparison::Comparison(const RefinedMotions& motions)
    : m_(motions), weights_(weights_of(m_.run.time)), end_(m_.run.samples()) {
  check_times(m_.run, m_.half, "a half");
  if (m_.quarter != nullptr) check_times(m_.run, *m_.quarter, "a quarter");
  // Impacts and stick to slip are taken at the end of a step, whatever the order between them.
  expected_ = m_.run.nonsmooth ? 1 : m_.order;
}

/// Whether smaller steps bring the runs together, to the end. Differences that are small beside the
/// model, or beside what bodies travel in a few steps, need no shrinking: the moment of an impact
/// within its step is chance. `parted` is the first sample from which on the runs are apart.
bool Comparison::shrinks(const Kind& kind, double typical, std::size_t& parted) const {
  constexpr std::size_t windows = 20;
  const std::vector<double> first = distances(kind, m_.run, m_.half);
  const std::vector<double> second = distances(kind, m_.half, *m_.quarter);
  const double size = natural_size(kind, m_.run, 0);
  const double large = std::max(0.01 * size, 2 * m_.half.step * typical);
  const std::size_t samples = m_.run.samples();
  // The end of the run, from a twentieth on that is not too short to tell.
  for (std::size_t w = 0; 4 * w <= 3 * windows; ++w) {
    const std::size_t from = w * samples / windows;
    const double a = mean(first, weights_, from, samples);
    const double b = mean(second, weights_, from, samples);
    if (b < large || b < not_shrinking * a) continue;
    parted = 0;
    while (parted < samples && std::max(first[parted], second[parted]) < large) ++parted;
    return false;
  }
  return true;
}

void Comparison::measure(const Kind& kind, double factor, QuantityError& out) const {
  const auto items = static_cast<std::size_t>(out.items);
  const auto width = static_cast<std::size_t>(out.width);
  const std::size_t samples = m_.run.samples();
  std::vector<double> means(items, 0.0);
  out.band.assign(samples * items * width, 0.0);
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t i = 0; i < items; ++i) {
      // An error is no less than the distance to the run at half the step.
      const Vec3 apart = (factor * difference(kind, m_.run, finest(), s * items + i))
                             .cwiseAbs()
                             .cwiseMax(difference(kind, m_.run, m_.half, s * items + i).cwiseAbs());
      for (std::size_t c = 0; c < width; ++c)
        out.band[(s * items + i) * width + c] = apart[static_cast<Eigen::Index>(c)];
      if (s >= end_) continue;
      const double error = apart.norm();
      means[i] += weights_[s] * error;
      if (s + 1 == end_) out.last = std::max(out.last, error);
      if (error <= out.worst) continue;
      out.worst = error;
      out.worst_time = m_.run.time[s];
      out.worst_item = static_cast<int>(i);
    }
  }
  double time = 0;
  for (std::size_t s = 0; s < end_; ++s) time += weights_[s];
  if (items > 0 && time > 0) out.mean = *std::ranges::max_element(means) / time;
  out.band = spread_out(out.band, items * width, samples / 100);
}

QuantityError Comparison::error_of(const Kind& kind) const {
  QuantityError out{.name = std::string(kind.name),
                    .unit = std::string(kind.unit),
                    .items = items_of(kind, m_.run),
                    .width = kind.width,
                    .order = unknown};
  out.scale = variation(kind, m_.run, out.items);
  const double a = mean(distances(kind, m_.run, m_.half), weights_, 0, end_);
  const double ratio = step_ratio(m_.run, finest());
  double factor = 1 / (1 - std::pow(ratio, -expected_));
  if (m_.quarter != nullptr) {
    const double b = mean(distances(kind, m_.half, *m_.quarter), weights_, 0, end_);
    const double floor = rounding * natural_size(kind, m_.run, out.scale);
    if (std::max(a, b) > floor)
      out.order = observed_order(a, b, step_ratio(m_.run, m_.half), ratio);
    factor = 1 / (1 - std::pow(ratio, -usable_order(out.order, expected_)));
  }
  measure(kind, factor, out);
  return out;
}

Verification Comparison::run() {
  Verification out{.state = VerificationState::exact,
                   .step = m_.run.step,
                   .expected_order = expected_,
                   .until = m_.run.time.empty() ? 0 : m_.run.time.back(),
                   .time = m_.run.time};
  if (m_.quarter != nullptr) {
    out.state = VerificationState::converges;
    std::size_t parted = end_;
    for (const Kind& kind : {kinds[0], kinds[1]}) {
      const bool turns = kind.quantity == Quantity::rotation;
      std::size_t here = end_;
      if (!shrinks(kind, turns ? m_.run.mean_turn : m_.run.mean_speed, here))
        parted = std::min(parted, here);
    }
    if (parted < end_) {
      out.state = VerificationState::parts;
      end_ = std::max<std::size_t>(parted, 1);
      out.until = m_.run.time[end_ - 1];
    }
  }
  for (const Kind& kind : kinds) {
    if (items_of(kind, m_.run) > 0) out.errors.push_back(error_of(kind));
  }
  for (std::size_t k = 0; k < m_.run.statistics.size(); ++k) {
    const MotionStatistic& s = m_.run.statistics[k];
    out.statistics.push_back(
        {s.name, s.unit, {s.value, m_.half.statistics[k].value, finest().statistics[k].value}});
  }
  return out;
}

/// Which samples of a run with impacts are used: every so manyth, so that there are enough steps
/// between two, and so that the largest impact of as many bodies as possible did not begin at one
/// of them, which all runs have in common.
std::size_t sparse_stride(const SampledMotion& run) {
  if (run.samples() < 2) return 1;
  const double apart = std::max(run.steps[1] - run.steps[0], 1.0);
  const auto least = static_cast<std::size_t>(std::ceil(least_steps / apart));
  std::size_t best = least;
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t stride = least; stride < least + 5; ++stride) {
    double common = 0;
    for (std::size_t k = 0; k < run.jump.size(); ++k) {
      const auto counts = [&](const VelocityJump& jump) {
        const double place = std::fmod(jump.steps, apart * static_cast<double>(stride));
        return place == 0 ? jump.size : 0.0;
      };
      common += counts(run.jump[k]) + run.length * counts(run.turn_jump[k]);
    }
    if (common >= fewest) continue;
    fewest = common;
    best = stride;
  }
  return best;
}

/// What keeps a run at a smaller step from saying where the motion goes: it ended early, or some of
/// its steps were not solved. Empty: nothing.
std::string why_incomplete(const SampledMotion& motion, int parts) {
  const std::string run =
      fmt::format("the run at {} of the step", parts == 2 ? "a half" : "a quarter");
  if (motion.failure == "interrupted") return run + " was interrupted";
  if (!motion.failure.empty()) return run + " failed at " + motion.failure;
  if (motion.missed == 0) return {};
  const auto steps = static_cast<long>(motion.steps.empty() ? 0 : motion.steps.back());
  return fmt::format("{} missed its tolerance in {} of {} steps, the first at t = {:.6g} s", run,
                     motion.missed, steps, motion.first_missed);
}

/// "ball", "hinge.angle", "kinetic".
std::string name_of(const Model& model, std::string_view quantity, int item) {
  if (item < 0) return {};
  if (quantity == "energy") {
    constexpr std::string_view names[] = {"kinetic", "potential", "kinetic and potential"};
    return std::string(names[static_cast<std::size_t>(item)]);
  }
  if (quantity != "coordinate") return model.bodies[item].name;
  for (const Joint& joint : model.joints) {
    const auto own = coordinates(joint.kind);
    const auto count = static_cast<int>(own.size());
    if (item < count) return fmt::format("{}.{}", joint.name, own[item].name);
    item -= count;
  }
  return {};
}

}  // namespace

double ComparedStatistic::spread() const {
  const auto [low, high] = std::ranges::minmax_element(value);
  return *high - *low;
}

std::string_view to_string(VerificationState state) {
  constexpr std::string_view words[] = {"converges", "exact", "parts", "incomplete"};
  return words[static_cast<std::size_t>(state)];
}

const QuantityError* Verification::find(std::string_view name) const {
  const auto at = std::ranges::find(errors, name, &QuantityError::name);
  return at == errors.end() ? nullptr : &*at;
}

bool agree_to_rounding(const SampledMotion& run, const SampledMotion& half) {
  // On the moment of an impact two runs may agree by chance.
  if (have_impacts(run, half)) return false;
  const std::vector<double> weights = weights_of(run.time);
  return std::ranges::all_of(kinds, [&](const Kind& kind) {
    const double size = natural_size(kind, run, variation(kind, run, items_of(kind, run)));
    return mean(distances(kind, run, half), weights, 0, run.samples()) <= rounding * size;
  });
}

Verification verify_motions(const RefinedMotions& motions) {
  return Comparison(motions).run();
}

Verification verify_run(const Model& model, const SimulationOptions& options,
                        const SampledMotion& run,
                        const std::function<bool(const VerificationProgress&)>& go_on) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  Verification out;
  // Of smooth motions steps may be nested.
  const SampledMotion sparse = run.nonsmooth ? thinned(run, sparse_stride(run)) : SampledMotion{};
  const SampledMotion& base = run.nonsmooth ? sparse : run;
  const bool shifted = run.nonsmooth && !options.adaptive && base.samples() > 1;
  const double between = shifted ? base.steps[1] - base.steps[0] : 0;
  SampledMotion half, quarter;
  const RefinedMotions both{base, half, nullptr, find_stepper(options.stepper.name).order};
  const auto run_at = [&](int parts, SampledMotion& motion) {
    const std::function<bool(double)> ask = [&](double t) {
      return !go_on || go_on({parts, t, options.duration});
    };
    const double shorter = between > 1 ? parts - 1 / between : parts;
    motion = sample_run(model, with_shorter_steps(options, shorter), {base.time, ask});
    out.reason = why_incomplete(motion, parts);
    return out.reason.empty();
  };
  if (!run_at(2, half)) return out;
  if (agree_to_rounding(base, half)) {
    out = verify_motions(both);
  } else {
    if (!run_at(4, quarter)) return out;
    out = verify_motions({base, half, &quarter, both.order});
  }
  for (QuantityError& error : out.errors)
    error.worst_name = name_of(model, error.name, error.worst_item);
  out.wall_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return out;
}

}  // namespace urto
