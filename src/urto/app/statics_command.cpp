// `urto statics scene.json`: where a scene rests, and what its joints carry there.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/analysis/consistent_start.h"
#include "urto/app/command.h"
#include "urto/app/equilibrium.h"
#include "urto/app/table.h"

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
  EquilibriumResult out{
      .scene = load_scene(request.scene, request.set), .start = {}, .state = {}, .report = {}};
  RigidSystem system(out.scene.model);
  out.start = initial_state(out.scene.model);
  consistent_start(system, out.scene.options, out.start);
  out.state = out.start;
  return out;
}

EquilibriumResult load_equilibrium(const EquilibriumRequest& request) {
  EquilibriumResult out = load_as_given(request);
  RigidSystem system(out.scene.model);
  out.report = find_equilibrium(system, out.state, request.options);
  return out;
}

namespace {

struct StaticsCommand {
  EquilibriumRequest request;
  bool linear = false, json = false;
};

/// Reactions by the item that gives them.
nlohmann::json reactions(const RigidSystem& system, const Interactions& rows,
                         const Vector& lambda) {
  nlohmann::json out = nlohmann::json::object();
  for (int i = 0; i < rows.blocks(); ++i) {
    const double* first = lambda.data() + rows.J.row_start[i];
    out[system.describe(rows.origins[i])] = std::vector<double>(first, first + rows.laws[i].dim);
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
    fmt::print("{:<20} reaction{} N, N·m\n", name, text);
  }
}

int run(const StaticsCommand& c) {
  EquilibriumResult at = c.linear ? load_as_given(c.request) : load_equilibrium(c.request);
  RigidSystem system(at.scene.model);
  Vector lambda = at.report.lambda;
  Interactions rows = at.report.rows;
  if (c.linear) {
    const LinearStatics linear = linear_statics(system, at.start);
    add_increment(at.scene.model, at.start.q, linear.displacement, at.state.q);
    lambda = linear.lambda;
    rows = linearise(system, at.start).rows;
  }
  nlohmann::json out{{"bodies", bodies(at.scene.model, at.start, at.state)},
                     {"reactions", reactions(system, rows, lambda)}};
  if (!c.linear) {
    out["converged"] = at.report.converged;
    out["iterations"] = at.report.iterations;
    out["residual"] = at.report.residual;
    out["joint_error"] = at.report.joint_error;
    out["lowest_omega_squared"] = at.report.lowest;
  }
  if (c.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    print(out);
    if (!c.linear) {
      fmt::print("{} in {} iterations, residual {:.1e}, joint error {:.1e}{}\n",
                 at.report.converged ? "equilibrium" : "no equilibrium", at.report.iterations,
                 at.report.residual, at.report.joint_error,
                 at.report.lowest < -1e-6 ? "; unstable" : "");
    }
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
  sub->add_flag("--json", command->json, "Print as JSON");
  sub->footer("Exit code: 0 found, 2 bad input, 3 no equilibrium found.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
