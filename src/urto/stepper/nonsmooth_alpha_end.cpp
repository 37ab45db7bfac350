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

bool is_of_contact(const StepMemory::Item& item) {
  return item.id >> 63U != 0 || static_cast<Origin>(item.id >> 40U) == Origin::limit;
}

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
      8 * eps * (1 + alpha_rows::largest(state.q)) / (h * h * step_.scheme.beta),
      exact_ ? &besides_ : &smooth_besides_);
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

// An impact, or a contact that closes or opens: what follows is another motion, of its island.
bool NonsmoothAlphaStepper::find_events(const StepMemory& memory) {
  const Interactions& rows = kernel_.rows;
  new_motion_.assign(kernel_.system.layout().nodes(), 0);
  lasts_.assign(rows.blocks(), 0);
  gated_row_.resize(rows.blocks());
  bool any = false;
  const auto mark = [&](const Interactions& of, int block) {
    any = true;
    for (int e = of.J.entry_start[block]; e < of.J.entry_start[block + 1]; ++e)
      new_motion_[alpha_rows::node_at(kernel_.system.layout(), of.J.entries[e].column)] = 1;
  };
  // What a solver of this tolerance cannot tell from rest.
  const double slow = std::max(
      approach_of_rest, kernel_.options.solver.tolerance * alpha_rows::largest(step_.start.v));
  int known = 0;
  for (int k = 0; k < rows.blocks(); ++k) {
    const Law& law = rows.laws[k];
    gated_row_[k] = all_.J.row_start[gated_[k]];
    if (!alpha_rows::is_contact(law)) continue;
    const bool was_there = memory.find(rows.ids[k], law.dim) != nullptr;
    known += was_there ? 1 : 0;
    const bool met = alpha_rows::is_rigid_contact(law) && start_rate_[gated_row_[k]] < -slow;
    if (!was_there || met) {
      mark(rows, k);
    } else {
      lasts_[k] = 1;
    }
  }
  int before = 0;
  for (const StepMemory::Item& item : memory.items) before += is_of_contact(item) ? 1 : 0;
  if (known == before) return any;
  // One is gone: its bodies are known if it is still within reach.
  for (const StepMemory::Item& item : memory.items) {
    if (!is_of_contact(item) ||
        std::find(rows.ids.begin(), rows.ids.end(), item.id) != rows.ids.end())
      continue;
    const auto at = std::find(all_.ids.begin(), all_.ids.end(), item.id);
    if (at == all_.ids.end()) {
      new_motion_.assign(new_motion_.size(), 1);
      return true;
    }
    mark(all_, static_cast<int>(at - all_.ids.begin()));
  }
  return true;
}

void NonsmoothAlphaStepper::spread_events() {
  if (!islands_.find(kernel_.problem, true)) {
    new_motion_.assign(new_motion_.size(), 1);
    return;
  }
  for (const Island& island : islands_.list()) {
    const auto nodes = islands_.nodes(island);
    if (std::none_of(nodes.begin(), nodes.end(), [&](int k) { return new_motion_[k] != 0; }))
      continue;
    for (const int k : nodes) new_motion_[k] = 1;
  }
}

// Consistent accelerations of the bodies that go on with another motion.
void NonsmoothAlphaStepper::restart(const State& state, Vector& a, Vector& a_hat,
                                    Vector& reactions) {
  const Interactions& rows = kernel_.rows;
  Vector forces = besides_, fresh, reaction;
  if (carried_.next().size() == rows.rows())
    transpose_multiply_add(rows.J, carried_.next(), forces);
  if (!dynamics_.solve(kernel_.system, state, 0, probed_, rate_, fresh, reaction, &forces)) return;
  const Layout& layout = kernel_.system.layout();
  for (int k = 0; k < layout.nodes(); ++k) {
    if (new_motion_[k] == 0) continue;
    const int first = layout.v_start[k], size = layout.v_start[k + 1] - first;
    a.segment(first, size) = a_hat.segment(first, size) = fresh.segment(first, size);
  }
  for (int k = 0; k < rows.blocks(); ++k) {
    for (int r = 0; r < rows.laws[k].dim && ended(k); ++r) {
      const int row = joint_row_[gated_row_[k] + r];
      if (row >= 0) reactions[rows.J.row_start[k] + r] = reaction[row];
    }
  }
}

/// The motion of a block's bodies ends with this step.
bool NonsmoothAlphaStepper::ended(int block) const {
  const BlockRows& J = kernel_.rows.J;
  const int e = J.entry_start[block];
  return e < J.entry_start[block + 1] &&
         new_motion_[alpha_rows::node_at(kernel_.system.layout(), J.entries[e].column)] != 0;
}

void NonsmoothAlphaStepper::end_carried() {
  const Interactions& rows = kernel_.rows;
  const CarriedContacts kind = kernel_.options.stepper.carried_contacts;
  if (kind == CarriedContacts::none) return;
  rate_.resize(rows.rows());
  multiply(rows.J, step_.end.v, rate_);
  for (int r = 0; r < rows.rows(); ++r) rate_[r] += rows.g_t[r];
  carried_.end({.rows = rows,
                .first = gated_row_,
                .impulses = kernel_.impulses,
                .rate = rate_,
                .lasts = lasts_,
                .mass = weight_,
                .h = step_.h,
                .sliding = kind == CarriedContacts::sliding});
  for (int k = 0; k < rows.blocks(); ++k) {
    if (ended(k)) carried_.reset(rows.J.row_start[k], rows.laws[k].dim);
  }
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
  event_ = find_events(memory);
  if (event_) {
    spread_events();
  } else {
    new_motion_.assign(new_motion_.size(), 0);
  }
  end_carried();
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
  carried_out_.resize(rows.rows());
  for (int k = 0; k < rows.blocks(); ++k) {
    carried_out_.segment(rows.J.row_start[k], rows.laws[k].dim) =
        carried_.impulses().segment(gated_row_[k], rows.laws[k].dim);
  }
  taken_off_ = -h * smooth;
  pose_claim(taken_off_);
  kernel_.impulses += h * smooth;
  kernel_.v_before = state.v;
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
  if (event_ && o.restart && o.alpha_variant != AlphaVariant::index_3)
    restart(state, next_a_, next_a_hat_, smooth);
  store(next_a_, memory.arrays.at(method_array));
  store(next_a_hat_, memory.arrays.at(motion_array));
  store(smooth, memory.arrays.at(reaction_array));
  std::vector<double>& ends = memory.arrays.at(event_array);
  ends.assign(rows.rows(), 0);
  for (int k = 0; k < rows.blocks(); ++k) {
    if (ended(k)) std::fill_n(ends.begin() + rows.J.row_start[k], rows.laws[k].dim, 1.0);
  }
  if (o.carried_contacts != CarriedContacts::none) carried_.store(memory);
}

}  // namespace urto
