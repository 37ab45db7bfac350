#include "urto/analysis/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/math/rotation.h"
#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
// 64 MB of the reference; of each run, of its curves and of its bodies' places.
constexpr std::size_t most_numbers = std::size_t{1} << 23;
constexpr int numbers_of_a_body = 7;
/// All gaps of scenes with so few shapes are measured, whatever their size.
constexpr int few_shapes = 64;

/// Where the moving bodies were: x and p of each, sample by sample.
struct Track {
  std::vector<double> time = {}, numbers = {};
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Every other sample is dropped when there are too many, and from then on every second one taken.
void halve(std::vector<double>& time, std::span<std::vector<double>> rows, std::size_t& stride) {
  const std::size_t samples = time.size(), kept = (samples + 1) / 2;
  const auto thin = [samples, kept](std::vector<double>& numbers) {
    const std::size_t width = numbers.size() / samples;
    for (std::size_t k = 1; k < kept; ++k) {
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(2 * k * width), width,
                  numbers.begin() + static_cast<std::ptrdiff_t>(k * width));
    }
    numbers.resize(kept * width);
  };
  for (std::vector<double>& numbers : rows) thin(numbers);
  thin(time);
  stride *= 2;
}

void add_places(const Simulation& run, Track& track) {
  track.time.push_back(run.state().t);
  for (const int body : run.model().slot_body) {
    const BodyPlace at = place(run.model(), run.state(), body);
    const Vec4 p = rotation(run.model(), run.state(), body);
    track.numbers.insert(track.numbers.end(), {at.x[0], at.x[1], at.x[2], p[0], p[1], p[2], p[3]});
  }
}

/// The numbers of a track at a time, linear in between; `near` is where the search begins.
void places_at(const Track& track, double t, std::size_t& near, std::vector<double>& out) {
  const std::size_t width = track.numbers.size() / track.time.size();
  while (near + 1 < track.time.size() && track.time[near + 1] <= t) ++near;
  const double* from = track.numbers.data() + near * width;
  out.assign(from, from + width);
  if (near + 1 == track.time.size() || t <= track.time[near]) return;
  const double part = (t - track.time[near]) / (track.time[near + 1] - track.time[near]);
  const double* to = from + width;
  for (std::size_t first = 0; first < width; first += numbers_of_a_body) {
    // The same rotation has two quaternions.
    double along = 0;
    for (std::size_t k = first + 3; k < first + 7; ++k) along += from[k] * to[k];
    const double sign = along < 0 ? -1 : 1;
    for (std::size_t k = first; k < first + 7; ++k)
      out[k] = (1 - part) * from[k] + part * (k < first + 3 ? to[k] : sign * to[k]);
  }
}

double distance(const double* a, const double* b) {
  const Vec3 apart(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  const Vec4 p = Vec4(a[3], a[4], a[5], a[6]).normalized();
  const Vec4 q = Vec4(b[3], b[4], b[5], b[6]).normalized();
  // Accurate for small angles too, of which 1 − |p · q| would keep the half of all digits.
  const double angle = 4 * std::asin(std::min(1.0, 0.5 * std::min((p - q).norm(), (p + q).norm())));
  return std::max(apart.norm(), angle);
}

/// One run, from its start to its end, with all that is kept of it.
class Observed {
 public:
  Observed(const Model& model, const CompareCase& of, const std::vector<RunQuantity>& quantities,
           double reach, bool tracked)
      : run_(model, of.options), probe_(run_, quantities, reach), tracked_(tracked) {
    out.label = of.label;
    out.method = of.method;
    out.adaptive = of.options.adaptive;
    out.step = of.options.step;
    out.tolerance = of.options.adaptive ? of.options.error_tolerance : 0;
    out.values.resize(quantities.size());
    for (std::size_t k = 0; k < quantities.size(); ++k) {
      if (quantities[k].kind == QuantityKind::gap) gap_ = static_cast<int>(k);
    }
    run_.start();
    out.least_gap = unknown;
    total_ = run_.energy().total();
    keep(0);
  }

  bool is_done() const { return done_; }
  double part() const { return done_ ? 1 : run_.state().t / run_.end_time(); }
  void step() {
    const double before = thread_seconds();
    const bool went = run_.advance();
    out.seconds += thread_seconds() - before;
    if (!went) {
      done_ = true;
      if (run_.run_state() == RunState::failed) out.failure = run_.failure();
      finish();
      return;
    }
    const StepReport& report = run_.report();
    out.newton += report.newton_iterations;
    out.most_newton = std::max(out.most_newton, report.newton_iterations);
    out.largest_gain = std::max(out.largest_gain, run_.energy().total() - total_);
    total_ = run_.energy().total();
    keep(report.h);
  }
  void stop() {
    done_ = true;
    out.failure = "interrupted";
    finish();
  }

  ComparedRun out = {};
  Track track = {};

 private:
  void keep(double h) {
    const std::vector<double>& values = probe_.measure(h);
    if (gap_ >= 0 && !(values[static_cast<std::size_t>(gap_)] >= out.least_gap))
      out.least_gap = std::fmin(out.least_gap, values[static_cast<std::size_t>(gap_)]);
    const std::size_t step = count_++;
    if (step % stride_ == 0) {
      out.time.push_back(run_.state().t);
      for (std::size_t k = 0; k < values.size(); ++k) out.values[k].push_back(values[k]);
      if (out.time.size() * (values.size() + 1) > most_numbers)
        halve(out.time, out.values, stride_);
    }
    if (tracked_ && step % track_stride_ == 0) {
      add_places(run_, track);
      if (track.numbers.size() > most_numbers)
        halve(track.time, {&track.numbers, 1}, track_stride_);
    }
  }
  void finish() {
    out.steps = run_.checkpoint().steps;
    out.rejected = run_.checkpoint().rejected;
    out.missed = run_.checkpoint().missed;
    out.worst_residual = run_.checkpoint().worst_residual;
  }

  Simulation run_;
  QuantityProbe probe_;
  bool tracked_, done_ = false;
  int gap_ = -1;
  double total_ = 0;
  std::size_t count_ = 0, stride_ = 1, track_stride_ = 1;
};

double reach_of(const Model& model, const CompareRequest& request) {
  if (request.gap_reach > 0) return request.gap_reach;
  const auto colliding = std::ranges::count_if(model.shapes, &Shape::collides);
  if (colliding <= few_shapes) {
    double size = 1;
    const State start = initial_state(model);
    for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body)
      size = std::max(size, 2 * place(model, start, body).x.norm());
    return size;
  }
  return with_choices(request.cases.front().options, model).contact_envelope;
}

void measure_tracks(const Track& run, const Track& truth, ComparedRun& out) {
  std::size_t near = 0;
  std::vector<double> at;
  const std::size_t width = run.numbers.size() / std::max<std::size_t>(run.time.size(), 1);
  for (std::size_t s = 0; s < run.time.size(); ++s) {
    if (run.time[s] > truth.time.back() * (1 + 1e-9)) break;
    places_at(truth, run.time[s], near, at);
    double error = 0;
    for (std::size_t k = 0; k < width; k += numbers_of_a_body)
      error = std::max(error, distance(run.numbers.data() + s * width + k, at.data() + k));
    out.error_time.push_back(run.time[s]);
    out.error.push_back(error);
  }
}

void measure_known(const std::vector<KnownQuantity>& known,
                   const std::vector<RunQuantity>& quantities, ComparedRun& out) {
  for (std::size_t s = 0; s < out.time.size(); ++s) {
    double error = 0;
    for (const KnownQuantity& truth : known) {
      const auto at = std::ranges::find(quantities, truth.name, &RunQuantity::name);
      const double value = out.values[static_cast<std::size_t>(at - quantities.begin())][s];
      error = std::max(error, std::abs(value - truth.value(out.time[s])));
    }
    out.error_time.push_back(out.time[s]);
    out.error.push_back(error);
  }
}

void summarise_error(ComparedRun& run) {
  run.mean_error = run.worst_error = run.last_error = unknown;
  if (run.error.empty()) return;
  double sum = 0;
  for (std::size_t s = 1; s < run.error.size(); ++s)
    sum += 0.5 * (run.error[s] + run.error[s - 1]) * (run.error_time[s] - run.error_time[s - 1]);
  const double time = run.error_time.back() - run.error_time.front();
  run.mean_error = time > 0 ? sum / time : run.error.back();
  run.worst_error = *std::ranges::max_element(run.error);
  run.last_error = run.error.back();
}

std::vector<ObservedOrder> observed_orders(const std::vector<ComparedRun>& runs) {
  std::vector<ObservedOrder> out;
  for (const ComparedRun& first : runs) {
    const bool known = std::ranges::any_of(out, [&](const ObservedOrder& o) {
      return o.method == first.method && o.of_tolerance == first.adaptive;
    });
    if (known) continue;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (const ComparedRun& run : runs) {
      if (run.method != first.method || run.adaptive != first.adaptive || !run.failure.empty() ||
          !(run.mean_error > 0))
        continue;
      const double x = std::log(run.adaptive ? run.tolerance : run.step);
      const double y = std::log(run.mean_error);
      n += 1;
      sx += x;
      sy += y;
      sxx += x * x;
      sxy += x * y;
    }
    const double spread = n * sxx - sx * sx;
    if (n > 1 && spread > 0)
      out.push_back({first.method, first.adaptive, (n * sxy - sx * sy) / spread});
  }
  return out;
}

std::vector<RunQuantity> find_quantities(const Model& model, const CompareRequest& request) {
  std::vector<RunQuantity> out;
  const auto add = [&](const std::string& name) {
    const RunQuantity q = find_quantity(model, name);
    if (std::ranges::find(out, name, &RunQuantity::name) == out.end()) out.push_back(q);
  };
  for (const std::string& name : request.quantities) add(name);
  for (const KnownQuantity& truth : request.known) add(truth.name);
  return out;
}

/// All runs, on threads of their own; the longest are begun first.
void run_all(std::vector<std::unique_ptr<Observed>>& runs, const CompareRequest& request) {
  ThreadPool pool(std::min<int>(request.threads, static_cast<int>(runs.size())));
  std::vector<std::size_t> order(runs.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(
      order, {}, [&](std::size_t k) { return runs[k]->out.adaptive ? 0 : runs[k]->out.step; });
  std::vector<std::atomic<double>> parts(runs.size());
  std::mutex asking;
  std::atomic<bool> stopped = false;
  constexpr int steps_between = 16;
  pool.share(static_cast<int>(runs.size()), 1, [&](int, int first, int) {
    Observed& run = *runs[order[static_cast<std::size_t>(first)]];
    for (long step = 0; !run.is_done(); ++step) {
      if (stopped) {
        run.stop();
        break;
      }
      run.step();
      parts[static_cast<std::size_t>(first)] = run.part();
      if (!request.go_on || (step % steps_between != 0 && !run.is_done())) continue;
      const std::lock_guard lock(asking);
      double sum = 0;
      int done = 0;
      for (const std::atomic<double>& part : parts) {
        sum += part;
        if (part == 1) ++done;
      }
      if (!request.go_on(sum / static_cast<double>(runs.size()), done)) stopped = true;
    }
  });
}

}  // namespace

std::vector<std::string> default_quantities(const Model& model,
                                            std::span<const std::string> watched) {
  std::vector<std::string> out(watched.begin(), watched.end());
  if (out.empty() && model.slots > 0) {
    const std::string& body = model.bodies[static_cast<std::size_t>(model.slot_body[0])].name;
    out = {body + ".z", body + ".vz"};
  }
  const RigidSystem system(model);
  if (system.may_be_one_sided())
    out.insert(out.end(), {"gap", "normal-force", "normal-impulse", "normal-nu"});
  if (!model.joints.empty()) out.insert(out.end(), {"joint-error", "joint-rate"});
  out.emplace_back("energy");
  return out;
}

Comparison compare_runs(const Model& model, const CompareRequest& request) {
  if (request.cases.empty()) throw InputError("a comparison", "no run", "one at least");
  Comparison out{.quantities = find_quantities(model, request)};
  const double reach = reach_of(model, request);
  const bool by_run = request.known.empty() && !request.reference.label.empty();
  std::vector<std::unique_ptr<Observed>> runs;
  const auto add = [&](const CompareCase& of, const std::vector<RunQuantity>& quantities) {
    try {
      runs.push_back(std::make_unique<Observed>(model, of, quantities, reach, by_run));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", of.label, error.what()));
    }
  };
  for (const CompareCase& of : request.cases) add(of, out.quantities);
  if (by_run) add(request.reference, {});
  run_all(runs, request);

  Track truth;
  if (by_run) {
    truth = std::move(runs.back()->track);
    out.truth = request.reference.label;
    out.truth_failure = runs.back()->out.failure;
    runs.pop_back();
  } else if (!request.known.empty()) {
    out.truth = "closed form";
  }
  for (const std::unique_ptr<Observed>& run : runs) {
    if (by_run) {
      measure_tracks(run->track, truth, run->out);
    } else if (!request.known.empty()) {
      measure_known(request.known, out.quantities, run->out);
    }
    summarise_error(run->out);
    out.runs.push_back(std::move(run->out));
  }
  out.orders = observed_orders(out.runs);
  return out;
}

}  // namespace urto
