// Time a step by phase against the number of bodies:
//   chain     rods hinged one to the next, one island of joints
//   grid      balls side by side at rest, as many islands as bodies
//   columns   of ten balls
//   islands   pairs of balls that rock on each other: islands with friction that never quite rest
//   marbles   a heap of balls between walls, one large island
//   springs   lattices of 3 × 3 balls coupled by springs, standing on the floor
//   lattice   one of all balls
//
// A heap is chaotic: rounding alone sends it through other hard steps. So marbles may be shaken a
// little, and what is compared are means over several heaps.
//
// usage: step_scaling [--quick] [--scene NAME] [--size N] [--steps N] [--rounds N] [--warm N]
//                     [--shake SEED] [--solver NAME] [--threads N] [--csv FILE]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/linalg/blas_threads.h"
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

/// Two balls each, the upper one off the axis, so that it rolls down.
Model islands(int bodies) {
  Model m = with_floor();
  for (int k = 0; k < bodies; ++k) {
    const int pair = k / 2;
    const double off = k % 2 == 0 ? 0 : 0.002 * (1 + pair % 7);
    add_ball(m, {0.5 * (pair % 100) + off, 0.5 * (pair / 100), k % 2 == 0 ? 0.1 : 0.3});
  }
  return m;
}

/// Layers of balls that do not quite fit between four walls.
Model marbles(int bodies) {
  Model m = with_floor();
  const int side = std::max(2, static_cast<int>(std::cbrt(bodies)));
  const double half = 0.105 * side;
  for (int w = 0; w < 4; ++w) {
    const double sign = w % 2 == 0 ? 1 : -1;
    const Vec3 normal = sign * (w < 2 ? Vec3::UnitX() : Vec3::UnitY());
    const Vec3 turn = 0.5 * M_PI * sign * (w < 2 ? Vec3(Vec3::UnitY()) : Vec3(-Vec3::UnitX()));
    m.shapes.push_back({.kind = ShapeKind::half_space,
                        .pose = {.position = -half * normal, .rotation = quaternion_exp(turn)},
                        .body = 0});
  }
  for (int k = 0; k < bodies; ++k) {
    const int layer = k / (side * side), i = k % side, j = k / side % side;
    const double shift = layer % 2 == 0 ? 0 : 0.008;
    add_ball(m, {0.208 * (i - 0.5 * (side - 1)) + shift, 0.208 * (j - 0.5 * (side - 1)) - shift,
                 0.1 + 0.2 * layer});
  }
  return m;
}

/// Every ball elsewhere by a tenth of a micrometre at most.
void shake(Model& m, unsigned seed) {
  std::mt19937 engine(seed);
  for (Body& body : m.bodies) {
    for (double& x : body.start.position)
      x += 1e-7 * (2.0 * static_cast<double>(engine()) / 4294967295.0 - 1);
  }
}

/// Balls on square lattices, each coupled to its neighbours.
Model lattices(int bodies, int side) {
  Model m = with_floor();
  const auto couple = [&](int a, int b) {
    MeasureSpring spring;
    spring.marker_a = add_marker(m, "", a, {});
    spring.marker_b = add_marker(m, "", b, {});
    spring.rest = 0.3;
    spring.stiffness.slope = 1000;
    m.forces.push_back(spring);
  };
  for (int k = 0; k < bodies; ++k) {
    const int lattice = k / (side * side), i = k % side, j = k / side % side;
    const double apart = 0.3 * side + 1;
    add_ball(m, {apart * (lattice % 10) + 0.31 * i, apart * (lattice / 10) + 0.3 * j, 0.1});
    const int body = static_cast<int>(m.bodies.size()) - 1;
    if (i > 0) couple(body - 1, body);
    if (j > 0) couple(body - side, body);
  }
  return m;
}

/// Many small ones.
Model springs(int bodies) {
  return lattices(bodies, 3);
}

/// One large one.
Model lattice(int bodies) {
  return lattices(bodies, static_cast<int>(std::ceil(std::sqrt(bodies))));
}

struct Line {
  std::string scene;
  int bodies = 0, rows = 0, sweeps = 0;
  double rows_s = 0, assemble = 0, solve = 0, certify = 0, advance = 0;
  double cpu = 0;  ///< of the process: what a step costs on a machine that others use too
  double total() const { return rows_s + assemble + solve + certify + advance; }
};

/// How long to look.
struct Duration {
  int warm = 0, steps = 0, rounds = 5;  ///< steps before, and of each round
};

/// The fastest of some rounds: other work on the machine only ever adds.
Line measure(const std::string& name, Model m, int bodies, const Duration& d, SimulationOptions o) {
  finalize(m);
  o.duration = 1e9;
  o.contact_envelope = 0.005;
  Simulation run(m, o);
  run.start();
  for (int k = 0; k < d.warm; ++k) run.advance();
  const int steps = d.steps;
  Line best;
  for (int round = 0; round < d.rounds; ++round) {
    Line line{.scene = name,
              .bodies = bodies,
              .rows = run.rows().rows(),
              .sweeps = run.report().solve.sweeps};
    const std::clock_t begin = std::clock();
    for (int k = 0; k < steps; ++k) {
      run.advance();
      const StepTimings& t = run.report().timings;
      line.rows_s += t.rows / steps;
      line.assemble += t.assemble / steps;
      line.solve += t.solve / steps;
      line.certify += t.certify / steps;
      line.advance += t.advance / steps;
    }
    line.cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / steps;
    if (round == 0 || line.total() < best.total()) best = line;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  CLI::App app{"Time a step against the number of bodies"};
  bool quick = false;
  std::string csv, only;
  int size = 0;
  unsigned seed = 0;
  Duration wanted{.warm = -1, .steps = 0};
  SimulationOptions options;
  app.add_flag("--quick", quick, "fewer sizes");
  app.add_option("--scene", only, "this scene only");
  app.add_option("--size", size, "this number of bodies only");
  app.add_option("--steps", wanted.steps, "of a round; else 200, of more than 500 bodies 20");
  app.add_option("--rounds", wanted.rounds, "of which the fastest counts");
  app.add_option("--shake", seed, "marbles a little, in this way");
  app.add_option("--warm", wanted.warm, "steps before the first round; else as many as in one");
  app.add_option("--solver", options.solver.solver, "of the step problem");
  app.add_option("--tol", options.solver.tolerance, "of the step problem");
  app.add_option("--threads", options.threads, "for islands");
  app.add_option("--csv", csv, "also write the numbers here");
  CLI11_PARSE(app, argc, argv);

  const std::vector<int> sizes = size > 0 ? std::vector<int>{size}
                                 : quick  ? std::vector<int>{10, 100, 1000}
                                          : std::vector<int>{10, 32, 100, 320, 1000, 3200};
  std::vector<Line> lines;
  fmt::print("{:8} {:>6} {:>6} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}\n", "scene",
             "bodies", "rows", "sweeps", "rows", "assemble", "solve", "certify", "advance",
             "total µs", "cpu µs");
  using Maker = Model (*)(int);
  const std::vector<std::pair<std::string, Maker>> scenes{
      {"chain", chain},     {"grid", grid},       {"columns", columns}, {"islands", islands},
      {"marbles", marbles}, {"springs", springs}, {"lattice", lattice}};
  for (const auto& [name, make] : scenes) {
    if (!only.empty() && name != only) continue;
    for (const int n : sizes) {
      if (name == "chain" && n > 1000 && size == 0) continue;
      Duration d = wanted;
      if (d.steps <= 0) d.steps = n > 500 ? 20 : 200;
      if (d.warm < 0) d.warm = d.steps;
      Model model = make(n);
      if (seed > 0) shake(model, seed);
      const Line l = measure(name, std::move(model), n, d, options);
      fmt::print("{:8} {:6} {:6} {:7} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:10.2f} {:10.2f}\n",
                 l.scene, l.bodies, l.rows, l.sweeps, 1e6 * l.rows_s, 1e6 * l.assemble,
                 1e6 * l.solve, 1e6 * l.certify, 1e6 * l.advance, 1e6 * l.total(), 1e6 * l.cpu);
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
