// The start of a step, and its course; how its equations are solved is in nonsmooth_alpha_ways.cpp,
// what becomes of the solution in nonsmooth_alpha_end.cpp.
#include "urto/stepper/nonsmooth_alpha.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "urto/linalg/small_inverse.h"
#include "urto/math/stored_vector.h"
#include "urto/stepper/alpha_helpers.h"
#include "urto/stepper/stopwatch.h"

namespace urto {

NonsmoothAlphaStepper::NonsmoothAlphaStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options),
      positions_(kernel_.system, kernel_.options, kernel_.threads),
      equations_(kernel_.system),
      index_3_(kernel_.system),
      certifier_(system) {
  step_.scheme = alpha_scheme(options.stepper.spectral_radius);
}

// ---- The start of a step

void NonsmoothAlphaStepper::detect(const State& state, double h) {
  SystemAccess& system = kernel_.system;
  system.interactions(state, {.h = h, .envelope = kernel_.options.contact_envelope}, all_);
  if (kernel_.options.adaptive) start_rows_ = all_;
  start_gap_ = all_.g;
  start_rate_.resize(all_.rows());
  rate_.resize(all_.rows());
  multiply(all_.J, state.v, rate_);
  for (int r = 0; r < all_.rows(); ++r) start_rate_[r] = rate_[r] + all_.g_t[r];
  passed_.start(all_, start_rate_, h);
  joint_blocks_.clear();
  joint_row_.assign(all_.rows(), -1);
  int row = 0;
  besides_.setZero(system.nv());
  for (int i = 0; i < all_.blocks(); ++i) {
    const int first = all_.J.row_start[i];
    if (all_.laws[i].kind == LawKind::equality) {
      joint_blocks_.push_back(i);
      for (int r = 0; r < all_.laws[i].dim; ++r) joint_row_[first + r] = row++;
    } else if (const double pulled = pull(all_.laws[i], all_.g[first]); pulled != 0) {
      // Cohesion is a force like any other, and Λ what the surfaces press with besides.
      std::array<double, max_block> along{-pulled};
      transpose_multiply_add_block(all_.J, i, along.data(), besides_.data());
    }
  }
  select_blocks(all_, joint_blocks_, joints_);
  weigh(state);
  prepare_bounds();
  lambda_.setZero(all_.rows());
  nu_.setZero(all_.rows());
  Lambda_.setZero(all_.rows());
}

// r = 1/(J M⁻¹ Jᵀ) of each row by itself, with the diagonal blocks of M: it only weighs.
void NonsmoothAlphaStepper::weigh(const State& state) {
  kernel_.system.mass(state, mass_);
  weight_.assign(all_.rows(), kernel_.options.stepper.activation_mass);
  for (int i = 0; i < all_.blocks(); ++i) {
    if (!alpha_rows::is_contact(all_.laws[i])) continue;
    for (int r = 0; r < all_.laws[i].dim; ++r) {
      double give = 0;
      for (int e = all_.J.entry_start[i]; e < all_.J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = all_.J.entries[e];
        const auto node = static_cast<int>(
            std::upper_bound(mass_.start.begin(), mass_.start.end(), entry.column) -
            mass_.start.begin() - 1);
        const Eigen::Map<const Vector> J(all_.J.values.data() + entry.offset + r * entry.width,
                                         entry.width);
        node_mass_ = mass_.block(node);
        node_inverse_.resize(entry.width, entry.width);
        if (!invert_positive_definite(entry.width, node_mass_.data(), node_inverse_.data()))
          continue;
        node_row_.noalias() = node_inverse_ * J;
        give += J.dot(node_row_);
      }
      if (give > 0) weight_[all_.J.row_start[i] + r] /= give;
    }
  }
}

void NonsmoothAlphaStepper::prepare_bounds() {
  const StepperOptions& o = kernel_.options.stepper;
  bound_.assign(all_.blocks(), 0.0);
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const double u = start_rate_[all_.J.row_start[i]];
    if (!alpha_rows::is_rigid_contact(law) || !o.restitution) continue;
    const bool parts = u > 0 && o.restitution_bound == RestitutionBound::source;
    if (parts || u < -law.restitution_threshold) bound_[i] = law.restitution * u;
  }
}

bool NonsmoothAlphaStepper::recall_step(const State& state, double h, const StepMemory& memory,
                                        std::string& trouble) {
  const auto n = static_cast<std::size_t>(kernel_.system.nv());
  const std::vector<double>* a = memory.arrays.find(method_array);
  const std::vector<double>* a_hat = memory.arrays.find(motion_array);
  const std::vector<double>* reactions = memory.arrays.find(reaction_array);
  const std::vector<double>* event = memory.arrays.find(event_array);
  impacts_ = memory;
  if (memory.h > 0 && a != nullptr && a_hat != nullptr && event != nullptr && a->size() == n &&
      a_hat->size() == n && reactions != nullptr && reactions->size() == memory.lambda.size()) {
    step_.a_hat_start = as_vector(*a_hat);
    // a belongs to a time shifted in proportion to the step.
    step_.a_start = step_.a_hat_start + h / memory.h * (as_vector(*a) - step_.a_hat_start);
    event_ = std::any_of(event->begin(), event->end(), [](double e) { return e != 0; });
    for (std::size_t r = 0; r < reactions->size(); ++r)
      impacts_.lambda[r] -= memory.h * (*reactions)[r];
    for (const int i : joint_blocks_) {
      const StepMemory::Item* item = memory.find(all_.ids[i], all_.laws[i].dim);
      for (int r = 0; item != nullptr && r < item->dim; ++r)
        lambda_[all_.J.row_start[i] + r] = (*reactions)[item->start + r];
    }
    return true;
  }
  event_ = true;
  Vector reaction;
  if (!dynamics_.solve(kernel_.system, state, 0, probed_, rate_, step_.a_hat_start, reaction,
                       &besides_)) {
    trouble = "a singular mass matrix, or not a number";
    return false;
  }
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) lambda_[r] = reaction[joint_row_[r]];
  }
  step_.a_start = step_.a_hat_start;
  return true;
}

std::string NonsmoothAlphaStepper::attempt(State& state, double h, StepMemory& memory,
                                           StepReport& report, bool /*smallest*/) {
  Stopwatch clock;
  const StepperOptions& o = kernel_.options.stepper;
  std::string trouble;
  detect(state, h);
  if (!recall_step(state, h, memory, trouble)) return trouble;
  carried_.recall(o.carried_contacts != CarriedContacts::none ? &memory : nullptr, all_, h);
  report.timings.rows += clock.lap();
  kernel_.v_after = state.v;
  exact_ = o.alpha_algorithm != AlphaAlgorithm::one_pass || modified();
  goal_ = 0.1 * kernel_.options.solver.tolerance;
  if (exact_) {
    step_.begin(kernel_.system, state, h, Vector::Zero(kernel_.system.nv()));
    if (!equations_.begin(all_, step_, o)) {
      exact_ = false;
      report.solve.message = "rows that only one pass treats";
    }
  }
  if (o.alpha_variant == AlphaVariant::index_3) {
    exact_ = false;
    step_.begin(kernel_.system, state, h, step_.a_hat_start);
    trouble = index_3(report);
  } else if (exact_) {
    trouble = all_equations(state, h, impacts_, report);
  } else if (modified()) {
    trouble = "rows that the modified LCP does not treat";
  } else {
    step_.begin(kernel_.system, state, h, step_.a_hat_start);
    trouble = one_pass(impacts_, report);
    if (!trouble.empty() && carried_.any()) {
      // What was carried can make the smooth motion one without a solution, where slip turns round.
      carried_.recall(nullptr, all_, h);
      trouble.clear();
      lambda_.setZero();
      if (!recall_step(state, h, memory, trouble)) return trouble;
      step_.begin(kernel_.system, state, h, step_.a_hat_start);
      trouble = one_pass(impacts_, report);
    }
  }
  report.timings.solve += clock.lap();
  if (!trouble.empty()) return trouble;
  if (passed_.any(kernel_.system, step_.end)) return passed_through;
  if (o.alpha_variant == AlphaVariant::index_3) {
    certify_index_3(state, report);
  } else {
    certify(state, report);
  }
  if (exact_ && !report.meets_tolerance) {
    // Certificates weigh each of the three by itself: what corrects positions may be far smaller
    // than the motion.
    goal_ *= 1e-4;
    const bool newton = o.alpha_algorithm == AlphaAlgorithm::monolithic || modified();
    const std::string further = newton ? monolithic(report) : sequential(impacts_, report);
    if (further.empty()) certify(state, report);
  }
  report.timings.certify += clock.lap();
  finish(state, memory, report);
  report.timings.advance += clock.lap();
  return {};
}

}  // namespace urto
