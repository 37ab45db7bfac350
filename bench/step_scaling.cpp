// Time a step by phase against the number of bodies: a hanging chain (one island, joints), a grid of balls at rest (as many islands as bodies) and
// columns of ten balls. usage: step_scaling [--quick] [--csv FILE]
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/stepper/simulation.h"

namespace {

using namespace urto;

Model with_floor() {
  Model m;
  add_body(m, {.name = "world", .kind = BodyKind::fixed});
  m.shapes.push_back({.kind = ShapeKind::half_space, .body = 0});
  return m;
}

void add_ball(Model& m, const Vec3& at) {
  Body b;
  b.start.position = at;
  b.inertia = 0.4 * 0.01 * Mat3::Identity();
  const int body = add_body(m, b);
  m.shapes.push_back({.kind = ShapeKind::sphere, .size = {0.1, 0, 0}, .body = body});
}

/// Rods of 0.1 m, released level, hinged about z; gravity along −y.
Model chain(int links) {
  Model m;
  m.gravity = {0, -9.81, 0};
  int previous = add_body(m, {.name = "world", .kind = BodyKind::fixed});
  for (int k = 0; k < links; ++k) {
    Body b;
    b.mass = 0.1;
    b.inertia = 0.1 * 0.01 / 12 * Mat3::Identity();
    b.start.position = {0.1 * (k + 0.5), 0, 0};
    const int rod = add_body(m, b);
    Joint hinge;
    hinge.kind = JointKind::revolute;
    hinge.marker_a = add_marker(m, "", previous, {.position = {k == 0 ? 0 : 0.05, 0, 0}});
    hinge.marker_b = add_marker(m, "", rod, {.position = {-0.05, 0, 0}});
    add_joint(m, hinge);
    previous = rod;
  }
  return m;
}

/// Balls side by side on the floor.
Model grid(int bodies) {
  Model m = with_floor();
  for (int k = 0; k < bodies; ++k) add_ball(m, {0.25 * (k % 32), 0.25 * (k / 32), 0.1});
  return m;
}

/// Columns of ten balls, touching.
Model columns(int bodies) {
  Model m = with_floor();
  for (int k = 0; k < bodies; ++k) {
    const int column = k / 10;
    add_ball(m, {0.5 * (column % 16), 0.5 * (column / 16), 0.1 + 0.2 * (k % 10)});
  }
  return m;
}

struct Line {
  std::string scene;
  int bodies = 0, rows = 0, sweeps = 0;
  double rows_s = 0, assemble = 0, solve = 0, certify = 0, advance = 0;
  double total() const { return rows_s + assemble + solve + certify + advance; }
};

/// The fastest of some rounds: other work on the machine only ever adds.
Line measure(const std::string& name, Model m, int bodies, int steps) {
  finalize(m);
  SimulationOptions o;
  o.duration = 1e9;
  o.contact_envelope = 0.005;
  Simulation run(m, o);
  run.start();
  for (int k = 0; k < steps; ++k) run.advance();
  Line best;
  for (int round = 0; round < 5; ++round) {
    Line line{.scene = name,
              .bodies = bodies,
              .rows = run.rows().rows(),
              .sweeps = run.report().solve.sweeps};
    for (int k = 0; k < steps; ++k) {
      run.advance();
      const StepTimings& t = run.report().timings;
      line.rows_s += t.rows / steps;
      line.assemble += t.assemble / steps;
      line.solve += t.solve / steps;
      line.certify += t.certify / steps;
      line.advance += t.advance / steps;
    }
    if (round == 0 || line.total() < best.total()) best = line;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Time a step against the number of bodies"};
  bool quick = false;
  std::string csv;
  app.add_flag("--quick", quick, "fewer sizes");
  app.add_option("--csv", csv, "also write the numbers here");
  CLI11_PARSE(app, argc, argv);

  const std::vector<int> sizes =
      quick ? std::vector<int>{10, 100, 1000} : std::vector<int>{10, 32, 100, 320, 1000, 3200};
  std::vector<Line> lines;
  fmt::print("{:8} {:>6} {:>6} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "scene", "bodies",
             "rows", "sweeps", "rows", "assemble", "solve", "certify", "advance", "total µs");
  using Maker = Model (*)(int);
  const std::vector<std::pair<std::string, Maker>> scenes{
      {"chain", chain}, {"grid", grid}, {"columns", columns}};
  for (const auto& [name, make] : scenes) {
    for (const int n : sizes) {
      if (name == "chain" && n > 1000) continue;
      const Line l = measure(name, make(n), n, n > 500 ? 20 : 200);
      fmt::print("{:8} {:6} {:6} {:7} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:10.2f}\n", l.scene,
                 l.bodies, l.rows, l.sweeps, 1e6 * l.rows_s, 1e6 * l.assemble, 1e6 * l.solve,
                 1e6 * l.certify, 1e6 * l.advance, 1e6 * l.total());
      std::fflush(stdout);
      lines.push_back(l);
    }
  }
  if (csv.empty()) return 0;
  std::ofstream out(csv);
  out << "scene,bodies,rows,sweeps,rows_s,assemble_s,solve_s,certify_s,advance_s\n";
  for (const Line& l : lines) {
    out << fmt::format("{},{},{},{},{:.4g},{:.4g},{:.4g},{:.4g},{:.4g}\n", l.scene, l.bodies,
                       l.rows, l.sweeps, l.rows_s, l.assemble, l.solve, l.certify, l.advance);
  }
}
