// Scenes without bodies: circuits by their components, and equations by their matrices.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/firstorder/circuit.h"
#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

/// What a scene without bodies may have beside its own sections.
constexpr std::string_view shared_sections[] = {
    "$schema", "urto",  "title",      "description", "units",     "parameters",
    "include", "watch", "simulation", "circuit",     "equations", "integrator"};
constexpr std::string_view shared_settings[] = {"step", "duration", "output_step", "tolerance",
                                                "stop_on_failure"};
constexpr std::size_t most_states = 20'000;  // of full matrices

Signal read_signal(const Value& v) {
  if (!v.json->is_object() || !v.json->contains("pulse")) return read_function(v);
  if (v.json->size() != 1) fail(v, fmt::format("{} keys", v.json->size()), "\"pulse\" alone");
  const Object o = to_object(v.at("pulse"), keys::pulse);
  Pulse p;
  p.low = number_or(o, "low", p.low);
  p.high = number_or(o, "high", p.high);
  p.period = number_or(o, "period", p.period, positive("s"));
  p.duty = number_or(o, "duty", p.duty, fraction());
  p.delay = number_or(o, "delay", p.delay, non_negative("s"));
  return p;
}

// ---- Circuits

const KeyTable& keys_of(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::resistor:
      return keys::resistor;
    case ComponentKind::capacitor:
      return keys::capacitor;
    case ComponentKind::inductor:
      return keys::inductor;
    case ComponentKind::diode:
      return keys::diode;
    case ComponentKind::zener:
      return keys::zener;
    case ComponentKind::voltage_source:
      return keys::voltage_source;
    case ComponentKind::current_source:
      return keys::current_source;
    case ComponentKind::switch_:
      return keys::circuit_switch;
    case ComponentKind::comparator:
      return keys::comparator;
    case ComponentKind::npn:
    case ComponentKind::pnp:
      break;
  }
  return keys::transistor;
}

void read_component_values(const Object& o, Component& c) {
  switch (c.kind) {
    case ComponentKind::resistor:
      c.value = to_number(o.at("resistance"), positive("Ω"));
      break;
    case ComponentKind::capacitor:
      c.value = to_number(o.at("capacitance"), positive("F"));
      c.start = number_or(o, "voltage", 0, any("V"));
      break;
    case ComponentKind::inductor:
      c.value = to_number(o.at("inductance"), positive("H"));
      c.start = number_or(o, "current", 0, any("A"));
      break;
    case ComponentKind::zener:
      c.breakdown = to_number(o.at("breakdown"), positive("V"));
      [[fallthrough]];
    case ComponentKind::diode:
      c.drop = number_or(o, "drop", 0, non_negative("V"));
      c.resistance = number_or(o, "resistance", 0, non_negative("Ω"));
      break;
    case ComponentKind::voltage_source:
      c.signal = read_signal(o.at("voltage"));
      break;
    case ComponentKind::current_source:
      c.signal = read_signal(o.at("current"));
      break;
    case ComponentKind::switch_: {
      const Value closed = o.at("closed");
      c.signal = closed.json->is_boolean()
                     ? Signal{Function{ConstantFunction{to_bool(closed) ? 1.0 : 0.0}}}
                     : read_signal(closed);
      c.resistance = number_or(o, "resistance", 0, non_negative("Ω"));
      break;
    }
    case ComponentKind::comparator:
      c.low = number_or(o, "low", c.low, any("V"));
      c.high = number_or(o, "high", c.high, any("V"));
      c.gain = number_or(o, "gain", c.gain, or_infinite(positive()));
      if (!(c.low < c.high))
        fail(o.value, fmt::format("low {} and high {}", c.low, c.high), "low < high");
      break;
    case ComponentKind::npn:
    case ComponentKind::pnp:
      c.drop = number_or(o, "drop", 0, non_negative("V"));
      c.resistance = number_or(o, "resistance", 0, non_negative("Ω"));
      c.beta_forward = number_or(o, "beta_forward", c.beta_forward, positive());
      c.beta_reverse = number_or(o, "beta_reverse", c.beta_reverse, positive());
      break;
  }
}

Component read_component(const Value& v, NameIndex& names, int index) {
  if (!v.json->is_object()) fail(v, "an object, a component");
  if (!v.json->contains("kind")) refuse(v, "the key 'kind' is missing in a component");
  Component c;
  c.kind = static_cast<ComponentKind>(to_word(v.at("kind"), words::component_kind));
  const Object o = to_object(v, keys_of(c.kind));
  c.name = take_name(names, o, index);
  const Value nodes = o.at("nodes");
  const int count = terminals(c.kind);
  for (const Value& node : to_items(nodes, fmt::format("the names of {} nodes", count), count))
    c.nodes.push_back(to_name(node));
  read_component_values(o, c);
  return c;
}

void read_circuit(FirstOrderScene& out, const Value& section) {
  const Object o = to_object(section, keys::circuit);
  Circuit circuit;
  if (const auto ground = o.find("ground")) circuit.ground = to_name(*ground);
  NameIndex names{"component"};
  std::vector<std::string> component_names;
  for (const Value& item : to_items(o.at("components"), "an array of components")) {
    circuit.components.push_back(
        read_component(item, names, static_cast<int>(circuit.components.size())));
    component_names.push_back(circuit.components.back().name);
  }
  std::shared_ptr<const CircuitSystem> made;
  try {
    made = std::make_shared<const CircuitSystem>(circuit);
  } catch (const InputError& error) {  // about the net as a whole
    refuse(section, error.what());
  }
  out.system = made->system();
  out.start = made->start();
  out.components = static_cast<int>(circuit.components.size());
  out.quantities = {{"potential", "nodes", "V", made->nodes()},
                    {"current", "components", "A", component_names},
                    {"voltage", "components", "V", component_names}};
  out.values = [made](const FirstOrderState& s, double h) {
    CircuitValues v = made->values({s.t, s.t - 0.5 * h}, s.x, s.lambda);
    return std::vector<std::vector<double>>{std::move(v.potential), std::move(v.current),
                                            std::move(v.voltage)};
  };
}

// ---- Equations

SparseMatrix read_matrix(const Object& o, std::string_view key, Eigen::Index rows,
                         Eigen::Index columns) {
  SparseMatrix out(rows, columns);
  const auto v = o.find(key);
  if (!v) return out;
  std::vector<Eigen::Triplet<double>> entries;
  const std::string expected = fmt::format("{} rows of {} numbers", rows, columns);
  int r = 0;
  for (const Value& row : to_items(*v, expected, static_cast<int>(rows))) {
    int c = 0;
    for (const Value& x : to_items(row, expected, static_cast<int>(columns))) {
      const double value = to_number(x);
      if (value != 0) entries.emplace_back(r, c, value);
      ++c;
    }
    ++r;
  }
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

std::vector<Signal> read_signals(const Object& o, std::string_view key, Eigen::Index count) {
  std::vector<Signal> out;
  const auto v = o.find(key);
  if (!v) return out;
  const std::string expected = fmt::format("{} numbers or functions of time", count);
  for (const Value& item : to_items(*v, expected, static_cast<int>(count)))
    out.push_back(read_signal(item));
  return out;
}

Vector values_of(const std::vector<Signal>& signals, const Moment& now) {
  Vector out(static_cast<Eigen::Index>(signals.size()));
  for (std::size_t i = 0; i < signals.size(); ++i)
    out[static_cast<Eigen::Index>(i)] = value(signals[i], now);
  return out;
}

MultiplierBounds read_law(const Object& o) {
  MultiplierBounds out;
  switch (to_word(o.at("kind"), words::law_kind)) {
    case 1:
      out = relay_law();
      break;
    case 2:
      out = equality_law();
      break;
    default:
      break;
  }
  out.lower = number_or(o, "lower", out.lower, or_infinite(any()));
  out.upper = number_or(o, "upper", out.upper, or_infinite(any()));
  if (!(out.lower <= out.upper))
    fail(o.value, fmt::format("lower {} and upper {}", out.lower, out.upper), "lower ≤ upper");
  return out;
}

void read_equations(FirstOrderScene& out, const Value& section) {
  const Object o = to_object(section, keys::equations);
  NameIndex states{"state"}, laws{"law"};
  std::vector<std::string> state_names, law_names;
  for (const Value& item : to_items(o.at("states"), "an array of names")) {
    state_names.push_back(
        take_name(states, item, to_name(item), static_cast<int>(state_names.size())));
  }
  if (state_names.size() > most_states)
    refuse(o.at("states"), fmt::format("more than {} states", most_states));
  if (const auto list = o.find("laws")) {
    for (const Value& item : to_items(*list, "an array of laws")) {
      const Object law = to_object(item, keys::law);
      law_names.push_back(take_name(laws, law, static_cast<int>(law_names.size())));
      out.system.laws.push_back(read_law(law));
    }
  }
  const auto n = static_cast<Eigen::Index>(state_names.size());
  const auto m = static_cast<Eigen::Index>(law_names.size());
  out.system.states = static_cast<int>(n);
  out.start = Vector::Zero(n);
  if (const auto start = o.find("start")) {
    const std::vector<double> x = to_numbers(*start, static_cast<int>(n));
    std::ranges::copy(x, out.start.data());
  }
  if (o.has("M")) out.system.mass = read_matrix(o, "M", n, n);
  const std::vector<Signal> b = read_signals(o, "b", n), e = read_signals(o, "e", m);
  out.system.field = driven_field(read_matrix(o, "A", n, n), [b, n](const Moment& now) {
    return b.empty() ? Vector(Vector::Zero(n)) : values_of(b, now);
  });
  out.system.relation = linear_relation(
      [constant = LinearRelation{read_matrix(o, "C", m, n), read_matrix(o, "D", m, m),
                                 read_matrix(o, "B", n, m)},
       e](const Moment& now) {
        LinearRelation at = constant;
        if (!e.empty()) at.e = values_of(e, now);
        return at;
      });
  std::vector<Signal> jumping = b;
  jumping.insert(jumping.end(), e.begin(), e.end());
  std::erase_if(jumping, [](const Signal& s) { return std::holds_alternative<Function>(s); });
  if (!jumping.empty()) {
    out.system.next_jump = [jumping](double t) {
      double first = std::numeric_limits<double>::infinity();
      for (const Signal& s : jumping) first = std::min(first, next_jump(s, t));
      return first;
    };
  }
  out.quantities = {{"value", "states", "–", state_names},
                    {"multiplier", "laws", "–", law_names},
                    {"output", "laws", "–", law_names}};
  out.values = [](const FirstOrderState& s, double) {
    const auto numbers = [](const Vector& v) {
      return std::vector<double>(v.data(), v.data() + v.size());
    };
    return std::vector<std::vector<double>>{numbers(s.x), numbers(s.lambda), numbers(s.y)};
  };
}

void read_integrator(FirstOrderOptions& out, const Object& scene) {
  const auto section = scene.find("integrator");
  if (!section) return;
  const Object o = to_object(*section, keys::integrator);
  if (const auto scheme = o.find("scheme"))
    out.scheme = static_cast<FirstOrderScheme>(to_word(*scheme, words::first_order_scheme));
  out.theta = number_or(o, "theta", out.theta, fraction());
  out.gamma = number_or(o, "gamma", out.gamma, fraction());
  out.use_gamma = bool_or(o, "use_gamma", out.use_gamma);
  out.use_gamma_for_relation = bool_or(o, "use_gamma_for_relation", out.use_gamma_for_relation);
  out.midpoint = bool_or(o, "midpoint", out.midpoint);
}

}  // namespace

bool has_first_order(const Object& scene) {
  return scene.has("circuit") || scene.has("equations") || scene.has("integrator");
}

void read_first_order(Scene& out, const Object& scene) {
  for (const auto& [key, unused] : scene.value.json->items()) {
    if (contains(shared_sections, key)) continue;
    refuse(scene.at(key), fmt::format("'{}' stands beside a circuit or equations, which have no "
                                      "bodies",
                                      key));
  }
  if (scene.has("circuit") == scene.has("equations")) {
    refuse(scene.value, scene.has("circuit")
                            ? "found 'circuit' and 'equations', expected one of them"
                            : "found 'integrator', expected 'circuit' or 'equations' beside it");
  }
  if (const auto settings = scene.find("simulation"); settings && settings->json->is_object()) {
    for (const auto& [key, unused] : settings->json->items()) {
      if (contains(shared_settings, key) || !contains(keys::simulation.keys, key)) continue;
      refuse(settings->at(key),
             fmt::format("'{}' is a setting of scenes with bodies (those of a circuit or of "
                         "equations: {}, and the section 'integrator')",
                         key, fmt::join(shared_settings, ", ")));
    }
  }
  FirstOrderScene made;
  if (const auto circuit = scene.find("circuit")) read_circuit(made, *circuit);
  if (const auto equations = scene.find("equations")) read_equations(made, *equations);
  read_integrator(made.options, scene);
  out.first_order = std::move(made);
}

void read_first_order_watch(Scene& out, const Object& scene) {
  const auto list = scene.find("watch");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of quantities")) {
    const std::string text = to_text(item);
    const std::size_t dot = text.rfind('.');
    const std::string thing = text.substr(0, dot);
    const std::string quantity = dot == std::string::npos ? "" : text.substr(dot + 1);
    std::vector<std::string> of_thing;
    for (const FirstOrderQuantity& q : out.first_order->quantities) {
      if (std::ranges::find(q.items, thing) != q.items.end()) of_thing.push_back(q.name);
    }
    if (of_thing.empty())
      fail(item, "\"name.quantity\" with a component, node, state or law of the scene");
    if (std::ranges::find(of_thing, quantity) == of_thing.end())
      fail(item, fmt::format("'{}' with one of: {}", thing, fmt::join(of_thing, ", ")));
    out.watch.push_back(text);
  }
}

}  // namespace urto::scene
