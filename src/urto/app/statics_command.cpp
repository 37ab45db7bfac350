// `urto statics scene.json`: where a scene rests, and what its joints carry there.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/analysis/linearise.h"
#include "urto/app/command.h"
#include "urto/app/equilibrium.h"
#include "urto/app/interrupt.h"
#include "urto/app/statics_report.h"
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

SceneEquilibrium load_as_given(const EquilibriumRequest& request) {
  return assembled_start(load_scene(request.scene, request.set), request.scene);
}

SceneEquilibrium load_equilibrium(const EquilibriumRequest& request) {
  Scene scene = load_scene(request.scene, request.set);
  StaticsOptions options = request.options;
  options.stop = interrupt_requested;
  catch_interrupts();
  SceneEquilibrium out = equilibrium_of(std::move(scene), request.scene, std::move(options));
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

int run(const StaticsCommand& c) {
  SceneEquilibrium at = c.linear ? load_as_given(c.request) : load_equilibrium(c.request);
  if (interrupt_requested()) return interrupted_at(at.report);
  if (c.linear) {
    RigidSystem system(at.scene.model);
    const LinearStatics linear = linear_statics(system, at.start);
    add_increment(at.scene.model, at.start.q, linear.displacement, at.state.q);
    at.report.lambda = linear.lambda;
    at.report.rows = linearise(system, at.start).rows;
  }
  const RestReport report = report_rest(at, c.linear);
  const bool found = c.linear || at.report.converged;
  if (!c.page.empty()) {
    write_page(
        statics_page(at.scene, at.assembled,
                     {at.start, at.state, at.report, found, conclusion(report), remarks(report)}),
        c.page);
  }
  if (c.json) {
    fmt::print("{}\n", to_json(report).dump(2));
  } else {
    print(report);
  }
  if (found) return success;
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
