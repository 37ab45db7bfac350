#include <algorithm>

#include "urto/stepper/stepper.h"

namespace urto {

namespace {

bool before(const StepMemory::Item& a, const StepMemory::Item& b) {
  return a.id < b.id;
}

}  // namespace

void remember(const Interactions& rows, const Vector& lambda, double h, StepMemory& memory) {
  memory.h = h;
  memory.items.resize(rows.blocks());
  for (int i = 0; i < rows.blocks(); ++i)
    memory.items[i] = {rows.ids[i], rows.J.row_start[i], rows.J.height(i)};
  if (!std::is_sorted(memory.items.begin(), memory.items.end(), before))
    std::sort(memory.items.begin(), memory.items.end(), before);
  memory.lambda.assign(lambda.data(), lambda.data() + lambda.size());
}

// Rows mostly come in the order of their ids: where one was found, the next follows.
const StepMemory::Item* StepMemory::find(std::uint64_t id, int dim, std::size_t& next) const {
  auto at = items.begin() + static_cast<std::ptrdiff_t>(std::min(next, items.size()));
  if (at == items.end() || at->id != id)
    at = std::lower_bound(items.begin(), items.end(), Item{.id = id}, before);
  if (at == items.end() || at->id != id) return nullptr;
  next = static_cast<std::size_t>(at - items.begin()) + 1;
  return at->dim == dim ? &*at : nullptr;
}

void recall(const StepMemory& memory, const Interactions& rows, double h, Vector& lambda) {
  lambda.setZero(rows.rows());
  const double scale = memory.h > 0 ? h / memory.h : 0;
  std::size_t next = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    const StepMemory::Item* item = memory.find(rows.ids[i], rows.J.height(i), next);
    if (item == nullptr) continue;
    for (int r = 0; r < item->dim; ++r)
      lambda[rows.J.row_start[i] + r] = scale * memory.lambda[item->start + r];
  }
}

StepReport joined(const StepReport& a, const StepReport& b) {
  StepReport r = b;
  r.t = a.t;
  r.h = a.h + b.h;
  if (!(a.certificate.residual() <= b.certificate.residual())) r.certificate = a.certificate;
  if (a.solve.status != Status::converged) r.solve = a.solve;
  r.meets_tolerance = a.meets_tolerance && b.meets_tolerance;
  r.joint_error = std::max(a.joint_error, b.joint_error);
  r.penetration = std::max(a.penetration, b.penetration);
  r.early_rebound = std::max(a.early_rebound, b.early_rebound);
  r.stored_before = a.stored_before;
  r.audited = a.audited && b.audited;
  r.newton_iterations += a.newton_iterations;
  r.factorizations += a.factorizations;
  r.cuts += a.cuts;
  r.energy += a.energy;
  r.timings += a.timings;
  return r;
}

}  // namespace urto
