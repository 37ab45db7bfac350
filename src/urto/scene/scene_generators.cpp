// Generators: a few lines of a scene that stand for many bodies. Deterministic on every machine:
// the random numbers are our own (std::uniform_real_distribution differs between libraries).
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "urto/scene/scene_document.h"

namespace urto::scene {
namespace {

Json to_json(const Vec3& x) {
  return {x.x(), x.y(), x.z()};
}

std::string replaced(std::string text, std::string_view placeholder, std::int64_t number) {
  const std::string digits = std::to_string(number);
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + digits.size())) {
    text.replace(at, placeholder.size(), digits);
  }
  return text;
}

/// The name pattern; it must tell the bodies apart.
std::string name_pattern(const Object& o, std::string_view fallback,
                         std::span<const std::string_view> needed) {
  const auto given = o.find("name");
  std::string pattern = given ? to_name(*given) : std::string(fallback);
  for (const std::string_view placeholder : needed) {
    if (pattern.find(placeholder) == std::string::npos) {
      fail(*given, fmt::format("a name with {}, so that each body has its own", placeholder));
    }
  }
  return pattern;
}

// ---- Grid

using Count = std::array<std::int64_t, 3>;
constexpr std::array<std::string_view, 3> letters{"i", "j", "k"};
constexpr std::array<std::string_view, 3> placeholders{"{i}", "{j}", "{k}"};

/// Fails where a generator asks for more bodies than a scene still has room for.
void check_room(const Value& count, double wanted, std::int64_t room) {
  if (wanted <= static_cast<double>(room)) return;
  const std::string before =
      room == most_bodies ? "" : fmt::format(", of which {} are there already", most_bodies - room);
  fail(count, fmt::format("at most {} bodies in all{}", most_bodies, before));
}

Count read_count(const Object& o, std::int64_t room) {
  const auto items = to_items(o.at("count"), "three numbers [nx, ny, nz]", 3);
  Count count{};
  double product = 1;
  for (int a = 0; a < 3; ++a) {
    count[a] = to_integer(items[a], 1, most_bodies);
    product *= static_cast<double>(count[a]);
  }
  check_room(o.at("count"), product, room);
  return count;
}

/// Calls f(i, j, k) for every place of the grid, i fastest.
template <typename Function>
void for_each_place(const Count& count, Function f) {
  for (std::int64_t k = 0; k < count[2]; ++k) {
    for (std::int64_t j = 0; j < count[1]; ++j) {
      for (std::int64_t i = 0; i < count[0]; ++i) f(Count{i, j, k});
    }
  }
}

/// A bushing to the next body along each axis, halfway, its x along the link.
void link_neighbours(const Object& links, const Count& count, Generated& made) {
  const auto index = [&](const Count& at) {
    return static_cast<std::size_t>((at[2] * count[1] + at[1]) * count[0] + at[0]);
  };
  const auto place = [&](std::size_t body) {
    const Json& x = made.bodies[body]["position"];
    return Vec3(x[0], x[1], x[2]);
  };
  for_each_place(count, [&](const Count& at) {
    for (int a = 0; a < 3; ++a) {
      Count next = at;
      if (++next[a] == count[a]) continue;
      const std::size_t first = index(at);
      const std::size_t second = index(next);
      const std::string& name = made.bodies[first]["name"].get_ref<const std::string&>();
      const Vec3 x = place(second) - place(first);
      if (!(x.norm() > 0)) refuse(links.value, "linked bodies stand in different places");
      Json force = {{"name", fmt::format("{}-{}", name, letters[a])},
                    {"kind", "bushing"},
                    {"bodies", Json::array({name, made.bodies[second]["name"]})},
                    {"position", to_json(0.5 * (place(first) + place(second)))},
                    {"axis", to_json(a == 2 ? Vec3::UnitX() : Vec3::UnitZ())},
                    {"x_axis", to_json(x.normalized())},
                    {"stiffness", *links.at("stiffness").json}};
      if (const auto damping = links.find("damping")) force["damping"] = *damping->json;
      made.forces.push_back(std::move(force));
    }
  });
}

Generated generate_grid(const Value& v, const Variables& parameters, std::int64_t room) {
  // The body to repeat waits: its expressions may use i, j and k.
  Json settings = *v.json;
  if (settings.contains("body")) settings["body"] = Json::object();
  settings = evaluated({&settings, v.path, v.origins}, parameters);
  const Object o = to_object({&settings, v.path, v.origins}, keys::grid);
  o.at("body");
  const Value body = v.at("body");
  if (!body.json->is_object()) fail(body, "an object, the body to repeat");
  if (body.json->contains("name")) {
    refuse(body.at("name"), "the grid's own 'name' names its bodies");
  }
  const Count count = read_count(o, room);
  const Vec3 spacing = to_vec3(o.at("spacing"), "m");
  const Vec3 origin = vec3_or(o, "origin", Vec3::Zero(), "m");
  std::vector<std::string_view> needed;
  for (int a = 0; a < 3; ++a) {
    if (count[a] > 1) needed.push_back(placeholders[a]);
  }
  const std::string pattern = name_pattern(o, "grid-{i}-{j}-{k}", needed);

  Generated made;
  Variables variables = parameters;
  for_each_place(count, [&](const Count& at) {
    std::string name = pattern;
    Vec3 position = origin;
    for (int a = 0; a < 3; ++a) {
      variables[std::string(letters[a])] = static_cast<double>(at[a]);
      name = replaced(std::move(name), placeholders[a], at[a]);
      position[a] += spacing[a] * static_cast<double>(at[a]);
    }
    Json item = {{"name", name}};
    item.update(evaluated(body, variables));
    if (item.contains("position")) {
      position += to_vec3({&item["position"], body.path + "/position", v.origins}, "m");
    }
    item["position"] = to_json(position);
    made.bodies.push_back(std::move(item));
  });
  if (const auto links = o.find("links"))
    link_neighbours(to_object(*links, keys::grid_links), count, made);
  return made;
}

// ---- Packing

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random {
  std::uint64_t state;
  double uniform(double low, double high) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    z ^= z >> 31U;
    return low + (high - low) * (static_cast<double>(z >> 11U) * 0x1.0p-53);
  }
};

struct Ball {
  Vec3 center = Vec3::Zero();
  double radius = 0;
};

/// Balls in cells at least as wide as the largest diameter: a ball can only touch those next door.
class BallGrid {
 public:
  explicit BallGrid(double cell) : cell_(cell) {}

  bool is_free(const Ball& ball) const {
    const auto at = cell_of(ball.center);
    for (int k = 0; k < 27; ++k) {
      const auto it =
          cells_.find(key({at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1}));
      if (it == cells_.end()) continue;
      for (const Ball& other : it->second) {
        if ((other.center - ball.center).norm() < (other.radius + ball.radius) * (1 + 1e-9)) {
          return false;
        }
      }
    }
    return true;
  }

  void add(const Ball& ball) { cells_[key(cell_of(ball.center))].push_back(ball); }

 private:
  using Cell = std::array<std::int64_t, 3>;
  Cell cell_of(const Vec3& x) const {
    Cell c{};
    for (int a = 0; a < 3; ++a) {
      // Far away cells may share a key (that only costs time), but must stay numbers.
      c[a] = static_cast<std::int64_t>(std::clamp(std::floor(x[a] / cell_), -1e15, 1e15));
    }
    return c;
  }
  static std::uint64_t key(const Cell& c) {
    return static_cast<std::uint64_t>(c[0]) * 73856093U ^
           static_cast<std::uint64_t>(c[1]) * 19349663U ^
           static_cast<std::uint64_t>(c[2]) * 83492791U;
  }
  double cell_;
  std::unordered_map<std::uint64_t, std::vector<Ball>> cells_;
};

struct PackingSettings {
  std::int64_t count = 0;
  Vec3 low = Vec3::Zero(), high = Vec3::Zero();
  double smallest = 0, largest = 0;
  std::uint64_t seed = 1;
};

PackingSettings read_packing(const Object& o, std::int64_t room) {
  PackingSettings s;
  s.count = to_integer(o.at("count"), 1, most_bodies);
  check_room(o.at("count"), static_cast<double>(s.count), room);
  const auto corners = to_items(o.at("box"), "two corners [[x0, y0, z0], [x1, y1, z1]]", 2);
  s.low = to_vec3(corners[0], "m");
  s.high = to_vec3(corners[1], "m");
  if (!((s.high - s.low).minCoeff() > 0)) fail(o.at("box"), "a lower corner, then an upper one");
  const Value radius = o.at("radius");
  if (radius.json->is_array()) {
    const std::vector<double> range = to_numbers(radius, 2, positive("m"));
    s.smallest = range[0];
    s.largest = range[1];
  } else {
    s.smallest = s.largest = to_number(radius, positive("m"));
  }
  if (s.smallest > s.largest) fail(radius, "the smaller radius first");
  if (!(2 * s.largest <= (s.high - s.low).minCoeff())) {
    fail(radius, "a diameter not larger than the box");
  }
  if (const auto seed = o.find("seed")) {
    s.seed = static_cast<std::uint64_t>(to_integer(*seed, 0, 1LL << 53U));
  }
  return s;
}

/// Random places, largest balls first because they are hardest to place; the result is in the order
/// in which the radii were drawn.
std::vector<Ball> place_balls(const Value& v, const PackingSettings& s) {
  Random random{s.seed};
  std::vector<Ball> balls(static_cast<std::size_t>(s.count));
  double volume = 0;
  for (Ball& ball : balls) {
    ball.radius = random.uniform(s.smallest, s.largest);
    volume += 4 * M_PI / 3 * std::pow(ball.radius, 3);
  }
  const double fill = volume / (s.high - s.low).prod();
  const auto too_full = [&](std::size_t placed) {
    fail(v,
         fmt::format("room for {} of {} balls, which would fill {:.0f} % of the box", placed,
                     s.count, 100 * fill),
         "a larger box, or balls that fill at most about 25 % of it");
  };
  if (!(fill < 0.45)) too_full(0);  // random placing jams at 38 % for equal balls
  std::vector<std::size_t> order(balls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return balls[a].radius > balls[b].radius; });
  BallGrid grid(2 * s.largest);
  std::size_t placed = 0;
  for (const std::size_t i : order) {
    bool found = false;
    for (int attempt = 0; attempt < 3000 && !found; ++attempt) {
      for (int a = 0; a < 3; ++a) {
        const double r = balls[i].radius;
        balls[i].center[a] = random.uniform(s.low[a] + r, s.high[a] - r);
      }
      found = grid.is_free(balls[i]);
    }
    if (!found) too_full(placed);
    grid.add(balls[i]);
    ++placed;
  }
  return balls;
}

Generated generate_packing(const Value& v, std::int64_t room) {
  constexpr std::string_view needed[] = {"{i}"};
  const Object o = to_object(v, keys::packing);
  const PackingSettings s = read_packing(o, room);
  const double density = to_number(o.at("density"), positive("kg/m³"));
  const std::string pattern =
      name_pattern(o, "ball-{i}", std::span(needed).first(s.count > 1 ? 1 : 0));
  Generated made;
  std::int64_t i = 0;
  for (const Ball& ball : place_balls(v, s)) {
    Json shape = {{"kind", "sphere"}, {"radius", ball.radius}};
    if (const auto material = o.find("material")) shape["material"] = *material->json;
    made.bodies.push_back({{"name", replaced(pattern, "{i}", i++)},
                           {"position", to_json(ball.center)},
                           {"density", density},
                           {"shapes", Json::array({shape})}});
  }
  return made;
}

// ---- Chain

/// A link from end to end: a capsule unless a shape is given.
Json link_shape(const Object& o, double length) {
  if (o.has("shape") == o.has("radius")) {
    refuse(o.value, "a chain has either 'radius' (links are capsules) or 'shape'");
  }
  Json shape;
  if (const auto given = o.find("shape")) {
    if (!given->json->is_object()) fail(*given, "an object, a shape");
    shape = *given->json;
  } else {
    const double radius = to_number(o.at("radius"), positive("m"));
    if (!(2 * radius < length)) fail(o.at("radius"), "less than half of link_length");
    // The round ends reach the hinges, so that links overlap only with their neighbours, which do
    // not collide.
    shape = {{"kind", "capsule"}, {"radius", radius}, {"length", length - 2 * radius}};
  }
  if (const auto material = o.find("material")) shape["material"] = *material->json;
  return shape;
}

Generated generate_chain(const Value& v, std::int64_t room) {
  constexpr std::string_view needed[] = {"{i}"};
  const Object o = to_object(v, keys::chain);
  const std::int64_t count = to_integer(o.at("count"), 1, most_bodies);
  check_room(o.at("count"), static_cast<double>(count), room);
  const Vec3 from = to_vec3(o.at("from"), "m");
  const Vec3 direction = to_direction(o.at("direction"));
  const double length = to_number(o.at("link_length"), positive("m"));
  const double density = to_number(o.at("density"), positive("kg/m³"));
  const std::string pattern =
      name_pattern(o, "link-{i}", std::span(needed).first(count > 1 ? 1 : 0));
  const Json shape = link_shape(o, length);
  const Value kind = o.at("joint");
  const bool revolute = to_word(kind, words::chain_joint) == 0;
  const Vec4 rotation = quaternion_from_matrix(axes_with_z(direction));
  const Json turn = {rotation[0], rotation[1], rotation[2], rotation[3]};
  if (revolute) to_direction(o.at("axis"));

  // Without an anchor (null) the chain hangs on nothing.
  Json previous = "world";
  if (const auto anchor = o.find("anchor")) previous = *anchor->json;
  Generated made;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(i);
    const std::string name = replaced(pattern, "{i}", i);
    made.bodies.push_back({{"name", name},
                           {"position", to_json(from + (number + 0.5) * length * direction)},
                           {"rotation", turn},
                           {"density", density},
                           {"shapes", Json::array({shape})}});
    if (!previous.is_null()) {
      Json joint = {{"name", name + "-joint"},
                    {"kind", *kind.json},
                    {"bodies", Json::array({previous, name})},
                    {"position", to_json(from + number * length * direction)}};
      if (const auto axis = o.find("axis")) joint["axis"] = *axis->json;
      made.joints.push_back(std::move(joint));
    }
    previous = name;
  }
  return made;
}

}  // namespace

Generated generate(const Value& generator, const Variables& parameters, std::int64_t room) {
  switch (to_word(generator.at("generate"), words::generator)) {
    case 0:
      return generate_grid(generator, parameters, room);
    case 1: {
      const Json plain = evaluated(generator, parameters);
      return generate_packing({&plain, generator.path, generator.origins}, room);
    }
    default: {
      const Json plain = evaluated(generator, parameters);
      return generate_chain({&plain, generator.path, generator.origins}, room);
    }
  }
}

}  // namespace urto::scene
