// Runs of the examples of O. Brüls, V. Acary and A. Cardona (recipe 004 §3), step by step.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "urto/mechanics/textbook_contact.h"
#include "urto/stepper/stepper.h"

namespace urto::testing {

/// The paper's settings: ρ∞ = 0.8, restitution of every contact whatever its speed before.
inline SimulationOptions paper_options(const std::string& stepper) {
  SimulationOptions o;
  o.stepper.name = stepper;
  o.stepper.spectral_radius = 0.8;
  o.stepper.restitution_bound = RestitutionBound::source;
  o.solver.tolerance = 1e-11;
  return o;
}

/// What is known after each step of a system whose rows are always there.
struct Moment {
  double t = 0;
  Vector q = {}, v = {};
  std::vector<double> g = {}, rate = {};  ///< of all rows, at this state
  Vector impulse = {};                    ///< of all rows, in the step that led here
  double energy = 0;
  int iterations = 0;
  double residual = 0;
};

struct Trace {
  std::vector<Moment> steps;  ///< the start first
  const Moment& at(double t) const {
    const double h = steps[1].t - steps[0].t;
    return steps.at(static_cast<std::size_t>(std::lround(t / h)));
  }
  const Moment& last() const { return steps.back(); }
  double least_gap(int row) const {
    double least = steps.front().g[row];
    for (const Moment& m : steps) least = std::min(least, m.g[row]);
    return least;
  }
  double largest_error(int row) const {
    double most = 0;
    for (const Moment& m : steps) most = std::max(most, std::abs(m.g[row]));
    return most;
  }
  double largest_rate(int row) const {
    double most = 0;
    for (const Moment& m : steps) most = std::max(most, std::abs(m.rate[row]));
    return most;
  }
  double largest_gain() const {
    double most = 0;
    for (std::size_t k = 1; k < steps.size(); ++k)
      most = std::max(most, steps[k].energy - steps[k - 1].energy);
    return most;
  }
  int most_iterations() const {
    int most = 0;
    for (const Moment& m : steps) most = std::max(most, m.iterations);
    return most;
  }
  double worst_residual() const {
    double worst = 0;
    for (const Moment& m : steps) worst = std::max(worst, m.residual);
    return worst;
  }
  /// From when on nothing is faster than that.
  double rest_from(double speed) const {
    double t = 0;
    for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
      if (steps[k].v.lpNorm<Eigen::Infinity>() > speed) t = steps[k + 1].t;
    }
    return t;
  }
};

inline Trace run(const System& system, State state, const SimulationOptions& options, double h,
                 double end,
                 const std::function<void(const Stepper&, const StepReport&)>& look = {}) {
  const std::unique_ptr<Stepper> stepper = make_stepper(system, options);
  SystemAccess access(system);
  Interactions all;
  Trace out;
  StepMemory memory;
  StepReport report;
  const auto note = [&](bool first) {
    access.interactions(state, {.h = h}, all);
    Moment m{.t = state.t, .q = state.q, .v = state.v, .g = all.g, .rate = all.g_t};
    Eigen::Map<Vector> rate(m.rate.data(), all.rows());
    Vector along(all.rows());
    multiply(all.J, state.v, along);
    rate += along;
    m.impulse = Vector::Zero(all.rows());
    const Interactions& rows = stepper->rows();
    for (int i = 0; i < rows.blocks() && !first; ++i) {
      const auto at = std::find(all.ids.begin(), all.ids.end(), rows.ids[i]) - all.ids.begin();
      m.impulse.segment(all.J.row_start[at], rows.laws[i].dim) =
          stepper->impulses().segment(rows.J.row_start[i], rows.laws[i].dim);
    }
    const Energies e = access.energies(state);
    m.energy = e.kinetic + e.potential;
    m.iterations = report.newton_iterations;
    m.residual = report.certificate.residual();
    out.steps.push_back(std::move(m));
  };
  note(true);
  const auto steps = static_cast<int>(std::lround(end / h));
  for (int k = 0; k < steps; ++k) {
    const StepOutcome outcome = stepper->step(state, h, memory, report);
    if (outcome.failed()) throw std::runtime_error(outcome.message);
    state.t = (k + 1) * h;
    note(false);
    if (look) look(*stepper, report);
  }
  return out;
}

inline State resting(const Vector& q) {
  State s;
  s.q = q;
  s.v = Vector::Zero(q.size());
  return s;
}

}  // namespace urto::testing
