// The end of a step: certificates, events, what the next step needs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/math/stored_vector.h"
#include "urto/stepper/alpha_helpers.h"
#include "urto/stepper/nonsmooth_alpha.h"

namespace urto {
namespace {

constexpr double approach_of_rest = 1e-9;  ///< [m/s]

}  // namespace

// ---- The end of a step

void NonsmoothAlphaStepper::certify(const State& state, StepReport& report) {
  const double tolerance = kernel_.options.solver.tolerance;
  if (exact_) {
    kernel_.system.measure(step_.end, all_);
    positions_.begin(all_, step_, false);
    tangential(Lambda_, half_);
    Vector pushes = nu_;
    if (modified()) {
      // M U = Jᵀν with ν − hΛ ⊥ g: the rest of ν is a load.
      for (int i = 0; i < all_.blocks(); ++i) {
        const int first = all_.J.row_start[i];
        if (!alpha_rows::is_rigid_contact(all_.laws[i])) continue;
        half_[first] = Lambda_[first];
        pushes[first] -= step_.h * Lambda_[first];
      }
    }
    positions_.certify(step_, all_, half_, pushes);
    position_certificate_ = positions_.certificate();
    pose_velocities();
    kernel_.finish_problem();
    kernel_.v_after = step_.end.v;
    kernel_.impulses.resize(kernel_.rows.rows());
    for (int k = 0; k < kernel_.rows.blocks(); ++k) {
      const int dim = kernel_.rows.laws[k].dim;
      const int first = kernel_.rows.J.row_start[k];
      kernel_.impulses.segment(first, dim) = Lambda_.segment(all_.J.row_start[gated_[k]], dim);
      if (alpha_rows::is_rigid_contact(kernel_.rows.laws[k]))
        kernel_.problem.b[first] = kernel_.rows.g_t[first] + equations_.bound[gated_[k]];
    }
    after_.state = step_.end;
    after_.a = step_.a;
    after_.a_true = step_.a_hat;
    smooth_out_ = lambda_;
  }
  // The smooth motion where it was solved: with the forces of v⁺ where all holds together, and
  // joints along ṽ.
  if (after_.lambda.size() != joints_.rows()) after_.lambda.resize(joints_.rows());
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) after_.lambda[joint_row_[r]] = smooth_out_[r];
  }
  before_.state = state;
  certifier_.start();
  certifier_.look_at(before_, after_, tolerance);
  const double h = step_.h;
  constexpr double eps = std::numeric_limits<double>::epsilon();
  certifier_.check_force_balance(
      8 * eps * (1 + alpha_rows::largest(state.q)) / (h * h * step_.scheme.beta), &besides_);
  after_.state.v = exact_ ? step_.free.v : after_.state.v;
  certifier_.look_at(before_, after_, tolerance);
  certifier_.check_velocities(false);
  const Certificate smooth = certifier_.result();

  kernel_.certify(state, report);
  report.meets_tolerance =
      report.meets_tolerance && smooth.meets(tolerance) && position_certificate_.meets(tolerance);
  const Certificate* const others[] = {&smooth, &position_certificate_};
  for (const Certificate* other : others) {
    if (!(other->residual() <= report.certificate.residual())) {
      const Friction friction = report.certificate.friction;
      report.certificate = *other;
      report.certificate.friction = friction;
    }
  }
}

// The balance of forces with those of contacts, joints and gaps.
void NonsmoothAlphaStepper::certify_index_3(const State& state, StepReport& report) {
  const double tolerance = kernel_.options.solver.tolerance, h = step_.h;
  constexpr double eps = std::numeric_limits<double>::epsilon();
  Vector besides = besides_;
  after_.lambda.resize(joints_.rows());
  double off = 0;
  for (int i = 0; i < all_.blocks(); ++i) {
    const int first = all_.J.row_start[i];
    if (alpha_rows::is_contact(all_.laws[i])) {
      transpose_multiply_add_block(all_.J, i, lambda_.data() + first, besides.data());
      const double gap = all_.g[first];
      off = std::max(off, lambda_[first] > 0 ? std::abs(gap) : std::max(0.0, -gap));
      continue;
    }
    for (int r = first; r < first + all_.laws[i].dim; ++r)
      after_.lambda[joint_row_[r]] = lambda_[r];
  }
  before_.state = state;
  after_.state = step_.end;
  after_.a = step_.a;
  after_.a_true = step_.a_hat;
  certifier_.start();
  certifier_.look_at(before_, after_, tolerance);
  certifier_.check_force_balance(
      8 * eps * (1 + alpha_rows::largest(state.q)) / (h * h * step_.scheme.beta), &besides);
  certifier_.check_positions();
  report.certificate = certifier_.result();
  const double moved =
      alpha_rows::largest(step_.free_increment) + gap_rounding(state.q) / tolerance;
  report.certificate.natural_map = std::max(report.certificate.natural_map, off / moved);
  report.meets_tolerance = report.certificate.meets(tolerance);
}

// An impact, or a contact that closes or opens: what follows is another motion.
bool NonsmoothAlphaStepper::is_event(const StepMemory& memory) const {
  int known = 0, before = 0;
  for (const StepMemory::Item& item : memory.items) {
    const auto kind = static_cast<Origin>(item.id >> 40U);
    if (item.id >> 63U != 0 || kind == Origin::limit) ++before;
  }
  for (int k = 0; k < kernel_.rows.blocks(); ++k) {
    const Law& law = kernel_.rows.laws[k];
    if (!alpha_rows::is_contact(law)) continue;
    if (memory.find(kernel_.rows.ids[k], law.dim) == nullptr) return true;
    ++known;
    if (alpha_rows::is_rigid_contact(law) &&
        start_rate_[all_.J.row_start[gated_[k]]] < -approach_of_rest)
      return true;
  }
  return known != before;
}

void NonsmoothAlphaStepper::contact_paths(std::vector<ContactPath>& out) {
  out.clear();
  probed_ = all_;
  probed_.gaps_only = false;
  kernel_.system.measure(step_.free, probed_);
  rate_.resize(probed_.rows());
  multiply(probed_.J, step_.free.v, rate_);
  const bool rebounds = kernel_.options.stepper.restitution;
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    if (!alpha_rows::is_rigid_contact(law)) continue;
    const int first = all_.J.row_start[i];
    out.push_back({.gap = start_gap_[first],
                   .rate = start_rate_[first],
                   .free_gap = probed_.g[first],
                   .free_rate = rate_[first] + probed_.g_t[first],
                   .restitution = rebounds ? law.restitution : 0});
  }
}

// For the audit, M v⁺ = a + Jᵀp as the scheme says it: a is Hṽ of the velocity problem, with ṽ from
// a⁺, less what its damping takes and what is in p already. So v⁺ is compared with its formula.
void NonsmoothAlphaStepper::pose_claim(const Vector& taken_off) {
  BlockMatrix& H = kernel_.H();
  Vector& a = kernel_.problem.a;
  multiply(H, kernel_.v_after, inertia_);
  a -= inertia_;
  kernel_.system.mass(step_.end, H);
  multiply(H, kernel_.v_after, inertia_);
  a += inertia_;
  transpose_multiply_add(kernel_.rows.J, taken_off, a);
}

void NonsmoothAlphaStepper::finish(State& state, StepMemory& memory, StepReport& report) {
  SystemAccess& system = kernel_.system;
  const double h = step_.h;
  event_ = memory.h > 0 && is_event(memory);
  // Impulses are those of the whole step: Λ and hλ̃. With them M v⁺ = a + Jᵀp has the forces in a.
  Interactions& rows = kernel_.rows;
  nu_out_.setZero(rows.rows());
  Vector& smooth = next_reactions_;
  smooth.setZero(rows.rows());
  for (int k = 0; k < rows.blocks(); ++k) {
    const int dim = rows.laws[k].dim, first = rows.J.row_start[k];
    const int from = all_.J.row_start[gated_[k]];
    smooth.segment(first, dim) = smooth_out_.segment(from, dim);
    nu_out_.segment(first, dim) = nu_.segment(from, dim);
    for (int r = 0; r < dim; ++r) rows.g[first + r] = start_gap_[from + r];
  }
  smooth_out_ = smooth;
  taken_off_ = -h * smooth;
  pose_claim(taken_off_);
  kernel_.impulses += h * smooth;
  kernel_.move_with_the_end();
  kernel_.audit(state, 0.5, memory, report);
  state.q = step_.end.q;
  state.v = step_.end.v;
  state.t = step_.end.t;
  system.accept(state);
  kernel_.finish_audit(state, memory, report);
  kernel_.remember(memory);

  next_a_ = step_.a;
  next_a_hat_ = step_.a_hat;
  const StepperOptions& o = kernel_.options.stepper;
  if (event_ && o.restart && o.alpha_variant != AlphaVariant::index_3) {
    Vector reaction;
    if (dynamics_.solve(system, state, 0, probed_, rate_, next_a_hat_, reaction, &besides_)) {
      next_a_ = next_a_hat_;
      for (int k = 0; k < rows.blocks(); ++k) {
        for (int r = 0; r < rows.laws[k].dim; ++r) {
          const int row = joint_row_[all_.J.row_start[gated_[k]] + r];
          if (row >= 0) smooth[rows.J.row_start[k] + r] = reaction[row];
        }
      }
    }
  }
  store(next_a_, memory.arrays.at(method_array));
  store(next_a_hat_, memory.arrays.at(motion_array));
  store(smooth, memory.arrays.at(reaction_array));
  memory.arrays.at(event_array).assign(1, event_ ? 1 : 0);
}

}  // namespace urto
