#include "urto/result/summary_json.h"

#include <cmath>

#include "urto/result/verification_summary.h"

namespace urto {

using nlohmann::json;

namespace {

/// JSON has no infinity: what is never a failure has no border.
json number(double x) {
  return std::isfinite(x) ? json(x) : json(nullptr);
}

}  // namespace

json to_json(const RunSummary& s) {
  json energy{{"start", s.run.start_energy}}, seconds = json::object();
  for (const NamedNumber& e : s.energy) energy[e.name] = e.value;
  for (const NamedNumber& phase : s.seconds) seconds[phase.name] = phase.value;
  json out = {{"version", s.urto_version},
              {"title", s.title},
              {"stepper", s.settings.stepper.name},
              {"solver", s.settings.solver.solver},
              {"friction", friction_word(s.settings)},
              {"tolerance", s.settings.solver.tolerance},
              {"duration", s.settings.duration},
              {"step", s.settings.step},
              {"output_step", s.settings.output_step},
              {"status", s.run.status},
              {"failure", s.run.failure},
              {"time", s.run.time},
              {"wall_seconds", s.run.wall_seconds},
              {"steps", s.counts.steps},
              {"rejected", s.run.rejected},
              {"missed", s.run.missed},
              {"frames", s.counts.frames},
              {"bodies", s.bodies},
              {"joints", s.joints},
              {"dofs", s.run.dofs},
              {"equality_rows", s.run.equality_rows},
              {"mobility", s.run.mobility()},
              {"most_contacts", s.most_contacts},
              {"worst",
               {{"residual", s.run.worst_residual},
                {"residual_time", s.run.worst_residual_time},
                {"joint_error", s.run.worst_joint_error},
                {"penetration", s.run.worst_penetration}}},
              {"energy", std::move(energy)},
              {"phase_seconds", std::move(seconds)},
              {"verdict", to_json(s.verdict)}};
  if (s.verification) out["verification"] = to_json(*s.verification);
  return out;
}

json to_json(const Verdict& verdict) {
  json findings = json::array();
  for (const Finding& f : verdict.findings) {
    findings.push_back({{"level", to_string(f.level)},
                        {"what", f.what},
                        {"text", f.text},
                        {"found", number(f.found)},
                        {"remarked", number(f.remarked)},
                        {"tolerated", number(f.tolerated)},
                        {"time", f.time}});
  }
  return {{"level", to_string(verdict.level)},
          {"short", short_verdict(verdict)},
          {"findings", std::move(findings)}};
}

json to_json(const StartReport& report) {
  json redundant = json::array();
  for (const RedundantRows& r : report.redundant) {
    redundant.push_back({{"name", r.name}, {"rows", r.rows}, {"of", r.of}, {"on", r.on}});
  }
  return {{"dofs", report.dofs},
          {"equality_rows", report.rows},
          {"rank", report.rank},
          {"mobility", report.mobility()},
          {"position_error", report.position_error},
          {"position_change", report.position_change},
          {"velocity_change", report.velocity_change},
          {"redundant", std::move(redundant)}};
}

}  // namespace urto
