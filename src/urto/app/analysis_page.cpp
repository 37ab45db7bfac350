#include "urto/app/analysis_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "urto/app/scratch.h"
#include "urto/error.h"
#include "urto/page/report_page.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

constexpr int frames_of_mode = 48;
constexpr double seconds_of_mode = 2;

/// A result of states that nobody simulated.
class Album {
 public:
  Album(const Scene& scene, SimulationOptions options)
      : run_(scene.model, options),
        writer_(ResultWriter::create(file(), scene.model, options, scene.title,
                                     scene.normalized_json)) {
    const StartReport& start = run_.start();
    writer_.status.dofs = start.dofs;
    writer_.status.equality_rows = start.rows;
    writer_.status.rank = start.rank;
    writer_.status.status = "finished";
  }

  Simulation& run() { return run_; }
  void show(const State& state) {
    Checkpoint point = run_.checkpoint();
    point.state = state;
    run_.resume(point);
    writer_.add_frame(run_);
  }
  void keep() { writer_.add_frame(run_); }
  void say_failed() { writer_.status.status = "failed"; }
  void write(const fs::path& page, const PageOptions& options) {
    writer_.finish(run_);
    write_report(ResultReader(file()), page, options);
  }

 private:
  fs::path file() const { return scratch_.directory / "result.h5"; }

  Scratch scratch_;
  Simulation run_;
  ResultWriter writer_;
};

SimulationOptions one_step(SimulationOptions options) {
  options.stepper.name = "dvi";
  options.stepper.penalty_contact = false;
  options.adaptive = false;
  options.duration = 2 * options.step;
  return options;
}

/// How far bodies are from each other, the world's origin among them.
double extent(const Model& model, const State& at) {
  Vec3 low = Vec3::Zero();
  Vec3 high = Vec3::Zero();
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    const Vec3 x = place(model, at, body).x;
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
  const double size = (high - low).norm();
  return size > 0 ? size : 1;
}

}  // namespace

void refuse_foreign_page(const fs::path& page) {
  std::error_code error;
  if (fs::exists(page, error) && !is_report(page)) {
    throw InputError(page.string(), "a file that urto did not write",
                     "another name, or none of that name");
  }
}

double drawn_amplitude(const Model& model, const State& at, const Eigen::VectorXcd& shape) {
  double moves = 0, turns = 0;
  for (int slot = 0; slot < model.slots; ++slot) {
    moves = std::max(moves, shape.segment<3>(6 * slot).norm());
    turns = std::max(turns, shape.segment<3>(6 * slot + 3).norm());
  }
  const double size = 0.1 * extent(model, at);
  const double by_move = moves > 0 ? size / moves : std::numeric_limits<double>::infinity();
  const double by_turn = turns > 0 ? 0.3 / turns : std::numeric_limits<double>::infinity();
  const double factor = std::min(by_move, by_turn);
  return std::isfinite(factor) ? factor : 0;
}

void write_mode_page(const Scene& scene, const State& at, const std::vector<DrawnMode>& modes,
                     const fs::path& page) {
  refuse_foreign_page(page);
  Album album(scene, one_step(scene.options));
  PageOptions options;
  options.analysis = "modes";
  State shown = at;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    // A pause between modes: two frames of one time would be one.
    const double from = 1.05 * seconds_of_mode * static_cast<double>(k);
    options.chapters.push_back({modes[k].name, from, from + seconds_of_mode});
    const Eigen::VectorXcd shape =
        drawn_amplitude(scene.model, at, modes[k].shape) * modes[k].shape;
    for (int frame = 0; frame <= frames_of_mode; ++frame) {
      const double part = static_cast<double>(frame) / frames_of_mode;
      const double phase = 2 * std::numbers::pi * part - 0.5 * std::numbers::pi;
      const Vector increment = (std::polar(1.0, phase) * shape).real();
      add_increment(scene.model, at.q, increment, shown.q);
      shown.t = from + seconds_of_mode * part;
      album.show(shown);
    }
  }
  album.write(page, options);
}

void write_statics_page(const Scene& scene, const StaticsPage& content, const fs::path& page) {
  refuse_foreign_page(page);
  Album album(scene, one_step(scene.options));
  PageOptions options;
  options.analysis = "statics";
  options.remarks.push_back(content.said);
  album.show(content.start);
  // One step from rest, to have the forces: an equilibrium does not move in it.
  Checkpoint point = album.run().checkpoint();
  point.state = content.rest;
  point.state.v.setZero();
  album.run().resume(point);
  album.run().advance();
  album.keep();
  if (!content.found) album.say_failed();
  album.write(page, options);
}

}  // namespace urto::app
