// How the solvers grow with the problem: sphere packings of 10² to 10⁵ contacts, for each solver
// the setup time, the cost of an iteration, the iterations to a tolerance and the residual reached.
//
// usage: solver_scaling [--quick] [--sizes 100,1000] [--solvers nsgs,apgd] [--csv out.csv]
//
// Two runs for each solver and size. One goes to the tolerance and gives iterations and time. The
// other makes the same small number of iterations at every size, at a tolerance nobody reaches, and
// gives the cost of one: otherwise a solver that needs 20 iterations here and 2000 there would be
// charged differently for its stop tests. The growth exponent p of "cost = c nᵖ" is the slope of a
// least-squares line through the logarithms; a first-order method must have p ≈ 1.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "csv.h"
#include "urto/linalg/blas_threads.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace {

using namespace urto;
using bench::cell;

// Chosen on purpose. The generator keeps gaps up to 1 mm as contacts, and within a step gravity
// closes gaps up to g h²: at its default h = 10 ms that is all of them, so nearly everything is in
// contact and pushed; at 2 ms, the step of the piles that we compare with other engines, it is
// those below 0.04 mm. Then h g = 2 cm/s stands beside random velocities of 1 cm/s, and sticking,
// sliding and open contacts all occur, as they do in a pile that comes to rest.
constexpr double time_step = 0.002;

struct Settings {
  std::vector<int> sizes = {100, 1000, 10000, 100000};
  std::vector<std::string> solvers;
  double tolerance = 1e-4;
  double time_limit = 10;  ///< [s] of one solve
  int cost_iterations = 60;
  /// Largest number of contacts for the solvers that factorise: their cost is that of the sparse
  /// factor, which in a 3D packing grows faster than linearly.
  int factor_limit = 10000;
  std::string csv;
  bool quick = false;
};

struct Row {
  std::string solver;
  int threads = 1;
  int contacts = 0, dofs = 0;
  double setup = NAN;          ///< [s]
  double per_iteration = NAN;  ///< [s]
  int iterations = 0, outer_iterations = 0, factorizations = 0;
  double seconds = NAN;  ///< [s] setup and solve, to the tolerance or the limit
  double residual = NAN;
  std::string status = {};
};

bool factorises(const std::string& solver) {
  return solver == "prox" || solver == "admm" || solver == "auto";
}

std::vector<std::string> friction_solvers() {
  std::vector<std::string> names;
  for (const SolverInfo& info : solvers()) {
    if (info.can.cones && info.can.exact_friction) names.emplace_back(info.name);
  }
  return names;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The cheapest of several: other work on the machine only ever adds time.
double cost_of_iteration(const StepProblem& problem, SolveOptions options, const Settings& settings,
                         double& setup) {
  options.tolerance = 1e-300;
  options.max_iterations = settings.cost_iterations;
  double best = std::numeric_limits<double>::infinity();
  const double begin = now();
  for (int k = 0; k < 30 && (k < 2 || now() - begin < 0.5); ++k) {
    const bench::ProcessorShare share;
    const Solution s = solve(problem, options);
    const double mine = options.threads == 1 ? share.get() : 1;
    setup = std::min(setup, mine * s.timings.setup);
    if (s.iterations > 0) best = std::min(best, mine * s.timings.solve / s.iterations);
    if (now() - begin > settings.time_limit) break;
  }
  return best;
}

Row measure(const StepProblem& problem, const std::string& solver, int threads,
            const Settings& settings) {
  SolveOptions options;
  options.solver = solver;
  options.threads = threads;
  options.tolerance = settings.tolerance;
  options.time_limit = settings.time_limit;
  options.max_iterations = std::numeric_limits<int>::max() / 2;  // the time limit decides
  const bench::ProcessorShare share;
  const Solution s = solve(problem, options);
  const double mine = threads == 1 ? share.get() : 1;
  Row row{solver, threads, problem.contacts(), problem.dofs()};
  row.setup = mine * s.timings.setup;
  row.iterations = s.iterations;
  row.outer_iterations = s.outer_iterations;
  row.factorizations = s.factorizations;
  row.seconds = mine * (s.timings.setup + s.timings.solve);
  row.residual = s.certificate.residual();
  row.status = to_string(s.status);
  // "auto" changes its method on the way: its iterations are not of one kind.
  if (solver != "auto")
    row.per_iteration = cost_of_iteration(problem, options, settings, row.setup);
  return row;
}

/// The slope of log(value) over log(contacts); NaN below two points.
double growth_exponent(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [contacts, value] : points) {
    if (!(value > 0) || !std::isfinite(value)) continue;
    const double x = std::log(contacts), y = std::log(value);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return n < 2 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

std::string label(const Row& row) {
  return row.threads == 1 ? row.solver : fmt::format("{} x{}", row.solver, row.threads);
}

std::string csv_text(const std::vector<Row>& rows) {
  std::string text =
      "solver,threads,contacts,dofs,setup_s,per_iteration_s,iterations,outer_iterations,"
      "factorizations,total_s,residual,status\n";
  for (const Row& r : rows) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", r.solver, r.threads, r.contacts,
                    r.dofs, cell(r.setup), cell(r.per_iteration), r.iterations, r.outer_iterations,
                    r.factorizations, cell(r.seconds), cell(r.residual), cell(r.status));
  }
  return text;
}

struct Growth {
  std::string name;
  double per_iteration = NAN;  ///< exponent
  double setup = NAN;          ///< exponent
};

std::vector<Growth> growth_of(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<std::pair<double, double>>> cost, setup;
  std::vector<Growth> result;
  for (const Row& r : rows) {
    const std::string name = label(r);
    if (!cost.contains(name)) result.push_back({name});
    cost[name].emplace_back(r.contacts, r.per_iteration);
    setup[name].emplace_back(r.contacts, r.setup);
  }
  for (Growth& g : result) {
    g.per_iteration = growth_exponent(cost[g.name]);
    g.setup = growth_exponent(setup[g.name]);
  }
  return result;
}

std::string exponent(double p) {
  return std::isnan(p) ? "-" : fmt::format("{:.2f}", p);
}

int run(const Settings& settings) {
  std::vector<Row> rows;
  fmt::print("{:<18}{:>9}{:>12}{:>16}{:>12}{:>12}{:>11}  {}\n", "solver", "contacts", "setup [ms]",
             "iteration [us]", "iterations", "total [s]", "residual", "status");
  for (const int size : settings.sizes) {
    const StepProblem problem = sphere_packing({.contacts = size, .step = time_step});
    for (const std::string& solver : settings.solvers) {
      if (factorises(solver) && size > settings.factor_limit) continue;
      for (const int threads : {1, 2}) {
        if (threads > 1 && solver != "sor-colour") continue;
        const Row& r = rows.emplace_back(measure(problem, solver, threads, settings));
        fmt::print("{:<18}{:>9}{:>12.3f}{:>16.2f}{:>12}{:>12.4f}{:>11.1e}  {}\n", label(r),
                   r.contacts, 1e3 * r.setup, 1e6 * r.per_iteration, r.iterations, r.seconds,
                   r.residual, r.status);
        std::fflush(stdout);
      }
    }
  }
  std::string text = csv_text(rows);
  fmt::print("\ngrowth with the number of contacts (1 is linear)\n{:<18}{:>16}{:>8}\n", "solver",
             "cost/iteration", "setup");
  for (const Growth& g : growth_of(rows)) {
    fmt::print("{:<18}{:>16}{:>8}\n", g.name, exponent(g.per_iteration), exponent(g.setup));
    text += fmt::format("# growth exponents of {}: cost of an iteration {}, setup {}\n", g.name,
                        exponent(g.per_iteration), exponent(g.setup));
  }
  if (!settings.csv.empty()) bench::write_text(settings.csv, text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  Settings settings;
  CLI::App app{"Cost of the solvers against the size of a sphere packing"};
  app.add_option("--sizes", settings.sizes, "numbers of contacts")->delimiter(',');
  app.add_option("--solvers", settings.solvers, "default: all that can treat exact friction")
      ->delimiter(',');
  app.add_option("--tol", settings.tolerance, "tolerance of the certificate");
  app.add_option("--time-limit", settings.time_limit, "seconds for one solve");
  app.add_option("--factor-limit", settings.factor_limit,
                 "most contacts for the solvers that factorise");
  app.add_option("--csv", settings.csv, "write the results here");
  app.add_flag("--quick", settings.quick, "up to 10⁴ contacts, 2 s a solve");
  CLI11_PARSE(app, argc, argv);
  if (settings.quick) {
    std::erase_if(settings.sizes, [](int n) { return n > 10000; });
    settings.time_limit = std::min(settings.time_limit, 2.0);
    settings.factor_limit = std::min(settings.factor_limit, 1000);
  }
  try {
    if (settings.solvers.empty()) settings.solvers = friction_solvers();
    return run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "solver_scaling: {}\n", error.what());
    return 2;
  }
}
