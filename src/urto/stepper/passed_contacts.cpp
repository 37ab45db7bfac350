#include "urto/stepper/passed_contacts.h"

#include <algorithm>

namespace urto {
namespace {

constexpr int body_width = 6;

// n·n′ of the first body that the row touches: of a rigid one the part that moves its centre.
double along(const BlockRows& a, const BlockRows& b, int block) {
  const BlockRows::Entry& entry = a.entries[a.entry_start[block]];
  const double* x = a.values.data() + entry.offset;
  const double* y = b.values.data() + b.entries[b.entry_start[block]].offset;
  const int width = entry.width == body_width ? body_width / 2 : entry.width;
  double sum = 0;
  for (int c = 0; c < width; ++c) sum += x[c] * y[c];
  return sum;
}

}  // namespace

void PassedContacts::start(const Interactions& rows, const std::vector<double>& rates, double h) {
  closing_.clear();
  for (int i = 0; i < rows.blocks(); ++i) {
    const LawKind kind = rows.laws[i].kind;
    if (kind != LawKind::unilateral && kind != LawKind::coulomb) continue;
    const int first = rows.J.row_start[i];
    if (rows.origins[i].kind == Origin::contact && rows.g[first] > 0 &&
        rows.g[first] + h * rates[first] < 0)
      closing_.push_back(i);
  }
  if (closing_.empty()) return;
  select_blocks(rows, closing_, start_);
}

bool PassedContacts::any(SystemAccess& system, const State& end) {
  if (closing_.empty()) return false;
  end_ = start_;
  system.measure(end, end_);
  for (int i = 0; i < end_.blocks(); ++i) {
    if (along(start_.J, end_.J, i) < 0) return true;
  }
  return false;
}

}  // namespace urto
