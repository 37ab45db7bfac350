// `urto statics scene.json`: where a scene rests, and what its joints carry there.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/app/command.h"
#include "urto/app/equilibrium.h"
#include "urto/app/interrupt.h"
#include "urto/error.h"
#include "urto/page/analysis_page.h"
#include "urto/stepper/simulation.h"

namespace urto::app {

void add_equilibrium_options(CLI::App& sub, EquilibriumRequest& request) {
  sub.add_option("scene", request.scene, "Scene file")->required();
  sub.add_option("--set", request.set, "Override: path=value")->type_name("PATH=VALUE");
  sub.add_option("--load-steps", request.options.load_steps,
                 "Take the unbalanced load off in so many parts")
      ->check(CLI::Range(1, 10000));
  sub.add_option("--max-iterations", request.options.max_iterations, "Of each load step")
      ->check(CLI::PositiveNumber);
}

EquilibriumResult load_as_given(const EquilibriumRequest& request) {
  EquilibriumResult out{.scene = load_scene(request.scene, request.set)};
  if (out.scene.model.slots == 0) {
    throw InputError(request.scene, "no moving body",
                     "at least one of kind \"dynamic\", for its equilibrium and its modes");
  }
  RigidSystem system(out.scene.model);
  out.start = initial_state(out.scene.model);
  out.assembled = consistent_start(system, out.scene.options, out.start);
  out.state = out.start;
  return out;
}

EquilibriumResult load_equilibrium(const EquilibriumRequest& request) {
  EquilibriumResult out = load_as_given(request);
  RigidSystem system(out.scene.model);
  StaticsOptions options = request.options;
  options.stop = interrupt_requested;
  options.envelope = Simulation(out.scene.model, out.scene.options).options().contact_envelope;
  catch_interrupts();
  out.report = find_equilibrium(system, out.state, options);
  release_interrupts();
  return out;
}

int interrupted_at(const StaticsReport& report) {
  fmt::print(stderr, "urto: interrupted after {} iterations, residual {:.1e}\n", report.iterations,
             report.residual);
  return interrupted_code();
}

namespace {

struct StaticsCommand {
  EquilibriumRequest request;
  std::string page;
  bool linear = false, json = false;
};

/// Reactions by the item that gives them; contacts that press, points of one pair numbered.
nlohmann::json reactions(const RigidSystem& system, const StaticsReport& report) {
  nlohmann::json out = nlohmann::json::object();
  const Interactions& rows = report.rows;
  for (int i = 0; i < rows.blocks(); ++i) {
    const double* first = report.lambda.data() + rows.J.row_start[i];
    if (rows.origins[i].kind == Origin::contact && first[0] == 0) continue;
    const std::string name = report.names.empty() ? system.describe(rows, i) : report.names[i];
    std::string key = name;
    for (int k = 2; out.contains(key); ++k) key = fmt::format("{} #{}", name, k);
    out[key] = std::vector<double>(first, first + rows.laws[i].dim);
  }
  return out;
}

nlohmann::json bodies(const Model& m, const State& start, const State& end) {
  nlohmann::json out = nlohmann::json::object();
  const Vector moved = difference(m, end.q, start.q);
  for (int slot = 0; slot < m.slots; ++slot) {
    const double* q = end.q.data() + 7 * slot;
    const double* d = moved.data() + 6 * slot;
    out[m.bodies[m.slot_body[slot]].name] = {{"position", std::vector<double>(q, q + 3)},
                                             {"rotation", std::vector<double>(q + 3, q + 7)},
                                             {"moved", std::vector<double>(d, d + 6)}};
  }
  return out;
}

void print(const nlohmann::json& out) {
  for (const auto& [name, body] : out["bodies"].items()) {
    const auto x = body["position"].get<std::vector<double>>();
    const auto d = body["moved"].get<std::vector<double>>();
    fmt::print(
        "{:<20} at {:.6g} {:.6g} {:.6g} m, moved {:.3g} {:.3g} {:.3g} m, turned {:.3g} {:.3g} "
        "{:.3g} rad\n",
        name, x[0], x[1], x[2], d[0], d[1], d[2], d[3], d[4], d[5]);
  }
  for (const auto& [name, force] : out["reactions"].items()) {
    std::string text;
    for (const double f : force.get<std::vector<double>>()) text += fmt::format(" {:.6g}", f);
    fmt::print("{:<20} {}{} N, N·m\n", name,
               name.starts_with("contact") ? "normal, tangential" : "reaction", text);
  }
}

std::string contact_remark(const StaticsReport& r) {
  std::string out =
      fmt::format(" with contacts: gaps to {:.1e} m, cones to {:.1e}", r.gap_error, r.cone_error);
  if (r.slide > 1e-9) out += fmt::format(", slid by {:.3g} m", r.slide);
  if (r.freedom > 0 && !r.unique.value_or(false)) {
    out += fmt::format("; these forces are {}one choice of many ({} freedoms)",
                       r.unique.has_value() ? "" : "perhaps ", r.freedom);
  }
  return out;
}

std::string conclusion(const StaticsReport& r) {
  return fmt::format("{} in {} iterations, residual {:.1e}, joint error {:.1e}{}{}",
                     r.converged ? "equilibrium" : "no equilibrium", r.iterations, r.residual,
                     r.joint_error, r.lowest < -1e-6 ? "; unstable" : "",
                     r.with_contact ? contact_remark(r) : "");
}

void add_report(const StaticsReport& r, nlohmann::json& out) {
  out["converged"] = r.converged;
  out["iterations"] = r.iterations;
  out["residual"] = r.residual;
  out["joint_error"] = r.joint_error;
  out["lowest_omega_squared"] = r.lowest;
  if (!r.with_contact) return;
  out["contact"] = {{"gap_error", r.gap_error},
                    {"cone_error", r.cone_error},
                    {"slide", r.slide},
                    {"freedom", r.freedom},
                    {"unique", r.unique ? nlohmann::json(*r.unique) : nlohmann::json()}};
}

int run(const StaticsCommand& c) {
  EquilibriumResult at = c.linear ? load_as_given(c.request) : load_equilibrium(c.request);
  if (interrupt_requested()) return interrupted_at(at.report);
  RigidSystem system(at.scene.model);
  if (c.linear) {
    const LinearStatics linear = linear_statics(system, at.start);
    add_increment(at.scene.model, at.start.q, linear.displacement, at.state.q);
    at.report.lambda = linear.lambda;
    at.report.rows = linearise(system, at.start).rows;
  }
  nlohmann::json out{{"bodies", bodies(at.scene.model, at.start, at.state)},
                     {"reactions", reactions(system, at.report)}};
  if (!c.linear) add_report(at.report, out);
  if (!c.page.empty()) {
    const bool found = c.linear || at.report.converged;
    const std::string said = c.linear ? "the scene linearised at its start"
                             : found  ? conclusion(at.report)
                                      : at.report.message;
    write_page(statics_page(at.scene, at.assembled, {at.start, at.state, at.report, found, said}),
               c.page);
  }
  if (c.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    print(out);
    if (!c.linear) fmt::print("{}\n", conclusion(at.report));
  }
  if (c.linear || at.report.converged) return success;
  print_error(at.report.message);
  return not_certified;
}

}  // namespace

void add_statics_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<StaticsCommand>();
  CLI::App* sub = app.add_subcommand("statics", "Find where a scene rests");
  add_equilibrium_options(*sub, command->request);
  sub->add_flag("--linear", command->linear, "Answer of the scene linearised at its start");
  sub->add_option("--largest-slide", command->request.options.largest_slide,
                  "How far a contact with friction may slide before that counts as falling [m]")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--report", command->page, "Write a page: the start, and the scene at rest")
      ->type_name("FILE.html");
  sub->add_flag("--json", command->json, "Print as JSON");
  sub->footer("Exit code: 0 found, 2 bad input, 3 no equilibrium found, 130 Ctrl-C.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
