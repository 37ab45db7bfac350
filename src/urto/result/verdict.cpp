#include "urto/result/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/file/number_text.h"
#include "urto/result/step_columns.h"

namespace urto {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A finding is a remark above the first, a failure above the second. A step that turns or bends
/// what it linearises by θ has an error of θ²/2 of the parts' size: 0.01 at θ = 8°, where a step
/// is at the border of what its order of accuracy promises; 0.1 at 26°, 0.5 at one radian, where
/// linearising says nothing any more.
struct Border {
  double remark = 0.01, failure = 0.1;
};
constexpr Border joint_border, limit_border;
/// A body half inside another has come out on the wrong side as often as not.
constexpr Border penetration_border{0.01, 0.5};
/// More than half of what moves came from nowhere. Energy that a method loses stops a motion; it
/// makes none up.
constexpr Border gain_border{0.01, 0.5}, loss_border{0.01, never}, recovery_border{0.01, never};
/// Orders of magnitude beyond what a model's size and free flight explain.
constexpr Border reach_border{1e2, 1e6};
/// Of a motion that is known to a tenth of the model's size its outline can be believed. How far it
/// is off is said; nobody asked for a better one.
constexpr Border error_border{0.1, never};

struct Steps {
  const ResultView& result;
  long count = result.counts().steps;

  std::vector<double> column(std::string_view name) const {
    return result.step_values(step_column(name), 0, count);
  }
  double at(std::string_view name, std::size_t step) const {
    return result.step_values(step_column(name), static_cast<long>(step), 1)[0];
  }
  double time(std::size_t step) const { return at("time", step); }
};

struct Worst {
  double value = 0;
  std::size_t step = 0;
};

/// Nothing of a column that the result is older than: it is not-a-number throughout. In a column
/// that is known not-a-number is worse than anything.
std::optional<Worst> worst_of(const std::vector<double>& values) {
  if (std::ranges::all_of(values, [](double x) { return std::isnan(x); })) return std::nullopt;
  Worst worst;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double x = std::isnan(values[k]) ? never : values[k];
    if (x > worst.value) worst = {x, k};
  }
  return worst;
}

Level level_of(double found, const Border& border) {
  return found > border.failure  ? Level::failure
         : found > border.remark ? Level::remark
                                 : Level::good;
}

/// "12 % of" what is comparable, "3e+04 times" what is not.
std::string share_of(double share) {
  return share < 10 ? fmt::format("{:.3g} % of", 100 * share) : fmt::format("{:.3g} times", share);
}

class Judge {
 public:
  explicit Judge(const ResultView& result)
      : description_(result.description()),
        run_(result.status()),
        verification_(result.verification()),
        steps_{result} {}

  Verdict verdict() {
    weigh_end();
    weigh_start();
    if (steps_.count > 0) {
      weigh_certificates();
      weigh_joints();
      weigh_limits();
      weigh_penetration();
      // Circuits and equations have no energies that the program knows of.
      if (!description_.bodies.empty()) weigh_energy();
      weigh_newton();
      weigh_reach();
    }
    if (verification_) weigh_verification(*verification_);
    std::ranges::stable_sort(out_.findings, std::greater{}, &Finding::level);
    if (!out_.findings.empty()) out_.level = out_.findings.front().level;
    return std::move(out_);
  }

 private:
  void say(Level level, std::string what, std::string text, double time = 0) {
    out_.findings.push_back(
        {.level = level, .what = std::move(what), .text = std::move(text), .time = time});
  }
  void say(const Border& border, double found, std::string what, std::string text, double time) {
    out_.findings.push_back({.level = level_of(found, border),
                             .what = std::move(what),
                             .text = std::move(text),
                             .found = found,
                             .remarked = border.remark,
                             .tolerated = border.failure,
                             .time = time});
  }
  template <typename Items>
  std::string name(const Items& items, double index, const char* none) const {
    if (!(index >= 0 && index < static_cast<double>(items.size()))) return none;
    return fmt::format("'{}'", items[static_cast<std::size_t>(index)].name);
  }
  std::string body(double index) const { return name(description_.bodies, index, "a body"); }

  void weigh_end();
  void weigh_start();
  void weigh_certificates();
  void weigh_joints();
  void weigh_limits();
  void weigh_penetration();
  void weigh_energy();
  void weigh_newton();
  void weigh_reach();
  void weigh_verification(const Verification& v);
  double energy_that_moves() const;

  const Description& description_;
  RunStatus run_;
  std::optional<Verification> verification_;
  Steps steps_;
  Verdict out_ = {};
};

void Judge::weigh_end() {
  const double end = description_.settings.duration;
  if (run_.status == "failed") {
    say(Level::failure, "end", fmt::format("The run failed at {}.", run_.failure), run_.time);
  } else if (run_.status == "interrupted") {
    say(Level::remark, "end",
        fmt::format("The run was interrupted at t = {:.6g} of {:.6g} s{}.", run_.time, end,
                    description_.bodies.empty() ? "" : "; urto run --resume goes on"),
        run_.time);
  } else if (run_.status == "running") {
    say(Level::remark, "end",
        fmt::format("The run had not ended when this was made, or was killed: only what was "
                    "recorded until t = {:.6g} of {:.6g} s is known.",
                    run_.time, end),
        run_.time);
  } else {
    say(Level::good, "end", fmt::format("The run reached its end, t = {:.6g} s.", run_.time),
        run_.time);
  }
}

void Judge::weigh_start() {
  for (const std::string& warning : description_.warnings)
    say(Level::remark, "start", fmt::format("At the start: {}.", warning));
}

void Judge::weigh_certificates() {
  const double tolerance = description_.settings.solver.tolerance;
  if (run_.missed == 0) {
    say(Level::good, "certificates",
        fmt::format("All {} steps met the tolerance {:.0e}.", steps_.count, tolerance));
    return;
  }
  // A run that stopped at its first miss has said so.
  if (run_.missed == 1 && description_.settings.stop_on_failure) return;
  const auto met = steps_.column("meets_tolerance");
  const auto first = static_cast<std::size_t>(std::ranges::find(met, 0.0) - met.begin());
  out_.findings.push_back(
      {.level = Level::failure,
       .what = "certificates",
       .text = fmt::format("{} of {} steps missed the tolerance {:.0e}, the first at t = {:.6g} s; "
                           "the worst residual is {:.1e}, at t = {:.6g} s.",
                           run_.missed, steps_.count, tolerance,
                           first < met.size() ? steps_.time(first) : run_.worst_residual_time,
                           run_.worst_residual, run_.worst_residual_time),
       .found = run_.worst_residual,
       .remarked = tolerance,
       .tolerated = tolerance,
       .time = run_.worst_residual_time});
}

void Judge::weigh_joints() {
  if (description_.joints.empty()) return;
  const auto worst = worst_of(steps_.column("joint_share"));
  if (!worst) return;
  const Worst& w = *worst;
  say(joint_border, w.value, "joint error",
      fmt::format("The error of joints reached {} the size of what they join (or of a radian), "
                  "at {} at t = {:.6g} s.",
                  share_of(w.value),
                  name(description_.joints, steps_.at("worst_joint", w.step), "a coupling"),
                  steps_.time(w.step)),
      steps_.time(w.step));
}

// What was broken at the start has been said there; here counts what came besides.
void Judge::weigh_limits() {
  const auto group = std::ranges::find(description_.groups, "limits", &NamedGroup::name);
  if (group == description_.groups.end() || group->items.empty()) return;
  const auto worst = worst_of(steps_.column("limit_share"));
  if (!worst) return;
  const Worst& w = *worst;
  const double k = steps_.at("worst_limit", w.step);
  const bool known = k >= 0 && k < static_cast<double>(group->items.size());
  say(limit_border, w.value - description_.scale.start_limit, "limits",
      known ? fmt::format("The limit '{}' was passed by {} the size of what its joint joins (or "
                          "of a radian), at t = {:.6g} s.",
                          group->items[static_cast<std::size_t>(k)], share_of(w.value),
                          steps_.time(w.step))
            : "No limit was passed.",
      steps_.time(w.step));
}

void Judge::weigh_penetration() {
  const auto worst = worst_of(steps_.column("penetration_share"));
  if (!worst || worst->value == 0) return;
  const Worst& w = *worst;
  say(penetration_border, w.value - description_.scale.start_penetration, "penetration",
      fmt::format("{} and {} were in each other by {} the smaller one's width, at t = {:.6g} s.",
                  body(steps_.at("deepest_a", w.step)), body(steps_.at("deepest_b", w.step)),
                  share_of(w.value), steps_.time(w.step)),
      steps_.time(w.step));
}

/// The most that any account of the run held, or that the potential or the whole energy changed
/// by: their own zeros mean nothing.
double Judge::energy_that_moves() const {
  double most = 0;
  for (const char* account : {"kinetic", "supplied", "friction", "impact", "drive", "damping"}) {
    for (const double x : steps_.column(fmt::format("energy/{}", account)))
      most = std::max(most, std::abs(x));  // not-a-number counts as nothing
  }
  const auto kinetic = steps_.column("energy/kinetic");
  const auto potential = steps_.column("energy/potential");
  const auto range = [](double& low, double& high, double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  };
  double low = potential.front(), high = low;
  double least = run_.start_energy, largest = least;
  for (std::size_t k = 0; k < potential.size(); ++k) {
    range(low, high, potential[k]);
    range(least, largest, kinetic[k] + potential[k]);
  }
  return std::max({most, high - low, largest - least});
}

// Gained is what the account rose by from any moment to a later one: what was lost before does not
// pay for it.
void Judge::weigh_energy() {
  // What no account explains came from nowhere as well.
  auto numerical = steps_.column("energy/numerical");
  const auto unexplained = steps_.column("energy/unexplained");
  for (std::size_t k = 0; k < std::min(numerical.size(), unexplained.size()); ++k)
    numerical[k] += unexplained[k];
  const auto potential = steps_.column("energy/potential");
  double level = 0;
  for (const double x : potential) level = std::max(level, std::abs(x));
  // Impulses are known to the tolerance of the certificate, and so is what they do.
  const double least =
      std::max(description_.scale.least_energy, description_.settings.solver.tolerance * level);
  const double moves = std::max(energy_that_moves(), least);
  Worst gain, loss;
  double lowest = 0, highest = 0;
  bool finite = true;
  for (std::size_t k = 0; k < numerical.size(); ++k) {
    if (std::isnan(numerical[k]) || std::isinf(numerical[k])) {
      finite = false;
      gain = {never, k};
      break;
    }
    lowest = std::min(lowest, numerical[k]);
    highest = std::max(highest, numerical[k]);
    if (numerical[k] - lowest > gain.value) gain = {numerical[k] - lowest, k};
    if (highest - numerical[k] > loss.value) loss = {highest - numerical[k], k};
  }
  const auto share = [&](double energy) { return moves > 0 ? energy / moves : 0.0; };
  const auto weight = [&](const Worst& w, const Border& border) {
    return std::pair(level_of(share(w.value), border), w.value);
  };
  const bool gained = weight(gain, gain_border) >= weight(loss, loss_border);
  const Worst& worst = gained ? gain : loss;
  const double time = steps_.time(worst.step);
  say(gained ? gain_border : loss_border, finite ? share(worst.value) : never, "numerical energy",
      finite ? fmt::format("The steps {} {:.3g} J, {} the energy that moves ({:.3g} J), until "
                           "t = {:.6g} s.",
                           gained ? "made up" : "lost", worst.value, share_of(share(worst.value)),
                           moves, time)
             : fmt::format("Energy is no number any more at t = {:.6g} s.", time),
      time);
  const auto recovery = steps_.column("energy/recovery");
  const Worst pushed = worst_of(recovery).value_or(Worst{});
  if (pushed.value > 0) {
    say(recovery_border, share(pushed.value), "recovery",
        fmt::format("Pushing apart what overlapped gave {:.3g} J, {} the energy that moves "
                    "({:.3g} J).",
                    pushed.value, share_of(share(pushed.value)), moves),
        steps_.time(pushed.step));
  }
}

void Judge::weigh_newton() {
  const auto cuts = steps_.column("cuts");
  const auto is_cut = [](double n) { return n > 0; };
  const auto first = std::ranges::find_if(cuts, is_cut);
  if (first == cuts.end()) return;
  const auto cut = static_cast<double>(std::ranges::count_if(cuts, is_cut));
  const double time = steps_.time(static_cast<std::size_t>(first - cuts.begin()));
  say({0, never}, cut / static_cast<double>(steps_.count), "Newton",
      fmt::format("{} of {} steps had to be cut, the first at t = {:.6g} s: Newton's iteration "
                  "failed, or what it found was no motion.",
                  cut, steps_.count, time),
      time);
}

// How far gravity and the first velocities carry anything by themselves is no alarm.
void Judge::weigh_reach() {
  const DescribedScale& scale = description_.scale;
  if (scale.size <= 0) return;
  const auto worst = worst_of(steps_.column("reach"));
  if (!worst) return;
  const Worst& w = *worst;
  const double free = 1 + scale.free_flight / scale.size;
  say(reach_border, w.value / free, "reach",
      fmt::format("{} was {:.3g} m away at t = {:.6g} s: {:.2g} times the size of the model{}.",
                  body(steps_.at("farthest", w.step)), w.value * scale.size, steps_.time(w.step),
                  w.value, free > 2 ? " (which it could fall or fly by itself in part)" : ""),
      steps_.time(w.step));
}

// A run that ends well, and fails at a smaller step, is none to believe.
void Judge::weigh_verification(const Verification& v) {
  switch (v.state) {
    case VerificationState::incomplete:
      say(Level::failure, "verification",
          fmt::format("The run could not be verified: {}.", v.reason));
      return;
    case VerificationState::parts:
      say(Level::remark, "verification",
          fmt::format("From t = {:.4g} s on the motion depends on the step, and smaller ones do "
                      "not settle it.",
                      v.until),
          v.until);
      return;
    case VerificationState::exact:
      say(Level::good, "verification", "At half the step the motion is the same to rounding.");
      return;
    case VerificationState::converges:
      break;
  }
  const QuantityError* position = v.find("position");
  const double size = description_.scale.size + description_.scale.free_flight;
  if (position == nullptr || !(size > 0)) return;
  say(error_border, position->worst / size, "verification",
      fmt::format("Positions are known to {:.2g} m, {} the size of the model and its free flight.",
                  position->worst, share_of(position->worst / size)),
      position->worst_time);
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::good:
      return "good";
    case Level::remark:
      return "remark";
    case Level::failure:
      return "failure";
  }
  return "";
}

int Verdict::count(Level wanted) const {
  return static_cast<int>(std::ranges::count(findings, wanted, &Finding::level));
}

Verdict judge(const ResultView& result) {
  return Judge(result).verdict();
}

std::string short_verdict(const Verdict& verdict) {
  std::vector<std::string> parts;
  if (const int n = verdict.count(Level::failure); n > 0)
    parts.push_back(counted(n, "failure", "failures"));
  if (const int n = verdict.count(Level::remark); n > 0)
    parts.push_back(counted(n, "remark", "remarks"));
  return parts.empty() ? "good" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace urto
