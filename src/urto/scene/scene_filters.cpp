// What may touch what: layers by name, and pairs of bodies that never touch.
#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

constexpr std::size_t most_layers = 32;  // the bits of Shape::layers

std::vector<Value> to_layer_names(const Value& v) {
  auto names = to_items(v, "an array of names of layers");
  // "collides": false says it plainly.
  if (names.empty()) fail(v, "at least one layer");
  return names;
}

void collect(Builder& b, const Value& owner) {
  if (!owner.json->is_object() || !owner.json->contains("layers")) return;
  for (const Value& item : to_layer_names(owner.at("layers"))) {
    const std::string name = to_name(item);
    const int next = static_cast<int>(b.layers.entries.size());
    const bool is_new =
        b.layers.entries.try_emplace(name, NameIndex::Entry{next, item.path}).second;
    if (is_new && b.layers.entries.size() > most_layers) {
      refuse(item, fmt::format("'{}' is one layer too many: there are at most {}, with 'default'",
                               name, most_layers));
    }
  }
}

std::uint32_t to_bits(const Builder& b, const Value& v) {
  std::uint32_t bits = 0;
  for (const Value& item : to_layer_names(v))
    bits |= std::uint32_t{1} << find_named(b.layers, item);
  return bits;
}

}  // namespace

void collect_layers(Builder& b, const std::vector<Value>& bodies) {
  b.layers.entries["default"] = {0, ""};
  for (const Value& body : bodies) {
    collect(b, body);
    if (!body.json->is_object() || !body.json->contains("shapes")) continue;
    const Value shapes = body.at("shapes");
    if (!shapes.json->is_array()) continue;  // its reader says what is wrong
    for (std::size_t k = 0; k < shapes.json->size(); ++k) collect(b, shapes.at(k));
  }
}

Filter read_filter(const Builder& b, const Object& o, Filter filter) {
  if (const auto layers = o.find("layers")) filter.layers = to_bits(b, *layers);
  const auto wanted = o.find("collides_with");
  const auto unwanted = o.find("ignores");
  if (wanted && unwanted) {
    refuse(*unwanted, "'ignores' does not go with 'collides_with', which names all that is met");
  }
  if (wanted) filter.mask = to_bits(b, *wanted);
  if (unwanted) filter.mask = ~to_bits(b, *unwanted);
  return filter;
}

void read_excluded(Builder& b, const Object& scene) {
  const auto list = scene.find("exclude");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of pairs of bodies")) {
    const auto names = to_items(item, "two names of bodies", 2);
    const int first = find_named(b.bodies, names[0]);
    const int second = find_named(b.bodies, names[1]);
    if (first == second) fail(item, "two different bodies");
    b.model.excluded.push_back({first, second});
  }
}

}  // namespace urto::scene
