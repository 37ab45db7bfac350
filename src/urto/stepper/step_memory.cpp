#include <algorithm>

#include "urto/stepper/stepper.h"

namespace urto {

void remember(const Interactions& rows, const Vector& lambda, double h, StepMemory& memory) {
  memory.h = h;
  memory.items.clear();
  for (int i = 0; i < rows.blocks(); ++i)
    memory.items.push_back({rows.ids[i], rows.J.row_start[i], rows.laws[i].dim});
  std::sort(memory.items.begin(), memory.items.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  memory.lambda.assign(lambda.data(), lambda.data() + lambda.size());
}

const StepMemory::Item* StepMemory::find(std::uint64_t id, int dim) const {
  const auto at =
      std::lower_bound(items.begin(), items.end(), id,
                       [](const Item& m, std::uint64_t wanted) { return m.id < wanted; });
  return at != items.end() && at->id == id && at->dim == dim ? &*at : nullptr;
}

void recall(const StepMemory& memory, const Interactions& rows, double h, Vector& lambda) {
  lambda.setZero(rows.rows());
  const double scale = memory.h > 0 ? h / memory.h : 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    const StepMemory::Item* at = memory.find(rows.ids[i], rows.laws[i].dim);
    if (at == nullptr) continue;
    for (int r = 0; r < at->dim; ++r)
      lambda[rows.J.row_start[i] + r] = scale * memory.lambda[at->start + r];
  }
}

}  // namespace urto
