#include "urto/stepper/dvi.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr int projection_rounds = 5;
constexpr int blocks_at_a_time = 256;  // what a thread takes at once
// Of a block: what laws are asked for is far apart in memory.
constexpr std::uint8_t is_special = 1, is_joint = 2;
constexpr std::string_view joint_account = "dvi_joint_work";
/// What rigid joints may have given in all, relative to the largest kinetic energy of the run.
constexpr double joint_credit = 1e-3;

// An open gap may close within the step whether or not errors are stabilised: without its g the row
// would stop the body in mid-air.
bool is_apart(const Law& law, double gap) {
  return law.kind != LawKind::equality && gap > 0;
}

double fastest_recovery(const Law& law, const StepperOptions& options) {
  switch (law.recovery) {
    case Recovery::linear:
      return options.recovery_speed;
    case Recovery::angular:
      return options.recovery_rate;
    case Recovery::at_once:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

DviStepper::DviStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options), projection_(system) {}

void DviStepper::align_positions(State& state) {
  // Two states on the joints have a combination beside them, by the square of their distance.
  const StepperOptions& o = kernel_.options.stepper;
  if (o.project_joints)
    projection_.project_positions(state, o.projection_tolerance, projection_rounds);
}

// With which speed the surfaces of a contact approach that held in the last step: by their
// curvature alone, for nothing else happens between two steps. Rods that cross at a small angle
// close the gap by ½κh² as they turn. Let out as fast as it came (docs, "Overlaps"), an overlap is
// no more than one step makes; at the recovery speed alone those of many steps would pile up.
double DviStepper::closing_speed(int block, const StepMemory& memory) const {
  const Interactions& rows = kernel_.rows;
  if (rows.origins[block].kind != Origin::contact) return 0;
  const StepMemory::Item* last = memory.find(rows.ids[block], rows.laws[block].dim);
  if (last == nullptr || !(memory.lambda[last->start] > 0)) return 0;
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, kernel_.v_before.data(), u.data());
  return -(u[0] + rows.g_t[rows.J.row_start[block]]);
}

// Right-hand side, compliance and push of one block. Soft rows: E = 1/(h(hk + c)), b = k/(hk + c) g
// (recipe 000 §2.17).
void DviStepper::add_law(int block, double h, const StepMemory& memory) {
  const Interactions& rows = kernel_.rows;
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  for (int r = first; r < first + law.dim; ++r) {
    double& b = kernel_.problem.b[r];
    b = rows.g_t[r];
    const bool has_position = r == first || law.kind == LawKind::equality;
    // A spring is physics, not stabilisation.
    const bool wanted =
        kernel_.options.stepper.stabilise || is_soft(law) || is_apart(law, rows.g[first]);
    if (law.on_velocity || !has_position || !wanted) continue;
    const double g = rows.g[r];
    if (is_soft(law)) {
      // Surfaces that are apart have no damper between them yet; the spring acts on what the step
      // makes overlap.
      const double damping = is_apart(law, g) ? 0 : law.damping;
      const double denominator = h * law.stiffness + damping;
      kernel_.compliance[r] = 1 / (h * denominator);
      b += law.stiffness / denominator * g;
    } else if (law.kind == LawKind::equality) {
      b += g / stabilisation_step_;
    } else {
      const double rate = std::max(g / h, -fastest_recovery(law, kernel_.options.stepper));
      b += rate;
      kernel_.push[block] = std::max(0.0, -rate);
      if (g / h < rate) closing_[block] = closing_speed(block, memory);
    }
  }
}

void DviStepper::detect(const State& state, double h) {
  kernel_.system.interactions(state,
                              {.h = h,
                               .envelope = kernel_.options.contact_envelope,
                               .normal_rows_only = kernel_.options.stepper.skip_tangential},
                              kernel_.rows);
}

// Pulls add to bodies and rebounds to a list: by one thread, in the order of the rows.
void DviStepper::add_laws(double h, const StepMemory& memory) {
  const int blocks = kernel_.rows.blocks();
  marks_.resize(blocks);
  closing_.assign(blocks, 0.0);
  share_items(&kernel_.threads, blocks, blocks_at_a_time, [&](int i) {
    const Law& law = kernel_.rows.laws[i];
    const bool special = law.cohesion != 0 || law.restitution > 0;
    marks_[i] = (special ? is_special : 0) | (holds_position(law) ? is_joint : 0);
    add_law(i, h, memory);
  });
  for (int i = 0; i < blocks; ++i) {
    if ((marks_[i] & is_special) != 0) {
      kernel_.add_pull(i);
      kernel_.add_rebound(i);
    }
    if (!(closing_[i] > kernel_.push[i])) continue;
    const double out = -kernel_.rows.g[kernel_.rows.J.row_start[i]] / h;
    kernel_.add_return(i, -closing_[i], std::min(1.0, out / closing_[i]));
  }
}

// Forces of the start, without the gyroscopic moments: they turn the velocity while bodies move.
void DviStepper::predict(const State& state) {
  kernel_.system.force(state, force_);
  kernel_.v_before = state.v;
  if (const FreeRotation* rotation = kernel_.system.system().free_rotation())
    rotation->remove_gyroscopic(state, kernel_.system.workspace(), force_);
}

// Bodies fly freely between the impulses of this step and those of the next: the orientation must
// move with the mean of the velocities at both ends, or momentum is not kept and joints pump.
void DviStepper::move(State& state, double h) {
  state.v = kernel_.v_move;
  const FreeRotation* rotation = kernel_.system.system().free_rotation();
  SystemWorkspace& work = kernel_.system.workspace();
  if (rotation != nullptr)
    rotation->turn_freely(h, work, state.v, delta_);
  else
    delta_ = h * state.v;
  if (!impacts_.empty()) {
    state.v = kernel_.v_after;
    if (rotation != nullptr) rotation->turn_freely(h, work, state.v, unused_);
  }
  kernel_.system.add_increment(state.q, delta_, state.q);
  state.t += h;
}

// H = M + hD + h²K and a = (M + hD) v + h f, with the symmetric parts of D and K: any approximation
// of them is consistent, and the solvers want symmetry. Where springs are judged one by one, K is
// that of the stiff ones, and a quarter of what the step resolves is on both sides: docs,
// "Springs".
void DviStepper::assemble(const State& state, double h, Tangent kind) {
  const ImplicitForces forces = kernel_.options.stepper.implicit_forces;
  const bool implicit = forces != ImplicitForces::none;
  const bool judged = forces == ImplicitForces::automatic;
  Coefficients both{.mass = 1, .damping = implicit ? h : 0};
  Coefficients left{.stiffness = h * h};
  if (judged) {
    both.stiffness = 0.25 * h * h;
    both.part = {.kind = StiffnessPart::Kind::resolved, .h = h};
    left.part = {.kind = StiffnessPart::Kind::stiff, .h = h};
  }
  BlockMatrix& H = kernel_.H();
  H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  kernel_.system.assemble(state, both, kind, H);
  multiply(H, kernel_.v_before, momentum_, &kernel_.threads);
  kernel_.problem.a = momentum_ + h * force_;
  if (implicit) kernel_.system.assemble(state, left, kind, H);
  H.finish_assembly();
}

// Ideal joints do no work. The exact change of kinetic energy by theirs is
//
//     λᵀJ(v + v⁺)/2 = ½ ûᵀW⁻¹û − ½ uᵀW⁻¹u      with û = g/h, u = Jv
//
// (without other forces): what removing the error g gives, less what turning the velocity takes.
// The two cancel to O(h³), as in SHAKE, of which this is the linearisation; what is left has no
// sign and may grow without bound. So it is kept in an account, and a step that would overdraw it
// is taken with û = 0, which only takes, and removes g by a projection, which has no velocity.
bool DviStepper::limit_joint_work(const State& state, StepMemory& memory, StepReport& report) {
  const StepperOptions& options = kernel_.options.stepper;
  const std::vector<Law>& laws = kernel_.rows.laws;
  const auto marks_joint = [](std::uint8_t marks) { return (marks & is_joint) != 0; };
  if (!options.stabilise || std::none_of(marks_.begin(), marks_.end(), marks_joint)) return false;
  std::vector<double>& account = memory.arrays.at(joint_account);
  if (account.size() != 2) account.assign(2, 0.0);
  const double kinetic = kernel_.system.energies(state).kinetic;
  account[1] = std::max(account[1], kinetic);
  double work = kernel_.joint_work();
  const bool passive = account[0] + work > joint_credit * account[1] && work > 0;
  if (passive) {
    for (int i = 0; i < kernel_.rows.blocks(); ++i) {
      if (!holds_position(laws[i])) continue;
      for (int r = kernel_.rows.J.row_start[i]; r < kernel_.rows.J.row_start[i + 1]; ++r)
        kernel_.problem.b[r] = kernel_.rows.g_t[r];
    }
    kernel_.solve_again(memory, report);
    if (impacts_.empty()) kernel_.move_with_the_end();
    work = kernel_.joint_work();
  }
  // Energy that was lost is no credit: other bodies than those that lost it would gain it.
  account[0] = std::max(0.0, account[0] + work);
  return passive;
}

// The speed up to which an approach is that of a contact at rest: what the forces of a step give
// its bodies, and a millionth of what the impulse of the row gave them.
double DviStepper::resting_speed(int block) const {
  const BlockRows& J = kernel_.rows.J;
  const double impulse = kernel_.impulses[J.row_start[block]];
  double speed = 0;
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* normal = J.values.data() + entry.offset;
    for (int c = 0; c < entry.width; ++c) {
      const int k = entry.column + c;
      const double size = std::abs(normal[c]);
      const double force = std::abs(kernel_.problem.a[k] - momentum_[k]);
      speed += size * (force + 1e-6 * size * impulse) / diagonal_[k];
    }
  }
  return speed;
}

// Whether a block is a rigid contact or limit with a gap that bodies of the velocity v close within
// the step, faster than at rest.
bool DviStepper::approaches(int block, const Vector& v, double least) const {
  const Interactions& rows = kernel_.rows;
  const int first = rows.J.row_start[block];
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, v.data(), u.data());
  const double approach = -(u[0] + rows.g_t[first]);
  return approach > 0 && approach >= least && approach > resting_speed(block);
}

// Blocks that act without rebounding although the step leaves them approaching: the gap that they
// had is closed, but of the impact only a part has happened. With them, blocks of the same bodies
// that would have closed as well if these had not acted: which of those meet first is nothing that
// the step resolves. What is to rebound but meets only by what forces do within the step does so in
// the next: taken whole here, it would be stopped.
void DviStepper::find_impacts(double h) {
  const Interactions& rows = kernel_.rows;
  const BlockMatrix& H = kernel_.H();
  impacts_.clear();
  if (diagonal_.size() != rows.J.columns) diagonal_.resize(rows.J.columns);
  for (int node = 0; node < H.blocks(); ++node)
    diagonal_.segment(H.start[node], H.size(node)) = H.block(node).diagonal();
  const auto is_open = [&](int i) {
    const Law& law = rows.laws[i];
    return law.kind != LawKind::box && !is_soft(law) &&
           is_apart(law, rows.g[rows.J.row_start[i]]) && !kernel_.wants_rebound(i);
  };
  hit_.assign(rows.J.columns, 0);
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!is_open(i) || !(kernel_.impulses[rows.J.row_start[i]] > 0)) continue;
    if (!approaches(i, kernel_.v_after, 0)) continue;
    impacts_.push_back(i);
    for (int e = rows.J.entry_start[i]; e < rows.J.entry_start[i + 1]; ++e)
      hit_[rows.J.entries[e].column] = 1;
  }
  if (impacts_.empty()) return;
  impacts_.clear();
  for (int i = 0; i < rows.blocks(); ++i) {
    const int first = rows.J.row_start[i];
    const bool acts = kernel_.impulses[first] > 0 && approaches(i, kernel_.v_after, 0);
    bool meets = false;
    for (int e = rows.J.entry_start[i]; e < rows.J.entry_start[i + 1]; ++e)
      meets = meets || hit_[rows.J.entries[e].column] != 0;
    if (!is_open(i) || !meets) continue;
    if (acts || approaches(i, kernel_.v_before, rows.g[first] / h)) impacts_.push_back(i);
  }
}

// What going on from the end of the approach to the end of the impact gives, λ′·½(u + u′) with λ′
// the difference of the impulses, less what the approach took already unless a rebound used it.
// Positive is energy out of nothing, which only many contacts at once could bring about.
bool DviStepper::impact_gains() const {
  const Interactions& rows = kernel_.rows;
  double work = 0;
  auto impact = impacts_.begin();
  for (int i = 0; i < rows.blocks(); ++i) {
    const bool hit = impact != impacts_.end() && *impact == i;
    if (hit) ++impact;
    const Law& law = rows.laws[i];
    if (law.kind == LawKind::equality) continue;
    std::array<double, max_block> before{}, after{};
    multiply_add_block(rows.J, i, kernel_.v_move.data(), before.data());
    multiply_add_block(rows.J, i, kernel_.v_after.data(), after.data());
    const int first = rows.J.row_start[i];
    for (int k = 0; k < law.dim; ++k) {
      const double g_t = rows.g_t[first + k];
      const double more = kernel_.impulses[first + k] - kernel_.move_impulses[first + k];
      work += more * (0.5 * (before[k] + after[k]) + g_t);
      if (hit && !kernel_.has_rebounds())
        work += kernel_.move_impulses[first + k] * (before[k] + g_t);
    }
  }
  return work > 0;
}

// An impact is taken whole, whatever the phase of the step at which it happens: docs, "Impacts".
// The problem solved so far, in which every gap may close exactly, says how bodies move; the one
// solved here, in which what has met does not approach any more, with which velocity they go on.
void DviStepper::take_impacts_whole(const State& state, double h, const StepMemory& memory,
                                    StepReport& report) {
  impacts_.clear();
  if (kernel_.options.stepper.friction != Friction::exact) return;
  find_impacts(h);
  if (impacts_.empty()) return;
  kernel_.certify(state, report);
  approach_certificate_ = report.certificate;
  const Interactions& rows = kernel_.rows;
  for (const int i : impacts_) {
    const int first = rows.J.row_start[i];
    kernel_.problem.b[first] = rows.g_t[first];
  }
  // What impacts add to the impulse of a contact would be given away at the speed of its return.
  kernel_.drop_returns();
  kernel_.solve_again(memory, report);
  if (report.solve.status == Status::converged && !impact_gains()) return;
  // What many bodies between rigid drives cannot do at once: the next step goes on with it.
  for (const int i : impacts_) {
    const int first = rows.J.row_start[i];
    kernel_.problem.b[first] = rows.g[first] / h + rows.g_t[first];
  }
  kernel_.solve_again(memory, report);
  kernel_.move_with_the_end();
  impacts_.clear();
}

// A step with impacts is as good as the worse of its two problems.
void DviStepper::certify(const State& state, StepReport& report) {
  kernel_.certify(state, report);
  if (impacts_.empty()) return;
  const bool approach_meets = approach_certificate_.meets(kernel_.options.solver.tolerance);
  report.meets_tolerance = report.meets_tolerance && approach_meets;
  if (report.certificate.residual() < approach_certificate_.residual())
    report.certificate = approach_certificate_;
}

StepOutcome DviStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  report.t = state.t;
  Stopwatch clock;
  const StepperOptions& options = kernel_.options.stepper;
  // A joint error is what a step of the last size left: to remove it within a much shorter one
  // would be a blow.
  stabilisation_step_ = std::max(h, memory.h);
  detect(state, h);
  report.timings.rows = clock.lap();
  predict(state);
  const bool exact = options.implicit_forces == ImplicitForces::exact;
  assemble(state, h, exact ? Tangent::exact : Tangent::semidefinite);
  if (exact && !definite_.factorize(kernel_.H())) assemble(state, h, Tangent::semidefinite);
  kernel_.begin_rows(h);
  add_laws(h, memory);
  // No solver could say more of such a problem than that it missed its tolerance.
  if (!kernel_.problem.a.allFinite() || !kernel_.problem.b.allFinite()) {
    return {.status = StepStatus::failed,
            .t = state.t,
            .message = "forces, masses or motions in time are not finite numbers"};
  }
  report.timings.assemble = clock.lap();

  kernel_.solve(memory, report);
  kernel_.move_with_the_end();
  take_impacts_whole(state, h, memory, report);
  const bool passive = limit_joint_work(state, memory, report);
  report.timings.solve = clock.lap();
  if (!std::isfinite(kernel_.v_move.squaredNorm() + kernel_.v_after.squaredNorm())) {
    return {.status = StepStatus::failed,
            .t = state.t,
            .message = "the velocities at the end of the step are not finite numbers"};
  }
  certify(state, report);
  report.timings.certify = clock.lap();

  kernel_.audit(state, options.implicit_forces == ImplicitForces::none ? 0 : 1, memory, report);
  // At the end of the step, where the rest of an impact meets the bodies, forces have gone on for
  // half a step beyond v_move.
  if (!impacts_.empty())
    report.energy.impact -= 0.5 * h * force_.dot(kernel_.v_after - kernel_.v_move);
  move(state, h);
  if (passive)
    projection_.project_positions(state, options.projection_tolerance, projection_rounds);
  else
    align_positions(state);
  kernel_.system.accept(state);
  kernel_.finish_audit(state, memory, report);
  kernel_.remember(memory);
  report.timings.advance = clock.lap();
  return {.t = state.t};
}

}  // namespace urto
