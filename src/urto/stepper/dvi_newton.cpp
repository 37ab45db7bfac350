#include "urto/stepper/dvi_newton.h"

#include <array>

#include "urto/stepper/stopwatch.h"

namespace urto {

DviNewtonStepper::DviNewtonStepper(const System& system, const SimulationOptions& options)
    : DviStepper(system, options) {
  kernel_.options.stepper.restitution = false;
}

// Forces and rows of the start, as dvi has them: of K only H knows.
void DviNewtonStepper::pose_at_start(const State& start, double h, Tangent kind) {
  BlockMatrix& H = kernel_.H();
  const bool implicit = kernel_.options.stepper.implicit_forces != ImplicitForces::none;
  H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  kernel_.system.assemble(start, {.mass = 1, .damping = implicit ? h : 0}, kind, H);
  multiply(H, start.v, momentum_, &kernel_.threads);
  kernel_.problem.a = momentum_ + h * force_;
  if (implicit) kernel_.system.assemble(start, {.stiffness = h * h}, kind, H);
  H.finish_assembly();
}

void DviNewtonStepper::pose_at_end(const State& start, double h, Tangent kind) {
  BlockMatrix& H = kernel_.H();
  H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  kernel_.system.assemble(start, {.mass = 0.5}, kind, H);
  kernel_.system.assemble(end_, {.mass = 0.5}, kind, H);
  delta_ = end_.v - start.v;
  multiply(H, delta_, momentum_, &kernel_.threads);
  if (kernel_.options.stepper.implicit_forces != ImplicitForces::none)
    kernel_.system.assemble(end_, {.damping = h, .stiffness = h * h}, kind, H);
  H.finish_assembly();
  multiply(H, end_.v, kernel_.problem.a, &kernel_.threads);
  kernel_.problem.a += h * force_ - momentum_;
}

// The exact tangents where H is positive definite with them.
template <class Pose>
void DviNewtonStepper::assemble(Pose pose) {
  const ImplicitForces forces = kernel_.options.stepper.implicit_forces;
  const bool exact = forces == ImplicitForces::exact || forces == ImplicitForces::automatic;
  pose(exact ? Tangent::exact : Tangent::semidefinite);
  if (exact && !definite_.factorize(kernel_.H())) pose(Tangent::semidefinite);
}

// g_k − h (J v_k + g_t) in the place of the gaps of the start: with it the rows of dvi, J v⁺ + g_t
// + g/h, are those linearised at v_k.
void DviNewtonStepper::refer_gaps(double h) {
  Interactions& rows = kernel_.rows;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (law.on_velocity) continue;
    const int first = rows.J.row_start[i];
    std::array<double, max_block> u{};
    multiply_add_block(rows.J, i, end_.v.data(), u.data());
    const int with_gaps = law.kind == LawKind::equality ? law.dim : 1;
    for (int k = 0; k < with_gaps; ++k) rows.g[first + k] -= h * (u[k] + rows.g_t[first + k]);
  }
}

void DviNewtonStepper::begin(const State& start, double h, const StepMemory& memory) {
  end_ = start;
  detect(start, h);
  kernel_.v_before = start.v;
  kernel_.system.force(start, force_);
  assemble([&](Tangent kind) { pose_at_start(start, h, kind); });
  kernel_.begin_rows(h);
  add_laws(h, memory);
}

// At the end that the last velocity leads to.
void DviNewtonStepper::linearise(const State& start, double h, const StepMemory& memory) {
  end_.v = kernel_.v_after;
  end_.t = start.t + h;
  delta_ = h * end_.v;
  kernel_.system.add_increment(start.q, delta_, end_.q);
  kernel_.rows.horizon = 0;  // speed motors: this is the end that they aim at
  kernel_.system.measure(end_, kernel_.rows);
  kernel_.system.force(end_, force_);
  refer_gaps(h);
  assemble([&](Tangent kind) { pose_at_end(start, h, kind); });
  kernel_.begin_rows(h);
  add_laws(h, memory);
  kernel_.finish_problem();
}

StepOutcome DviNewtonStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  report.t = state.t;
  report.newton_iterations = 0;
  report.timings = {};
  Stopwatch clock;
  stabilisation_step_ = h;
  begin(state, h, memory);
  report.timings.assemble = clock.lap();
  kernel_.solve(memory, report);
  for (;;) {
    ++report.newton_iterations;
    if (!kernel_.v_after.allFinite())
      return {StepStatus::failed, state.t, {}, "Newton's iteration has left the numbers"};
    linearise(state, h, memory);
    kernel_.certify(end_, report);
    const int most = kernel_.options.stepper.newton_iterations;
    if (report.meets_tolerance || report.newton_iterations >= most) break;
    kernel_.solve_on(report);
  }
  report.timings.solve = clock.lap();
  kernel_.move_with_the_end();
  kernel_.audit(state, 1, memory, report);
  std::swap(state, end_);
  kernel_.system.accept(state);
  kernel_.finish_audit(state, memory, report);
  kernel_.remember(memory);
  report.timings.advance = clock.lap();
  return {.t = state.t};
}

}  // namespace urto
