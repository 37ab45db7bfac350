// Electric circuits of named components between nodes, as first-order systems. The states are the
// voltages of capacitors and the currents of inductors; every node's potential and the current of
// every component that is no resistor or inductor is a multiplier, free where the component is
// linear, with bounds where it is a diode:
//
//     node        λ = potential φ             y = sum of the currents that leave it = 0
//     resistor    (no row)                    current (φ_a − φ_b)/R
//     capacitor   λ = i, C v̇ = i             y = v − (φ_a − φ_b) = 0
//     inductor    L j̇ = φ_a − φ_b            current j
//     source      λ = i                       y = V(t) − (φ_a − φ_b) = 0
//     switch      λ = i                       closed: y = R i − (φ_a − φ_b) = 0; open: y = i = 0
//     diode       λ = i ≥ 0                   y = V_f + R i − (φ_a − φ_b) ≥ 0
//     Zener       λ₁ = i, λ₂ = v ∈ [−V_z, V_f]    y₁ = v + R i − (φ_a − φ_b) = 0,  y₂ = −i
//     comparator  λ₁ = i, λ₂ = v ∈ [low, high]    y₁ = v − φ_out = 0,  y₂ = v/gain − (φ₊ − φ₋)
//     transistor  λ = i_F, i_R ≥ 0            Ebers and Moll with ideal diodes; npn: y_F = V_f −
//                 (φ_B − φ_E), y_R = V_f − (φ_B − φ_C), i_C = α_F i_F − i_R, i_E = i_F − α_R i_R
//
// Without comparators and transistors the matrix of these rows is monotone: passive. Kirchhoff's
// current law is written first, and is a multiplier's row, so that M is diagonal and regular
// whatever the circuit, loops of capacitors and sources included.
#pragma once

#include <string>
#include <vector>

#include "urto/firstorder/signal.h"

namespace urto {

enum class ComponentKind : std::uint8_t {
  resistor,
  capacitor,
  inductor,
  diode,
  zener,
  voltage_source,
  current_source,
  switch_,
  comparator,
  npn,
  pnp
};

struct Component {
  std::string name = {};
  ComponentKind kind = ComponentKind::resistor;
  /// Two: the current is counted from the first through the component to the second; a diode's
  /// anode is the first. Comparator: input +, input −, output. Transistor: collector, base,
  /// emitter.
  std::vector<std::string> nodes = {};
  double value = 0;       ///< R [Ω], C [F] or L [H]
  double start = 0;       ///< of a capacitor [V] or inductor [A]
  double drop = 0;        ///< V_f [V]
  double breakdown = 0;   ///< V_z [V]
  double resistance = 0;  ///< [Ω] of a diode that conducts, a switch that is closed
  Signal signal = Function{ConstantFunction{0}};  ///< [V] or [A]; a switch is closed above 1/2
  double low = 0, high = 5;                       ///< [V] of a comparator's output
  double gain = std::numeric_limits<double>::infinity();
  double beta_forward = 100, beta_reverse = 1;  ///< α = β/(1 + β)
};

struct Circuit {
  std::vector<Component> components;
  std::string ground = "0";
};

/// What can be recorded of a circuit.
struct CircuitValues {
  std::vector<double> potential;         ///< of `nodes`
  std::vector<double> current, voltage;  ///< of components: i of the first node, φ_a − φ_b
};

class CircuitSystem {
 public:
  /// Throws InputError for components without their nodes or with values that no component has, and
  /// for nodes at which only one terminal ends.
  explicit CircuitSystem(const Circuit& circuit);

  const FirstOrderSystem& system() const { return system_; }
  const Vector& start() const { return start_; }
  const std::vector<std::string>& nodes() const { return nodes_; }  ///< without the ground
  CircuitValues values(const Moment& now, const Vector& x, const Vector& lambda) const;

 private:
  std::vector<std::string> nodes_;
  FirstOrderSystem system_;
  Vector start_;
  std::function<CircuitValues(const Moment&, const Vector&, const Vector&)> values_;
};

/// As scenes and messages call it.
std::string_view to_string(ComponentKind kind);
/// How many nodes it has.
int terminals(ComponentKind kind);

}  // namespace urto
