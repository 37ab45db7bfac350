#include "urto/stepper/dvi.h"

#include <algorithm>
#include <cmath>

#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr int projection_rounds = 5;

// An open gap may close within the step whether or not errors are stabilised: without its g the row would stop the body in mid-air.
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

// Right-hand side, compliance and push of one block. Soft rows: E = 1/(h(hk + c)), b = k/(hk + c) g (recipe 000 §2.17).
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
      // Surfaces that are apart have no damper between them yet; the spring acts on what the step makes overlap.
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
  kernel_.add_pull(block);
  kernel_.add_rebound(block);
}

// Forces of the start; gyroscopic moments turn the velocity by themselves.
void DviStepper::predict(const State& state, double h) {
  kernel_.system.force(state, force_);
  kernel_.v_before = state.v;
  if (const FreeRotation* rotation = kernel_.system.system().free_rotation())
    rotation->turn_freely(state, h, kernel_.v_before, force_);
}

// H = M + hD + h²K and a = (M + hD) v + h f, with the symmetric parts of D and K: any approximation of them is consistent, and the solvers want symmetry.
void DviStepper::assemble(const State& state, double h, Tangent kind) {
  const bool implicit = kernel_.options.stepper.implicit_forces != ImplicitForces::none;
  BlockMatrix& H = kernel_.H();
  H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  kernel_.system.assemble(state, {.mass = 1, .damping = implicit ? h : 0}, kind, H);
  multiply(H, kernel_.v_before, kernel_.problem.a);
  kernel_.problem.a += h * force_;
  if (implicit) kernel_.system.assemble(state, {.stiffness = h * h}, kind, H);
  H.finish_assembly();
}

StepOutcome DviStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  report.t = state.t;
  Stopwatch clock;
  const StepperOptions& options = kernel_.options.stepper;
  // A joint error is what a step of the last size left: to remove it within a much shorter one would be a blow.
  stabilisation_step_ = std::max(h, memory.h);
  kernel_.system.interactions(state, {.h = h, .envelope = kernel_.options.contact_envelope},
                              kernel_.rows);
  report.timings.rows = clock.lap();
  predict(state, h);
  const bool exact = options.implicit_forces == ImplicitForces::exact;
  assemble(state, h, exact ? Tangent::exact : Tangent::semidefinite);
  if (exact && !definite_.factorize(kernel_.H())) assemble(state, h, Tangent::semidefinite);
  kernel_.begin_rows(h);
  for (int i = 0; i < kernel_.rows.blocks(); ++i) add_law(i, h);
  report.timings.assemble = clock.lap();

  kernel_.solve(memory, report);
  report.timings.solve = clock.lap();
  kernel_.certify(state, report);
  report.timings.certify = clock.lap();

  kernel_.audit(state, options.implicit_forces != ImplicitForces::none, report);
  delta_ = h * kernel_.v_after;
  kernel_.system.add_increment(state.q, delta_, state.q);
  state.v = kernel_.v_after;
  state.t += h;
  align_positions(state);
  kernel_.system.accept(state);
  kernel_.remember(memory);
  report.timings.advance = clock.lap();
  return {.t = state.t};
}

}  // namespace urto
