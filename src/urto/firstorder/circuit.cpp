#include "urto/firstorder/circuit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

using Triplet = Eigen::Triplet<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int ground = -1;

/// Where a component's unknowns are.
struct Placed {
  Component part;
  std::vector<int> nodes = {};  ///< rows and multipliers of their potentials; `ground` for none
  int state = -1;               ///< of a capacitor or inductor
  int row = -1;                 ///< of its first row and multiplier
};

struct Netlist {
  std::vector<Placed> parts = {};
  int nodes = 0, states = 0, rows = 0;
};

int rows_of(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::resistor:
    case ComponentKind::inductor:
    case ComponentKind::current_source:
      return 0;
    case ComponentKind::capacitor:
    case ComponentKind::voltage_source:
    case ComponentKind::switch_:
    case ComponentKind::diode:
      return 1;
    case ComponentKind::zener:
    case ComponentKind::comparator:
    case ComponentKind::npn:
    case ComponentKind::pnp:
      return 2;
  }
  return 0;
}

bool has_state(ComponentKind kind) {
  return kind == ComponentKind::capacitor || kind == ComponentKind::inductor;
}

bool is_closed(const Component& c, const Moment& now) {
  return value(c.signal, now) > 0.5;
}

void check(const Component& c) {
  const std::string where = fmt::format("component '{}'", c.name);
  const auto at_least = [&](const char* what, double x, double least, bool above = false) {
    if (std::isfinite(x) && (above ? x > least : x >= least)) return;
    throw InputError(fmt::format("{}: {}", where, what), fmt::format("{}", x),
                     fmt::format("a number {} {}", above ? ">" : "≥", least));
  };
  if (static_cast<int>(c.nodes.size()) != terminals(c.kind)) {
    throw InputError(fmt::format("{}: nodes", where), fmt::format("{}", c.nodes.size()),
                     fmt::format("{} of a {}", terminals(c.kind), to_string(c.kind)));
  }
  switch (c.kind) {
    case ComponentKind::resistor:
      at_least("resistance", c.value, 0, true);
      break;
    case ComponentKind::capacitor:
      at_least("capacitance", c.value, 0, true);
      break;
    case ComponentKind::inductor:
      at_least("inductance", c.value, 0, true);
      break;
    case ComponentKind::zener:
      at_least("breakdown", c.breakdown, 0, true);
      break;
    case ComponentKind::comparator:
      if (!(c.low < c.high) || !std::isfinite(c.low) || !std::isfinite(c.high)) {
        throw InputError(fmt::format("{}: output", where), fmt::format("[{}, {}]", c.low, c.high),
                         "low < high");
      }
      if (!(c.gain > 0)) {
        throw InputError(fmt::format("{}: gain", where), fmt::format("{}", c.gain),
                         "a number > 0, or infinity");
      }
      break;
    case ComponentKind::npn:
    case ComponentKind::pnp:
      at_least("beta_forward", c.beta_forward, 0, true);
      at_least("beta_reverse", c.beta_reverse, 0, true);
      break;
    default:
      break;
  }
  at_least("drop", c.drop, 0);
  at_least("resistance", c.resistance, 0);
  if (!std::isfinite(c.start))
    throw InputError(fmt::format("{}: start", where), fmt::format("{}", c.start), "a number");
  if (const auto* p = std::get_if<Pulse>(&c.signal)) {
    at_least("period", p->period, 0, true);
    if (!(p->duty >= 0 && p->duty <= 1))
      throw InputError(fmt::format("{}: duty", where), fmt::format("{}", p->duty), "0 to 1");
  }
}

Netlist place(const Circuit& circuit, std::vector<std::string>& names) {
  Netlist out;
  std::map<std::string, int> index, ends;
  std::map<std::string, std::string> first_use;
  for (const Component& c : circuit.components) {
    check(c);
    for (const std::string& node : c.nodes) {
      ++ends[node];
      first_use.try_emplace(node, c.name);
      if (node != circuit.ground && index.try_emplace(node, index.size()).second)
        names.push_back(node);
    }
  }
  if (circuit.components.empty()) throw InputError("circuit", "no component", "at least one");
  if (!ends.contains(circuit.ground)) {
    throw InputError(fmt::format("circuit: ground '{}'", circuit.ground), "no component at it",
                     "a node of the circuit, to which potentials refer");
  }
  for (const auto& [node, count] : ends) {
    if (count > 1 || node == circuit.ground) continue;
    throw InputError(fmt::format("node '{}'", node),
                     fmt::format("only a terminal of '{}'", first_use[node]),
                     "two terminals or more at every node");
  }
  out.nodes = out.rows = static_cast<int>(index.size());
  for (const Component& c : circuit.components) {
    Placed p{c};
    for (const std::string& node : c.nodes)
      p.nodes.push_back(node == circuit.ground ? ground : index.at(node));
    if (has_state(c.kind)) p.state = out.states++;
    if (rows_of(c.kind) > 0) {
      p.row = out.rows;
      out.rows += rows_of(c.kind);
    }
    out.parts.push_back(std::move(p));
  }
  return out;
}

/// The matrices of a netlist at one moment.
class Stamp {
 public:
  Stamp(const Netlist& n, const Moment& now) : net_(n), now_(now), e_(Vector::Zero(n.rows)) {
    for (const Placed& p : n.parts) stamp(p);
  }

  LinearRelation relation() const {
    LinearRelation out{SparseMatrix(net_.rows, net_.states), SparseMatrix(net_.rows, net_.rows),
                       SparseMatrix(net_.states, net_.rows), e_};
    out.C.setFromTriplets(C_.begin(), C_.end());
    out.D.setFromTriplets(D_.begin(), D_.end());
    out.B.setFromTriplets(B_.begin(), B_.end());
    return out;
  }

 private:
  void d(int row, int column, double x) {
    if (row != ground && column != ground) D_.emplace_back(row, column, x);
  }
  /// The multiplier leaves node a and enters node b; row `at` has −(φ_a − φ_b).
  void branch(int at, int a, int b) {
    d(a, at, 1);
    d(b, at, -1);
    d(at, a, -1);
    d(at, b, 1);
  }
  void stamp(const Placed& p);
  void stamp_transistor(const Placed& p);

  const Netlist& net_;
  Moment now_;
  std::vector<Triplet> C_ = {}, D_ = {}, B_ = {};
  Vector e_;
};

void Stamp::stamp(const Placed& p) {
  const Component& c = p.part;
  const int a = p.nodes[0], b = p.nodes[1], row = p.row;
  switch (c.kind) {
    case ComponentKind::resistor: {
      const double g = 1 / c.value;
      d(a, a, g);
      d(b, b, g);
      d(a, b, -g);
      d(b, a, -g);
      break;
    }
    case ComponentKind::capacitor:
      branch(row, a, b);
      C_.emplace_back(row, p.state, 1);
      B_.emplace_back(p.state, row, 1);
      break;
    case ComponentKind::inductor:
      for (const auto& [node, sign] : {std::pair{a, 1.0}, std::pair{b, -1.0}}) {
        if (node == ground) continue;
        C_.emplace_back(node, p.state, sign);
        B_.emplace_back(p.state, node, sign);
      }
      break;
    case ComponentKind::diode:
      branch(row, a, b);
      D_.emplace_back(row, row, c.resistance);
      e_[row] = c.drop;
      break;
    case ComponentKind::zener:
      branch(row, a, b);
      D_.emplace_back(row, row, c.resistance);
      D_.emplace_back(row, row + 1, 1);
      D_.emplace_back(row + 1, row, -1);
      break;
    case ComponentKind::voltage_source:
      branch(row, a, b);
      e_[row] = value(c.signal, now_);
      break;
    case ComponentKind::current_source: {
      const double i = value(c.signal, now_);
      if (a != ground) e_[a] += i;
      if (b != ground) e_[b] -= i;
      break;
    }
    case ComponentKind::switch_: {
      // The places of an open switch stay in the pattern, as zeros.
      const bool closed = is_closed(c, now_);
      d(a, row, 1);
      d(b, row, -1);
      d(row, a, closed ? -1 : 0);
      d(row, b, closed ? 1 : 0);
      D_.emplace_back(row, row, closed ? c.resistance : 1);
      break;
    }
    case ComponentKind::comparator: {
      const int out = p.nodes[2];
      d(out, row, -1);
      d(row, out, -1);
      D_.emplace_back(row, row + 1, 1);
      d(row + 1, a, -1);
      d(row + 1, b, 1);
      D_.emplace_back(row + 1, row + 1, std::isinf(c.gain) ? 0 : 1 / c.gain);
      break;
    }
    case ComponentKind::npn:
    case ComponentKind::pnp:
      stamp_transistor(p);
      break;
  }
}

// The currents and voltages of a pnp transistor are those of an npn with the other sign.
void Stamp::stamp_transistor(const Placed& p) {
  const Component& c = p.part;
  const double s = c.kind == ComponentKind::npn ? 1 : -1;
  const double forward = c.beta_forward / (1 + c.beta_forward);
  const double reverse = c.beta_reverse / (1 + c.beta_reverse);
  const int collector = p.nodes[0], base = p.nodes[1], emitter = p.nodes[2];
  const int F = p.row, R = p.row + 1;
  d(collector, F, s * forward);
  d(base, F, s * (1 - forward));
  d(emitter, F, -s);
  d(collector, R, -s);
  d(base, R, s * (1 - reverse));
  d(emitter, R, s * reverse);
  d(F, base, -s);
  d(F, emitter, s);
  d(R, base, -s);
  d(R, collector, s);
  D_.emplace_back(F, F, c.resistance);
  D_.emplace_back(R, R, c.resistance);
  e_[F] = e_[R] = c.drop;
}

void set_laws(const Placed& p, std::vector<MultiplierBounds>& laws) {
  const Component& c = p.part;
  switch (c.kind) {
    case ComponentKind::diode:
      laws[p.row] = complementarity_law();
      break;
    case ComponentKind::zener:
      laws[p.row + 1] = relay_law(-c.breakdown, c.drop);
      break;
    case ComponentKind::comparator:
      laws[p.row + 1] = relay_law(c.low, c.high);
      break;
    case ComponentKind::npn:
    case ComponentKind::pnp:
      laws[p.row] = laws[p.row + 1] = complementarity_law();
      break;
    default:
      break;
  }
}

/// Into the first node.
double current_of(const Placed& p, const Moment& now, const Vector& x, const Vector& lambda) {
  const Component& c = p.part;
  const auto potential = [&](int node) { return node == ground ? 0.0 : lambda[node]; };
  switch (c.kind) {
    case ComponentKind::resistor:
      return (potential(p.nodes[0]) - potential(p.nodes[1])) / c.value;
    case ComponentKind::inductor:
      return x[p.state];
    case ComponentKind::current_source:
      return value(c.signal, now);
    case ComponentKind::comparator:
      return 0;  // its inputs take none
    case ComponentKind::npn:
    case ComponentKind::pnp: {
      const double forward = c.beta_forward / (1 + c.beta_forward);
      return (c.kind == ComponentKind::npn ? 1 : -1) *
             (forward * lambda[p.row] - lambda[p.row + 1]);
    }
    default:
      return lambda[p.row];
  }
}

}  // namespace

CircuitSystem::CircuitSystem(const Circuit& circuit) {
  const auto net = std::make_shared<const Netlist>(place(circuit, nodes_));
  system_.states = net->states;
  start_ = Vector::Zero(net->states);
  Vector mass(net->states);
  system_.laws.assign(static_cast<std::size_t>(net->rows), equality_law());
  std::vector<Signal> jumping;
  bool varies = false;
  for (const Placed& p : net->parts) {
    if (p.state >= 0) {
      mass[p.state] = p.part.value;
      start_[p.state] = p.part.start;
    }
    set_laws(p, system_.laws);
    const auto* f = std::get_if<Function>(&p.part.signal);
    if (f == nullptr) jumping.push_back(p.part.signal);
    varies = varies || f == nullptr || !std::holds_alternative<ConstantFunction>(*f);
  }
  // Eigen assigns no diagonal of size zero.
  if (net->states > 0) system_.mass = SparseMatrix(mass.asDiagonal());
  if (varies) {
    system_.relation =
        linear_relation([net](const Moment& now) { return Stamp(*net, now).relation(); });
  } else {
    system_.relation = linear_relation(Stamp(*net, {}).relation());
  }
  if (!jumping.empty()) {
    system_.next_jump = [jumping](double t) {
      double first = infinity;
      for (const Signal& s : jumping) first = std::min(first, next_jump(s, t));
      return first;
    };
  }
  values_ = [net](const Moment& now, const Vector& x, const Vector& lambda) {
    CircuitValues out;
    out.potential.assign(lambda.data(), lambda.data() + net->nodes);
    const auto potential = [&](int node) { return node == ground ? 0.0 : lambda[node]; };
    for (const Placed& p : net->parts) {
      out.current.push_back(current_of(p, now, x, lambda));
      out.voltage.push_back(potential(p.nodes.front()) - potential(p.nodes.back()));
      if (p.part.kind == ComponentKind::comparator)
        out.voltage.back() = potential(p.nodes[0]) - potential(p.nodes[1]);
    }
    return out;
  };
}

CircuitValues CircuitSystem::values(const Moment& now, const Vector& x,
                                    const Vector& lambda) const {
  return values_(now, x, lambda);
}

std::string_view to_string(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::resistor:
      return "resistor";
    case ComponentKind::capacitor:
      return "capacitor";
    case ComponentKind::inductor:
      return "inductor";
    case ComponentKind::diode:
      return "diode";
    case ComponentKind::zener:
      return "zener";
    case ComponentKind::voltage_source:
      return "voltage-source";
    case ComponentKind::current_source:
      return "current-source";
    case ComponentKind::switch_:
      return "switch";
    case ComponentKind::comparator:
      return "comparator";
    case ComponentKind::npn:
      return "npn";
    case ComponentKind::pnp:
      return "pnp";
  }
  return "";
}

int terminals(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::comparator:
    case ComponentKind::npn:
    case ComponentKind::pnp:
      return 3;
    default:
      return 2;
  }
}

}  // namespace urto
