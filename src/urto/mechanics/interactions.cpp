#include "urto/mechanics/interactions.h"

#include <algorithm>

#include "urto/math/rotation.h"

namespace urto {

void Interactions::clear(int columns) {
  J.columns = columns;
  J.row_start.resize(1);
  J.entry_start.resize(1);
  J.entries.clear();
  J.values.clear();
  g.clear();
  g_t.clear();
  jdot_v.clear();
  laws.clear();
  ids.clear();
  origins.clear();
  contacts.clear();
  horizon = 0;
}

void Interactions::clear_numbers() {
  std::fill(J.values.begin(), J.values.end(), 0.0);
  std::fill(g.begin(), g.end(), 0.0);
  std::fill(g_t.begin(), g_t.end(), 0.0);
  std::fill(jdot_v.begin(), jdot_v.end(), 0.0);
}

void Interactions::add_block(const Law& law, RowOrigin origin, std::uint64_t id) {
  J.add_block(law.dim);
  laws.push_back(law);
  origins.push_back(origin);
  ids.push_back(id);
  const auto rows = static_cast<std::size_t>(J.rows());
  g.resize(rows, 0.0);
  g_t.resize(rows, 0.0);
  jdot_v.resize(rows, 0.0);
}

double* Interactions::add_entry(int column, int width) {
  const auto offset = J.values.size();
  J.entries.push_back({column, width, static_cast<int>(offset)});
  J.entry_start.back() = static_cast<int>(J.entries.size());
  J.values.resize(offset + static_cast<std::size_t>(laws.back().dim) * width, 0.0);
  return J.values.data() + offset;
}

Vec3 contact_force(const Interactions& rows, int block, const Vector& impulses, double h) {
  const Law& law = rows.laws[block];
  const Contact& contact = rows.contacts[static_cast<std::size_t>(rows.origins[block].index)];
  const int first = rows.J.row_start[block];
  Vec3 local = Vec3::Zero();
  for (int r = 0; r < std::min(law.dim, 3); ++r) local[r] = impulses[first + r] / h;
  local[0] -= pull(law, rows.g[first]);
  return contact_frame(contact.normal) * local;
}

}  // namespace urto
