// What `urto solve` has to say about its results: rows of the table, JSON, the history as CSV,
// solutions as files.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/app/table.h"
#include "urto/problem/problem_file.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"

namespace urto::app {

struct Job {
  std::filesystem::path file;
  ProblemFile data;
};

/// A file that holds no problem.
struct Unread {
  std::filesystem::path file;
  std::string reason;
};

/// The solver cannot treat the problem.
struct Refusal {
  std::string reason;
};

struct Result {
  const Job* job = nullptr;
  std::string requested;  ///< the solver that was asked for; "auto" may have chosen another
  std::variant<Refusal, Solution, ComplementaritySolution> outcome;

  bool refused() const { return std::holds_alternative<Refusal>(outcome); }
  bool certified(double tolerance) const;
  std::string solver() const;   ///< as shown: "nsgs", or "auto (nsgs)"
  std::string message() const;  ///< why it was refused or did not converge; a warning otherwise
};

struct ReportOptions {
  double tolerance = 1e-8;
  Friction friction = Friction::exact;
  bool history = false;
};

Table result_table(const std::vector<Job>& jobs, const std::vector<std::string>& solvers);
void print_row(const Table& table, const Result& result, double tolerance);
/// Below the table: how many were certified, and a line for each result that needs one.
void print_summary(const std::vector<Result>& results, const ReportOptions& options);

nlohmann::json to_json(const std::vector<Result>& results, const std::vector<Unread>& unread,
                       const ReportOptions& options, int exit_code);
void write_history(const std::filesystem::path& file, const std::vector<Result>& results);
/// Writes one file a result into `directory`: FCLIB, or where that cannot hold the problem a CSV of
/// the vectors. Returns notes for the user.
std::vector<std::string> write_solutions(const std::filesystem::path& directory,
                                         const std::vector<Result>& results);

/// What the solver did, iteration by iteration, its counters and timers; needs a recorded history.
void print_log(const Result& result);
nlohmann::json describe_linear(const LinearCounters& counters);
nlohmann::json describe_iteration(const InteriorPointRecord& record);

/// Writes each step problem into `directory` as a script for CVXOPT.
void write_cvxopt(const std::filesystem::path& directory, const std::vector<Job>& jobs);

void print_solvers();

}  // namespace urto::app
