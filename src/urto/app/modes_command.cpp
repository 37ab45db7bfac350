// `urto modes scene.json`: frequencies, damping ratios and shapes of small oscillations about an
// equilibrium.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <numbers>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "urto/analysis/modes.h"
#include "urto/app/command.h"
#include "urto/app/equilibrium.h"
#include "urto/app/interrupt.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/file/number_text.h"
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

void print_json(const Linearisation& l, const std::vector<Line>& lines, const HeldRows& held) {
  nlohmann::json out;
  out["unbalanced_acceleration"] = l.unbalanced;
  out["held"] = {{"contacts", held.contacts}, {"limits", held.limits},
                 {"motors", held.motors},     {"frictions", held.frictions},
                 {"free", held.free},         {"at_bound", held.at_bound}};
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

void show_modes(const ModesCommand& c, const SceneEquilibrium& at, const std::vector<Line>& lines,
                const std::vector<std::string>& remarks) {
  std::vector<DrawnMode> modes;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::string name = fmt::format("mode {}: {:.5g} Hz", k + 1, hertz(lines[k].squared));
    if (lines[k].squared < 0) name = fmt::format("mode {}: unstable", k + 1);
    if (c.damped) name += fmt::format(", damping {:.4f}", lines[k].ratio);
    modes.push_back({std::move(name), lines[k].complex_shape});
  }
  write_page(mode_page(at.scene, at.assembled, at.state, modes, remarks), c.page);
}

/// "3 contacts stick: contact of 'a' and 'b' #1, …": so many are named.
void add_remark(const std::vector<std::string>& names, std::string_view one, std::string_view many,
                std::string_view how, std::vector<std::string>& out) {
  if (names.empty()) return;
  constexpr std::size_t most = 4;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), most));
  out.push_back(fmt::format("{} {}: {}{}", counted(static_cast<long>(names.size()), one, many), how,
                            fmt::join(names.begin(), names.begin() + shown, ", "),
                            names.size() > most ? ", …" : ""));
}

/// What was linearised as a constraint, and what as a force that does not change.
std::vector<std::string> remarks(const HeldRows& held) {
  std::vector<std::string> out;
  const std::string_view as = "linearised as constraints";
  add_remark(held.contacts, "sticking contact", "sticking contacts", as, out);
  add_remark(held.limits, "closed limit", "closed limits", as, out);
  add_remark(held.motors, "motor that holds", "motors that hold", as, out);
  add_remark(held.frictions, "friction that sticks", "frictions that stick", as, out);
  add_remark(held.free, "row that touches without a force or is at its bound",
             "rows that touch without a force or are at their bounds", "left free", out);
  add_remark(held.at_bound, "contact has as much friction as it can",
             "contacts have as much friction as they can", "taken to stick all the same", out);
  return out;
}

HeldRows held_rows(const ModesCommand& c, const RigidSystem& system, const SceneEquilibrium& at) {
  return c.as_given ? held_equalities(system, at.state) : held_at_rest(system, at.report);
}

int run(const ModesCommand& c) {
  SceneEquilibrium at = c.as_given ? load_as_given(c.request) : load_equilibrium(c.request);
  if (interrupt_requested()) return interrupted_at(at.report);
  if (!c.as_given && !at.report.converged) {
    print_error(at.report.message);
    return not_certified;
  }
  RigidSystem system(at.scene.model);
  const HeldRows held = held_rows(c, system, at);
  const Linearisation l =
      c.as_given ? linearise(system, at.state) : linearise(system, at.state, held);
  const std::vector<Line> lines = find_lines(c, l);
  std::vector<std::string> said = at.remarks;
  std::ranges::copy(remarks(held), std::back_inserter(said));
  if (!c.state_space_file.empty()) write_state_space(l, c.state_space_file);
  if (!c.page.empty()) show_modes(c, at, lines, said);
  if (c.json) {
    print_json(l, lines, held);
    return success;
  }
  for (const std::string& remark : said) fmt::print("{}\n", remark);
  if (lines.empty()) {
    fmt::print("no small motion: what holds leaves none\n");
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
  sub->footer(
      "Contacts that carry force, closed limits, motors and dry friction that hold are constraints "
      "of the small motions;\nwhich they were is said. Exit code: 0 found, 2 bad input, 3 no "
      "equilibrium found.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
