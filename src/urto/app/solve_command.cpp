// `urto solve FILE…`: reads every file before solving any, solves each with each solver asked for,
// and reports.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/interrupt.h"
#include "urto/app/solve_report.h"
#include "urto/error.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

struct SolveCommand {
  std::vector<std::string> files;
  std::string solvers = "auto";
  std::string friction = "exact";
  std::string format = "auto";
  SolveOptions options;
  std::string history_file, output, cvxopt;
  bool json = false, warm_start = false, list_solvers = false, quiet = false, verbose = false;
};

/// Thrown out of a running solve; not a std::exception, so that nobody on the way takes it for a
/// failure.
template <typename Infos>
std::vector<std::string> names_of(const Infos& infos) {
  std::vector<std::string> names;
  for (const auto& info : infos) names.emplace_back(info.name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> parse_solvers(const std::string& text) {
  std::vector<std::string> known = names_of(solvers());
  for (std::string& name : names_of(complementarity_solvers())) {
    if (!contains(known, name)) known.push_back(std::move(name));
  }
  known.emplace_back("all");
  std::vector<std::string> names;
  for (const std::string& name : CLI::detail::split(text, ',')) {
    if (name.empty()) continue;
    if (!contains(known, name)) {
      throw InputError(
          fmt::format("--solver: there is no solver '{}'{}; urto solve --list-solvers shows them",
                      name, suggestion(name, known)));
    }
    if (!contains(names, name)) names.push_back(name);
  }
  if (names.empty()) throw InputError("--solver", "no name", "names separated by commas, or 'all'");
  return names;
}

/// The solvers to run on one problem: "all" means all of its kind.
std::vector<std::string> solvers_for(const Problem& problem,
                                     const std::vector<std::string>& asked) {
  if (!contains(asked, "all")) return asked;
  if (std::holds_alternative<StepProblem>(problem)) return names_of(solvers());
  return names_of(complementarity_solvers());
}

/// Reads every file and reports every bad one; an empty result means that nothing should be solved.
std::vector<Job> read_all(const SolveCommand& command) {
  const FileFormat format = parse_file_format(command.format);
  std::vector<Job> jobs;
  bool bad = false;
  for (const std::string& file : command.files) {
    try {
      jobs.push_back({file, read_problem(file, format)});
    } catch (const InputError& error) {
      print_error(error.what());
      bad = true;
    }
  }
  if (bad) jobs.clear();
  return jobs;
}

/// One line on a terminal's stderr that says where a long solve is.
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown && stderr_is_terminal()) {}
  void begin(std::string what) {
    what_ = std::move(what);
    last_ = Clock::now();
  }
  void update(int iteration, double residual) {
    if (!shown_ || Clock::now() - last_ < std::chrono::milliseconds(200)) return;
    last_ = Clock::now();
    fmt::print(stderr, "\r\033[K{}: iteration {}, residual {:.1e}", what_, iteration, residual);
    dirty_ = true;
  }
  void clear() {
    if (dirty_) fmt::print(stderr, "\r\033[K");
    dirty_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_, dirty_ = false;
  std::string what_;
  Clock::time_point last_;
};

Result solve_one(const Job& job, const std::string& solver, const SolveCommand& command,
                 Progress& progress) {
  Result result{&job, solver, Refusal{}};
  try {
    if (const auto* problem = std::get_if<StepProblem>(&job.data.problem)) {
      SolveOptions options = command.options;
      options.solver = solver;
      options.on_progress = [&](int iteration, double residual) {
        progress.update(iteration, residual);
        return !interrupt_requested();
      };
      const Vector* start = nullptr;
      if (command.warm_start && job.data.guess &&
          job.data.guess->lambda.size() == problem->rows()) {
        start = &job.data.guess->lambda;
      }
      if (!contains(names_of(solvers()), solver)) {
        throw InputError(
            fmt::format("'{}' is for complementarity problems, this is a step problem", solver));
      }
      result.outcome = solve(*problem, options, start);
    } else {
      if (!contains(names_of(complementarity_solvers()), solver)) {
        throw InputError(fmt::format(
            "'{}' is for step problems, this is a complementarity problem (solvers: {})", solver,
            fmt::join(names_of(complementarity_solvers()), ", ")));
      }
      const ComplementarityOptions options{.solver = solver,
                                           .tolerance = command.options.tolerance,
                                           .max_iterations = command.options.max_iterations,
                                           .time_limit = command.options.time_limit};
      result.outcome = solve(std::get<ComplementarityProblem>(job.data.problem), options);
    }
  } catch (const InputError& error) {
    result.outcome = Refusal{error.what()};
  }
  return result;
}

int exit_code_of(const std::vector<Job>& jobs, const std::vector<Result>& results,
                 double tolerance) {
  if (interrupt_requested()) return interrupted_code();
  int code = success;
  for (const Job& job : jobs) {
    const auto refused = [&](const Result& r) { return r.job != &job || r.refused(); };
    if (std::all_of(results.begin(), results.end(), refused)) return bad_input;
  }
  for (const Result& r : results) {
    if (!r.refused() && !r.certified(tolerance)) code = not_certified;
  }
  return code;
}

void make_directory(const std::string& option, const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed || !fs::is_directory(directory)) {
    throw InputError(fmt::format("{} {}: not a directory that can be made or written to", option,
                                 directory.string()));
  }
}

void check_parent(const std::string& option, const fs::path& file) {
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(parent) || fs::is_directory(file)) {
    throw InputError(
        fmt::format("{} {}: not a file in an existing directory", option, file.string()));
  }
}

int run(SolveCommand& command) {
  if (command.list_solvers) {
    print_solvers();
    return success;
  }
  if (command.files.empty()) {
    throw InputError("urto solve: no problem file given; urto solve --help shows the options");
  }
  command.options.friction = command.friction == "convex" ? Friction::convex : Friction::exact;
  command.options.record_history = command.verbose || !command.history_file.empty();
  const std::vector<std::string> asked = parse_solvers(command.solvers);
  if (!command.history_file.empty()) check_parent("--history", command.history_file);
  const std::vector<Job> jobs = read_all(command);
  if (jobs.empty()) return bad_input;
  if (!command.output.empty()) make_directory("-o", command.output);
  if (!command.cvxopt.empty()) {
    make_directory("--cvxopt", command.cvxopt);
    write_cvxopt(command.cvxopt, jobs);
  }

  const double tolerance = command.options.tolerance;
  const bool single = asked.size() == 1 && asked.front() != "all";
  const bool show_table = !command.quiet && !command.json;
  if (command.warm_start && !command.quiet) {
    for (const Job& job : jobs) {
      if (job.data.guess) continue;
      fmt::print(stderr, "urto: {}: no stored guess, starts from zero\n", job.file.string());
    }
  }
  std::vector<std::string> shown = asked;
  if (contains(asked, "all")) {
    for (const auto& name : names_of(solvers())) shown.push_back(name);
  }
  const Table table = result_table(jobs, shown);
  catch_interrupts();
  if (show_table) table.print_header();
  Progress progress(!command.quiet);
  std::vector<Result> results;
  for (std::size_t k = 0; k < jobs.size() && !interrupt_requested(); ++k) {
    const Job& job = jobs[k];
    for (const std::string& solver : solvers_for(job.data.problem, asked)) {
      if (interrupt_requested()) break;
      progress.begin(
          fmt::format("[{}/{}] {}, {}", k + 1, jobs.size(), job.file.filename().string(), solver));
      results.push_back(solve_one(job, solver, command, progress));
      progress.clear();
      if (show_table) print_row(table, results.back(), tolerance);
      if (single && results.back().refused()) {
        print_error(fmt::format("{}: {}", job.file.string(), results.back().message()));
      }
    }
  }

  const int code = exit_code_of(jobs, results, tolerance);
  const ReportOptions report{tolerance, command.options.friction, command.options.record_history};
  if (show_table && !results.empty()) {
    // A single solver's refusal is already said on stderr.
    std::vector<Result> rows;
    std::copy_if(results.begin(), results.end(), std::back_inserter(rows),
                 [&](const Result& r) { return !(single && r.refused()); });
    if (!rows.empty()) print_summary(rows, report);
    if (command.verbose) {
      for (const Result& r : rows) print_log(r);
    }
  }
  if (!command.history_file.empty()) write_history(command.history_file, results);
  if (!command.output.empty()) {
    for (const std::string& note : write_solutions(command.output, results)) {
      if (!command.quiet) fmt::print(stderr, "urto: {}\n", note);
    }
  }
  if (command.json) fmt::print("{}\n", to_json(results, report, code).dump(2));
  if (interrupt_requested() && code == interrupted_code())
    fmt::print(stderr, "urto: interrupted\n");
  return code;
}

}  // namespace

void add_solve_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<SolveCommand>();
  CLI::App* sub =
      app.add_subcommand("solve", "Solve contact and complementarity problems from files");
  sub->add_option("FILE", command->files, "Problem files: urto or FCLIB HDF5, or Siconos text");
  sub->add_option("--solver", command->solvers, "Names separated by commas, or 'all'")
      ->type_name("NAME[,NAME…]")
      ->capture_default_str();
  sub->add_option("--tol", command->options.tolerance, "Every certificate must be at most this")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--max-iterations", command->options.max_iterations, "For each solve")
      ->type_name("N")
      ->check(CLI::Range(1, 2'000'000'000).description(""))
      ->capture_default_str();
  sub->add_option("--time-limit", command->options.time_limit, "For each solve, in seconds")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  sub->add_option("--friction", command->friction, "Coulomb's law itself, or its convex relaxation")
      ->type_name("LAW")
      ->check(CLI::IsMember({"exact", "convex"}))
      ->capture_default_str();
  sub->add_option("--threads", command->options.threads, "For solvers that use them")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str();
  sub->add_option("--format", command->format,
                  "Of the files: auto, urto, fclib, friction, rolling, global, lcp, mlcp, relay")
      ->type_name("NAME")
      ->capture_default_str();
  sub->add_flag("--warm-start", command->warm_start,
                "Start from the solution or guess stored in the file");
  sub->add_flag("--json", command->json, "Print JSON instead of the table");
  sub->add_option("--history", command->history_file,
                  "Write residual against iteration and time as CSV")
      ->type_name("FILE");
  sub->add_option("-o,--output", command->output, "Write each solution (r, u, v) as FCLIB HDF5")
      ->type_name("DIR");
  sub->add_option("--cvxopt", command->cvxopt,
                  "Write each step problem as a cone program for CVXOPT, a Python script")
      ->type_name("DIR");
  CLI::Option* verbose =
      sub->add_flag("-v,--verbose", command->verbose,
                    "Show every iteration, counters and timers; with --json put them there");
  sub->add_flag("--list-solvers", command->list_solvers, "Show the solvers and what each can do");
  sub->add_flag("-q,--quiet", command->quiet, "No table, no notes; errors and the exit code only")
      ->excludes(verbose);
  sub->footer(
      "Exit code: 0 every certificate met the tolerance, 2 bad input, 3 some did not, 130 "
      "interrupted.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
