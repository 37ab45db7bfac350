// Scenes without bodies: circuits and equations.
#include <cmath>

#include "scene_samples.h"

namespace urto {
namespace {

using namespace samples;

std::string circuit_text(const std::string& components, const std::string& rest = "") {
  return scene_text(R"("circuit": {"components": [)" + components + "]}" +
                    (rest.empty() ? "" : ", " + rest));
}

constexpr const char* loop =
    R"({"name": "V", "kind": "voltage-source", "nodes": ["a", "0"], "voltage": 6},
       {"name": "R", "kind": "resistor", "nodes": ["a", "0"], "resistance": "=2*k"})";

/// The quantities of a first step.
std::vector<std::vector<double>> first_values(const Scene& scene) {
  const FirstOrderScene& s = *scene.first_order;
  FirstOrderSimulation run(s.system, s.options, {scene.options.step, scene.options.duration, 1e-10},
                           s.start);
  EXPECT_TRUE(run.advance()) << run.failure();
  return s.values(run.state(), run.report().h);
}

TEST(CircuitScene, KnowsItsComponentsNodesAndUnits) {
  const Scene scene = parsed(circuit_text(loop, R"("parameters": {"k": 100})"));
  ASSERT_TRUE(scene.first_order.has_value());
  const FirstOrderScene& s = *scene.first_order;
  EXPECT_EQ(s.components, 2);
  ASSERT_EQ(s.quantities.size(), 3u);
  EXPECT_EQ(s.quantities[0].name, "potential");
  EXPECT_EQ(s.quantities[0].items, std::vector<std::string>{"a"});
  EXPECT_EQ(s.quantities[1].items, (std::vector<std::string>{"V", "R"}));
  EXPECT_EQ(s.quantities[1].unit, "A");
  const auto values = first_values(scene);
  EXPECT_NEAR(values[0][0], 6, 1e-14);
  EXPECT_NEAR(values[1][1], 0.03, 1e-16);
  EXPECT_NEAR(values[1][0], -0.03, 1e-16);  // into its positive pole
}

// Every kind with every key, and their numbers arrive.
TEST(CircuitScene, ReadsEveryKindOfComponent) {
  const Scene scene = parsed(circuit_text(R"(
    {"kind": "voltage-source", "nodes": ["a", "0"],
     "voltage": {"pulse": {"low": -1, "high": 4, "period": 0.5, "duty": 0.25, "delay": 0.1}}},
    {"kind": "current-source", "nodes": ["0", "a"], "current": {"harmonic": {"amplitude": 2}}},
    {"kind": "resistor", "nodes": ["a", "b"], "resistance": 3},
    {"kind": "capacitor", "nodes": ["b", "0"], "capacitance": 0.5, "voltage": 2},
    {"kind": "inductor", "nodes": ["b", "0"], "inductance": 0.25, "current": -1},
    {"kind": "diode", "nodes": ["b", "0"], "drop": 0.6, "resistance": 1},
    {"kind": "zener", "nodes": ["b", "0"], "breakdown": 5, "drop": 0.7, "resistance": 2},
    {"kind": "switch", "nodes": ["a", "0"], "closed": false, "resistance": 0.1},
    {"kind": "comparator", "nodes": ["a", "b", "c"], "low": -3, "high": 3, "gain": 1000},
    {"kind": "resistor", "nodes": ["c", "0"], "resistance": 1},
    {"kind": "npn", "nodes": ["a", "b", "0"], "beta_forward": 50, "beta_reverse": 2},
    {"kind": "pnp", "nodes": ["a", "b", "0"], "drop": 0.7, "resistance": 1})"));
  const FirstOrderSystem& s = scene.first_order->system;
  EXPECT_EQ(s.states, 2);
  EXPECT_EQ(scene.first_order->start[0], 2);
  EXPECT_EQ(scene.first_order->start[1], -1);
  EXPECT_EQ(s.mass.coeff(0, 0), 0.5);
  EXPECT_EQ(s.mass.coeff(1, 1), 0.25);
  EXPECT_EQ(s.next_jump(0), 0.1);
  EXPECT_EQ(s.next_jump(0.1), 0.1 + 0.125);
  EXPECT_EQ(s.next_jump(0.3), 0.6);
  // nodes a, b, c; voltage source, capacitor, diode, zener, switch, comparator, two transistors
  EXPECT_EQ(s.rows(), 3 + 1 + 1 + 1 + 2 + 1 + 2 + 2 + 2);
  EXPECT_EQ(s.laws[7].lower, -5);
  EXPECT_EQ(s.laws[7].upper, 0.7);
  EXPECT_EQ(scene.first_order->quantities[1].items[0], "component-0");
}

TEST(CircuitScene, ErrorsNameTheirPlace) {
  const auto says = [](const std::string& text, const std::string& part) {
    const std::string message = message_of(text);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const auto one = [](const std::string& component) {
    return circuit_text(component +
                        R"(, {"kind": "resistor", "nodes": ["a", "0"], "resistance": 1})");
  };
  says(
      one(R"({"kind": "resistr", "nodes": ["a", "0"]})"),
      "/circuit/components/0/kind: 'resistr' is not a kind of component, did you mean 'resistor'?");
  says(one(R"({"kind": "resistor", "nodes": ["a", "0"], "resistance": 0})"),
       "/circuit/components/0/resistance: found 0");
  says(one(R"({"kind": "resistor", "nodes": ["a", "0"]})"), "the key 'resistance' is missing");
  says(one(R"({"kind": "diode", "nodes": ["a", "0"], "capacitance": 1})"),
       "unknown key 'capacitance' in a diode");
  says(one(R"({"kind": "diode", "nodes": ["a"]})"), "the names of 2 nodes");
  says(one(R"({"kind": "npn", "nodes": ["a", "0"]})"), "the names of 3 nodes");
  says(one(R"({"nodes": ["a", "0"]})"), "the key 'kind' is missing");
  says(one(R"({"name": "D", "kind": "diode", "nodes": ["a", "0"]},
              {"name": "D", "kind": "diode", "nodes": ["a", "0"]})"),
       "/circuit/components/1");
  says(circuit_text(R"({"name": "R", "kind": "resistor", "nodes": ["a", "0"], "resistance": 1})"),
       "node 'a': found only a terminal of 'R'");
  says(circuit_text(R"({"kind": "resistor", "nodes": ["a", "b"], "resistance": 1},
                       {"kind": "resistor", "nodes": ["a", "b"], "resistance": 1})"),
       "ground '0'");
  says(circuit_text(""), "at least one");
  says(one(R"({"kind": "voltage-source", "nodes": ["a", "0"], "voltage": {"pulse": {"duty": 2}}})"),
       "/circuit/components/0/voltage/pulse/duty: found 2");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "bodies": [])"),
       "/bodies: 'bodies' stands beside a circuit");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "simulation": {"friction": "exact"})"),
       "/simulation/friction: 'friction' is a setting of scenes with bodies");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "watch": ["R.potential"])"),
       "'R' with one of: current, voltage");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "watch": ["Q.current"])"), "/watch/0");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "integrator": {"theta": 2})"),
       "/integrator/theta: found 2");
  says(circuit_text(loop, R"("parameters": {"k": 1}, "equations": {"states": []})"),
       "expected one of them");
  says(scene_text(R"("integrator": {})"), "expected 'circuit' or 'equations'");
}

TEST(EquationsScene, ReadsItsMatrices) {
  const Scene scene = parsed(scene_text(R"("equations": {
    "states": ["x", "v"], "start": [1, 2], "M": [[2, 0], [0, 4]], "A": [[0, 1], ["=-3", 0]],
    "b": [0.5, {"harmonic": {"amplitude": 2}}], "B": [[0, 1], [5, 0]], "C": [[1, 0], [0, 2]],
    "D": [[0, 0.5], [0, 0]], "e": [7, 8],
    "laws": [{"name": "u", "kind": "relay", "lower": -2}, {"kind": "complementarity"}]},
    "integrator": {"scheme": "euler-moreau", "theta": 0.5, "gamma": 0.25, "use_gamma": true,
                   "midpoint": true})"));
  const FirstOrderScene& s = *scene.first_order;
  const Moment now{0.25, 0.25};
  const RelationPoint at = relation_at(s.system, now, s.start, Eigen::Vector2d(3, 4));
  EXPECT_EQ(at.y, Eigen::Vector2d(1 + 0.5 * 4 + 7, 4 + 8));
  EXPECT_EQ(at.r, Eigen::Vector2d(4, 15));
  const Vector f = field_at(s.system, now, s.start);
  EXPECT_EQ(f[0], 2.5);
  EXPECT_NEAR(f[1], -3 + 2, 1e-15);
  EXPECT_EQ(s.system.mass.coeff(1, 1), 4);
  EXPECT_EQ(s.system.laws[0].lower, -2);
  EXPECT_EQ(s.system.laws[0].upper, 1);
  EXPECT_TRUE(std::isinf(s.system.laws[1].upper));
  EXPECT_EQ(s.options.gamma, 0.25);
  EXPECT_TRUE(s.options.use_gamma);
  EXPECT_TRUE(s.options.midpoint);
  EXPECT_EQ(s.quantities[1].items, (std::vector<std::string>{"u", "law-1"}));
}

TEST(EquationsScene, ErrorsNameTheirPlace) {
  const auto says = [](const std::string& equations, const std::string& part) {
    const std::string message = message_of(scene_text("\"equations\": {" + equations + "}"));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(R"("states": ["x"], "A": [[1, 2]])",
       "/equations/A/0: found [1,2], expected 1 rows of 1 numbers");
  says(R"("states": ["x"], "start": [1, 2])", "/equations/start");
  says(R"("states": ["x", "x"])", "/equations/states/1");
  says(R"("A": [[1]])", "the key 'states' is missing");
  says(R"("states": ["x"], "laws": [{"kind": "relais"}])", "/equations/laws/0/kind");
  says(R"("states": ["x"], "laws": [{"kind": "relay", "lower": 3}])", "lower ≤ upper");
  says(R"("states": ["x"], "M": [["a"]])", "/equations/M/0/0");
}

// What a result keeps of a scene is a scene that gives the same.
TEST(CircuitScene, ExpandsToItself) {
  const Scene scene =
      parsed(circuit_text(loop, R"("parameters": {"k": 100}, "watch": ["a.potential"])"));
  const Scene again = parsed(scene.normalized_json);
  EXPECT_EQ(again.normalized_json, scene.normalized_json);
  EXPECT_EQ(first_values(again), first_values(scene));
  EXPECT_EQ(again.watch, std::vector<std::string>{"a.potential"});
}

TEST(CircuitScene, TakesOverrides) {
  const Scene scene = parsed(circuit_text(loop, R"("parameters": {"k": 1}, "integrator": {})"),
                             {"k=10", "circuit.components.V.voltage=3", "integrator.theta=0.5"});
  EXPECT_NEAR(first_values(scene)[1][1], 3. / 20, 1e-15);
  EXPECT_EQ(scene.first_order->options.theta, 0.5);
}

}  // namespace
}  // namespace urto
