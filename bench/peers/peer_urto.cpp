// The same scene in Urto, measured as the peers are: FILE.json beside the FILE.scene that they
// read.
// `--KEY=VALUE` is a setting of its "simulation" object, but for duration, step and budget.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "scene.h"
#include "urto/error.h"
#include "urto/linalg/blas_threads.h"
#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace {

using namespace peers;

urto::Scene load(const Arguments& a) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : a.values) {
    if (key != "budget") settings.push_back("simulation." + key + "=" + value);
  }
  return urto::load_scene(std::filesystem::path(a.scene).replace_extension(".json"), settings);
}

class Urto {
 public:
  explicit Urto(const urto::Scene& scene) : run_(scene.model, scene.options) { run_.start(); }

  void step() {
    if (!run_.advance()) throw std::runtime_error(run_.failure());
    const urto::StepReport& r = run_.report();
    sweeps_ += r.solve.sweeps;
    most_sweeps_ = std::max(most_sweeps_, r.solve.sweeps);
    guessed_ += r.solve.guessed;
    handed_on_ += r.solve.handed_on;
    contacts_ += static_cast<long>(run_.contacts().size());
    solve_ += r.timings.solve;
    total_ += r.timings.rows + r.timings.assemble + r.timings.solve + r.timings.certify +
              r.timings.advance;
    ++steps_;
  }

  void get(std::vector<State>& states) const {
    const urto::State& s = run_.state();
    const int bodies = static_cast<int>(s.q.size()) / 7;
    states.resize(bodies);
    for (int i = 0; i < bodies; ++i) {
      const double* q = s.q.data() + 7 * i;
      const double* v = s.v.data() + 6 * i;
      State& out = states[i];
      out.p = {q[0], q[1], q[2]};
      out.q = {q[3], q[4], q[5], q[6]};
      out.v = {v[0], v[1], v[2]};
      out.w = rotate(out.q, {v[3], v[4], v[5]});
    }
  }

  std::string remarks() const {
    const urto::Checkpoint& c = run_.checkpoint();
    return fmt::format(
        ",\"contacts\":{},\"sweeps\":{:.1f},\"most_sweeps\":{},\"guessed\":{},\"handed_on\":{},"
        "\"missed\":{},\"residual\":{:.2g},\"solve_share\":{:.3f}",
        contacts_ / std::max(1L, steps_), static_cast<double>(sweeps_) / std::max(1L, steps_),
        most_sweeps_, guessed_, handed_on_, c.missed, c.worst_residual,
        solve_ / std::max(1e-300, total_));
  }

 private:
  urto::Simulation run_;
  long sweeps_ = 0, guessed_ = 0, handed_on_ = 0, contacts_ = 0, steps_ = 0;
  int most_sweeps_ = 0;
  double solve_ = 0, total_ = 0;  ///< [s]
};

}  // namespace

int main(int count, char** words) {
  try {
    urto::use_one_blas_thread();
    Arguments a = arguments(count, words);
    const urto::Scene scene = load(a);
    a.step = scene.options.step;
    a.duration = scene.options.duration;
    Urto engine(scene);
    return run(a, read_scene(a.scene), engine);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "peer_urto: %s\n", e.what());
    return 2;
  }
}
