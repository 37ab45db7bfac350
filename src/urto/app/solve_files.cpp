// The files that `urto solve` writes. All are complete or absent: written beside their place, then
// renamed.
#include <cstdio>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "urto/app/solve_report.h"
#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/problem/cvxopt_script.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

void write_whole(const fs::path& file, const std::string& text) {
  WholeFile out(file);
  out.write(text);
  out.finish();
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

/// The file's name without the endings of problem files, of which there may be two (".hdf5.dat").
std::string stem(const fs::path& file) {
  fs::path name = file.filename();
  for (int k = 0; k < 2; ++k) {
    const std::string ending = name.extension().string();
    if (ending != ".hdf5" && ending != ".h5" && ending != ".dat" && ending != ".txt") break;
    name = name.stem();
  }
  return name.string();
}

void append_csv(std::string& text, std::string_view name, const Vector& values) {
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    text += fmt::format("{},{},{}\n", name, i, values[i]);
  }
}

}  // namespace

void write_history(const fs::path& file, const std::vector<Result>& results) {
  std::string text = "problem,solver,iteration,seconds,residual\n";
  for (const Result& r : results) {
    const auto* s = std::get_if<Solution>(&r.outcome);
    if (!s) continue;
    const std::string place = quoted(r.job->file.filename().string()) + "," + quoted(r.requested);
    for (const HistoryEntry& h : s->history) {
      text += fmt::format("{},{},{},{}\n", place, h.iteration, h.seconds, h.residual);
    }
  }
  write_whole(file, text);
}

void write_cvxopt(const fs::path& directory, const std::vector<Job>& jobs) {
  std::map<std::string, int> used;
  for (const Job& job : jobs) {
    const auto* problem = std::get_if<StepProblem>(&job.data.problem);
    if (problem == nullptr) continue;
    std::string name = stem(job.file);
    if (const int count = used[name]++; count > 0) name += fmt::format("-{}", count + 1);
    write_whole(directory / (name + ".py"), cvxopt_script(*problem));
  }
}

std::vector<std::string> write_solutions(const fs::path& directory,
                                         const std::vector<Result>& results) {
  std::vector<std::string> notes;
  std::map<std::string, int> used;
  bool several_solvers = false;
  for (const Result& r : results) {
    several_solvers = several_solvers || r.requested != results.front().requested;
  }
  for (const Result& r : results) {
    if (r.refused()) continue;
    std::string name = stem(r.job->file) + (several_solvers ? "-" + r.requested : "");
    if (const int count = used[name]++; count > 0) name += fmt::format("-{}", count + 1);
    const fs::path base = directory / name;
    const auto with = [&](const char* ending) { return fs::path(base.string() + ending); };
    std::string csv = "vector,index,value\n";
    if (const auto* s = std::get_if<Solution>(&r.outcome)) {
      const StoredSolution stored{s->x, s->u, s->lambda};
      try {
        write_fclib(with(".hdf5"), std::get<StepProblem>(r.job->data.problem), &stored,
                    r.job->file.filename().string());
        continue;
      } catch (const InputError& error) {
        notes.push_back(fmt::format("{}: written as CSV, FCLIB cannot hold it ({})",
                                    with(".csv").string(), error.what()));
      }
      append_csv(csv, "v", s->x);
      append_csv(csv, "u", s->u);
      append_csv(csv, "r", s->lambda);
    } else {
      append_csv(csv, "z", std::get<ComplementaritySolution>(r.outcome).z);
    }
    write_whole(with(".csv"), csv);
  }
  return notes;
}

}  // namespace urto::app
