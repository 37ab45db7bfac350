// Every key and every word a scene may contain, as tables: the reader refuses what is not in them,
// suggestions are drawn from them, and a test compares them with scene.schema.json. The settings of
// the section "simulation" are those of stepper/option_table.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace urto::scene {

struct KeyTable {
  std::string_view name;  ///< of the entry in the schema's $defs ("scene" is the schema itself)
  std::string_view noun;  ///< for messages: "a material"
  std::span<const std::string_view> keys;
};

/// Words a string may be, in the order of the C++ enumeration they stand for.
struct WordTable {
  std::string_view name;  ///< of the entry in the schema's $defs
  std::string_view noun;
  std::span<const std::string_view> words;
};

namespace keys {
extern const KeyTable scene, material, material_pair, mixing, body, motion, axis_angle, marker;
extern const KeyTable sphere, box, cylinder, capsule, cone, ellipsoid, half_space;
extern const KeyTable hull, mesh, height_field, mesh_data;
extern const KeyTable joint, joint_limit, joint_motor;
extern const KeyTable motor, limit, friction, coupling, coupling_term, gear, rack_and_pinion;
extern const KeyTable function, harmonic, step;
extern const KeyTable spring, torsion_spring, bushing, load, central_gravity, drag;
extern const KeyTable grid, grid_links, packing, chain;
extern const KeyTable circuit, resistor, capacitor, inductor, diode, zener, voltage_source;
extern const KeyTable current_source, circuit_switch, comparator, transistor, pulse;
extern const KeyTable equations, law, integrator;
extern const KeyTable simulation;
}  // namespace keys

namespace words {
extern const WordTable body_kind, shape_kind, joint_kind, force_kind, generator, chain_joint;
extern const WordTable motor_mode, mixing_rule;
extern const WordTable component_kind, law_kind, first_order_scheme;
}  // namespace words

std::span<const KeyTable* const> all_key_tables();
std::span<const WordTable* const> all_word_tables();

bool contains(std::span<const std::string_view> list, std::string_view word);

/// Whether what stands under a key is a name or another text, or a list of them, but never a
/// number: "=x" is then no expression.
bool is_text_key(std::string_view key);

/// ", did you mean 'friction'?", or "" when nothing in the list is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> list);

}  // namespace urto::scene
