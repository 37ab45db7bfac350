#include "urto/linalg/sparse_builder.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

// From `entries` to `sorted` by a key below `keys`; equal ones keep their order.
template <class Entry, class Key>
void counting_sort(const std::vector<Entry>& entries, int keys, Key key, std::vector<int>& next,
                   std::vector<Entry>& sorted) {
  next.assign(keys + 1, 0);
  for (const Entry& entry : entries) ++next[key(entry) + 1];
  for (int k = 0; k < keys; ++k) next[k + 1] += next[k];
  sorted.resize(entries.size());
  for (const Entry& entry : entries) sorted[next[key(entry)]++] = entry;
}

}  // namespace

void SparseBuilder::start(int rows, int columns) {
  rows_ = rows;
  columns_ = columns;
  entries_.clear();
}

void SparseBuilder::add(const SparseMatrix& A, int row, int column) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it)
      add(row + static_cast<int>(it.row()), column + c, it.value());
  }
}

void SparseBuilder::add(const BlockMatrix& H, int row, int column) {
  for (int k = 0; k < H.blocks(); ++k) {
    const auto block = H.block(k);
    for (int c = 0; c < H.size(k); ++c) {
      for (int r = 0; r < H.size(k); ++r)
        add(row + H.start[k] + r, column + H.start[k] + c, block(r, c));
    }
  }
  const bool mirrored = H.symmetry == BlockMatrix::Symmetry::symmetric;
  for (int k = 0; k < static_cast<int>(H.couplings.size()); ++k) {
    const auto block = H.coupling(k);
    const int above = H.start[H.couplings[k].row], left = H.start[H.couplings[k].column];
    for (int c = 0; c < block.cols(); ++c) {
      for (int r = 0; r < block.rows(); ++r) {
        add(row + above + r, column + left + c, block(r, c));
        if (mirrored) add(row + left + c, column + above + r, block(r, c));
      }
    }
  }
}

void SparseBuilder::add(const BlockRows& J, int row, int column) {
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      for (int r = 0; r < J.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          add(row + J.row_start[i] + r, column + entry.column + c,
              J.values[entry.offset + r * entry.width + c]);
        }
      }
    }
  }
}

void SparseBuilder::finish(SparseMatrix& out) {
  if (entries_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InputError("a sparse matrix", fmt::format("{} entries", entries_.size()),
                     "fewer than 2^31: a smaller problem");
  }
  counting_sort(
      entries_, rows_, [](const Entry& e) { return e.row; }, next_, sorted_);
  counting_sort(
      sorted_, columns_, [](const Entry& e) { return e.column; }, next_, entries_);
  int count = 0;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const Entry& entry = entries_[k];
    if (count > 0 && entries_[count - 1].row == entry.row &&
        entries_[count - 1].column == entry.column) {
      entries_[count - 1].value += entry.value;
    } else {
      entries_[count++] = entry;
    }
  }
  out.resize(rows_, columns_);
  out.resizeNonZeros(count);
  int* outer = out.outerIndexPtr();
  std::fill_n(outer, columns_ + 1, 0);
  for (int k = 0; k < count; ++k) {
    ++outer[entries_[k].column + 1];
    out.innerIndexPtr()[k] = entries_[k].row;
    out.valuePtr()[k] = entries_[k].value;
  }
  for (int c = 0; c < columns_; ++c) outer[c + 1] += outer[c];
}

}  // namespace urto
