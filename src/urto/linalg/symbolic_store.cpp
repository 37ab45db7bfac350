#include "urto/linalg/symbolic_store.h"

#include <cassert>

namespace urto {

SymbolicStore::Pattern::Pattern(const SparseRef& A)
    : outer(A.outerIndexPtr(), A.outerIndexPtr() + A.outerSize() + 1),
      inner(A.innerIndexPtr(), A.innerIndexPtr() + A.nonZeros()) {
  assert(A.isCompressed());
}

bool SymbolicStore::Pattern::matches(const SparseRef& A) const {
  return static_cast<Eigen::Index>(outer.size()) == A.outerSize() + 1 &&
         static_cast<Eigen::Index>(inner.size()) == A.nonZeros() &&
         std::equal(outer.begin(), outer.end(), A.outerIndexPtr()) &&
         std::equal(inner.begin(), inner.end(), A.innerIndexPtr());
}

int SymbolicStore::factors() const {
  return std::apply([](const auto&... kept) { return static_cast<int>((kept.size() + ...)); },
                    kept_);
}

}  // namespace urto
