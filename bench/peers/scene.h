// What the programs of the peers share, Urto's among them: a scene from a text file, the loop that
// steps an engine by its processor time, and what is measured from the poses of bodies alone, never
// from an engine's own list of contacts. No part of Urto is used here.
//
// A scene is lines of words (scenes.py writes them beside Urto's own files):
//
//     gravity X Y Z          friction MU
//     plane NX NY NZ D       the bodies are where n·x ≥ d
//     body MASS IX IY IZ  X Y Z  QW QX QY QZ  VX VY VZ
//     sphere R | box SX SY SZ | hull N X Y Z …      shape of the body before it
//     hinge A B  X Y Z  AX AY AZ                     A = −1: the ground
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace peers {

using Vec = std::array<double, 3>;
using Quat = std::array<double, 4>;  // w first

inline Vec operator+(const Vec& a, const Vec& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
inline Vec operator-(const Vec& a, const Vec& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline double dot(const Vec& a, const Vec& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline double length(const Vec& a) {
  return std::sqrt(dot(a, a));
}
inline Vec cross(const Vec& a, const Vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline Vec rotate(const Quat& q, const Vec& v) {
  const Vec u{q[1], q[2], q[3]};
  const Vec t = cross(u, v);
  const Vec s = cross(u, t);
  return {v[0] + 2 * (q[0] * t[0] + s[0]), v[1] + 2 * (q[0] * t[1] + s[1]),
          v[2] + 2 * (q[0] * t[2] + s[2])};
}
inline Vec rotate_back(const Quat& q, const Vec& v) {
  return rotate({q[0], -q[1], -q[2], -q[3]}, v);
}

/// Pose of the centre of mass, velocities in the world's axes.
struct State {
  Vec p;
  Quat q;
  Vec v{}, w{};
};

struct Body {
  double mass = 0;
  Vec inertia{};
  State start;
  std::string kind = "none";  ///< sphere, box, hull
  Vec size{};                 ///< radius; edges
  std::vector<Vec> points{};
};

struct Plane {
  Vec n;
  double d;
};

struct Hinge {
  int a, b;
  Vec point, axis;
};

struct Scene {
  Vec gravity{0, 0, -9.81};
  double friction = 0;
  std::vector<Plane> planes;
  std::vector<Body> bodies;
  std::vector<Hinge> hinges;
};

inline Scene read_scene(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  Scene s;
  std::string line, word;
  const auto read = [](std::istream& from, auto& values) {
    for (double& x : values) from >> x;
  };
  while (std::getline(in, line)) {
    std::istringstream words(line);
    if (!(words >> word)) continue;
    if (word == "gravity") {
      read(words, s.gravity);
    } else if (word == "friction") {
      words >> s.friction;
    } else if (word == "plane") {
      Plane p{};
      read(words, p.n);
      words >> p.d;
      s.planes.push_back(p);
    } else if (word == "body") {
      Body b;
      words >> b.mass;
      read(words, b.inertia);
      read(words, b.start.p);
      read(words, b.start.q);
      read(words, b.start.v);
      s.bodies.push_back(b);
    } else if (word == "sphere" || word == "box") {
      s.bodies.back().kind = word;
      if (word == "box")
        read(words, s.bodies.back().size);
      else
        words >> s.bodies.back().size[0];
    } else if (word == "hull") {
      std::size_t n = 0;
      words >> n;
      s.bodies.back().kind = word;
      s.bodies.back().points.resize(n);
      for (Vec& p : s.bodies.back().points) read(words, p);
    } else if (word == "hinge") {
      Hinge h{};
      words >> h.a >> h.b;
      read(words, h.point);
      read(words, h.axis);
      s.hinges.push_back(h);
    } else {
      throw std::runtime_error(file + ": found " + word);
    }
    if (!words) throw std::runtime_error(file + ": too few numbers in: " + line);
  }
  return s;
}

/// `--key=value` after the name of the scene.
struct Arguments {
  std::string scene;
  double step = 2e-3, duration = 1.5;
  double budget = 1e9;  ///< [s] of processor time, after which a run ends early
  std::map<std::string, std::string> values;

  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
  double number(const std::string& key, double otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stod(found->second);
  }
};

inline Arguments arguments(int count, char** words) {
  Arguments a;
  if (count < 2) throw std::runtime_error("usage: PROGRAM SCENE [--key=value]...");
  a.scene = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const auto equals = word.find('=');
    if (word.rfind("--", 0) != 0 || equals == std::string::npos)
      throw std::runtime_error("expected --key=value, found " + word);
    a.values[word.substr(2, equals - 2)] = word.substr(equals + 1);
  }
  a.step = a.number("step", a.step);
  a.duration = a.number("duration", a.duration);
  a.budget = a.number("budget", a.budget);
  return a;
}

/// Processor time of the process: on a machine that others use too, the only one that means much.
inline double now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// How deep spheres are in each other and behind the planes, at most.
inline double deepest(const Scene& scene, const std::vector<State>& states) {
  double widest = 0;
  for (const Body& b : scene.bodies) {
    if (b.kind == "sphere") widest = std::max(widest, 2 * b.size[0]);
  }
  if (widest == 0) return 0;
  std::unordered_map<std::int64_t, std::vector<int>> cells;
  const auto key = [](const std::array<std::int64_t, 3>& c) {
    return ((c[0] + 100000) * 262144 + (c[1] + 100000)) * 262144 + (c[2] + 100000);
  };
  double deep = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (scene.bodies[i].kind != "sphere") continue;
    const double r = scene.bodies[i].size[0];
    const Vec& p = states[i].p;
    for (const Plane& plane : scene.planes) deep = std::max(deep, r - (dot(plane.n, p) - plane.d));
    std::array<std::int64_t, 3> c;
    for (int k = 0; k < 3; ++k) c[k] = static_cast<std::int64_t>(std::floor(p[k] / widest));
    for (int n = 0; n < 27; ++n) {
      const auto found =
          cells.find(key({c[0] + n % 3 - 1, c[1] + n / 3 % 3 - 1, c[2] + n / 9 - 1}));
      if (found == cells.end()) continue;
      for (const int j : found->second)
        deep = std::max(deep, r + scene.bodies[j].size[0] - length(p - states[j].p));
    }
    cells[key(c)].push_back(static_cast<int>(i));
  }
  return deep;
}

/// The largest distance between the two halves of a hinge's point.
inline double widest_gap(const Scene& scene, const std::vector<State>& states) {
  double gap = 0;
  const auto carried = [&](int body, const Vec& point) {
    if (body < 0) return point;
    const State& start = scene.bodies[body].start;
    return states[body].p + rotate(states[body].q, rotate_back(start.q, point - start.p));
  };
  for (const Hinge& h : scene.hinges)
    gap = std::max(gap, length(carried(h.a, h.point) - carried(h.b, h.point)));
  return gap;
}

inline double energy(const Scene& scene, const std::vector<State>& states) {
  double sum = 0;
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const Body& b = scene.bodies[i];
    const Vec w = rotate_back(states[i].q, states[i].w);
    sum += 0.5 * b.mass * dot(states[i].v, states[i].v) - b.mass * dot(scene.gravity, states[i].p);
    for (int k = 0; k < 3; ++k) sum += 0.5 * b.inertia[k] * w[k] * w[k];
  }
  return sum;
}

/// The farthest that a body is from where it was.
inline double farthest(const std::vector<State>& from, const std::vector<State>& to) {
  double d = 0;
  for (std::size_t i = 0; i < from.size(); ++i) d = std::max(d, length(to[i].p - from[i].p));
  return d;
}

/// Steps the engine through the scene and prints one line of JSON. `Engine` has step(), and
/// get(states) for the poses of the bodies.
template <class Engine>
int run(const Arguments& a, const Scene& scene, Engine& engine) {
  const int steps = static_cast<int>(std::llround(a.duration / a.step));
  const int every = std::max(1, steps / 150);
  std::vector<State> start, states, half;
  engine.get(start);
  states = half = start;
  const double energy_start = energy(scene, start);
  double weight = 0;  // [J] of hanging where it is level
  for (const Body& b : scene.bodies)
    weight += b.mass * length(scene.gravity) * std::hypot(b.start.p[0], b.start.p[1]);
  std::vector<double> seconds;
  double total = 0, deep = 0, settled = 0, gap = 0, drift = 0, moved = 0, crept = 0, rise = 0;
  for (int i = 0; i < steps && total < a.budget; ++i) {
    const double before = now();
    engine.step();
    seconds.push_back(now() - before);
    total += seconds.back();
    if ((i + 1) % every != 0 && i + 1 != steps && scene.hinges.empty()) continue;
    engine.get(states);
    if (2 * (i + 1) <= steps) half = states;
    const double depth = deepest(scene, states);
    deep = std::max(deep, depth);
    if (4 * i > 3 * steps) settled = std::max(settled, depth);
    gap = std::max(gap, widest_gap(scene, states));
    drift = std::max(drift, std::abs(energy(scene, states) - energy_start));
    moved = std::max(moved, farthest(start, states));
    crept = std::max(crept, farthest(half, states));
    for (std::size_t k = 0; k < states.size(); ++k)
      rise = std::max(rise, states[k].p[2] - start[k].p[2]);
  }
  const auto done = static_cast<double>(std::max<std::size_t>(1, seconds.size()));
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  double last = 0;
  const std::size_t quarter = std::max<std::size_t>(1, seconds.size() / 4);
  for (std::size_t i = seconds.size() - quarter; i < seconds.size(); ++i) last += seconds[i];
  std::printf(
      "{\"bodies\":%zu,\"steps\":%zu,\"of\":%d,\"ms\":%.6g,\"ms_last\":%.6g,"
      "\"ms_median\":%.6g,\"ms_worst\":%.6g,\"deep\":%.4g,\"settled\":%.4g,\"gap\":%.4g,"
      "\"drift\":%.4g,\"moved\":%.4g,\"crept\":%.4g,\"rise\":%.4g%s}\n",
      start.size(), seconds.size(), steps, 1e3 * total / done,
      1e3 * last / static_cast<double>(quarter), 1e3 * sorted[sorted.size() / 2],
      1e3 * sorted.back(), deep, settled, gap, weight > 0 ? drift / weight : drift, moved, crept,
      rise, engine.remarks().c_str());
  return 0;
}

}  // namespace peers
