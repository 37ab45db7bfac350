#include "urto/stepper/alpha_carried.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "urto/stepper/alpha_helpers.h"

namespace urto {
namespace {

constexpr std::string_view carried_array = "alpha_carried";
constexpr std::size_t numbers = 5;  ///< per row: λᶜ, λᶜ₋, λ̄, Pᶜ, whether it slides

/// A contact whose friction could stop it within this many steps is not one that slides.
constexpr double stopping_steps = 4;

/// Rows of the slip: rolling and spinning rows come after them.
int slip_rows(const Law& law) {
  return law.kind == LawKind::coulomb ? std::min(law.dim, 3) - 1 : 0;
}

/// −μ N u/‖u‖ into the tangential rows, where there is a slip u.
void push_against(const Law& law, double normal, const double* u, double* out) {
  double speed = 0;
  for (int k = 1; k <= slip_rows(law); ++k) speed = std::hypot(speed, u[k]);
  if (speed == 0) return;
  for (int k = 1; k <= slip_rows(law); ++k) out[k] = -law.friction * normal * u[k] / speed;
}

}  // namespace

void CarriedForces::recall(const StepMemory* memory, const Interactions& rows, double h) {
  blocks_.clear();
  first_.clear();
  for (Vector* v : {&force_, &last_, &filter_start_, &filter_, &impulse_, &height_, &last_impulse_})
    v->setZero(rows.rows());
  slides_.assign(rows.rows(), 0);
  const std::vector<double>* kept =
      memory != nullptr && memory->h > 0 ? memory->arrays.find(carried_array) : nullptr;
  if (kept == nullptr || kept->size() != numbers * memory->lambda.size()) return;
  const double scale = h / memory->h;
  std::size_t next = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!alpha_rows::is_rigid_contact(rows.laws[i])) continue;
    const StepMemory::Item* item = memory->find(rows.ids[i], rows.laws[i].dim, next);
    if (item == nullptr) continue;
    bool any = false;
    const int first = rows.J.row_start[i];
    for (int r = 0; r < item->dim; ++r) {
      const double* of = kept->data() + numbers * (item->start + r);
      force_[first + r] = of[0];
      last_[first + r] = of[1];
      // λ̄ belongs to a time shifted in proportion to the step, as a does.
      filter_start_[first + r] = of[1] + scale * (of[2] - of[1]);
      last_impulse_[first + r] = scale * of[3];
      slides_[first + r] = of[4] != 0 ? 1 : 0;
      any = any || of[0] != 0 || of[1] != 0 || of[2] != 0;
    }
    if (!any) continue;
    blocks_.push_back(i);
    first_.push_back(first);
  }
  select_blocks(rows, blocks_, carried_);
}

void CarriedForces::add_force(SystemAccess& system, const State& at, Vector& out) {
  system.measure(at, carried_);
  along_.resize(carried_.rows());
  multiply(carried_.J, at.v, along_);
  for (int r = 0; r < carried_.rows(); ++r) along_[r] += carried_.g_t[r];
  carried_force_.resize(carried_.rows());
  for (int i = 0; i < carried_.blocks(); ++i) {
    const Law& law = carried_.laws[i];
    const int row = carried_.J.row_start[i], first = first_[i];
    if (slides_[first] != 0)
      push_against(law, force_[first], along_.data() + row, force_.data() + first);
    carried_force_.segment(row, law.dim) = force_.segment(first, law.dim);
  }
  transpose_multiply_add(carried_.J, carried_force_, out);
}

void CarriedForces::add_stiffness(SystemAccess& system, const State& at, double factor,
                                  BlockMatrix& out) const {
  system.add_geometric_stiffness(at, carried_, carried_force_, factor, out);
}

void CarriedForces::add_damping(const Layout& layout, double factor, BlockMatrix& out) const {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (int i = 0; i < carried_.blocks(); ++i) {
    if (slides_[first_[i]] == 0) continue;
    const Law& law = carried_.laws[i];
    const int row = carried_.J.row_start[i], T = slip_rows(law);
    const auto u = along_.segment(row + 1, T);
    const double speed = u.norm();
    if (speed == 0) continue;
    const Matrix turn = law.friction * force_[first_[i]] / speed *
                        (Matrix::Identity(T, T) - u * u.transpose() / (speed * speed));
    const auto rows_of = [&](int e) {
      const BlockRows::Entry& entry = carried_.J.entries[e];
      return Eigen::Map<const RowMajor>(carried_.J.values.data() + entry.offset + entry.width, T,
                                        entry.width);
    };
    for (int a = carried_.J.entry_start[i]; a < carried_.J.entry_start[i + 1]; ++a) {
      for (int b = carried_.J.entry_start[i]; b < carried_.J.entry_start[i + 1]; ++b) {
        out.add(alpha_rows::node_at(layout, carried_.J.entries[a].column),
                alpha_rows::node_at(layout, carried_.J.entries[b].column),
                rows_of(a).transpose() * turn * rows_of(b), factor);
      }
    }
  }
}

void CarriedForces::filter(const AlphaScheme& s, double h) {
  filter_ =
      ((1 - s.alpha_f) * force_ + s.alpha_f * last_ - s.alpha_m * filter_start_) / (1 - s.alpha_m);
  impulse_ = h * ((1 - s.gamma) * filter_start_ + s.gamma * filter_);
  for (const int first : first_)
    height_[first] = h * h * ((0.5 - s.beta) * filter_start_[first] + s.beta * filter_[first]);
}

void CarriedForces::turn(const Interactions& rows, const Vector& v) {
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const int first = first_[k];
    if (slides_[first] == 0) continue;
    std::array<double, max_block> u{};
    multiply_add_block(rows.J, blocks_[k], v.data(), u.data());
    const Law& law = rows.laws[blocks_[k]];
    for (int r = 0; r < law.dim; ++r) u[r] += rows.g_t[first + r];
    push_against(law, impulse_[first], u.data(), impulse_.data() + first);
  }
}

void CarriedForces::end(const End& e) {
  for (Vector* v : {&next_, &next_last_, &next_filter_, &next_impulse_}) v->setZero(e.rows.rows());
  next_slides_.assign(e.rows.rows(), 0);
  for (int k = 0; k < e.rows.blocks(); ++k) {
    const Law& law = e.rows.laws[k];
    if (!alpha_rows::is_rigid_contact(law)) continue;
    const int first = e.rows.J.row_start[k], from_row = e.first[k];
    for (int r = 0; r < law.dim; ++r) {
      next_last_[first + r] = force_[from_row + r];
      next_filter_[first + r] = filter_[from_row + r];
      next_impulse_[first + r] = impulse_[from_row + r];
      if (e.lasts[k] != 0) next_[first + r] = e.impulses[first + r] / e.h;
    }
    if (!e.sliding || e.lasts[k] == 0 || slip_rows(law) == 0) continue;
    double speed = 0;
    for (int r = 1; r <= slip_rows(law); ++r) speed = std::hypot(speed, e.rate[first + r]);
    const double stops = law.friction * e.impulses[first] / e.mass[from_row + 1];
    if (!(speed > stopping_steps * stops) || !(stops > 0)) continue;
    next_slides_[first] = 1;
    push_against(law, next_[first], e.rate.data() + first, next_.data() + first);
  }
}

void CarriedForces::reset(int first_row, int rows) {
  next_last_.segment(first_row, rows) = next_.segment(first_row, rows);
  next_filter_.segment(first_row, rows) = next_.segment(first_row, rows);
}

void CarriedForces::store(StepMemory& memory) const {
  std::vector<double>& out = memory.arrays.at(carried_array);
  out.resize(numbers * static_cast<std::size_t>(next_.size()));
  for (int r = 0; r < next_.size(); ++r) {
    double* of = out.data() + numbers * static_cast<std::size_t>(r);
    of[0] = next_[r];
    of[1] = next_last_[r];
    of[2] = next_filter_[r];
    of[3] = next_impulse_[r];
    of[4] = next_slides_[r];
  }
}

}  // namespace urto
