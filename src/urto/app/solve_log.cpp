// `urto solve --verbose`: what a solver did, iteration by iteration, what it counted and where the
// time went.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/app/solve_report.h"
#include "urto/file/number_text.h"

namespace urto::app {
namespace {

using nlohmann::json;

std::string number(double value) {
  return value == 0 ? "0" : fmt::format("{:.1e}", value);
}

/// The certificate's residual at each iteration of the log, which the history has; "–" where it was
/// not measured.
std::string residual_at(const Solution& s, int iteration) {
  const auto at =
      std::find_if(s.history.rbegin(), s.history.rend(),
                   [iteration](const HistoryEntry& h) { return h.iteration == iteration; });
  return at == s.history.rend() ? "–" : number(at->residual);
}

void print_interior_point(const Solution& s) {
  const Table table({{"iteration", 9},
                     {"residual", 8},
                     {"dual", 8},
                     {"joints", 8},
                     {"primal", 8},
                     {"mu", 8},
                     {"mu pred.", 8},
                     {"sigma", 8},
                     {"step", 5},
                     {"step λ", 6},
                     {"eta", 6},
                     {"linear", 8},
                     {"refined", 7},
                     {"path", 9, Align::left}},
                    false);
  table.print_header();
  for (const InteriorPointRecord& r : s.interior_point_log) {
    table.print_row({fmt::format("{}", r.iteration), residual_at(s, r.iteration),
                     number(r.dual_residual), number(r.joint_residual), number(r.primal_residual),
                     number(r.mu), number(r.predictor_mu), number(r.sigma),
                     fmt::format("{:.3f}", r.primal_step), fmt::format("{:.3f}", r.dual_step),
                     fmt::format("{:.4f}", r.eta), number(r.linear_residual),
                     fmt::format("{}", r.refinements), std::string(to_string(r.path))});
  }
}

/// Sweeps come by the thousand: rows that are a tenth of their number apart tell as much.
void print_history(const Solution& s) {
  const Table table({{"iteration", 9}, {"time", 8}, {"residual", 8}}, false);
  table.print_header();
  double next = 0;
  for (const HistoryEntry& h : s.history) {
    if (h.iteration < next && &h != &s.history.back()) continue;
    next = std::floor(1.1 * h.iteration) + 1;
    table.print_row(
        {fmt::format("{}", h.iteration), format_seconds(h.seconds), number(h.residual)});
  }
}

void print_counters(const Solution& s) {
  fmt::print("iterations {}, outer {}, factorisations {}\n", s.iterations, s.outer_iterations,
             s.factorizations);
  const LinearCounters& c = s.linear;
  if (c.all_factorizations() == 0) return;
  std::string paths;
  for (int k = 0; k < linear_paths; ++k) {
    if (c.factorizations[k] == 0) continue;
    paths += fmt::format("{}{} {}", paths.empty() ? "" : ", ",
                         to_string(static_cast<LinearPath>(k)), c.factorizations[k]);
  }
  fmt::print(
      "linear systems: factorised {}; analysed {}, solved {}, refined {}, strengthened {}, missed "
      "{}, null pivots {}\n",
      paths, c.analyses, c.solves, c.refinements, c.strengthened, c.missed, c.null_pivots);
}

void print_timers(const Solution& s) {
  const LinearCounters& c = s.linear;
  fmt::print("time: set-up {}, solve {}, certificate {}", format_seconds(s.timings.setup),
             format_seconds(s.timings.solve), format_seconds(s.timings.certify));
  if (c.all_factorizations() > 0) {
    fmt::print("; of the solve: analysis {}, factorisation {}, substitution {}",
               format_seconds(c.analysis_seconds), format_seconds(c.factorization_seconds),
               format_seconds(c.solve_seconds));
  }
  fmt::print("\n");
}

}  // namespace

void print_log(const Result& result) {
  const auto* s = std::get_if<Solution>(&result.outcome);
  if (s == nullptr) return;
  fmt::print("\n{}, {}: {}\n\n", result.job->file.filename().string(), result.solver(),
             to_string(s->status));
  if (!s->interior_point_log.empty()) {
    print_interior_point(*s);
    fmt::print("\n");
  }
  if (s->interior_point_log.empty() || s->history.size() > s->interior_point_log.size() + 5) {
    print_history(*s);
    fmt::print("\n");
  }
  print_counters(*s);
  print_timers(*s);
}

json describe_linear(const LinearCounters& c) {
  json factorizations = json::object();
  for (int k = 0; k < linear_paths; ++k)
    factorizations[std::string(to_string(static_cast<LinearPath>(k)))] = c.factorizations[k];
  return {{"factorizations", std::move(factorizations)},
          {"analyses", c.analyses},
          {"reused", c.reused},
          {"solves", c.solves},
          {"refinements", c.refinements},
          {"strengthened", c.strengthened},
          {"missed", c.missed},
          {"null_pivots", c.null_pivots},
          {"backward_error", c.backward_error},
          {"seconds",
           {{"analysis", c.analysis_seconds},
            {"factorization", c.factorization_seconds},
            {"substitution", c.solve_seconds}}}};
}

json describe_iteration(const InteriorPointRecord& r) {
  return {{"iteration", r.iteration},
          {"predictor_step", r.predictor_step},
          {"predictor_mu", r.predictor_mu},
          {"sigma", r.sigma},
          {"eta", r.eta},
          {"primal_step", r.primal_step},
          {"dual_step", r.dual_step},
          {"mu", r.mu},
          {"dual_residual", r.dual_residual},
          {"joint_residual", r.joint_residual},
          {"primal_residual", r.primal_residual},
          {"linear_residual", r.linear_residual},
          {"refinements", r.refinements},
          {"path", to_string(r.path)}};
}

}  // namespace urto::app
