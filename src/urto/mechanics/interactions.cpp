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
  gaps_only = false;
  horizon = 0;
}

void Interactions::clear_numbers() {
  std::fill(J.values.begin(), J.values.end(), 0.0);
  std::fill(g.begin(), g.end(), 0.0);
  std::fill(g_t.begin(), g_t.end(), 0.0);
  std::fill(jdot_v.begin(), jdot_v.end(), 0.0);
}

void Interactions::clear_numbers(int block) {
  const auto clear = [](std::vector<double>& numbers, int first, int last) {
    std::fill(numbers.begin() + first, numbers.begin() + last, 0.0);
  };
  const int first = J.row_start[block], last = J.row_start[block + 1];
  for (std::vector<double>* numbers : {&g, &g_t, &jdot_v}) clear(*numbers, first, last);
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    clear(J.values, entry.offset, entry.offset + (last - first) * entry.width);
  }
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

void Interactions::append_blocks(int count) {
  const std::size_t blocks = laws.size() + static_cast<std::size_t>(count);
  laws.resize(blocks);
  origins.resize(blocks);
  ids.resize(blocks);
}

void Interactions::append_rows(int first, int width, std::span<const std::array<int, 2>> columns) {
  std::size_t entry = J.entries.size();
  auto offset = J.values.size();
  const auto count = static_cast<std::size_t>(blocks());
  J.row_start.resize(count + 1);
  J.entry_start.resize(count + 1);
  J.entries.resize(entry + 2 * columns.size());
  for (int i = first; i < blocks(); ++i) {
    const int height = laws[i].dim;
    J.row_start[i + 1] = J.row_start[i] + height;
    for (const int column : columns[i - first]) {
      if (column < 0) continue;
      J.entries[entry++] = {column, width, static_cast<int>(offset)};
      offset += static_cast<std::size_t>(height) * width;
    }
    J.entry_start[i + 1] = static_cast<int>(entry);
  }
  J.entries.resize(entry);
  J.values.resize(offset, 0.0);
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

void select_blocks(const Interactions& from, std::span<const int> blocks, Interactions& to) {
  to.clear(from.J.columns);
  for (const int i : blocks) {
    to.add_block(from.laws[i], from.origins[i], from.ids[i]);
    const int first = from.J.row_start[i], dim = from.laws[i].dim;
    for (int e = from.J.entry_start[i]; e < from.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = from.J.entries[e];
      const double* values = from.J.values.data() + entry.offset;
      std::copy_n(values, dim * entry.width, to.add_entry(entry.column, entry.width));
    }
    const int at = to.J.row_start[to.blocks() - 1];
    std::copy_n(from.g.begin() + first, dim, to.g.begin() + at);
    std::copy_n(from.g_t.begin() + first, dim, to.g_t.begin() + at);
    std::copy_n(from.jdot_v.begin() + first, dim, to.jdot_v.begin() + at);
  }
  to.contacts = from.contacts;
  to.contacts_q = from.contacts_q;
  to.contacts_t = from.contacts_t;
  to.horizon = from.horizon;
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
