// Many solvers on a folder of friction problems, with exact Coulomb friction: who reaches 1e-4 and
// 1e-8, how fast, and how far the best of them came where none did.
//
// usage: problem_folder FOLDER|FILE... [--solvers auto,prox] [--tolerances 1e-4,1e-8]
//                       [--time-limit 60] [--short-limit 5] [--csv out.csv] [--markdown out.md]
//
// "Reached" means that the certificate's residual() is within the tolerance: FCLIB's error relative
// to |q|, the same in scale-free form, and the equation of motion. Where only FCLIB's own error
// counts, in the summary, that is said. Time is processor time of setup and solve (not reading, not
// certifying), the best of a few repetitions when it is short; the limit is on wall time. A solver
// that misses one tolerance is not asked for the next.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "csv.h"
#include "urto/linalg/blas_threads.h"
#include "urto/problem/problem_file.h"
#include "urto/solver/solver.h"

namespace {

using namespace urto;
using bench::cell;
namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> inputs;
  std::vector<std::string> solvers;
  std::vector<double> tolerances = {1e-4, 1e-8};
  double time_limit = 60;  ///< [s] of one solve
  /// [s] for all but the solvers in `patient`: a Gauss–Seidel that has not reached 1e-8 after some
  /// seconds on these sizes has stalled, and ten such solvers would cost hours.
  std::optional<double> short_limit;
  std::vector<std::string> patient = {"auto", "prox"};
  int repeat = 5;  ///< at most, for solves below 50 ms
  std::string csv, markdown;
};

struct Row {
  std::string file;
  int contacts = 0, dofs = 0;
  std::string solver;
  std::string path = {};  ///< what "auto" ran
  double tolerance = 0, limit = 0;
  bool reached = false;        ///< the certificate
  bool reached_fclib = false;  ///< FCLIB's error alone
  double seconds = NAN;
  int iterations = 0, outer_iterations = 0, factorizations = 0;
  double residual = NAN, fclib_error = NAN, scaled_error = NAN, momentum = NAN;
  std::string status = {};
};

std::vector<std::string> friction_solvers() {
  std::vector<std::string> names;
  for (const SolverInfo& info : solvers()) {
    if (info.can.cones && info.can.exact_friction) names.emplace_back(info.name);
  }
  return names;
}

std::vector<fs::path> problem_files(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    if (!fs::is_directory(input)) {
      files.emplace_back(input);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(input)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".hdf5" || ending == ".h5" || ending == ".dat") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.filename(), a) < std::pair(b.filename(), b);
  });
  return files;
}

// `ipm:direct` and `ipm:loop` are the two treatments of Coulomb's law inside the interior point,
// each by itself: no proximal steps where it stalls.
void set_solver(const std::string& name, SolveOptions& options) {
  options.solver = name.substr(0, name.find(':'));
  if (options.solver == name) return;
  using Coulomb = InteriorPointOptions::Coulomb;
  options.interior_point.proximal_rescue = false;
  if (name == "ipm:direct") {
    options.interior_point.coulomb = Coulomb::direct;
  } else if (name == "ipm:loop") {
    options.interior_point.coulomb = Coulomb::loop;
  } else {
    throw InputError("--solvers", name, "a solver, ipm:direct or ipm:loop");
  }
}

Row measure(const fs::path& file, const StepProblem& problem, const std::string& solver,
            double tolerance, const Settings& settings) {
  const bool patient =
      std::find(settings.patient.begin(), settings.patient.end(), solver) != settings.patient.end();
  SolveOptions options;
  set_solver(solver, options);
  options.tolerance = tolerance;
  options.time_limit =
      patient ? settings.time_limit : settings.short_limit.value_or(settings.time_limit);
  options.max_iterations = std::numeric_limits<int>::max() / 2;  // the time limit decides
  Row row{file.filename().string(), problem.contacts(), problem.dofs(), solver};
  row.tolerance = tolerance;
  row.limit = options.time_limit;
  row.seconds = std::numeric_limits<double>::infinity();
  // Kept, as whoever solves one problem after another keeps it.
  const auto kept = make_solver(options.solver);
  for (int k = 0; k < settings.repeat; ++k) {
    const bench::ProcessorShare share;
    const Solution s = kept->solve(problem, options);
    row.seconds = std::min(row.seconds, share.get() * (s.timings.setup + s.timings.solve));
    row.path = s.solver;
    row.iterations = s.iterations;
    row.outer_iterations = s.outer_iterations;
    row.factorizations = s.factorizations;
    row.residual = s.certificate.residual();
    row.fclib_error = s.certificate.natural_map;
    row.scaled_error = s.certificate.natural_map_scaled;
    row.momentum = s.certificate.momentum;
    row.reached = s.certificate.meets(tolerance);
    row.reached_fclib = s.certificate.natural_map <= tolerance;
    row.status = to_string(s.status);
    if (row.seconds > bench::ProcessorShare::short_solve) break;
  }
  return row;
}

std::string csv_text(const std::vector<Row>& rows) {
  std::string text =
      "problem,contacts,dofs,solver,path,tolerance,limit_s,reached,seconds,iterations,"
      "outer_iterations,factorizations,residual,fclib_error,scaled_error,momentum,status\n";
  for (const Row& r : rows) {
    text += fmt::format("{},{},{},{},{},{:g},{:g},{},{},{},{},{},{},{},{},{},{}\n", cell(r.file),
                        r.contacts, r.dofs, r.solver, r.path, r.tolerance, r.limit,
                        r.reached ? 1 : 0, cell(r.seconds), r.iterations, r.outer_iterations,
                        r.factorizations, cell(r.residual), cell(r.fclib_error),
                        cell(r.scaled_error), cell(r.momentum), cell(r.status));
  }
  return text;
}

// What is said of one problem at one tolerance.
struct Verdict {
  const Row* fastest = nullptr;  ///< among those that reached it
  const Row* closest = nullptr;  ///< smallest residual of all, at any tolerance
  bool fclib = false;            ///< some solver reached it by FCLIB's error
};

Verdict judge(const std::vector<Row>& rows, const std::string& file, double tolerance) {
  Verdict verdict;
  for (const Row& r : rows) {
    if (r.file != file) continue;
    if (!verdict.closest || !(verdict.closest->residual <= r.residual)) verdict.closest = &r;
    if (r.tolerance != tolerance) continue;
    verdict.fclib = verdict.fclib || r.reached_fclib;
    if (r.reached && (!verdict.fastest || r.seconds < verdict.fastest->seconds)) {
      verdict.fastest = &r;
    }
  }
  return verdict;
}

std::string format_seconds(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} µs", 1e6 * s);
  if (s < 1) return fmt::format("{:.3g} ms", 1e3 * s);
  return fmt::format("{:.3g} s", s);
}

std::string format_verdict(const Verdict& verdict) {
  if (verdict.fastest) {
    return fmt::format("{} {}", format_seconds(verdict.fastest->seconds), verdict.fastest->solver);
  }
  if (!verdict.closest) return "-";
  return fmt::format("not reached: {:.1e} by {}", verdict.closest->residual,
                     verdict.closest->solver);
}

struct ProblemName {
  std::string file;
  int contacts = 0, dofs = 0;
};

// How one solver did at one tolerance, over all problems; ratios are to the fastest on each.
struct Score {
  int solved = 0, within_2 = 0, within_10 = 0;
  double log_ratios = 0;
  double mean_ratio() const { return solved > 0 ? std::exp(log_ratios / solved) : NAN; }
};

Score score(const std::vector<Row>& rows, const std::vector<ProblemName>& problems,
            const std::string& solver, double tolerance) {
  Score result;
  for (const ProblemName& problem : problems) {
    const Verdict verdict = judge(rows, problem.file, tolerance);
    for (const Row& r : rows) {
      if (r.file != problem.file || r.solver != solver || r.tolerance != tolerance || !r.reached) {
        continue;
      }
      const double ratio = r.seconds / verdict.fastest->seconds;
      ++result.solved;
      result.within_2 += ratio <= 2 ? 1 : 0;
      result.within_10 += ratio <= 10 ? 1 : 0;
      result.log_ratios += std::log(ratio);
    }
  }
  return result;
}

// The report, as Markdown that also reads well on a terminal.
std::string report(const std::vector<Row>& rows, const std::vector<ProblemName>& problems,
                   const Settings& settings) {
  std::string text = "| problem | contacts | dofs |";
  for (const double tolerance : settings.tolerances) text += fmt::format(" {:.0e} |", tolerance);
  text += "\n|---|---:|---:|";
  for (std::size_t k = 0; k < settings.tolerances.size(); ++k) text += "---|";
  text += "\n";
  for (const ProblemName& problem : problems) {
    text += fmt::format("| {} | {} | {} |", problem.file, problem.contacts,
                        problem.dofs > 0 ? std::to_string(problem.dofs) : "–");
    for (const double tolerance : settings.tolerances) {
      text += fmt::format(" {} |", format_verdict(judge(rows, problem.file, tolerance)));
    }
    text += "\n";
  }
  const double total = static_cast<double>(std::max<std::size_t>(problems.size(), 1));
  for (const double tolerance : settings.tolerances) {
    int certified = 0, fclib = 0;
    for (const ProblemName& problem : problems) {
      const Verdict verdict = judge(rows, problem.file, tolerance);
      certified += verdict.fastest ? 1 : 0;
      fclib += verdict.fclib ? 1 : 0;
    }
    text += fmt::format(
        "\nReached {:.0e}: {} of {} ({:.1f} %) by the certificate, {} ({:.1f} %) by FCLIB's error "
        "alone.\n",
        tolerance, certified, problems.size(), 100 * certified / total, fclib, 100 * fclib / total);
  }
  for (const double tolerance : settings.tolerances) {
    text += fmt::format(
        "\n| solver at {:.0e} | solved | ≤ 2× | ≤ 10× | mean ratio |\n|---|---:|---:|---:|---:|\n",
        tolerance);
    for (const std::string& solver : settings.solvers) {
      const Score s = score(rows, problems, solver, tolerance);
      text += fmt::format("| {} | {} | {} | {} | {} |\n", solver, s.solved, s.within_2, s.within_10,
                          s.solved > 0 ? fmt::format("{:.3g}", s.mean_ratio()) : "–");
    }
  }
  return text;
}

struct FrictionProblem {
  fs::path file;
  StepProblem problem;
};

// All files are read before any is solved: a bad one should not end a run of an hour.
std::vector<FrictionProblem> read_all(const Settings& settings) {
  std::vector<FrictionProblem> all;
  for (const fs::path& file : problem_files(settings.inputs)) {
    ProblemFile data = read_problem(file);
    auto* problem = std::get_if<StepProblem>(&data.problem);
    if (!problem || !problem->K.has_friction()) {
      fmt::print(stderr, "{}: no friction in it, left out\n", file.filename().string());
      continue;
    }
    if (!all.empty() && all.back().file.filename() == file.filename()) {
      throw InputError(fmt::format("{}: two files have this name", file.filename().string()));
    }
    all.push_back({file, std::move(*problem)});
  }
  if (all.empty()) throw InputError("no friction problems among the files");
  return all;
}

int run(const Settings& settings) {
  std::vector<Row> rows;
  std::vector<ProblemName> problems;
  for (const auto& [file, problem] : read_all(settings)) {
    problems.push_back({file.filename().string(), problem.contacts(), problem.dofs()});
    for (const std::string& solver : settings.solvers) {
      for (const double tolerance : settings.tolerances) {
        const Row& r = rows.emplace_back(measure(file, problem, solver, tolerance, settings));
        fmt::print(stderr, "{:<44}{:>6} {:<16}{:>7.0e}{:>12}  {:.1e} {}\n", r.file, r.contacts,
                   r.solver, tolerance, format_seconds(r.seconds), r.residual, r.status);
        if (!r.reached) break;
      }
    }
    // After each problem: what an interrupted run has measured is not lost.
    if (!settings.csv.empty()) bench::write_text(settings.csv, csv_text(rows));
  }
  const std::string text = report(rows, problems, settings);
  fmt::print("{}", text);
  if (!settings.markdown.empty()) bench::write_text(settings.markdown, text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  Settings settings;
  CLI::App app{"Solvers on a folder of friction problems, with exact friction"};
  app.add_option("inputs", settings.inputs, "problem files, or folders of them")
      ->required()
      ->check(CLI::ExistingPath);
  app.add_option("--solvers", settings.solvers, "default: all that can treat exact friction")
      ->delimiter(',');
  app.add_option("--tolerances", settings.tolerances, "from loose to tight")->delimiter(',');
  app.add_option("--time-limit", settings.time_limit, "seconds for one solve");
  app.add_option("--short-limit", settings.short_limit, "seconds for all solvers but --patient");
  app.add_option("--patient", settings.patient, "solvers that always have the whole time limit")
      ->delimiter(',');
  app.add_option("--repeat", settings.repeat, "best of so many, for solves below 50 ms")
      ->check(CLI::PositiveNumber);
  app.add_option("--csv", settings.csv, "write the results here");
  app.add_option("--markdown", settings.markdown, "write the table here");
  CLI11_PARSE(app, argc, argv);
  try {
    if (settings.solvers.empty()) settings.solvers = friction_solvers();
    return run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "problem_folder: {}\n", error.what());
    return 2;
  }
}
