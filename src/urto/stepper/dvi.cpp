#include "urto/stepper/dvi.h"

#include <algorithm>
#include <cmath>

#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr int projection_rounds = 5;
constexpr int blocks_at_a_time = 256;  // what a thread takes at once
constexpr std::string_view joint_account = "dvi_joint_work";
/// What rigid joints may have given in all, relative to the largest kinetic energy of the run.
constexpr double joint_credit = 1e-3;

// An open gap may close within the step whether or not errors are stabilised: without its g the row
// would stop the body in mid-air.
bool is_apart(const Law& law, double gap) {
  return law.kind != LawKind::equality && gap > 0;
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

// Right-hand side, compliance and push of one block. Soft rows: E = 1/(h(hk + c)), b = k/(hk + c) g
// (recipe 000 §2.17).
void DviStepper::add_law(int block, double h) {
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
      const double slowest = -kernel_.options.stepper.recovery_speed;
      const double rate = law.recovers_slowly ? std::max(g / h, slowest) : g / h;
      b += rate;
      kernel_.push[block] = std::max(0.0, -rate);
    }
  }
}

// Pulls add to bodies and rebounds to a list: by one thread, in the order of the rows.
void DviStepper::add_laws(double h) {
  const int blocks = kernel_.rows.blocks();
  special_.resize(blocks);
  share_items(&kernel_.threads, blocks, blocks_at_a_time, [&](int i) {
    const Law& law = kernel_.rows.laws[i];
    special_[i] = law.cohesion != 0 || law.restitution > 0 ? 1 : 0;
    add_law(i, h);
  });
  for (int i = 0; i < blocks; ++i) {
    if (special_[i] == 0) continue;
    kernel_.add_pull(i);
    kernel_.add_rebound(i);
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
  state.v = kernel_.v_after;
  if (const FreeRotation* rotation = kernel_.system.system().free_rotation())
    rotation->turn_freely(h, kernel_.system.workspace(), state.v, delta_);
  else
    delta_ = h * state.v;
  kernel_.system.add_increment(state.q, delta_, state.q);
  state.t += h;
}

// H = M + hD + h²K and a = (M + hD) v + h f, with the symmetric parts of D and K: any approximation
// of them is consistent, and the solvers want symmetry.
void DviStepper::assemble(const State& state, double h, Tangent kind) {
  const bool implicit = kernel_.options.stepper.implicit_forces != ImplicitForces::none;
  BlockMatrix& H = kernel_.H();
  H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  kernel_.system.assemble(state, {.mass = 1, .damping = implicit ? h : 0}, kind, H);
  multiply(H, kernel_.v_before, kernel_.problem.a, &kernel_.threads);
  kernel_.problem.a += h * force_;
  if (implicit) kernel_.system.assemble(state, {.stiffness = h * h}, kind, H);
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
  if (!options.stabilise || !std::any_of(laws.begin(), laws.end(), holds_position)) return false;
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
    kernel_.solve(memory, report);
    work = kernel_.joint_work();
  }
  // Energy that was lost is no credit: other bodies than those that lost it would gain it.
  account[0] = std::max(0.0, account[0] + work);
  return passive;
}

StepOutcome DviStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  report.t = state.t;
  Stopwatch clock;
  const StepperOptions& options = kernel_.options.stepper;
  // A joint error is what a step of the last size left: to remove it within a much shorter one
  // would be a blow.
  stabilisation_step_ = std::max(h, memory.h);
  kernel_.system.interactions(state, {.h = h, .envelope = kernel_.options.contact_envelope},
                              kernel_.rows);
  report.timings.rows = clock.lap();
  predict(state);
  const bool exact = options.implicit_forces == ImplicitForces::exact;
  assemble(state, h, exact ? Tangent::exact : Tangent::semidefinite);
  if (exact && !definite_.factorize(kernel_.H())) assemble(state, h, Tangent::semidefinite);
  kernel_.begin_rows(h);
  add_laws(h);
  report.timings.assemble = clock.lap();

  kernel_.solve(memory, report);
  const bool passive = limit_joint_work(state, memory, report);
  report.timings.solve = clock.lap();
  kernel_.certify(state, report);
  report.timings.certify = clock.lap();

  kernel_.audit(state, options.implicit_forces != ImplicitForces::none, memory, report);
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
