#include "urto/stepper/smooth_stepper.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/stepper/one_sided.h"

namespace urto {
namespace {

using Clock = std::chrono::steady_clock;

void resize(Vector& v, int size) {
  if (v.size() != size) v.resize(size);
}

constexpr int most_cuts = 12;  ///< of one step: to a four-thousandth

}  // namespace

SmoothStepper::SmoothStepper(System& system, const SimulationOptions& options)
    : system_(system),
      options_(options.stepper),
      tolerance_(options.solver.tolerance),
      who_(fmt::format("stepper '{}'", options.stepper.name)) {}

void SmoothStepper::measure_rows(const State& state, bool accelerations) {
  system_.interactions(
      state, {.accelerations = accelerations, .equalities_only = true, .velocity_equalities = true},
      rows_);
  resize(rate_, rows_.rows());
  multiply(rows_.J, state.v, rate_);
  for (int r = 0; r < rows_.rows(); ++r) rate_[r] += rows_.g_t[r];
}

double SmoothStepper::soft_force(int block, int row) const {
  const Law& law = rows_.laws[block];
  return -(law.stiffness * rows_.g[row] + law.damping * rate_[row]);
}

void SmoothStepper::add_mass(SaddleLu& matrix, double factor) const {
  for (int k = 0; k < mass_.blocks(); ++k) {
    const auto block = mass_.block(k);
    for (int c = 0; c < block.cols(); ++c) {
      for (int r = 0; r < block.rows(); ++r)
        matrix.add(mass_.start[k] + r, mass_.start[k] + c, factor * block(r, c));
    }
  }
}

void SmoothStepper::add_rows(SaddleLu& matrix, int first) const {
  const BlockRows& J = rows_.J;
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      for (int r = 0; r < J.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          const double value = J.values[entry.offset + r * entry.width + c];
          const int row = first + J.row_start[i] + r;
          matrix.add(entry.column + c, row, value);
          if (!is_soft(rows_.laws[i])) matrix.add(row, entry.column + c, value);
        }
      }
    }
    for (int row = first + J.row_start[i]; row < first + J.row_start[i + 1]; ++row) {
      if (is_soft(rows_.laws[i])) {
        matrix.add(row, row, -1);  // its force is known: −1 · (−λ) = λ
      } else {
        matrix.shift(row, -1);
      }
    }
  }
}

void SmoothStepper::accelerations(const State& state, Vector& a, Vector& lambda, bool stabilise) {
  const int n = system_.nv();
  measure_rows(state, true);
  system_.mass(state, mass_);
  system_.force(state, force_);
  const int m = rows_.rows();
  plain_.start(n, n + m);
  add_mass(plain_, 1);
  add_rows(plain_, n);
  resize(rhs_, n + m);
  rhs_.head(n) = force_;
  const double omega = stabilise ? options_.baumgarte : 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      const bool position = !rows_.laws[i].on_velocity;
      rhs_[n + r] = is_soft(rows_.laws[i])
                        ? soft_force(i, r)
                        : -rows_.jdot_v[r] - (position ? 2 : 1) * omega * rate_[r] -
                              (position ? omega * omega * rows_.g[r] : 0);
    }
  }
  if (!plain_.factorize())
    throw InputError(fmt::format("t = {:.9g} s", state.t), "a singular mass matrix or not a number",
                     "a mass matrix that is positive definite on the motions the joints allow");
  plain_.solve(rhs_, solution_);
  a = solution_.head(n);
  lambda = -solution_.tail(m);
}

void SmoothStepper::project(State& state) {
  const int n = system_.nv();
  const auto solve = [&](bool positions) {
    const int m = rows_.rows();
    system_.mass(state, mass_);
    plain_.start(n, n + m);
    add_mass(plain_, 1);
    add_rows(plain_, n);
    rhs_.setZero(n + m);
    for (int i = 0; i < rows_.blocks(); ++i) {
      if (is_soft(rows_.laws[i]) || (positions && rows_.laws[i].on_velocity)) continue;
      for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r)
        rhs_[n + r] = positions ? -rows_.g[r] : -rate_[r];
    }
    if (!plain_.factorize())
      throw InputError("projection onto the joints", "a singular matrix", "a positive definite M");
    plain_.solve(rhs_, solution_);
  };
  for (int round = 0; round < 5; ++round) {
    measure_rows(state);
    if (joint_error() <= options_.projection_tolerance) break;
    solve(true);
    force_ = solution_.head(n);
    system_.add_increment(state.q, force_, state.q);
  }
  measure_rows(state);
  solve(false);
  state.v += solution_.head(n);
}

double SmoothStepper::joint_error() const {
  double error = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (is_soft(rows_.laws[i]) || rows_.laws[i].on_velocity) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r)
      error = std::max(error, std::abs(rows_.g[r]));
  }
  return error;
}

double SmoothStepper::joint_energy() const {
  double energy = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (!is_soft(rows_.laws[i])) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r)
      energy += 0.5 * rows_.laws[i].stiffness * rows_.g[r] * rows_.g[r];
  }
  return energy;
}

// (supplied, dissipated) at the state rows_ and point_.lambda belong to.
std::array<double, 2> SmoothStepper::powers(const State& state) {
  const std::array<double, 2> forces = system_.powers(state);
  std::array<double, 2> out{forces[1], forces[0]};
  for (int i = 0; i < rows_.blocks(); ++i) {
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      out[0] -= point_.lambda[r] * rows_.g_t[r];
      if (is_soft(rows_.laws[i])) out[1] += rows_.laws[i].damping * rate_[r] * rate_[r];
    }
  }
  return out;
}

// Contacts are sought at every accepted state, so that none is passed through unseen for longer than a step.
void SmoothStepper::refuse_contact(const State& state) {
  refuse_one_sided(system_, state, who_, all_);
}

void SmoothStepper::recall(const State& state, const StepMemory& memory, StepReport& report) {
  const int n = system_.nv();
  point_.state = state;
  point_.h = memory.h;
  if (static_cast<int>(memory.acceleration.size()) == n && memory.h > 0) {
    point_.a = Eigen::Map<const Vector>(memory.acceleration.data(), n);
    point_.a_true = Eigen::Map<const Vector>(memory.true_acceleration.data(), n);
    point_.lambda = Eigen::Map<const Vector>(memory.lambda.data(),
                                             static_cast<Eigen::Index>(memory.lambda.size())) /
                    memory.h;
    report.energy.supplied = memory.power[0];
    report.energy.damping = memory.power[1];
    return;
  }
  point_.h = 0;
  refuse_contact(state);
  system_.accept(point_.state);
  accelerations(point_.state, point_.a, point_.lambda);
  point_.a_true = point_.a;
  const std::array<double, 2> power = powers(point_.state);
  report.energy.supplied = power[0];
  report.energy.damping = power[1];
  report.contact_energy_before = joint_energy();
}

void SmoothStepper::remember(StepMemory& memory, double h) const {
  memory.h = h;
  memory.items.clear();
  for (int i = 0; i < rows_.blocks(); ++i)
    memory.items.push_back({rows_.ids[i], rows_.J.row_start[i], rows_.laws[i].dim});
  std::sort(memory.items.begin(), memory.items.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  memory.lambda.assign(impulses_.data(), impulses_.data() + impulses_.size());
  memory.acceleration.assign(point_.a.data(), point_.a.data() + point_.a.size());
  memory.true_acceleration.assign(point_.a_true.data(),
                                  point_.a_true.data() + point_.a_true.size());
}

void SmoothStepper::cut_and_advance(double h, StepReport& report, Work& work) {
  double done = 0;
  double part = h;
  while (done < h * (1 - 1e-9)) {
    part = std::min(part, h - done);
    trial_ = point_;
    Work of_part;
    const bool good = advance(trial_, part, of_part);
    work.iterations += of_part.iterations;
    work.factorizations += of_part.factorizations;
    if (good) {
      work.residual = std::max(work.residual, of_part.residual);
      system_.accept(trial_.state);
      std::swap(point_, trial_);
      point_.h = part;
      done += part;
      continue;
    }
    if (++report.cuts > most_cuts) {
      throw InputError(fmt::format("stepper '{}' at t = {:.9g} s", options_.name, point_.state.t),
                       fmt::format("no convergence of Newton's iteration in {} rounds, even with a "
                                   "step of {:.3g} s",
                                   options_.newton_iterations, part),
                       "a motion that is smooth at this step, or the stepper 'dvi'");
    }
    part *= 0.5;
  }
}

void SmoothStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  const Clock::time_point begin = Clock::now();
  report.t = state.t;
  report.h = h;
  report.energy = {};
  report.cuts = 0;
  report.contact_energy_before = 0;
  recall(state, memory, report);
  Work work;
  cut_and_advance(h, report, work);
  point_.state.t = report.t + h;
  refuse_contact(point_.state);

  const std::array<double, 2> power = powers(point_.state);
  report.energy.supplied = 0.5 * h * (report.energy.supplied + power[0]);
  report.energy.damping = 0.5 * h * (report.energy.damping + power[1]);
  report.contact_energy = joint_energy();
  report.joint_error = joint_error();
  report.newton_iterations = report.solve.iterations = work.iterations;
  report.factorizations = work.factorizations;
  report.certificate.momentum = work.residual;
  report.meets_tolerance = report.certificate.meets(tolerance_);
  report.solve.status = Status::converged;
  report.solve.message.clear();
  if (report.cuts > 0)
    report.solve.message = fmt::format("Newton failed {} times: the step was cut", report.cuts);

  impulses_ = h * point_.lambda;
  remember(memory, h);
  memory.power = power;
  // A method that carries accelerations of two times must know how long its last step was.
  memory.h = h;
  if (point_.h != h) {
    // The parts of a cut step: the next step's ratio of steps is taken to the last part.
    const double ratio = h / point_.h;
    for (std::size_t k = 0; k < memory.acceleration.size(); ++k) {
      memory.acceleration[k] = memory.true_acceleration[k] +
                               ratio * (memory.acceleration[k] - memory.true_acceleration[k]);
    }
  }
  state = point_.state;
  report.timings = {};
  report.timings.solve = std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace urto
