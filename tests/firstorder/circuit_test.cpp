// Circuits against closed forms, and against an integration that shares nothing with the stepper.
#include "urto/firstorder/circuit.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "run_first_order.h"
#include "urto/error.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;
constexpr FirstOrderOptions trapezoidal{.theta = 0.5, .gamma = 0.5, .use_gamma = true};

using Kind = ComponentKind;

Component part(std::string name, Kind kind, std::vector<std::string> nodes, double value = 0) {
  return {.name = std::move(name), .kind = kind, .nodes = std::move(nodes), .value = value};
}
Component constant_source(std::string name, std::vector<std::string> nodes, double volts) {
  Component c = part(std::move(name), Kind::voltage_source, std::move(nodes));
  c.signal = Function{ConstantFunction{volts}};
  return c;
}
Component sine_source(std::string name, std::vector<std::string> nodes, double amplitude,
                      double frequency, double phase = 0) {
  Component c = part(std::move(name), Kind::voltage_source, std::move(nodes));
  c.signal =
      Function{HarmonicFunction{.amplitude = amplitude, .frequency = frequency, .phase = phase}};
  return c;
}
Component starting(Component c, double at) {
  c.start = at;
  return c;
}

/// Runs, and gives the values of every step.
struct Sample {
  double t = 0;
  CircuitValues values;
};
std::vector<Sample> simulate(const CircuitSystem& circuit, const FirstOrderOptions& options,
                             const FirstOrderSpan& span) {
  std::vector<Sample> out;
  FirstOrderSimulation run(circuit.system(), options, span, circuit.start());
  while (run.advance()) {
    const FirstOrderState& s = run.state();
    out.push_back({s.t, circuit.values({s.t, s.t - 0.5 * run.report().h}, s.x, s.lambda)});
    EXPECT_LE(run.report().residuals.law, 1e-12) << "t = " << s.t;
  }
  EXPECT_TRUE(run.finished()) << run.failure();
  EXPECT_EQ(run.missed(), 0) << "worst residual " << run.worst_residual();
  return out;
}

// ---- RLC with a diode: V — R — L — diode — C. The current is half a damped sine, then the diode
// holds the capacitor at V (1 + e^{−δπ/ω}).
struct RlcWithDiode {
  double V = 10, R = 2, L = 1e-3, C = 1e-5;
  double delta = R / (2 * L), omega = std::sqrt(1 / (L * C) - delta * delta);

  CircuitSystem circuit() const {
    return CircuitSystem(
        {{constant_source("V", {"in", "0"}, V), part("R", Kind::resistor, {"in", "a"}, R),
          part("L", Kind::inductor, {"a", "b"}, L), part("D", Kind::diode, {"b", "c"}),
          part("C", Kind::capacitor, {"c", "0"}, C)}});
  }
  double current(double t) const {
    return t < pi / omega ? V / (L * omega) * std::exp(-delta * t) * std::sin(omega * t) : 0;
  }
  double charge(double t) const {
    const double s = std::min(t, pi / omega);
    return V *
           (1 - std::exp(-delta * s) * (std::cos(omega * s) + delta / omega * std::sin(omega * s)));
  }
};

TEST(Circuit, ResonantChargeThroughADiodeStopsAtItsClosedForm) {
  const RlcWithDiode ex;
  const CircuitSystem circuit = ex.circuit();
  const double T = 1.5 * pi / ex.omega;
  const auto error = [&](const FirstOrderOptions& o, double h) {
    double worst = 0;
    for (const Sample& s : simulate(circuit, o, {.step = h, .duration = T, .tolerance = 1e-12})) {
      worst = std::max(worst, std::abs(s.values.voltage[4] - ex.charge(s.t)));
      EXPECT_GE(s.values.current[3], 0);
      if (s.t > 1.1 * pi / ex.omega) {
        EXPECT_NEAR(s.values.current[3], 0, 1e-12);
      }
    }
    return worst;
  };
  EXPECT_NEAR(std::log2(error({}, T / 1000) / error({}, T / 2000)), 1, 0.1);
  // The trapezoidal rule keeps its order up to the diode's closing, whose place in its step it
  // does not know.
  EXPECT_LT(error(trapezoidal, T / 1000), 2e-4 * ex.V);
  EXPECT_NEAR(simulate(circuit, trapezoidal, {.step = T / 4000, .duration = T, .tolerance = 1e-12})
                  .back()
                  .values.voltage[4],
              ex.V * (1 + std::exp(-ex.delta * pi / ex.omega)), 1e-4);
}

// ---- The diode bridge of the Siconos platform (L = 10 mH, C = 1 µF, R = 1 kΩ, v_C(0) = 10 V): an
// LC oscillator rectified into a resistor. To the oscillator four ideal diodes and a resistor are a
// resistor: v̈ + v̇/(RC) + v/(LC) = 0, and the load has |v|.
TEST(Circuit, RectifiedOscillatorIsADampedOne) {
  const double L = 1e-2, C = 1e-6, R = 1e3, v0 = 10;
  const CircuitSystem circuit(
      {{part("L", Kind::inductor, {"a", "0"}, L),
        starting(part("C", Kind::capacitor, {"a", "0"}, C), v0),
        part("D1", Kind::diode, {"a", "p"}), part("D2", Kind::diode, {"0", "p"}),
        part("D3", Kind::diode, {"n", "a"}), part("D4", Kind::diode, {"n", "0"}),
        part("R", Kind::resistor, {"p", "n"}, R)}});
  const double delta = 1 / (2 * R * C), omega = std::sqrt(1 / (L * C) - delta * delta);
  const double T = 5e-3;
  const auto exact = [&](double t) {  // v̇(0) = −v₀/(RC)
    return v0 * std::exp(-delta * t) * (std::cos(omega * t) - delta / omega * std::sin(omega * t));
  };
  const auto error = [&](const FirstOrderOptions& o, double h) {
    double worst = 0;
    for (const Sample& s : simulate(circuit, o, {.step = h, .duration = T, .tolerance = 1e-11})) {
      worst = std::max(worst, std::abs(s.values.voltage[1] - exact(s.t)));
      EXPECT_NEAR(s.values.voltage[6], std::abs(s.values.voltage[1]), 1e-9);
    }
    return worst;
  };
  EXPECT_NEAR(std::log2(error({}, 2e-7) / error({}, 1e-7)), 1, 0.1);
  EXPECT_NEAR(std::log2(error(trapezoidal, 2e-6) / error(trapezoidal, 1e-6)), 2, 0.1);
}

// ---- A bridge on the mains with R and C: with ideal diodes the capacitor is at |V sin ωt| until
// tan ωt = −ωRC, falls as e^{−t/RC}, and meets the next half wave.
TEST(Circuit, BridgeRectifierFollowsItsClosedForm) {
  const double V = 12, f = 50, R = 200, C = 1e-4, omega = 2 * pi * f;
  const CircuitSystem circuit(
      {{sine_source("V", {"a", "b"}, V, f), part("D1", Kind::diode, {"a", "p"}),
        part("D2", Kind::diode, {"b", "p"}), part("D3", Kind::diode, {"0", "a"}),
        part("D4", Kind::diode, {"0", "b"}), part("R", Kind::resistor, {"p", "0"}, R),
        part("C", Kind::capacitor, {"p", "0"}, C)}});
  const double leave = (pi - std::atan(omega * R * C)) / omega, half = 0.5 / f;
  const auto exact = [&](double t) {
    const double wave = std::abs(V * std::sin(omega * t));
    const double last = leave + half * std::floor((t - leave) / half);
    if (t < leave) return wave;
    return std::max(wave, V * std::sin(omega * leave) * std::exp(-(t - last) / (R * C)));
  };
  const auto error = [&](double h) {
    double worst = 0;
    for (const Sample& s :
         simulate(circuit, {}, {.step = h, .duration = 0.1, .tolerance = 1e-11})) {
      worst = std::max(worst, std::abs(s.values.voltage[6] - exact(s.t)));
    }
    return worst;
  };
  const double coarse = error(1e-4), fine = error(1e-5);
  EXPECT_LT(coarse, 0.05 * V);
  EXPECT_LT(fine, 0.2 * coarse);
}

// ---- Buck converter: 24 V, 40 % of 20 µs, 100 µH, 47 µF, 5 Ω. The reference switches between its
// topologies itself, by the exponential of each.
struct Buck {
  double V = 24, L = 1e-4, C = 4.7e-5, R = 5;
  Pulse gate{.period = 2e-5, .duty = 0.4};

  CircuitSystem circuit() const {
    Component s = part("S", Kind::switch_, {"in", "x"});
    s.signal = gate;
    return CircuitSystem(
        {{constant_source("V", {"in", "0"}, V), s, part("D", Kind::diode, {"0", "x"}),
          part("L", Kind::inductor, {"x", "out"}, L), part("C", Kind::capacitor, {"out", "0"}, C),
          part("R", Kind::resistor, {"out", "0"}, R)}});
  }
  /// (j, v) after `time` under the source voltage u, by Taylor's series of the exponential; the
  /// diode stops a current that would turn (`free`).
  Eigen::Vector2d flow(Eigen::Vector2d x, double u, double time) const {
    constexpr int parts = 50;
    for (int k = 0; k < parts; ++k) {
      const double h = time / parts;
      Eigen::Vector2d term = h * Eigen::Vector2d((u - x[1]) / L, (x[0] - x[1] / R) / C);
      for (int j = 2; j < 12; ++j) {
        x += term;
        term = h / j * Eigen::Vector2d(-term[1] / L, (term[0] - term[1] / R) / C);
      }
      x += term;
    }
    return x;
  }
  Eigen::Vector2d off(const Eigen::Vector2d& x, double time) const {
    const Eigen::Vector2d end = flow(x, 0, time);
    if (end[0] >= 0) return end;
    double low = 0, high = time;  // the current is gone in between
    while (high - low > 1e-18) {
      const double middle = 0.5 * (low + high);
      if (middle == low || middle == high) break;
      (flow(x, 0, middle)[0] >= 0 ? low : high) = middle;
    }
    return {0, flow(x, 0, low)[1] * std::exp(-(time - low) / (R * C))};
  }
  Eigen::Vector2d reference(int periods) const {
    Eigen::Vector2d x(0, 0);
    for (int k = 0; k < periods; ++k)
      x = off(flow(x, V, gate.duty * gate.period), (1 - gate.duty) * gate.period);
    return x;
  }
  double error(const FirstOrderOptions& o, double h, int periods) const {
    const CircuitSystem c = circuit();
    const FirstOrderState end =
        run_to_end(c.system(), o,
                   {.step = h, .duration = periods * gate.period, .tolerance = 1e-11}, c.start());
    const Eigen::Vector2d exact = reference(periods);  // states: L, C in the order of the netlist
    return std::max(std::abs(end.x[0] - exact[0]) / exact.norm(),
                    std::abs(end.x[1] - exact[1]) / exact.norm());
  }
};

TEST(Circuit, BuckConverterConvergesToItsPiecewiseExponential) {
  const Buck buck;
  EXPECT_NEAR(std::log2(buck.error({}, 4e-7, 50) / buck.error({}, 2e-7, 50)), 1, 0.15);
  // Steps end where the switch turns: the trapezoidal rule keeps its order.
  EXPECT_NEAR(std::log2(buck.error(trapezoidal, 4e-7, 50) / buck.error(trapezoidal, 2e-7, 50)), 2,
              0.3);
  EXPECT_LT(buck.error(trapezoidal, 2e-7, 50), 1e-4);
}

// In the steady state the mean of the inductor's voltage is zero: the output is D V.
TEST(Circuit, BuckConverterGivesItsDutyOfTheSource) {
  const Buck buck;
  const Eigen::Vector2d steady = buck.reference(600);
  EXPECT_NEAR(steady[1], 0.4 * 24, 0.02);
  EXPECT_LT(buck.error(trapezoidal, 4e-7, 600), 1e-4);
}

// 500 Ω: the current of the inductor is gone before the period is over.
TEST(Circuit, BuckConverterRunsDiscontinuously) {
  Buck buck;
  buck.R = 500;
  const double coarse = buck.error({}, 2e-7, 100), fine = buck.error({}, 2.5e-8, 100);
  EXPECT_LT(coarse, 0.1);
  EXPECT_LT(fine, 0.3 * coarse);
}

// ---- A comparator with hysteresis around an RC: the relaxation oscillator, T = 2RC
// ln((1+β)/(1−β)).
TEST(Circuit, RelaxationOscillatorHasItsPeriod) {
  const double R = 1e4, C = 1e-7, beta = 0.5;
  Component u = part("U", Kind::comparator, {"plus", "minus", "out"});
  u.low = -10;
  u.high = 10;
  const CircuitSystem circuit({{u, part("R1", Kind::resistor, {"out", "plus"}, 1e4),
                                part("R2", Kind::resistor, {"plus", "0"}, 1e4),
                                part("R", Kind::resistor, {"out", "minus"}, R),
                                starting(part("C", Kind::capacitor, {"minus", "0"}, C), 1)}});
  const double h = 1e-6;
  std::vector<double> rises;
  double before = 0;
  for (const Sample& s :
       simulate(circuit, trapezoidal, {.step = h, .duration = 0.02, .tolerance = 1e-10})) {
    const double out = s.values.potential[2];
    // It begins at the balance of its inputs, which is a solution, and leaves it as e^{t/RC}.
    if (s.t > 3e-3) {
      EXPECT_NEAR(std::abs(out), 10, 1e-12);
    }
    if (out > 0 && before < 0) rises.push_back(s.t);
    before = out;
  }
  ASSERT_GT(rises.size(), 4u);
  const double period = (rises.back() - rises[2]) / static_cast<double>(rises.size() - 3);
  EXPECT_NEAR(period, 2 * R * C * std::log((1 + beta) / (1 - beta)), 4 * h);
}

// ---- Single components

TEST(Circuit, ZenerDiodeClampsOnBothSides) {
  Component z = part("Z", Kind::zener, {"out", "0"});
  z.breakdown = 5;
  z.drop = 0.7;
  // Backwards: current flows from the cathode, "0", when out is below −5.
  const CircuitSystem circuit(
      {{sine_source("V", {"in", "0"}, 10, 1), z, part("R", Kind::resistor, {"in", "out"}, 100)}});
  for (const Sample& s : simulate(circuit, {}, {.step = 0.01, .duration = 1, .tolerance = 1e-12})) {
    const double v = 10 * std::sin(2 * pi * s.t), out = std::min(std::max(v, -5.0), 0.7);
    EXPECT_NEAR(s.values.potential[1], out, 1e-12);
    EXPECT_NEAR(s.values.current[2], (v - out) / 100, 1e-13);
  }
}

TEST(Circuit, DiodeHasItsDropAndResistance) {
  Component d = part("D", Kind::diode, {"a", "0"});
  d.drop = 0.6;
  d.resistance = 10;
  for (const double v : {-5.0, 0.0, 0.5, 0.6, 2.0}) {
    const CircuitSystem circuit(
        {{constant_source("V", {"in", "0"}, v), part("R", Kind::resistor, {"in", "a"}, 90), d}});
    const auto end = simulate(circuit, {}, {.step = 1, .duration = 1, .tolerance = 1e-12}).back();
    EXPECT_NEAR(end.values.current[2], std::max(0.0, (v - 0.6) / 100), 1e-15) << v;
  }
}

// Ebers and Moll: β i_B in the active range, saturation when the collector cannot give it.
TEST(Circuit, TransistorAmplifiesAndSaturates) {
  for (const Kind kind : {Kind::npn, Kind::pnp}) {
    const double sign = kind == Kind::npn ? 1 : -1;
    for (const double drive : {-1.0, 1.0, 5.0}) {
      Component q = part("Q", kind, {"c", "b", "0"});
      q.drop = 0.7;
      q.beta_forward = 50;
      const CircuitSystem circuit({{constant_source("Vb", {"in", "0"}, sign * drive),
                                    part("Rb", Kind::resistor, {"in", "b"}, 1e4), q,
                                    constant_source("Vc", {"vcc", "0"}, sign * 10),
                                    part("Rc", Kind::resistor, {"vcc", "c"}, 1e3)}});
      const auto end = simulate(circuit, {}, {.step = 1, .duration = 1, .tolerance = 1e-12}).back();
      const double base = std::max(0.0, (drive - 0.7) / 1e4);
      const double collector = std::min(50 * base, 10 / 1e3);  // V_CE = 0 with equal drops
      EXPECT_NEAR(sign * end.values.current[2], collector, 1e-12) << drive;
      EXPECT_NEAR(sign * end.values.current[1], base, 1e-12);
    }
  }
}

TEST(Circuit, CurrentSourceChargesACapacitor) {
  Component i = part("I", Kind::current_source, {"0", "a"});
  i.signal = Function{ConstantFunction{2e-3}};
  const CircuitSystem circuit({{i, starting(part("C", Kind::capacitor, {"a", "0"}, 1e-3), -1)}});
  const auto end = simulate(circuit, {}, {.step = 0.1, .duration = 1, .tolerance = 1e-12}).back();
  EXPECT_NEAR(end.values.potential[0], 1, 1e-13);
}

// A capacitor across a source has no freedom, and an inductor in series with a current source
// neither: the state jumps to what the circuit says, and stays.
TEST(Circuit, InconsistentStartsJumpInOneStep) {
  const CircuitSystem circuit({{constant_source("V", {"a", "0"}, 5),
                                starting(part("C", Kind::capacitor, {"a", "0"}, 1e-6), 1)}});
  const auto all = simulate(circuit, {}, {.step = 1e-3, .duration = 3e-3, .tolerance = 1e-12});
  EXPECT_NEAR(all[0].values.voltage[1], 5, 1e-14);
  EXPECT_NEAR(all[0].values.current[1], 1e-6 * 4 / 1e-3, 1e-15);
  EXPECT_NEAR(all[1].values.current[1], 0, 1e-15);
}

// Nothing says at which potential the secondary side floats while all diodes block; currents and
// differences are still those of the law.
TEST(Circuit, FloatingPartsAreNoObstacle) {
  const CircuitSystem circuit(
      {{constant_source("V", {"a", "0"}, -3), part("D1", Kind::diode, {"a", "b"}),
        part("R", Kind::resistor, {"b", "c"}, 10), part("D2", Kind::diode, {"c", "0"})}});
  const auto end = simulate(circuit, {}, {.step = 1, .duration = 3, .tolerance = 1e-12}).back();
  for (const std::size_t k : {1u, 2u, 3u}) EXPECT_NEAR(end.values.current[k], 0, 1e-15);
}

// Sources of different voltage side by side contradict each other.
TEST(Circuit, ContradictionsFailWithAMessage) {
  const CircuitSystem circuit(
      {{constant_source("V1", {"a", "0"}, 1), constant_source("V2", {"a", "0"}, 2)}});
  FirstOrderSimulation run(circuit.system(), {}, {.step = 1, .duration = 1}, circuit.start());
  EXPECT_FALSE(run.advance());
  EXPECT_FALSE(run.failure().empty());
}

TEST(Circuit, RefusesWhatIsNoCircuit) {
  const auto message = [](const Circuit& c) -> std::string {
    try {
      const CircuitSystem system(c);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Component r = part("R1", Kind::resistor, {"a", "0"}, 10);
  EXPECT_NE(message({}).find("at least one"), std::string::npos);
  EXPECT_NE(message({{r}}).find("node 'a'"), std::string::npos);
  EXPECT_NE(message({{part("R1", Kind::resistor, {"a", "0"}, 0), r}}).find("'R1': resistance"),
            std::string::npos);
  EXPECT_NE(message({{part("R1", Kind::resistor, {"a"}, 1)}}).find("nodes"), std::string::npos);
  EXPECT_NE(message({{part("R1", Kind::resistor, {"a", "b"}, 1),
                      part("R2", Kind::resistor, {"a", "b"}, 1)}})
                .find("ground '0'"),
            std::string::npos);
  Component u = part("U", Kind::comparator, {"a", "0", "a"});
  u.low = u.high = 1;
  EXPECT_NE(message({{u, r}}).find("low < high"), std::string::npos);
}

// ---- Many diodes: a rectifier of N phases with a resistance each, 2N diodes. The potentials of
// the rails are the roots of two scalar equations, found here by bisection.
struct ManyPhases {
  int phases;
  double V = 100, r = 2, R = 5;

  CircuitSystem circuit() const {
    Circuit c;
    for (int k = 0; k < phases; ++k) {
      const std::string n = std::to_string(k);
      c.components.push_back(sine_source("V" + n, {"s" + n, "0"}, V, 50, 2 * pi * k / phases));
      c.components.push_back(part("R" + n, Kind::resistor, {"s" + n, "a" + n}, r));
      c.components.push_back(part("P" + n, Kind::diode, {"a" + n, "plus"}));
      c.components.push_back(part("N" + n, Kind::diode, {"minus", "a" + n}));
    }
    c.components.push_back(part("load", Kind::resistor, {"plus", "minus"}, R));
    return CircuitSystem(c);
  }
  double phase(int k, double t) const {
    return V * std::sin(2 * pi * 50 * t + 2 * pi * k / phases);
  }
  /// The current of the load when the rails are at the potentials that let it pass.
  double exact(double t) const {
    const auto rail = [&](double sign, double current) {
      double low = -2 * V, high = 2 * V;
      for (int k = 0; k < 200; ++k) {
        const double p = 0.5 * (low + high);
        double sum = 0;
        for (int j = 0; j < phases; ++j) sum += std::max(sign * phase(j, t) - p, 0.0) / r;
        (sum > current ? low : high) = p;
      }
      return sign * low;
    };
    double low = 0, high = 2 * V / R;
    for (int k = 0; k < 100; ++k) {
      const double i = 0.5 * (low + high);
      (rail(1, i) - rail(-1, i) > R * i ? low : high) = i;
    }
    return low;
  }
};

TEST(Circuit, ThousandDiodesAgreeWithBisection) {
  const ManyPhases bridge{500};
  const CircuitSystem circuit = bridge.circuit();
  FirstOrderSimulation run(circuit.system(), {},
                           {.step = 1e-4, .duration = 2e-3, .tolerance = 1e-12}, circuit.start());
  int most = 0;
  while (run.advance()) {
    const FirstOrderState& s = run.state();
    const CircuitValues v = circuit.values({s.t, s.t}, s.x, s.lambda);
    const double exact = bridge.exact(s.t);
    EXPECT_NEAR(v.current.back(), exact, 1e-9 * exact);
    EXPECT_LE(run.report().residuals.law, 1e-12);
    if (run.steps() == 1) continue;  // from the guess that no diode conducts, and the rails float
    most = std::max(most, run.report().solve.factorizations);
    EXPECT_EQ(run.report().solve.proximal, 0);
  }
  EXPECT_TRUE(run.finished()) << run.failure();
  EXPECT_LE(most, 12);  // guesses are kept: a few factorisations a step, however many diodes
}

}  // namespace
}  // namespace urto
