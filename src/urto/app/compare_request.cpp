#include "urto/app/compare_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/scene_expression.h"

namespace urto::app {
namespace {

constexpr double finer = 10;  ///< so much is the reference's step shorter than the smallest

/// A stepper as the user wrote it, "nonsmooth-alpha[alpha_algorithm=monolithic]", or by the name
/// that the user gave it, "GGL=nonsmooth-alpha[…]".
struct Spec {
  std::string text = {};
  SimulationOptions options = {};
};

double positive(const std::string& text, const std::string& where) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !(number > 0) ||
      !std::isfinite(number))
    throw InputError(where, "'" + text + "'", "positive numbers with commas between them");
  return number;
}

std::vector<double> numbers(const std::string& text, const std::string& where) {
  std::vector<double> out;
  for (const std::string& word : split_list(text)) out.push_back(positive(word, where));
  return out;
}

// Settings go through the scene, so that they are checked as its own are.
Spec load_spec(const CompareWords& words, const std::string& given, const std::string& where) {
  const std::size_t named = given.find('=');
  const bool has_name = named != std::string::npos && named < given.find('[');
  const std::string text = has_name ? given.substr(named + 1) : given;
  Spec out{.text = has_name ? given.substr(0, named) : given};
  std::vector<std::string> set = words.set;
  const std::size_t bracket = text.find('[');
  if (bracket != std::string::npos && !text.ends_with(']'))
    throw InputError(where, "'" + text + "'", "NAME or NAME[setting=value,setting=value]");
  set.push_back("simulation.stepper=" + text.substr(0, bracket));
  if (bracket != std::string::npos) {
    const std::string inside = text.substr(bracket + 1, text.size() - bracket - 2);
    for (const std::string& setting : split_list(inside)) {
      if (setting.find('=') == std::string::npos)
        throw InputError(where, "'" + setting + "'", "setting=value");
      set.push_back("simulation." + setting);
    }
  }
  out.options = load_scene(words.scene, set).options;
  out.options.threads = 1;
  return out;
}

std::vector<Spec> load_specs(const CompareWords& words, const Scene& scene) {
  std::vector<Spec> out;
  if (words.steppers.empty()) {
    out.push_back({scene.options.stepper.name, scene.options});
    out.back().options.threads = 1;
  }
  for (const std::string& text : split_list(words.steppers))
    out.push_back(load_spec(words, text, "--steppers"));
  return out;
}

CompareCase make_case(const Spec& spec, const std::string& solver, double step, double tolerance,
                      bool name_solver, bool name_step) {
  CompareCase out{.method = spec.text, .options = spec.options};
  if (name_solver) out.method += ", " + solver;
  if (!solver.empty()) out.options.solver.solver = solver;
  out.label = out.method;
  out.options.adaptive = tolerance > 0;
  if (tolerance > 0) {
    out.options.error_tolerance = tolerance;
    out.label += fmt::format(", tol = {:.3g}", tolerance);
  } else {
    out.options.step = step;
    if (name_step) out.label += fmt::format(", h = {:.4g}", step);
  }
  try {
    validate(out.options);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", out.label, error.what()));
  }
  return out;
}

CompareCase reference_of(const CompareWords& words, const std::vector<Spec>& specs,
                         const std::vector<double>& steps) {
  const double least = *std::ranges::min_element(steps) / finer;
  Spec spec = specs.front();
  double step = least, tolerance = 0;
  if (!words.reference.empty()) {
    const std::size_t bracket = words.reference.rfind(']');
    const std::size_t colon = words.reference.find(':', bracket == std::string::npos ? 0 : bracket);
    spec = load_spec(words, words.reference.substr(0, colon), "--reference");
    if (colon != std::string::npos) {
      const std::string after = words.reference.substr(colon + 1);
      constexpr std::string_view controlled = "tol=";
      if (after.starts_with(controlled)) {
        tolerance = positive(after.substr(controlled.size()), "--reference");
        // What it is between its steps is a straight line.
        spec.options.max_step = std::min(spec.options.max_step, least);
      } else {
        step = positive(after, "--reference");
      }
    }
  }
  return make_case(spec, "", step, tolerance, false, true);
}

// ---- Closed forms

/// Formulas that others use by name: "K=floor(t)".
using Definitions = std::map<std::string, std::string, std::less<>>;

double evaluate(const std::string& formula, double t, const Definitions& definitions,
                const std::map<std::string, double>& parameters, int depth = 0) {
  constexpr int deepest = 32;
  if (depth > deepest) throw scene::ExpressionError("definitions that use each other in a ring");
  return scene::evaluate_expression(formula, [&](std::string_view asked) {
    if (asked == "t") return t;
    const auto defined = definitions.find(asked);
    if (defined != definitions.end())
      return evaluate(defined->second, t, definitions, parameters, depth + 1);
    const auto found = parameters.find(std::string(asked));
    if (found == parameters.end())
      throw scene::ExpressionError(fmt::format("there is no '{}'", asked));
    return found->second;
  });
}

KnownQuantity expression(const std::string& name, const std::string& formula, const Scene& scene,
                         const std::shared_ptr<const Definitions>& definitions) {
  const auto value = [formula, definitions, parameters = scene.parameters](double t) {
    return evaluate(formula, t, *definitions, parameters);
  };
  // Before anything runs, and all along: a logarithm may fail later only.
  constexpr int looks = 200;
  for (int k = 0; k <= looks; ++k) {
    const double t = scene.options.duration * k / looks;
    try {
      value(t);
    } catch (const scene::ExpressionError& error) {
      throw InputError("--truth " + name,
                       fmt::format("'{}' at t = {:.4g}: {}", formula, t, error.what()),
                       "arithmetic with t, the scene's parameters and definitions NAME=EXPRESSION");
    }
  }
  return {name, [value](double t) {
            try {
              return value(t);
            } catch (const scene::ExpressionError&) {
              return std::numeric_limits<double>::quiet_NaN();
            }
          }};
}

struct Table {
  std::vector<std::string> names = {};
  std::vector<std::vector<double>> columns = {};
};

std::string unquoted(std::string text) {
  if (text.size() > 1 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

Table read_table(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    throw InputError("--truth", "no file '" + file + "'", "QUANTITY=EXPRESSION, or a CSV file");
  Table out;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    if (line.back() == '\r') line.pop_back();
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    const std::string where = fmt::format("{}: line {}", file, number);
    if (out.names.empty()) {
      for (const std::string& cell : cells) out.names.push_back(unquoted(cell));
      out.columns.resize(cells.size());
      if (cells.size() < 2 || out.names[0] != "time")
        throw InputError(where, "'" + line + "'", "time and names of quantities");
      continue;
    }
    if (cells.size() != out.names.size()) {
      throw InputError(where, fmt::format("{} numbers", cells.size()),
                       fmt::format("{}", out.names.size()));
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
      double x = 0;
      const std::string& cell = cells[k];
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
      if (error != std::errc{} || end != cell.data() + cell.size())
        throw InputError(where, "'" + cell + "'", "a number");
      out.columns[k].push_back(x);
    }
    const std::vector<double>& time = out.columns[0];
    if (time.size() > 1 && !(time.back() > time[time.size() - 2]))
      throw InputError(where, fmt::format("the time {}", time.back()), "times that rise");
  }
  if (out.columns.empty() || out.columns[0].empty())
    throw InputError(file, "no numbers", "a header and rows of numbers");
  return out;
}

void add_table(const std::string& file, std::vector<KnownQuantity>& out) {
  const auto table = std::make_shared<const Table>(read_table(file));
  for (std::size_t k = 1; k < table->names.size(); ++k) {
    out.push_back({table->names[k], [table, k](double t) {
                     const std::vector<double>& time = table->columns[0];
                     const std::vector<double>& x = table->columns[k];
                     const auto above = std::ranges::upper_bound(time, t);
                     const auto at = static_cast<std::size_t>(above - time.begin());
                     if (at == 0) return x.front();
                     if (at == time.size()) return x.back();
                     const double part = (t - time[at - 1]) / (time[at] - time[at - 1]);
                     return (1 - part) * x[at - 1] + part * x[at];
                   }});
  }
}

/// What is no quantity of the model is a definition for those that are.
bool is_definition(const std::string& name, const Model& model) {
  if (!scene::is_identifier(name)) return false;
  try {
    find_quantity(model, name);
    return false;
  } catch (const InputError&) {
    return true;
  }
}

void add_truth(const CompareWords& words, const Scene& scene, std::vector<KnownQuantity>& out) {
  const auto definitions = std::make_shared<Definitions>();
  std::vector<std::pair<std::string, std::string>> formulas;
  for (const std::string& truth : words.truth) {
    const std::size_t at = truth.find('=');
    if (at == std::string::npos) {
      add_table(truth, out);
    } else if (is_definition(truth.substr(0, at), scene.model)) {
      (*definitions)[truth.substr(0, at)] = truth.substr(at + 1);
    } else {
      formulas.emplace_back(truth.substr(0, at), truth.substr(at + 1));
    }
  }
  for (const auto& [name, formula] : formulas)
    out.push_back(expression(name, formula, scene, definitions));
  if (out.empty() && !words.truth.empty())
    throw InputError("--truth", "definitions only", "a quantity of the scene that they give");
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  out.emplace_back();
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

CompareRequest compare_request(const CompareWords& words, const Scene& scene) {
  CompareRequest out;
  const std::vector<Spec> specs = load_specs(words, scene);
  const std::vector<double> tolerances = numbers(words.tolerances, "--tolerances");
  std::vector<double> steps = numbers(words.steps, "--steps");
  const bool fixed = !steps.empty() || tolerances.empty();
  if (steps.empty()) steps = {scene.options.step};
  std::vector<std::string> solvers = split_list(words.solvers);
  if (solvers.empty()) solvers = {""};
  for (const Spec& spec : specs) {
    // A stepper without contacts solves no step problem.
    const bool solves = find_stepper(spec.options.stepper.name).contacts;
    const std::size_t count = solves ? solvers.size() : 1;
    for (std::size_t s = 0; s < count; ++s) {
      const std::string solver = solves ? solvers[s] : "";
      const bool named = solves && solvers.size() > 1;
      for (const double step : steps) {
        if (fixed) out.cases.push_back(make_case(spec, solver, step, 0, named, steps.size() > 1));
      }
      for (const double tolerance : tolerances)
        out.cases.push_back(make_case(spec, solver, 0, tolerance, named, true));
    }
  }
  add_truth(words, scene, out.known);
  if (out.known.empty() && words.reference != "none")
    out.reference = reference_of(words, specs, steps);
  return out;
}

}  // namespace urto::app
