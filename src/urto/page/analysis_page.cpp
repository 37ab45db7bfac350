#include "urto/page/analysis_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "urto/mechanics/rigid_system.h"
#include "urto/result/recorder.h"

namespace urto {
namespace {

constexpr int frames_of_mode = 48;
constexpr double seconds_of_mode = 2;

Result result_of(const Scene& scene, const StartReport& start) {
  Result out{.description = describe(scene)};
  out.status.status = "finished";
  out.status.dofs = start.dofs;
  out.status.equality_rows = start.rows;
  out.status.rank = start.rank;
  return out;
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

// Contacts are found there again, and known by the ids of their rows.
Frame rest_frame(const Model& model, const State& rest, const StaticsReport& report) {
  Frame out = still_frame(model, rest);
  if (report.lambda.size() != report.rows.rows() || report.rows.rows() == 0) return out;
  std::map<std::uint64_t, int> block_of;
  for (int i = 0; i < report.rows.blocks(); ++i) block_of[report.rows.ids[i]] = i;
  RigidSystem system(model);
  Interactions rows;
  SystemAccess(system).interactions(rest, {.envelope = StaticsOptions{}.envelope}, rows);
  Vector forces = Vector::Zero(rows.rows());
  for (int i = 0; i < rows.blocks(); ++i) {
    const auto known = block_of.find(rows.ids[i]);
    if (known == block_of.end()) continue;
    const int dim = std::min(rows.laws[i].dim, report.rows.laws[known->second].dim);
    forces.segment(rows.J.row_start[i], dim) =
        report.lambda.segment(report.rows.J.row_start[known->second], dim);
  }
  add_forces(model, rest, {rows, forces, 1}, out);
  return out;
}

AnalysisPage mode_page(const Scene& scene, const StartReport& start, const State& at,
                       const std::vector<DrawnMode>& modes,
                       const std::vector<std::string>& remarks) {
  AnalysisPage page{.result = result_of(scene, start),
                    .options = {.mode = "modes", .remarks = remarks}};
  State shown = at;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    // A pause between modes: two frames of one time would be one.
    const double from = 1.05 * seconds_of_mode * static_cast<double>(k);
    page.options.chapters.push_back({modes[k].name, from, from + seconds_of_mode});
    const Eigen::VectorXcd shape =
        drawn_amplitude(scene.model, at, modes[k].shape) * modes[k].shape;
    for (int frame = 0; frame <= frames_of_mode; ++frame) {
      const double part = static_cast<double>(frame) / frames_of_mode;
      const double phase = 2 * std::numbers::pi * part - 0.5 * std::numbers::pi;
      const Vector increment = (std::polar(1.0, phase) * shape).real();
      add_increment(scene.model, at.q, increment, shown.q);
      shown.t = from + seconds_of_mode * part;
      page.result.frames.push_back(still_frame(scene.model, shown));
    }
  }
  return page;
}

AnalysisPage statics_page(const Scene& scene, const StartReport& start, const FoundRest& found) {
  AnalysisPage page{.result = result_of(scene, start),
                    .options = {.mode = "statics", .remarks = {found.said}}};
  for (const std::string& remark : found.remarks) page.options.remarks.push_back(remark);
  if (!found.found) page.result.status.status = "failed";
  State rest = found.rest;
  rest.v.setZero();
  page.result.frames = {still_frame(scene.model, found.given),
                        rest_frame(scene.model, rest, found.report)};
  // Two frames of one time would be one.
  page.result.frames[1].time = found.given.t + scene.options.step;
  return page;
}

void write_page(const AnalysisPage& page, const std::filesystem::path& file) {
  refuse_foreign_page(file);
  write_report(ResultValues(page.result), file, page.options);
}

}  // namespace urto
