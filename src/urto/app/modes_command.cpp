// `urto modes scene.json`: frequencies, damping ratios and shapes of small oscillations about an
// equilibrium.
#include <cmath>
#include <fstream>
#include <memory>
#include <numbers>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/analysis/modes.h"
#include "urto/app/command.h"
#include "urto/app/equilibrium.h"
#include "urto/app/interrupt.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/page/analysis_page.h"

namespace urto::app {
namespace {

struct ModesCommand {
  EquilibriumRequest request;
  std::string state_space_file, page;
  int count = 0;
  bool as_given = false, damped = false, json = false;
};

nlohmann::json rows_of(const Matrix& A) {
  nlohmann::json out = nlohmann::json::array();
  for (int r = 0; r < A.rows(); ++r) {
    const Vector row = A.row(r);
    out.push_back(std::vector<double>(row.data(), row.data() + row.size()));
  }
  return out;
}

/// The body that a mode moves most, and how: a word for a table.
std::string most_moved(const Model& m, const Eigen::VectorXd& shape) {
  int most = 0;
  for (int slot = 1; slot < m.slots; ++slot) {
    if (shape.segment<6>(6 * slot).norm() > shape.segment<6>(6 * most).norm()) most = slot;
  }
  return m.slots > 0 ? m.bodies[m.slot_body[most]].name : "";
}

void write_state_space(const Linearisation& l, const std::string& file) {
  const StateSpace s = state_space(l);
  const nlohmann::json out{{"A", rows_of(s.A)}, {"B", rows_of(s.B)}, {"C", rows_of(s.C)}};
  std::ofstream stream(file);
  stream << out.dump() << '\n';
  if (!stream.flush()) throw InputError(file, "no room or no permission", "a place to write to");
}

struct Line {
  double squared = 0;  ///< ω² [1/s²]
  double ratio = 0;    ///< of damping
  Eigen::VectorXd shape;
  Eigen::VectorXcd complex_shape;
};

std::vector<Line> find_lines(const ModesCommand& c, const Linearisation& l) {
  std::vector<Line> lines;
  if (c.damped) {
    for (const ComplexMode& mode : find_complex_modes(l)) {
      lines.push_back(
          {std::norm(mode.rate), mode.damping_ratio(), mode.shape.cwiseAbs(), mode.shape});
    }
    if (c.count > 0 && static_cast<int>(lines.size()) > c.count) lines.resize(c.count);
    return lines;
  }
  const Modes modes = find_modes(l, {.count = c.count});
  for (int k = 0; k < modes.squared.size(); ++k) {
    lines.push_back({modes.squared[k], 0, modes.shapes.col(k),
                     modes.shapes.col(k).cast<std::complex<double>>()});
  }
  return lines;
}

double hertz(double squared) {
  return std::sqrt(std::abs(squared)) / (2 * std::numbers::pi);
}

void print_lines(const Model& m, const std::vector<Line>& lines, bool damped) {
  const Table table({{"mode", 4},
                     {"Hz", 14},
                     {"rad/s", 14},
                     {damped ? "damping" : "", 9},
                     {"moves most", 0, Align::left}},
                    stdout_wants_colour());
  table.print_header();
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    table.print_row({fmt::format("{}", k + 1), fmt::format("{:.8g}", hertz(line.squared)),
                     fmt::format("{:.8g}", std::sqrt(std::abs(line.squared))),
                     damped             ? fmt::format("{:.5f}", line.ratio)
                     : line.squared < 0 ? "unstable"
                                        : "",
                     most_moved(m, line.shape)});
  }
}

void print_json(const Linearisation& l, const std::vector<Line>& lines) {
  nlohmann::json out;
  out["unbalanced_acceleration"] = l.unbalanced;
  out["modes"] = nlohmann::json::array();
  for (const Line& line : lines) {
    out["modes"].push_back(
        {{"omega_squared", line.squared},
         {"frequency_hz", hertz(line.squared)},
         {"damping_ratio", line.ratio},
         {"shape", std::vector<double>(line.shape.data(), line.shape.data() + line.shape.size())}});
  }
  fmt::print("{}\n", out.dump(2));
}

void show_modes(const ModesCommand& c, const EquilibriumResult& at,
                const std::vector<Line>& lines) {
  std::vector<DrawnMode> modes;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::string name = fmt::format("mode {}: {:.5g} Hz", k + 1, hertz(lines[k].squared));
    if (lines[k].squared < 0) name = fmt::format("mode {}: unstable", k + 1);
    if (c.damped) name += fmt::format(", damping {:.4f}", lines[k].ratio);
    modes.push_back({std::move(name), lines[k].complex_shape});
  }
  write_page(mode_page(at.scene, at.assembled, at.state, modes), c.page);
}

int run(const ModesCommand& c) {
  EquilibriumRequest request = c.request;
  request.options.contacts = false;
  EquilibriumResult at = c.as_given ? load_as_given(request) : load_equilibrium(request);
  if (interrupt_requested()) return interrupted_at(at.report);
  if (!c.as_given && !at.report.converged) {
    print_error(at.report.message);
    return not_certified;
  }
  RigidSystem system(at.scene.model);
  const Linearisation l = linearise(system, at.state);
  const std::vector<Line> lines = find_lines(c, l);
  if (!c.state_space_file.empty()) write_state_space(l, c.state_space_file);
  if (!c.page.empty()) show_modes(c, at, lines);
  if (c.json) {
    print_json(l, lines);
    return success;
  }
  if (l.unbalanced > 1e-6) {
    fmt::print(stderr, "urto: warning: no equilibrium: accelerations of up to {:.3g} there\n",
               l.unbalanced);
  }
  print_lines(at.scene.model, lines, c.damped);
  return success;
}

}  // namespace

void add_modes_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<ModesCommand>();
  CLI::App* sub =
      app.add_subcommand("modes", "Small oscillations of a scene about its equilibrium");
  add_equilibrium_options(*sub, command->request);
  sub->add_option("-n,--count", command->count,
                  "The slowest so many (default: all; ten of a large scene)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--as-given", command->as_given,
                "About the start of the scene, not its equilibrium");
  sub->add_flag("--damped", command->damped, "Complex modes with damping ratios");
  sub->add_option("--state-space", command->state_space_file,
                  "Write A, B, C of the linearised system as JSON")
      ->type_name("FILE");
  sub->add_option("--report", command->page, "Write a page on which the modes oscillate")
      ->type_name("FILE.html");
  sub->add_flag("--json", command->json, "Print as JSON, with shapes");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
