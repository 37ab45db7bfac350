// Iterations of the interior point against the number of balls in the box (recipe 001 §3.3,
// table 5.3), cold starts, averages over all steps: by the source's stop test and by a certificate
// of 1e-8, without friction and with cones of friction 0.3.
//
// usage: balls_in_box [--steps 50] [--largest 1190] [--stop source|certificate] [--csv FILE]
#include "papers/balls_in_box.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "csv.h"
#include "urto/linalg/blas_threads.h"
#include "urto/solver/solver.h"

namespace {

using namespace urto;
using Stop = InteriorPointOptions::Stop;

struct Row {
  int balls;
  double mu;
  Stop stop;
};

std::string measure(const Row& row, int steps) {
  papers::Balls scene = papers::balls_in_box(row.balls, row.mu);
  int iterations = 0, most = 0, failed = 0;
  double seconds = 0, worst = 0;
  for (int k = 0; k < steps; ++k) {
    const StepProblem p = scene.problem(scene.contacts());
    SolveOptions options{.solver = "ipm", .friction = Friction::convex};
    options.interior_point.warm_start = InteriorPointOptions::WarmStart::none;
    options.interior_point.stop = row.stop;
    // The source's test comes to a residual of 1e-4 or less.
    if (row.stop != Stop::certificate) options.tolerance = 1e-3;
    const Solution s = solve(p, options);
    iterations += s.iterations;
    most = std::max(most, s.iterations);
    seconds += s.timings.total();
    worst = std::max(worst, s.certificate.residual());
    failed += s.status == Status::converged ? 0 : 1;
    scene.advance(s.x);
  }
  const std::string line =
      fmt::format("{},{},{},{},{:.2f},{},{},{:.2g},{:.3g}", row.balls, row.mu,
                  row.stop == Stop::certificate ? "certificate 1e-8" : "source", steps,
                  static_cast<double>(iterations) / steps, most, failed, worst, seconds / steps);
  fmt::print("{}\n", line);
  std::fflush(stdout);
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  CLI::App app("Iterations of the interior point against the number of balls in the box");
  int steps = 50, largest = 1190;
  std::string csv, only;
  app.add_option("--steps", steps, "time steps of 0.02 s")->check(CLI::PositiveNumber);
  app.add_option("--largest", largest, "most balls");
  app.add_option("--stop", only, "one of the two stop tests")
      ->check(CLI::IsMember({"source", "certificate"}));
  app.add_option("--csv", csv, "file for the table");
  CLI11_PARSE(app, argc, argv);
  const std::string header =
      "balls,friction,stop,steps,iterations,most,failed,worst_residual,seconds_a_step";
  fmt::print("{}\n", header);
  std::string table = header + "\n";
  for (const Stop stop : {Stop::absolute, Stop::certificate}) {
    if (!only.empty() && (only == "source") != (stop == Stop::absolute)) continue;
    for (const double mu : {0.0, 0.3}) {
      for (const int balls : {64, 280, 595, 1190}) {
        if (balls <= largest) table += measure({balls, mu, stop}, steps) + "\n";
      }
    }
  }
  if (!csv.empty()) bench::write_text(csv, table);
  return 0;
}
