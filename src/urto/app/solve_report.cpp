#include "urto/app/solve_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "urto/file/number_text.h"
#include "urto/version.h"

namespace urto::app {
namespace {

using nlohmann::json;

constexpr int widest_name = 44;

json describe(const Certificate& c) {
  return {{"friction", c.friction == Friction::exact ? "exact" : "convex"},
          {"residual", c.residual()},
          {"momentum", c.momentum},
          {"natural_map", c.natural_map},
          {"natural_map_absolute", c.natural_map_absolute},
          {"natural_map_scaled", c.natural_map_scaled},
          {"penetration", c.penetration},
          {"cone_violation", c.cone_violation},
          {"dissipation", c.dissipation},
          {"complementarity", c.complementarity},
          {"worst_block", c.worst_block},
          {"objective", c.objective},
          {"duality_gap", c.duality_gap}};
}

void describe(const Refusal&, const ReportOptions&, json& entry) {
  entry["status"] = "refused";
}

void describe(const Solution& s, const ReportOptions& options, json& entry) {
  entry["solver"] = s.solver;
  entry["status"] = to_string(s.status);
  entry["iterations"] = s.iterations;
  entry["outer_iterations"] = s.outer_iterations;
  entry["factorizations"] = s.factorizations;
  if (s.linear.all_factorizations() > 0) entry["linear"] = describe_linear(s.linear);
  entry["seconds"] = {{"setup", s.timings.setup},
                      {"solve", s.timings.solve},
                      {"certify", s.timings.certify},
                      {"total", s.timings.total()}};
  entry["certificate"] = describe(s.certificate);
  if (!options.history) return;
  json history = json::array();
  for (const HistoryEntry& h : s.history) {
    history.push_back(
        {{"iteration", h.iteration}, {"seconds", h.seconds}, {"residual", h.residual}});
  }
  entry["history"] = std::move(history);
  for (const InteriorPointRecord& r : s.interior_point_log)
    entry["interior_point"].push_back(describe_iteration(r));
}

void describe(const ComplementaritySolution& s, const ReportOptions&, json& entry) {
  entry["solver"] = s.solver;
  entry["status"] = to_string(s.status);
  entry["iterations"] = s.iterations;
  entry["seconds"] = {{"total", s.seconds}};
  entry["certificate"] = {{"residual", s.residual}, {"natural_map", s.residual}};
  if (s.certificate.size() > 0) {
    entry["infeasibility_certificate"] =
        std::vector<double>(s.certificate.data(), s.certificate.data() + s.certificate.size());
  }
}

}  // namespace

bool Result::certified(double tolerance) const {
  if (const auto* s = std::get_if<Solution>(&outcome)) {
    return s->status == Status::converged && s->certificate.meets(tolerance);
  }
  const auto* s = std::get_if<ComplementaritySolution>(&outcome);
  return s && s->status == Status::converged && s->residual <= tolerance;
}

std::string Result::solver() const {
  std::string chosen;
  if (const auto* s = std::get_if<Solution>(&outcome)) chosen = s->solver;
  if (const auto* s = std::get_if<ComplementaritySolution>(&outcome)) chosen = s->solver;
  if (chosen.empty() || chosen == requested) return requested;
  return fmt::format("{} ({})", requested, chosen);
}

std::string Result::message() const {
  if (const auto* s = std::get_if<Solution>(&outcome)) return s->message;
  if (const auto* s = std::get_if<ComplementaritySolution>(&outcome)) return s->message;
  return std::get<Refusal>(outcome).reason;
}

Table result_table(const std::vector<Job>& jobs, const std::vector<std::string>& requested) {
  int name = 0, solver = 0, longest = 0;
  for (const Job& job : jobs) {
    name = std::max(name, display_width(job.file.filename().string()));
  }
  for (const SolverInfo& info : solvers()) longest = std::max(longest, display_width(info.name));
  for (const std::string& text : requested) {
    const int choice = text == "auto" ? longest + 3 : 0;
    solver = std::max(solver, display_width(text) + choice);
  }
  return Table({{"problem", std::min(name, widest_name), Align::left},
                {"contacts", 8},
                {"dofs", 7},
                {"solver", solver, Align::left},
                {"iterations", 10},
                {"time", 8},
                {"natural map", 11},
                {"scaled", 7},
                {"momentum", 8},
                {"status", 15, Align::left}},
               stdout_wants_colour());
}

void print_row(const Table& table, const Result& result, double tolerance) {
  const Problem& problem = result.job->data.problem;
  std::vector<std::string> cells{shorten(result.job->file.filename().string(), widest_name)};
  if (const auto* p = std::get_if<StepProblem>(&problem)) {
    cells.push_back(fmt::format("{}", p->contacts()));
    cells.push_back(p->dofs() > 0 ? fmt::format("{}", p->dofs()) : "local");
  } else {
    cells.push_back("–");
    cells.push_back(fmt::format("{}", std::get<ComplementarityProblem>(problem).size()));
  }
  cells.push_back(result.solver());
  if (const auto* s = std::get_if<Solution>(&result.outcome)) {
    const Certificate& c = s->certificate;
    cells.insert(cells.end(),
                 {fmt::format("{}", s->iterations), format_seconds(s->timings.total()),
                  format_residual(c.natural_map), format_residual(c.natural_map_scaled),
                  format_residual(c.momentum), std::string(to_string(s->status))});
  } else if (const auto* m = std::get_if<ComplementaritySolution>(&result.outcome)) {
    cells.insert(cells.end(),
                 {fmt::format("{}", m->iterations), format_seconds(m->seconds),
                  format_residual(m->residual), "–", "–", std::string(to_string(m->status))});
  } else {
    cells.insert(cells.end(), {"–", "–", "–", "–", "–", "refused"});
  }
  table.print_row(cells, result.refused()              ? Tone::doubtful
                         : result.certified(tolerance) ? Tone::good
                                                       : Tone::bad);
}

void print_summary(const std::vector<Result>& results, const ReportOptions& options) {
  int certified = 0, solved = 0;
  bool exact = false, convex = false;  // which laws of friction were solved
  for (const Result& r : results) {
    certified += r.certified(options.tolerance) ? 1 : 0;
    solved += r.refused() ? 0 : 1;
    const auto* step = std::get_if<StepProblem>(&r.job->data.problem);
    if (step == nullptr || !step->K.has_friction()) continue;
    const Friction law = r.job->data.friction.value_or(options.friction);
    (law == Friction::exact ? exact : convex) = true;
  }
  fmt::print("\n{} of {} certified to {:.0e}", certified, solved, options.tolerance);
  if (exact || convex) {
    fmt::print(", {} friction", exact && convex ? "exact and convex" : exact ? "exact" : "convex");
  }
  fmt::print("\n");
  for (const Result& r : results) {
    if (r.message().empty()) continue;
    const char* kind = r.refused() ? "refused: " : "";
    fmt::print("  {}, {}: {}{}\n", r.job->file.filename().string(), r.solver(), kind, r.message());
  }
}

json to_json(const std::vector<Result>& results, const std::vector<Unread>& unread,
             const ReportOptions& options, int exit_code) {
  json list = json::array(), unreadable = json::array();
  for (const Unread& u : unread)
    unreadable.push_back({{"file", u.file.string()}, {"message", u.reason}});
  for (const Result& r : results) {
    json entry{{"file", r.job->file.string()},
               {"format", to_string(r.job->data.format)},
               {"requested_solver", r.requested},
               {"certified", r.certified(options.tolerance)},
               {"message", r.message()}};
    if (const auto* p = std::get_if<StepProblem>(&r.job->data.problem)) {
      entry["kind"] = "step";
      entry["contacts"] = p->contacts();
      entry["rows"] = p->rows();
      entry["dofs"] = p->dofs();
    } else {
      entry["kind"] = "complementarity";
      entry["rows"] = std::get<ComplementarityProblem>(r.job->data.problem).size();
    }
    std::visit([&](const auto& outcome) { describe(outcome, options, entry); }, r.outcome);
    list.push_back(std::move(entry));
  }
  return {{"version", version},
          {"tolerance", options.tolerance},
          {"friction", options.friction == Friction::exact ? "exact" : "convex"},
          {"results", std::move(list)},
          {"unreadable", std::move(unreadable)},
          {"exit_code", exit_code}};
}

void print_solvers() {
  int width = 0;
  for (const SolverInfo& info : solvers()) width = std::max(width, display_width(info.name));
  const bool colour = stdout_wants_colour();
  fmt::print("Step problems (contact, friction, joints)\n\n");
  const Table table({{"solver", width, Align::left},
                     {"general H", 0, Align::left},
                     {"cones", 0, Align::left},
                     {"boxes", 0, Align::left},
                     {"exact", 0, Align::left},
                     {"convex", 0, Align::left},
                     {"redundant", 0, Align::left},
                     {"threads", 0, Align::left},
                     {"summary", 0, Align::left}},
                    colour);
  table.print_header();
  const auto mark = [](bool can) { return can ? std::string("yes") : std::string("–"); };
  for (const SolverInfo& info : solvers()) {
    const Capabilities& can = info.can;
    table.print_row({std::string(info.name), mark(can.general_h), mark(can.cones), mark(can.boxes),
                     mark(can.exact_friction), mark(can.convex_friction), mark(can.redundant_rows),
                     mark(can.threads), std::string(info.summary)});
  }
  fmt::print(
      "\ngeneral H: stiffness in H, not only masses; cones: friction and unilateral rows; boxes: "
      "two-sided\nbounds; exact, convex: the friction laws it solves; redundant: rank-deficient "
      "rows.\n\nComplementarity problems (LCP, MLCP, relay)\n\n");
  const Table second({{"solver", width, Align::left}, {"summary", 0, Align::left}}, colour);
  second.print_header();
  for (const auto& [name, summary] : complementarity_solvers()) {
    second.print_row({std::string(name), std::string(summary)});
  }
}

}  // namespace urto::app
