// Collision against the number of bodies: a settled heap of balls and one of turned boxes,
// everything moving a little from call to call as in a run. Time a call, pairs and contacts a
// second, growth, and collision's share of a whole step where such a heap is stepped.
//
// usage: collision_scaling [--quick] [--csv FILE]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/stepper/simulation.h"

namespace {

using namespace urto;

/// `bodies` in layers above a floor, about as close as they lie in a heap: each touches its
/// neighbours within the envelope.
Model heap(ShapeKind kind, int bodies) {
  Model m;
  add_body(m, {.name = "world", .kind = BodyKind::fixed});
  m.shapes.push_back({.kind = ShapeKind::half_space, .body = 0});
  const int side = static_cast<int>(std::ceil(std::cbrt(bodies)));
  std::uint32_t seed = 1;
  const auto random = [&] { return (seed = seed * 1664525U + 1013904223U) / 4294967296.0 - 0.5; };
  const double spacing = kind == ShapeKind::sphere ? 0.2 : 0.21;
  for (int k = 0; k < bodies; ++k) {
    Body b;
    b.start.position = {spacing * (k % side) + 1e-3 * random(),
                        spacing * (k / side % side) + 1e-3 * random(),
                        0.1 + spacing * (k / side / side)};
    b.inertia = 0.004 * Mat3::Identity();
    if (kind == ShapeKind::box)
      b.start.rotation = quaternion_exp(Vec3(0.05 * random(), 0.05 * random(), 0.05 * random()));
    const int body = add_body(m, b);
    m.shapes.push_back(
        {.kind = kind,
         .size = kind == ShapeKind::sphere ? Vec3(0.1, 0, 0) : Vec3(Vec3::Constant(0.1)),
         .body = body});
  }
  finalize(m);
  return m;
}

struct Line {
  std::string shape;
  int bodies = 0;
  double seconds = 0;
  long near = 0, contacts = 0;
  double share = -1;  ///< of a step's time spent on rows, collision among them
};

Line measure(ShapeKind kind, int bodies, int calls) {
  const Model m = heap(kind, bodies);
  ContactFinder finder(m);
  std::vector<Contact> found;
  State s = initial_state(m);
  Line line{std::string(to_string(kind)), bodies};
  const double envelope = 0.1 / 40;
  finder.find(s, envelope, 1e-3, found);
  line.seconds = 1e300;
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) {
      for (int b = 0; b < m.slots; ++b) s.q[7 * b + k % 3] += k % 2 == 0 ? 1e-4 : -1e-4;
      finder.find(s, envelope, 1e-3, found);
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    line.seconds = std::min(line.seconds, took / calls);
  }
  line.near = finder.counts().near_pairs;
  line.contacts = finder.counts().contacts;
  return line;
}

double share_of_step(ShapeKind kind, int bodies, int steps) {
  const Model m = heap(kind, bodies);
  SimulationOptions o;
  o.duration = 1;
  o.solver.tolerance = 1e-4;
  Simulation run(m, o);
  run.start();
  StepTimings sum;
  for (int k = 0; k < steps && run.advance(); ++k) {
    const StepTimings& t = run.report().timings;
    sum.rows += t.rows;
    sum.solve += t.assemble + t.solve + t.certify + t.advance;
  }
  return sum.rows / (sum.rows + sum.solve);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Collision against the number of bodies");
  bool quick = false;
  std::string csv;
  app.add_flag("--quick", quick, "up to 10⁴ bodies");
  app.add_option("--csv", csv, "write the numbers here");
  CLI11_PARSE(app, argc, argv);
  std::vector<Line> lines;
  for (const ShapeKind kind : {ShapeKind::sphere, ShapeKind::box}) {
    for (const int bodies : {1000, 10000, 100000}) {
      if (quick && bodies > 10000) continue;
      lines.push_back(measure(kind, bodies, 200000 / bodies));
      Line& l = lines.back();
      if (bodies <= 1000) l.share = share_of_step(kind, bodies, 2);
      fmt::print(
          "{:>7} {:>7}: {:9.3f} ms a call, {:6.2f} M pairs/s, {:6.2f} M contacts/s, {} contacts",
          l.shape, l.bodies, 1e3 * l.seconds, 1e-6 * static_cast<double>(l.near) / l.seconds,
          1e-6 * static_cast<double>(l.contacts) / l.seconds, l.contacts);
      if (l.share >= 0) fmt::print(", {:.0f} % of a step", 100 * l.share);
      if (lines.size() > 1 && lines[lines.size() - 2].shape == l.shape) {
        const Line& before = lines[lines.size() - 2];
        fmt::print(", exponent {:.2f}",
                   std::log(l.seconds / before.seconds) /
                       std::log(static_cast<double>(l.bodies) / before.bodies));
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
  if (!csv.empty()) {
    std::ofstream out(csv);
    out << "shape,bodies,seconds,near_pairs,contacts,share_of_step\n";
    for (const Line& l : lines) {
      out << fmt::format("{},{},{:.6g},{},{},{:.4g}\n", l.shape, l.bodies, l.seconds, l.near,
                         l.contacts, l.share);
    }
  }
  return 0;
}
