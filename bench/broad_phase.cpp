// Time to find all pairs of overlapping boxes, on scenes as they come from simulations and on
// unkind ones, beside a sweep, a grid and FCL's dynamic tree.
//
// usage: broad_phase [--quick] [--large] [--scene NAME] [--csv FILE]
#include "urto/collision/broad_phase.h"

#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "broad_phase_rivals.h"
#include "csv.h"

namespace {

using namespace urto;

enum class Motion { jiggle, fly, shuffle };

struct Scene {
  std::vector<Vec3> center = {}, half = {}, velocity = {};
  std::vector<std::uint8_t> fixed = {};
  std::vector<Aabb> boxes = {};
  int time = 0;

  void add(const Vec3& c, const Vec3& h, bool is_fixed = false) {
    center.push_back(c);
    half.push_back(h);
    fixed.push_back(is_fixed ? 1 : 0);
  }
};

using Random = std::mt19937_64;

double uniform(Random& r, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(r);
}
Vec3 uniform3(Random& r, double low, double high) {
  const double x = uniform(r, low, high);
  const double y = uniform(r, low, high);
  return {x, y, uniform(r, low, high)};
}

/// Names in random order along space, as bodies have after a while of mixing: neighbours in a file
/// are not neighbours in memory.
void mix_names(Scene& s, Random& r) {
  for (std::size_t k = s.center.size(); k > 1; --k) {
    const std::size_t j = std::uniform_int_distribution<std::size_t>(0, k - 1)(r);
    std::swap(s.center[k - 1], s.center[j]);
    std::swap(s.half[k - 1], s.half[j]);
    std::swap(s.fixed[k - 1], s.fixed[j]);
  }
}

/// Spheres of radius 0.5 on a lattice, pressed together a little, each off its place a little; the
/// lowest of each column fixed if asked for.
Scene lattice(int n, Random& r, bool layer, double fixed_share) {
  Scene s;
  const int side = static_cast<int>(std::ceil(layer ? std::sqrt(n) : std::cbrt(n)));
  for (int k = 0; k < n; ++k) {
    const Vec3 place(k % side, k / side % side, layer ? 0 : k / (side * side));
    s.add(0.98 * place + (layer ? Vec3(uniform(r, -0.05, 0.05), uniform(r, -0.05, 0.05), 0)
                                : uniform3(r, -0.05, 0.05)),
          Vec3::Constant(0.5), k < fixed_share * n);
  }
  return s;
}
Scene pile(int n, Random& r) {
  return lattice(n, r, false, 0);
}
Scene pile_fixed(int n, Random& r) {
  return lattice(n, r, false, 0.1);
}
Scene layer(int n, Random& r) {
  return lattice(n, r, true, 0);
}

Scene gas(int n, Random& r) {
  Scene s;
  const double side = std::cbrt(n / 0.02);
  for (int k = 0; k < n; ++k) s.add(uniform3(r, 0, side), Vec3::Constant(0.5));
  return s;
}

/// One in five hundred is twenty times larger.
Scene bidisperse(int n, Random& r) {
  Scene s;
  const double side = std::cbrt(n * (1 + 8000 / 500.0));
  for (int k = 0; k < n; ++k)
    s.add(uniform3(r, 0, side), Vec3::Constant(k % 500 == 0 ? 10.0 : 0.5));
  return s;
}

/// Sizes over four decades, evenly in their logarithm; large ones rare enough to leave room.
Scene all_sizes(int n, Random& r) {
  Scene s;
  const double side = 10 * std::cbrt(n);
  for (int k = 0; k < n; ++k)
    s.add(uniform3(r, 0, side), Vec3::Constant(0.5 * std::pow(10, uniform(r, -3, 1))));
  return s;
}

/// Capsules twenty times longer than thick, in all directions.
Scene rods(int n, Random& r) {
  Scene s;
  const double side = std::cbrt(40.0 * n);
  std::normal_distribution<double> normal;
  for (int k = 0; k < n; ++k) {
    Vec3 d(normal(r), normal(r), normal(r));
    d.normalize();
    s.add(uniform3(r, 0, side), 4.75 * d.cwiseAbs() + Vec3::Constant(0.25));
  }
  return s;
}

/// The same rods side by side along x.
Scene bundle(int n, Random& r) {
  Scene s;
  const int side = static_cast<int>(std::ceil(std::cbrt(n)));
  for (int k = 0; k < n; ++k) {
    s.add(Vec3(10.2 * (k % side), 0.52 * (k / side % side), 0.52 * (k / (side * side))) +
              uniform3(r, -0.02, 0.02),
          Vec3(5, 0.25, 0.25));
  }
  return s;
}

Scene falling(int n, Random& r) {
  Scene s;
  for (int k = 0; k < n; ++k) {
    s.add({uniform(r, 0, 10), uniform(r, 0, 10), uniform(r, 0, 0.05 * n)}, Vec3::Constant(0.5));
  }
  return s;
}

Scene line(int n, const Vec3& along) {
  Scene s;
  for (int k = 0; k < n; ++k) s.add(0.99 * k * along, Vec3::Constant(0.5));
  return s;
}
Scene line_x(int n, Random&) {
  return line(n, {1, 0, 0});
}
Scene line_y(int n, Random&) {
  return line(n, {0, 1, 0});
}
Scene line_z(int n, Random&) {
  return line(n, {0, 0, 1});
}
Scene diagonal(int n, Random&) {
  return line(n, {1, 1, 1});
}

/// Planks that all span the same x.
Scene same_x(int n, Random& r) {
  Scene s;
  const double side = std::sqrt(4.0 * n);
  for (int k = 0; k < n; ++k) s.add({0, uniform(r, 0, side), uniform(r, 0, side)}, {50, 0.5, 0.5});
  return s;
}

/// Rods through the whole domain along x, y and z that never meet: every box around some of them
/// meets every other.
Scene weave(int n, Random&) {
  Scene s;
  const int side = static_cast<int>(std::ceil(std::sqrt(n / 3.0)));
  for (int k = 0; k < n; ++k) {
    const int along = k % 3;
    const double i = 3.0 * (k / 3 % side);
    const double j = 3.0 * (k / 3 / side);
    Vec3 half = Vec3::Constant(0.4);
    half[along] = 1.5 * side;
    Vec3 c = Vec3::Constant(1.5 * side);
    c[(along + 1) % 3] = i + along;
    c[(along + 2) % 3] = j + along;
    s.add(c, half);
  }
  return s;
}

/// A layer of spheres on one fixed box that is as large as all of them.
Scene terrain(int n, Random& r) {
  Scene s = lattice(n - 1, r, true, 0);
  const double side = std::sqrt(n);
  s.add({side / 2, side / 2, -1}, {side, side, 0.6}, true);
  return s;
}
/// The same as a moving one (a conveyor, a ship).
Scene moving_terrain(int n, Random& r) {
  Scene s = terrain(n, r);
  s.fixed.back() = 0;
  return s;
}

void set_boxes(Scene& s) {
  s.boxes.resize(s.center.size());
  for (std::size_t k = 0; k < s.boxes.size(); ++k)
    s.boxes[k] = {s.center[k] - s.half[k], s.center[k] + s.half[k]};
}

/// After so many steps what flies turns back, so that a long run is not of a thinner gas than a
/// short one.
constexpr int turn = 100;

/// A fiftieth of its own size a step at most: to and fro where it is packed, straight on where it
/// is free; or all change places.
void move(Scene& s, Motion motion, Random& r) {
  ++s.time;
  for (std::size_t k = 0; k < s.center.size(); ++k) {
    if (s.fixed[k] != 0) continue;
    if (motion == Motion::jiggle) {
      s.center[k] += std::sin(0.3 * s.time + static_cast<double>(k)) * s.velocity[k];
    } else if (motion == Motion::fly) {
      s.center[k] += s.time / turn % 2 == 0 ? s.velocity[k] : Vec3(-s.velocity[k]);
    } else {
      const auto j = std::uniform_int_distribution<std::size_t>(0, k)(r);
      if (s.fixed[j] == 0) std::swap(s.center[k], s.center[j]);
    }
  }
  set_boxes(s);
}

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Kind {
  std::string name;
  Scene (*make)(int, Random&);
  Motion motion;
};

Scene made(const Kind& kind, int n) {
  Random r(7);
  Scene s = kind.make(n, r);
  mix_names(s, r);
  for (const Vec3& h : s.half) s.velocity.push_back(0.04 * h.minCoeff() * uniform3(r, -1, 1));
  if (kind.name == "falling") {
    for (Vec3& v : s.velocity) v[2] -= 0.05;
  }
  set_boxes(s);
  return s;
}

/// All methods get that far and must have found as many pairs there.
constexpr int compared_step = 5;

struct Line {
  double seconds = 0;  ///< mean of a step, builds among them
  double first = 0;    ///< the first step
  std::size_t pairs = 0;
  double builds = 0;  ///< of the moving tree, share of the steps
};

/// `find(scene)` returns the number of pairs; `set(scene)` before it is not timed. The mean, not
/// the best: an occasional build belongs to the cost.
template <class Set, class Find>
Line measure(const Kind& kind, int n, Set&& set, Find&& find) {
  Scene s = made(kind, n);
  Random r(11);
  Line line;
  double total = 0;
  int steps = 0;
  const int least = n > 200000 ? 10 : 30;
  for (int k = 0; k <= least || (total < 0.5 && k < 1000); ++k) {
    set(s);
    const double begin = processor_seconds();
    const std::size_t pairs = find(s);
    const double seconds = processor_seconds() - begin;
    (k == 0 ? line.first : total) += seconds;
    steps = k;
    if (k <= compared_step) line.pairs = pairs;
    if (k >= compared_step && total > 3) break;
    move(s, kind.motion, r);
  }
  line.seconds = total / steps;
  return line;
}

struct Result {
  std::string scene;
  int n = 0;
  Line tree = {}, sweep = {}, grid = {}, fcl = {};
};

/// A rival that needs long for a tenth of the boxes is not asked again; its time stays 0.
bool patient(const std::vector<Result>& so_far, const std::string& scene, Line Result::*which) {
  return so_far.empty() || so_far.back().scene != scene || (so_far.back().*which).seconds * 30 < 10;
}

Result run(const Kind& kind, int n, const std::vector<Result>& so_far) {
  Result result{.scene = kind.name, .n = n};
  Pairs pairs;
  const auto nothing = [](Scene&) {};
  const auto with = [&pairs](auto& method) {
    return [&pairs, &method](Scene& s) {
      method.find(s.boxes, s.fixed, pairs);
      return pairs.size();
    };
  };
  BroadPhase tree;
  result.tree = measure(kind, n, nothing, with(tree));
  result.tree.builds = static_cast<double>(tree.counts().moving_builds);
  if (patient(so_far, kind.name, &Result::sweep)) {
    bench::Sweep sweep;
    result.sweep = measure(kind, n, nothing, with(sweep));
  }
  if (patient(so_far, kind.name, &Result::grid)) {
    bench::Grid grid;
    result.grid = measure(kind, n, nothing, with(grid));
  }
#ifdef URTO_HAVE_FCL
  if (patient(so_far, kind.name, &Result::fcl)) {
    bench::FclTree fcl;
    result.fcl = measure(
        kind, n, [&fcl](Scene& s) { fcl.set(s.boxes, s.fixed); },
        [&fcl](Scene&) { return static_cast<std::size_t>(fcl.find()); });
  }
#endif
  return result;
}

double exponent(double small, double large) {
  return small > 0 && large > 0 ? std::log10(large / small) : std::nan("");
}

void print(const Result& r, const Result* smaller) {
  const auto ms = [](const Line& l) {
    return l.seconds > 0 ? fmt::format("{:.3f}", 1e3 * l.seconds) : std::string("-");
  };
  fmt::print("{:15} {:8} {:9} {:>9} {:>9} {:>9} {:>9} {:7.1f} {:6} {:5.2f}\n", r.scene, r.n,
             r.tree.pairs, ms(r.tree), ms(r.sweep), ms(r.grid), ms(r.fcl),
             1e-6 * static_cast<double>(r.tree.pairs) / r.tree.seconds, r.tree.builds,
             smaller == nullptr ? std::nan("") : exponent(smaller->tree.seconds, r.tree.seconds));
  std::fflush(stdout);
}

std::string csv_text(const std::vector<Result>& results) {
  std::string text = "scene,boxes,pairs,tree_s,tree_first_s,tree_builds,sweep_s,grid_s,fcl_s\n";
  for (const Result& r : results) {
    text += fmt::format("{},{},{}", r.scene, r.n, r.tree.pairs);
    for (const double v : {r.tree.seconds, r.tree.first, r.tree.builds, r.sweep.seconds,
                           r.grid.seconds, r.fcl.seconds})
      text += fmt::format(",{:.4g}", v);
    text += '\n';
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Time to find all pairs of overlapping boxes"};
  bool quick = false;
  bool large = false;
  std::string only;
  std::string csv;
  app.add_flag("--quick", quick, "to 10⁴ boxes");
  app.add_flag("--large", large, "to 10⁶ boxes");
  app.add_option("--scene", only, "this scene alone");
  app.add_option("--csv", csv, "also write the numbers here");
  CLI11_PARSE(app, argc, argv);

  const std::vector<Kind> kinds{
      {"pile", pile, Motion::jiggle},
      {"pile-shuffled", pile, Motion::shuffle},
      {"pile-10%-fixed", pile_fixed, Motion::jiggle},
      {"gas", gas, Motion::fly},
      {"gas-shuffled", gas, Motion::shuffle},
      {"bidisperse", bidisperse, Motion::fly},
      {"all-sizes", all_sizes, Motion::fly},
      {"rods", rods, Motion::fly},
      {"bundle", bundle, Motion::jiggle},
      {"falling", falling, Motion::fly},
      {"layer", layer, Motion::jiggle},
      {"terrain", terrain, Motion::jiggle},
      {"moving-terrain", moving_terrain, Motion::jiggle},
      {"line-x", line_x, Motion::jiggle},
      {"line-y", line_y, Motion::jiggle},
      {"line-z", line_z, Motion::jiggle},
      {"diagonal", diagonal, Motion::jiggle},
      {"same-x", same_x, Motion::jiggle},
      {"weave", weave, Motion::jiggle},
  };
  std::vector<Result> results;
  bool agree = true;
  const auto same = [](const Line& a, const Line& b) {
    return b.seconds == 0 || a.pairs == b.pairs;
  };
  fmt::print("{:15} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6} {:>5}   times in ms a step\n",
             "scene", "boxes", "pairs", "tree", "sweep", "grid", "fcl", "Mpair/s", "builds", "exp");
  for (const Kind& kind : kinds) {
    if (!only.empty() && only != kind.name) continue;
    for (int n = 1000; n <= (large ? 1000000 : quick ? 10000 : 100000); n *= 10) {
      results.push_back(run(kind, n, results));
      const Result& r = results.back();
      print(r, n > 1000 ? &results[results.size() - 2] : nullptr);
      if (same(r.tree, r.sweep) && same(r.tree, r.grid) && same(r.tree, r.fcl)) continue;
      fmt::print("the methods disagree: {} {} {} {} pairs\n", r.tree.pairs, r.sweep.pairs,
                 r.grid.pairs, r.fcl.pairs);
      agree = false;
    }
  }
  if (!csv.empty()) bench::write_text(csv, csv_text(results));
  return agree ? 0 : 1;
}
