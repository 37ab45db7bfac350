#include "urto/scene/scene_keys.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "urto/file/spelling.h"
#include "urto/stepper/option_table.h"

namespace urto::scene {
namespace {

using Word = std::string_view;

constexpr Word scene_keys[] = {
    "$schema", "urto",      "title",     "description", "units",           "parameters",
    "include", "gravity",   "materials", "bodies",      "material_pairs",  "markers",
    "joints",  "couplings", "gears",     "motors",      "rack_and_pinion", "limits",
    "forces",  "frictions", "watch",     "simulation",  "mixing",          "exclude",
    "meshes",  "circuit",   "equations", "integrator"};
constexpr Word text_keys[] = {"$schema",    "anchor",      "bodies",    "body",    "collides_with",
                              "coordinate", "description", "exclude",   "file",    "ignores",
                              "include",    "joint",       "joints",    "layers",  "marker",
                              "markers",    "material",    "materials", "mesh",    "name",
                              "pinion",     "rack",        "solver",    "stepper", "title",
                              "watch",      "ground",      "nodes",     "states"};
constexpr Word material_keys[] = {"friction",          "static_friction",   "stribeck_speed",
                                  "stribeck_exponent", "restitution",       "restitution_threshold",
                                  "rolling_friction",  "spinning_friction", "stiffness",
                                  "damping",           "cohesion",          "cohesion_range"};
constexpr Word material_pair_keys[] = {"materials",
                                       "friction",
                                       "static_friction",
                                       "stribeck_speed",
                                       "stribeck_exponent",
                                       "restitution",
                                       "restitution_threshold",
                                       "rolling_friction",
                                       "spinning_friction",
                                       "stiffness",
                                       "damping",
                                       "cohesion",
                                       "cohesion_range"};
constexpr Word mixing_keys[] = {"friction",         "restitution",       "restitution_threshold",
                                "rolling_friction", "spinning_friction", "cohesion",
                                "cohesion_range"};
constexpr Word body_keys[] = {
    "name",       "kind",       "position", "rotation",       "velocity", "angular_velocity",
    "mass",       "inertia",    "density",  "center_of_mass", "shapes",   "motion",
    "gyroscopic", "continuous", "layers",   "collides_with",  "ignores"};
constexpr Word motion_keys[] = {"position", "axis", "angle"};
constexpr Word axis_angle_keys[] = {"axis", "angle", "degrees"};
constexpr Word marker_keys[] = {"name", "body", "position", "rotation", "z"};

constexpr Word sphere_keys[] = {"kind",     "radius", "position",      "rotation", "material",
                                "collides", "layers", "collides_with", "ignores"};
constexpr Word box_keys[] = {"kind",     "size",   "position",      "rotation", "material",
                             "collides", "layers", "collides_with", "ignores",  "margin"};
constexpr Word cylinder_keys[] = {"kind",          "radius",   "length",   "position",
                                  "rotation",      "material", "collides", "layers",
                                  "collides_with", "ignores",  "margin"};
constexpr Word capsule_keys[] = {"kind",     "radius",   "length", "position",      "rotation",
                                 "material", "collides", "layers", "collides_with", "ignores"};
constexpr Word cone_keys[] = {"kind",          "radius",   "height",   "position",
                              "rotation",      "material", "collides", "layers",
                              "collides_with", "ignores",  "margin"};
constexpr Word ellipsoid_keys[] = {"kind",     "radii",  "position",      "rotation", "material",
                                   "collides", "layers", "collides_with", "ignores"};
constexpr Word half_space_keys[] = {"kind",     "position", "rotation",      "material",
                                    "collides", "layers",   "collides_with", "ignores"};
constexpr Word hull_keys[] = {"kind",          "points",   "mesh",     "file",     "scale",
                              "position",      "rotation", "material", "collides", "layers",
                              "collides_with", "ignores",  "margin"};
constexpr Word mesh_keys[] = {"kind",     "vertices", "triangles",     "mesh",     "file",
                              "scale",    "flip",     "position",      "rotation", "material",
                              "collides", "layers",   "collides_with", "ignores"};
constexpr Word height_field_keys[] = {"kind",     "heights",  "file",          "spacing",
                                      "size",     "position", "rotation",      "material",
                                      "collides", "layers",   "collides_with", "ignores"};
constexpr Word mesh_data_keys[] = {"vertices", "triangles", "file"};

constexpr Word joint_keys[] = {"name",    "kind",   "markers",     "bodies", "position",  "axis",
                               "x_axis",  "points", "length",      "pitch",  "stiffness", "damping",
                               "collide", "limits", "restitution", "motor",  "friction"};
constexpr Word joint_limit_keys[] = {"lower", "upper", "restitution", "stiffness", "damping"};
constexpr Word joint_motor_keys[] = {"name",      "coordinate", "mode",   "value",
                                     "max_force", "stiffness",  "damping"};
constexpr Word motor_keys[] = {"name",  "joint",     "coordinate", "mode",
                               "value", "max_force", "stiffness",  "damping"};
constexpr Word limit_keys[] = {"name",  "joint",       "coordinate", "lower",
                               "upper", "restitution", "stiffness",  "damping"};
constexpr Word friction_keys[] = {"name", "joint", "coordinate", "bound"};
constexpr Word coupling_keys[] = {"name", "coordinates", "target", "stiffness", "damping"};
constexpr Word coupling_term_keys[] = {"joint", "coordinate", "factor"};
constexpr Word gear_keys[] = {"name", "joints", "ratio", "stiffness", "damping"};
constexpr Word rack_keys[] = {"name", "pinion", "rack", "radius", "stiffness", "damping"};

constexpr Word function_keys[] = {"polynomial", "harmonic", "step", "table", "spline"};
constexpr Word harmonic_keys[] = {"amplitude", "frequency", "phase", "offset"};
constexpr Word step_keys[] = {"t0", "t1", "y0", "y1"};

constexpr Word spring_keys[] = {"name",        "kind",      "markers", "bodies", "points",
                                "rest_length", "stiffness", "damping", "preload"};
constexpr Word torsion_spring_keys[] = {"name", "kind",      "joint",   "coordinate",
                                        "rest", "stiffness", "damping", "preload"};
constexpr Word bushing_keys[] = {"name", "kind",   "markers",   "bodies", "position",
                                 "axis", "x_axis", "stiffness", "damping"};
constexpr Word load_keys[] = {"name",  "kind",  "body",   "marker",
                              "point", "force", "torque", "follows"};
constexpr Word central_gravity_keys[] = {"name", "kind", "center", "strength"};
constexpr Word drag_keys[] = {"name", "kind", "body", "linear", "angular"};

constexpr Word grid_keys[] = {"generate", "name", "count", "spacing", "origin", "body", "links"};
constexpr Word grid_links_keys[] = {"stiffness", "damping"};
constexpr Word packing_keys[] = {"generate", "name", "count",   "box",
                                 "radius",   "seed", "density", "material"};
constexpr Word chain_keys[] = {"generate",    "name",   "count", "from",    "direction",
                               "link_length", "radius", "shape", "density", "material",
                               "joint",       "axis",   "anchor"};

constexpr Word circuit_keys[] = {"ground", "components"};
constexpr Word resistor_keys[] = {"name", "kind", "nodes", "resistance"};
constexpr Word capacitor_keys[] = {"name", "kind", "nodes", "capacitance", "voltage"};
constexpr Word inductor_keys[] = {"name", "kind", "nodes", "inductance", "current"};
constexpr Word diode_keys[] = {"name", "kind", "nodes", "drop", "resistance"};
constexpr Word zener_keys[] = {"name", "kind", "nodes", "breakdown", "drop", "resistance"};
constexpr Word voltage_source_keys[] = {"name", "kind", "nodes", "voltage"};
constexpr Word current_source_keys[] = {"name", "kind", "nodes", "current"};
constexpr Word circuit_switch_keys[] = {"name", "kind", "nodes", "closed", "resistance"};
constexpr Word comparator_keys[] = {"name", "kind", "nodes", "low", "high", "gain"};
constexpr Word transistor_keys[] = {"name",       "kind",         "nodes",       "drop",
                                    "resistance", "beta_forward", "beta_reverse"};
constexpr Word pulse_keys[] = {"low", "high", "period", "duty", "delay"};
constexpr Word equations_keys[] = {"states", "start", "M", "A", "b", "B", "C", "D", "e", "laws"};
constexpr Word law_keys[] = {"name", "kind", "lower", "upper"};
constexpr Word integrator_keys[] = {
    "scheme", "theta", "gamma", "use_gamma", "use_gamma_for_relation", "midpoint"};

constexpr Word component_kinds[] = {
    "resistor",       "capacitor", "inductor",   "diode", "zener", "voltage-source",
    "current-source", "switch",    "comparator", "npn",   "pnp"};
constexpr Word law_kinds[] = {"complementarity", "relay", "equality"};
constexpr Word first_order_schemes[] = {"euler-moreau", "zero-order", "explicit"};

constexpr Word mixing_rules[] = {"minimum", "maximum", "average", "geometric", "multiply"};
constexpr Word body_kinds[] = {"dynamic", "fixed", "kinematic"};
constexpr Word shape_kinds[] = {"sphere",    "box",        "cylinder", "capsule", "cone",
                                "ellipsoid", "half-space", "hull",     "mesh",    "height-field"};
constexpr Word joint_kinds[] = {"fixed",         "revolute",       "prismatic", "cylindrical",
                                "spherical",     "universal",      "planar",    "screw",
                                "point-on-line", "point-on-plane", "distance",  "free"};
constexpr Word force_kinds[] = {"spring", "torsion-spring",  "bushing",
                                "load",   "central-gravity", "drag"};
constexpr Word generators[] = {"grid", "packing", "chain"};
constexpr Word chain_joints[] = {"revolute", "spherical"};
constexpr Word motor_modes[] = {"position", "speed", "force"};

}  // namespace

namespace keys {
const KeyTable scene{"scene", "a scene", scene_keys};
const KeyTable material{"material", "a material", material_keys};
const KeyTable material_pair{"material-pair", "a material pair", material_pair_keys};
const KeyTable mixing{"mixing", "the mixing rules", mixing_keys};
const KeyTable body{"body", "a body", body_keys};
const KeyTable motion{"motion", "a motion", motion_keys};
const KeyTable axis_angle{"axis-angle", "a rotation", axis_angle_keys};
const KeyTable marker{"marker", "a marker", marker_keys};
const KeyTable sphere{"sphere", "a sphere", sphere_keys};
const KeyTable box{"box", "a box", box_keys};
const KeyTable cylinder{"cylinder", "a cylinder", cylinder_keys};
const KeyTable capsule{"capsule", "a capsule", capsule_keys};
const KeyTable cone{"cone", "a cone", cone_keys};
const KeyTable ellipsoid{"ellipsoid", "an ellipsoid", ellipsoid_keys};
const KeyTable half_space{"half-space", "a half-space", half_space_keys};
const KeyTable hull{"hull", "a hull", hull_keys};
const KeyTable mesh{"mesh", "a mesh", mesh_keys};
const KeyTable height_field{"height-field", "a height field", height_field_keys};
const KeyTable mesh_data{"mesh-data", "the data of a mesh", mesh_data_keys};
const KeyTable joint{"joint", "a joint", joint_keys};
const KeyTable joint_limit{"joint-limit", "a limit", joint_limit_keys};
const KeyTable joint_motor{"joint-motor", "a joint's motor", joint_motor_keys};
const KeyTable motor{"motor", "a motor", motor_keys};
const KeyTable limit{"limit", "a limit", limit_keys};
const KeyTable friction{"friction", "a joint friction", friction_keys};
const KeyTable coupling{"coupling", "a coupling", coupling_keys};
const KeyTable coupling_term{"coupling-term", "a coupled coordinate", coupling_term_keys};
const KeyTable gear{"gear", "a gear", gear_keys};
const KeyTable rack_and_pinion{"rack-and-pinion", "a rack and pinion", rack_keys};
const KeyTable function{"function-of-time", "a function of time", function_keys};
const KeyTable harmonic{"harmonic", "a harmonic function", harmonic_keys};
const KeyTable step{"step", "a step function", step_keys};
const KeyTable spring{"spring", "a spring", spring_keys};
const KeyTable torsion_spring{"torsion-spring", "a torsion spring", torsion_spring_keys};
const KeyTable bushing{"bushing", "a bushing", bushing_keys};
const KeyTable load{"load", "a load", load_keys};
const KeyTable central_gravity{"central-gravity", "a central gravity", central_gravity_keys};
const KeyTable drag{"drag", "a drag", drag_keys};
const KeyTable grid{"grid", "a grid", grid_keys};
const KeyTable grid_links{"grid-links", "the links of a grid", grid_links_keys};
const KeyTable packing{"packing", "a packing", packing_keys};
const KeyTable chain{"chain", "a chain", chain_keys};
const KeyTable circuit{"circuit", "a circuit", circuit_keys};
const KeyTable resistor{"resistor", "a resistor", resistor_keys};
const KeyTable capacitor{"capacitor", "a capacitor", capacitor_keys};
const KeyTable inductor{"inductor", "an inductor", inductor_keys};
const KeyTable diode{"diode", "a diode", diode_keys};
const KeyTable zener{"zener", "a Zener diode", zener_keys};
const KeyTable voltage_source{"voltage-source", "a voltage source", voltage_source_keys};
const KeyTable current_source{"current-source", "a current source", current_source_keys};
const KeyTable circuit_switch{"switch", "a switch", circuit_switch_keys};
const KeyTable comparator{"comparator", "a comparator", comparator_keys};
const KeyTable transistor{"transistor", "a transistor", transistor_keys};
const KeyTable pulse{"pulse", "a pulse", pulse_keys};
const KeyTable equations{"equations", "equations", equations_keys};
const KeyTable law{"law", "a law", law_keys};
const KeyTable integrator{"integrator", "an integrator", integrator_keys};
const KeyTable simulation{"simulation", "the simulation", simulation_option_keys()};
}  // namespace keys

namespace words {
const WordTable mixing_rule{"mixing-rule", "a mixing rule", mixing_rules};
const WordTable body_kind{"body-kind", "a kind of body", body_kinds};
const WordTable shape_kind{"shape-kind", "a kind of shape", shape_kinds};
const WordTable joint_kind{"joint-kind", "a kind of joint", joint_kinds};
const WordTable force_kind{"force-kind", "a kind of force", force_kinds};
const WordTable generator{"generator-kind", "a generator", generators};
const WordTable chain_joint{"chain-joint", "a chain's joint", chain_joints};
const WordTable motor_mode{"motor-mode", "a motor's mode", motor_modes};
const WordTable component_kind{"component-kind", "a kind of component", component_kinds};
const WordTable law_kind{"law-kind", "a kind of law", law_kinds};
const WordTable first_order_scheme{"first-order-scheme", "a scheme of an integrator",
                                   first_order_schemes};
}  // namespace words

std::span<const KeyTable* const> all_key_tables() {
  using namespace keys;
  static constexpr const KeyTable* all[] = {&scene,
                                            &material,
                                            &material_pair,
                                            &mixing,
                                            &body,
                                            &motion,
                                            &axis_angle,
                                            &marker,
                                            &sphere,
                                            &box,
                                            &cylinder,
                                            &capsule,
                                            &cone,
                                            &ellipsoid,
                                            &half_space,
                                            &hull,
                                            &mesh,
                                            &height_field,
                                            &mesh_data,
                                            &joint,
                                            &joint_limit,
                                            &joint_motor,
                                            &motor,
                                            &limit,
                                            &friction,
                                            &coupling,
                                            &coupling_term,
                                            &gear,
                                            &rack_and_pinion,
                                            &function,
                                            &harmonic,
                                            &step,
                                            &spring,
                                            &torsion_spring,
                                            &bushing,
                                            &load,
                                            &central_gravity,
                                            &drag,
                                            &grid,
                                            &grid_links,
                                            &packing,
                                            &chain,
                                            &circuit,
                                            &resistor,
                                            &capacitor,
                                            &inductor,
                                            &diode,
                                            &zener,
                                            &voltage_source,
                                            &current_source,
                                            &circuit_switch,
                                            &comparator,
                                            &transistor,
                                            &pulse,
                                            &equations,
                                            &law,
                                            &integrator,
                                            &simulation};
  return all;
}

std::span<const WordTable* const> all_word_tables() {
  using namespace words;
  static constexpr const WordTable* all[] = {
      &body_kind,  &shape_kind,  &joint_kind,     &force_kind, &generator,         &chain_joint,
      &motor_mode, &mixing_rule, &component_kind, &law_kind,   &first_order_scheme};
  return all;
}

bool is_text_key(std::string_view key) {
  return contains(text_keys, key);
}

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string suggestion(std::string_view word, std::span<const std::string_view> list) {
  const std::string_view best = nearest_word(word, list);
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

}  // namespace urto::scene
