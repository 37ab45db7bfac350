#include "urto/stepper/impulse_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

ConvexSet set_of(const Law& law, double h) {
  switch (law.kind) {
    case LawKind::equality:
      return ConvexSet::free(law.dim);
    case LawKind::unilateral:
      return ConvexSet::nonnegative(law.dim);
    case LawKind::coulomb:
      if (law.dim == 4) return ConvexSet::spinning_cone(law.friction, law.spinning);
      if (law.dim == 5) return ConvexSet::rolling_cone(law.friction, law.rolling);
      if (law.dim == 6) return ConvexSet::rolling_cone(law.friction, law.rolling, law.spinning);
      return ConvexSet::cone(law.friction, law.dim);
    case LawKind::box:
      return ConvexSet::box(h * law.lower, h * law.upper, law.dim);
  }
  return {};
}

// Of the share of restitution, and of the work relative to that of stopping the approach.
constexpr double rebound_accuracy = 1e-6;

// FNV-1a, to compare which contacts carry load in two steps.
void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 1099511628211ULL;
}

}  // namespace

ImpulseKernel::ImpulseKernel(const System& mechanics, const SimulationOptions& wanted)
    : system(mechanics),
      options(wanted),
      solver_(make_solver(wanted.solver.solver)),
      solver_options_(wanted.solver) {
  solver_options_.friction = options.stepper.friction;
  solver_options_.threads = options.threads;
  solver_options_.islands = options.islands;
  solver_options_.settle = false;
}

void ImpulseKernel::begin_rows(double h) {
  h_ = h;
  problem.K.sets.clear();
  problem.K.start.resize(1);
  for (const Law& law : rows.laws) problem.K.push_back(set_of(law, h));
  if (problem.b.size() != rows.rows()) problem.b.resize(rows.rows());
  compliance.assign(rows.rows(), 0.0);
  push.assign(rows.blocks(), 0.0);
  rebounds_.assign(rows.blocks(), 0);
  rebound_rows_.clear();
}

void ImpulseKernel::add_pull(int block) {
  const BlockRows& J = rows.J;
  const double impulse = h_ * pull(rows.laws[block], rows.g[J.row_start[block]]);
  if (impulse == 0) return;
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* normal = J.values.data() + entry.offset;
    for (int c = 0; c < entry.width; ++c) problem.a[entry.column + c] -= impulse * normal[c];
  }
}

void ImpulseKernel::add_rebound(int block) {
  const Law& law = rows.laws[block];
  if (!(law.restitution > 0) || !options.stepper.restitution || law.kind == LawKind::equality)
    return;
  const int first = rows.J.row_start[block];
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, v_before.data(), u.data());
  const double approach = u[0] + rows.g_t[first];
  if (rows.g[first] + h_ * approach > 0 || approach >= -law.restitution_threshold) return;
  double& b = problem.b[first];
  rebound_rows_.push_back({.block = block, .plain = b, .approach = approach});
  b = std::min(b, rows.g_t[first] + law.restitution * approach);
  rebounds_[block] = 1;
}

void ImpulseKernel::solve(const StepMemory& memory, StepReport& report) {
  set_compliance(problem, compliance);
  problem.J = rows.J;
  if (v_after.size() != system.nv()) v_after.resize(system.nv());
  solve_again(memory, report);
}

void ImpulseKernel::solve_again(const StepMemory& memory, StepReport& report) {
  for (Rebound& r : rebound_rows_) {
    const int first = rows.J.row_start[r.block];
    r = {.block = r.block, .plain = r.plain, .approach = r.approach};
    problem.b[first] =
        std::min(r.plain, rows.g_t[first] + rows.laws[r.block].restitution * r.approach);
  }
  recall(memory, rows, h_, impulses);
  solver_->solve(problem, solver_options_, v_after, impulses, report.solve);
  limit_rebounds(report);
}

// Whether a rebounding contact has still to be solved again, with the next share of its restitution
// to try. The work is that of its impulse over the mean velocity; the share at which it is zero is
// found by the Illinois variant of regula falsi (Dowell and Jarratt 1971), once a losing share is
// known by bisection.
bool ImpulseKernel::seek_root(Rebound& r, bool last) {
  const int first = rows.J.row_start[r.block];
  const Law& law = rows.laws[r.block];
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, r.block, mean_.data(), u.data());
  double work = 0;
  for (int k = 0; k < law.dim; ++k) work += impulses[first + k] * (u[k] + rows.g_t[first + k]);
  // Relative to what an impulse takes from its approach. The aim is a loss that is just one.
  constexpr double aim = -0.5 * rebound_accuracy;
  const double scale = impulses[first] * std::abs(r.approach);
  const double excess = scale > 0 ? work / scale - aim : 0;
  const bool gain = work > 1e-9 * scale;
  if (!gain && (r.share == r.lost || excess > aim || r.share == 1)) return false;
  (gain ? r.gained : r.lost) = r.share;
  (gain ? r.gain : r.loss) = excess;
  // Twice on the same side: the other end of the chord is halved, or it would stay for ever.
  double& other = gain ? r.loss : r.gain;
  if (r.side == (gain ? 1 : -1)) other *= 0.5;
  r.side = gain ? 1 : -1;
  if (last || r.gained - r.lost < rebound_accuracy)
    r.share = r.lost;
  else if (r.lost > 0 && r.loss < 0)
    r.share = (r.lost * r.gain - r.gained * r.loss) / (r.gain - r.loss);
  else
    r.share = 0.5 * (r.lost + r.gained);
  problem.b[first] = std::min(r.plain, rows.g_t[first] + r.share * law.restitution * r.approach);
  return true;
}

// Newton's law with friction can create energy: a contact whose slip turns round is helped by its
// own friction (Kane 1984; T. R. Kane and D. A. Levinson, Dynamics, §5.8). The restitution of such
// contacts is reduced to where they neither gain nor lose, with a few more solves of this step.
// Without restitution no single contact gains.
void ImpulseKernel::limit_rebounds(StepReport& report) {
  constexpr int rounds = 20;
  report.limited_rebounds = 0;
  for (int round = 0; round <= rounds; ++round) {
    mean_ = 0.5 * (v_before + v_after);
    bool again = false;
    for (Rebound& r : rebound_rows_) again = seek_root(r, round >= rounds - 1) || again;
    if (!again || round == rounds) break;
    solver_->solve(problem, solver_options_, v_after, impulses, report.solve);
  }
  for (const Rebound& r : rebound_rows_) report.limited_rebounds += r.share < 1 ? 1 : 0;
}

// What the impulses of a block do, row by row: exactly p·½(v + v⁺) of the kinetic energy, g_t
// besides. Those that move the bodies act first, from v_before to v_move, the rest from there to
// v_after.
std::array<double, max_block> ImpulseKernel::work(int block) const {
  const int first = rows.J.row_start[block];
  std::array<double, max_block> before{}, move{}, after{}, out{};
  multiply_add_block(rows.J, block, v_before.data(), before.data());
  multiply_add_block(rows.J, block, v_move.data(), move.data());
  multiply_add_block(rows.J, block, v_after.data(), after.data());
  for (int k = 0; k < rows.laws[block].dim; ++k) {
    const double p = move_impulses[first + k];
    const double rest = impulses[first + k] - p;
    out[k] = 0.5 * (p * (before[k] + move[k]) + rest * (move[k] + after[k])) +
             impulses[first + k] * rows.g_t[first + k];
  }
  return out;
}

double ImpulseKernel::joint_work() {
  double sum = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!holds_position(rows.laws[i])) continue;
    const std::array<double, max_block> w = work(i);
    for (int r = 0; r < rows.laws[i].dim; ++r) sum += w[r];
  }
  return sum;
}

// b has g/h in it, and g is a difference of positions: known to a rounding error of those at best.
void ImpulseKernel::certify(const State& state, StepReport& report) {
  const double terms_of_b = state.q.lpNorm<Eigen::Infinity>() / h_;
  certifier_.certify(problem, v_after, impulses, options.stepper.friction, report.certificate,
                     terms_of_b);
  report.meets_tolerance = report.certificate.meets(options.solver.tolerance);
}

// Energy by ½(v + v⁺)·(impulse), with v after turning freely.
void ImpulseKernel::audit(const State& state, bool implicit_damping, StepReport& report) {
  mean_ = 0.5 * (v_before + v_move);
  report.energy = {};
  report.joint_error = report.penetration = report.early_rebound = 0;
  report.contact_energy_before = report.contact_energy = 0;
  report.contacts = report.active = 0;
  report.active_set = 1469598103934665603ULL;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const int first = rows.J.row_start[i];
    if (law.kind == LawKind::equality) {
      for (int r = 0; r < law.dim; ++r) {
        if (holds_position(law))
          report.joint_error = std::max(report.joint_error, std::abs(rows.g[first + r]));
        report.energy.supplied -= impulses[first + r] * rows.g_t[first + r];
      }
    } else if (law.kind == LawKind::box) {
      report.energy.supplied -= impulses[first] * rows.g_t[first];
      report.energy.friction -= work(i)[0];
    } else {
      audit_contact(i, report);
    }
  }
  report.h = h_;
  audit_forces(state, implicit_damping, report.energy);
}

void ImpulseKernel::audit_contact(int block, StepReport& report) {
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  const std::array<double, max_block> done = work(block);
  ++report.contacts;
  if (!is_soft(law)) {
    report.penetration = std::max(report.penetration, -rows.g[first]);
    // Pushed apart at the speed w, bodies are given γ w at most; the rest of the work is that of
    // the impact.
    const bool rebounds = problem.b[first] < rows.g_t[first] - push[block];
    const double pushed = rebounds ? 0 : impulses[first] * push[block];
    report.energy.recovery += pushed;
    report.energy.impact += pushed - done[0];
  }
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, mean_.data(), u.data());
  audit_potential(block, u[0], report);
  report.energy.supplied -= (impulses[first] - h_ * pull(law, rows.g[first])) * rows.g_t[first];
  for (int r = 1; r < law.dim; ++r) {
    report.energy.friction -= done[r];
    report.energy.supplied -= impulses[first + r] * rows.g_t[first + r];
  }
  if (impulses[first] <= 0) return;
  ++report.active;
  if (rebounds_[block] != 0)
    report.early_rebound = std::max(report.early_rebound, std::abs(rows.g[first]));
  mix(report.active_set, rows.ids[block]);
  mix(report.active_set, rebounds_[block]);
}

// A soft contact stores ½k g² while it overlaps; a pull of c that ends at the gap r is a well of
// the depth c r. The gap at the end of the step is that of its linear motion. What the damper takes
// is measured with the mean velocity, like all impulses; the rest of the step's error is numerical.
void ImpulseKernel::audit_potential(int block, double mean_rate, StepReport& report) {
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  const bool soft = is_soft(law);
  if (!soft && law.cohesion_range == 0) return;
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, v_move.data(), u.data());
  const double rate = u[0] + rows.g_t[first];
  const double before = rows.g[first];
  const double after = before + h_ * rate;
  const auto stored = [&](double gap) {
    const double overlap = std::min(gap, 0.0);
    const double spring = soft ? 0.5 * law.stiffness * overlap * overlap : 0;
    return spring - law.cohesion * std::clamp(law.cohesion_range - gap, 0.0, law.cohesion_range);
  };
  report.contact_energy_before += stored(before);
  report.contact_energy += stored(after);
  if (soft && before <= 0 && impulses[first] > 0)
    report.energy.damping += h_ * law.damping * rate * (mean_rate + rows.g_t[first]);
}

// Work of the smooth forces, with the mean velocity v̄ as for the impulses. A damper's impulse is
// −hD v⁺ when implicit, −hD v when not; its power P(v) = vᵀDv is all we can ask for, and v̄ᵀD v⁺ =
// P(v̄) + ¼(P(v⁺) − P(v)).
void ImpulseKernel::audit_forces(const State& state, bool implicit_damping, EnergyFlow& energy) {
  probe_ = state;
  probe_.v = v_before;
  const double before = system.powers(probe_).dissipated;
  probe_.v = v_move;
  const double after = system.powers(probe_).dissipated;
  probe_.v = mean_;
  const Powers mean = system.powers(probe_);
  const double sign = implicit_damping ? 1 : -1;
  energy.damping += h_ * (mean.dissipated + sign * 0.25 * (after - before));
  energy.supplied += h_ * mean.supplied;
}

}  // namespace urto
