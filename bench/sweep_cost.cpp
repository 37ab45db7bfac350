// What a sweep of Gauss–Seidel costs a contact: packings of spheres and walls of bricks, beside
// the time it takes to read the same memory once.
//
// usage: sweep_cost [--quick] [--sizes 100,1000] [--csv out.csv]
//
// The least of many short rounds, in processor time: other work on the machine only ever adds. A
// contact is loaded where its force is not zero; the others cost a third of it.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "csv.h"
#include "urto/problem/generate.h"
#include "urto/solver/gauss_seidel.h"

namespace {

using namespace urto;
using bench::cell;

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The least time of `work` [s], tried for some time.
template <class Work>
double least_time(double seconds, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  const double begin = now();
  for (int k = 0; k < 3 || (now() - begin < seconds && k < 10000); ++k) {
    const double start = now();
    work();
    best = std::min(best, now() - start);
  }
  return best;
}

struct Row {
  std::string scene;
  int contacts = 0;
  double loaded = 0;      ///< share of the contacts
  double sweep = NAN;     ///< [ns] a contact
  double momentum = NAN;  ///< likewise, with momentum
  double measure = NAN;   ///< likewise, of the residual from the velocities at hand
  double pack = NAN;      ///< likewise, of `begin`
  double stream = NAN;    ///< likewise, of reading the packed contacts
};

// Reads every line of the packed contacts.
double read_all(const std::vector<PackedContact>& memory) {
  double sum = 0;
  for (const PackedContact& c : memory) {
    for (int k = 0; k < 36; k += 8) sum += c.rows[k];
    sum += c.local.d[0];
  }
  return sum;
}

Row measure(const std::string& scene, const StepProblem& problem, double seconds) {
  Row row{.scene = scene, .contacts = problem.contacts()};
  const double scale = 1e9 / row.contacts;
  Delassus W(problem);
  Vector x(problem.dofs()), lambda = Vector::Zero(problem.rows());
  GaussSeidel sweeps;
  sweeps.rows().set(W, x, lambda);
  const auto begin = [&](bool momentum) {
    sweeps.begin({.tolerance = 1e-12, .momentum = momentum});
  };
  begin(false);
  const int rounds = std::clamp(20000 / row.contacts, 1, 100);
  // From where the first sweeps have settled who carries load.
  for (int k = 0; k < 50; ++k) sweeps.sweep();
  sweeps.residual();
  int loaded = 0;
  for (int i = 0; i < problem.blocks(); ++i) loaded += lambda[problem.K.start[i]] != 0 ? 1 : 0;
  row.loaded = static_cast<double>(loaded) / row.contacts;
  const auto several = [&] {
    for (int k = 0; k < rounds; ++k) sweeps.sweep();
  };
  row.sweep = scale / rounds * least_time(seconds, several);
  double sink = 0;
  row.measure = scale * least_time(seconds, [&] { sink += sweeps.estimate(); });
  row.pack = scale * least_time(seconds,
                                [&] {
                                  begin(false);
                                  sweeps.sweep();
                                }) -
             row.sweep;
  begin(true);
  for (int k = 0; k < 20; ++k) sweeps.sweep();
  row.momentum = scale / rounds * least_time(seconds, several);
  const std::vector<PackedContact> memory(row.contacts);
  row.stream = scale * least_time(seconds, [&] { sink += read_all(memory); });
  if (sink == 1) fmt::print("\n");  // somebody must want the sums
  return row;
}

StepProblem wall(int contacts) {
  const int side = std::max(2, static_cast<int>(std::sqrt(contacts / 10.0)));
  return box_wall({.width = side, .height = side, .push = 0.1});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What a sweep costs a contact");
  std::vector<int> sizes = {100, 1000, 10000, 100000};
  bool quick = false;
  std::string csv;
  app.add_option("--sizes", sizes, "Contacts")->delimiter(',');
  app.add_flag("--quick", quick, "Up to 10 000 contacts, shorter rounds");
  app.add_option("--csv", csv, "Write the table");
  CLI11_PARSE(app, argc, argv);
  if (quick) std::erase_if(sizes, [](int n) { return n > 10000; });
  std::string text = "scene,contacts,loaded,sweep_ns,momentum_ns,measure_ns,pack_ns,stream_ns\n";
  fmt::print("ns a contact\n{:8} {:>8} {:>7} {:>7} {:>9} {:>8} {:>7} {:>7}\n", "scene", "contacts",
             "loaded", "sweep", "momentum", "measure", "pack", "stream");
  for (const int n : sizes) {
    const std::pair<const char*, StepProblem> scenes[] = {
        {"packing", sphere_packing({.contacts = n, .step = 0.002})}, {"wall", wall(n)}};
    for (const auto& [name, problem] : scenes) {
      const Row r = measure(name, problem, quick ? 0.1 : 0.5);
      fmt::print("{:8} {:8} {:7.2f} {:7.1f} {:9.1f} {:8.1f} {:7.0f} {:7.1f}\n", r.scene, r.contacts,
                 r.loaded, r.sweep, r.momentum, r.measure, r.pack, r.stream);
      text += fmt::format("{},{},{},{},{},{},{},{}\n", r.scene, r.contacts, cell(r.loaded),
                          cell(r.sweep), cell(r.momentum), cell(r.measure), cell(r.pack),
                          cell(r.stream));
    }
  }
  if (!csv.empty()) bench::write_text(csv, text);
  return 0;
}
