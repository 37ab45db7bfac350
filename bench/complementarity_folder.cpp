// Every method for mixed complementarity problems on a folder of them: solved to a tolerance, by a
// residual that no method measures itself, proven to have no solution, or neither.
//
// usage: complementarity_folder FOLDER|FILE... [--tolerance 1e-10] [--csv out.csv]
//                               [--markdown out.md]
#include <algorithm>
#include <filesystem>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "csv.h"
#include "urto/linalg/blas_threads.h"
#include "urto/problem/problem_file.h"
#include "urto/solver/complementarity_solver.h"

namespace {

using namespace urto;
using bench::cell;
namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> inputs;
  double tolerance = 1e-10;
  std::string csv, markdown;
};

std::vector<fs::path> problem_files(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    if (!fs::is_directory(input)) {
      files.emplace_back(input);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(input)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The proof is checked here, apart from who found it: y ≥ 0, Mᵀy ≤ 0, qᵀy < 0.
bool is_proven(const ComplementarityProblem& p, const ComplementaritySolution& s) {
  const Vector& y = s.certificate;
  if (s.status != Status::infeasible || y.size() != p.size()) return false;
  const double slack = 1e-9 * std::max(1.0, Matrix(p.M).cwiseAbs().maxCoeff());
  return y.minCoeff() >= 0 && (p.M.transpose() * y).maxCoeff() <= slack && p.q.dot(y) < 0;
}

int run(const Settings& settings) {
  std::string csv = "file,rows,solver,by,status,residual,iterations,seconds,proven\n";
  std::string table = "| problem | rows |", rule = "|---|---|";
  for (const auto& info : complementarity_solvers()) {
    table += fmt::format(" {} |", info.name);
    rule += "---|";
  }
  table += "\n" + rule + "\n";
  int total = 0, settled = 0;
  for (const fs::path& file : problem_files(settings.inputs)) {
    const ProblemFile data = read_problem(file);
    const auto* p = std::get_if<ComplementarityProblem>(&data.problem);
    if (p == nullptr) continue;
    ++total;
    table += fmt::format("| {} | {} |", file.stem().string(), p->size());
    for (const auto& info : complementarity_solvers()) {
      const ComplementaritySolution s =
          solve(*p, {.solver = std::string(info.name), .tolerance = settings.tolerance});
      const double residual = natural_map_residual(*p, s.z);
      const bool solved = residual <= settings.tolerance, proven = is_proven(*p, s);
      if (info.name == "auto" && (solved || proven)) ++settled;
      csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", cell(file.filename().string()), p->size(),
                         info.name, s.solver, to_string(s.status), cell(residual), s.iterations,
                         cell(s.seconds), proven ? 1 : 0);
      const std::string by = info.name == "auto" && solved ? " " + s.solver : "";
      table += solved   ? fmt::format(" {:.0e}{} |", residual, by)
               : proven ? " no solution |"
                        : " – |";
    }
    table += "\n";
  }
  table += fmt::format("\n{} of {} solved to {:g} or proven to have no solution by `auto`.\n",
                       settled, total, settings.tolerance);
  if (!settings.csv.empty()) bench::write_text(settings.csv, csv);
  if (!settings.markdown.empty()) bench::write_text(settings.markdown, table);
  fmt::print("{}", table);
  return total > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  use_one_blas_thread();
  Settings settings;
  CLI::App app("Solves mixed complementarity problems from files by every method.");
  app.add_option("inputs", settings.inputs, "problem files or folders")->required();
  app.add_option("--tolerance", settings.tolerance);
  app.add_option("--csv", settings.csv);
  app.add_option("--markdown", settings.markdown);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(settings);
  } catch (const InputError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
