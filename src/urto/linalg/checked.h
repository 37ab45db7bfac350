// One of Eigen's decompositions together with whether it succeeded, for the places that use one
// directly. Nobody can overlook a failure: a solution is then not-a-number, and whatever else the
// decomposition knows is refused. script/folders refuses Eigen's own outside this folder where they
// have a status (those with pivots of rows or columns have none: every matrix has them).
#pragma once

#include <limits>
#include <stdexcept>

#include "urto/math/types.h"

namespace urto {

template <class Decomposition>
class Checked {
 public:
  Checked() = default;
  template <class A, class... Options>
  explicit Checked(const A& a, Options... options) {
    ok_ = compute(a, options...);
  }

  template <class A, class... Options>
  [[nodiscard]] bool compute(const A& a, Options... options) {
    decomposition_.compute(a, options...);
    ok_ = decomposition_.info() == Eigen::Success && is_finite();
    return ok_;
  }
  bool ok() const { return ok_; }
  /// For what is set before `compute`.
  Decomposition& settings() { return decomposition_; }

  /// Not-a-number if the decomposition failed.
  template <class Rhs>
  typename Rhs::PlainObject solve(const Eigen::MatrixBase<Rhs>& rhs) const {
    using Solution = typename Rhs::PlainObject;
    if (!ok_) {
      return Solution::Constant(rhs.rows(), rhs.cols(), std::numeric_limits<double>::quiet_NaN());
    }
    return decomposition_.solve(rhs.derived());
  }

  /// Of one that succeeded.
  const Decomposition& operator*() const {
    if (!ok_) throw std::logic_error("a decomposition is used that has failed");
    return decomposition_;
  }
  const Decomposition* operator->() const { return &**this; }

 private:
  // Eigen's factorisations pass over not-a-number, which always reaches these numbers.
  bool is_finite() const {
    if constexpr (requires(const Decomposition& d) { d.matrixLLT(); }) {
      return decomposition_.matrixLLT().diagonal().allFinite();
    } else if constexpr (requires(const Decomposition& d) { d.vectorD(); }) {
      return decomposition_.vectorD().allFinite();
    } else if constexpr (requires(const Decomposition& d) { d.singularValues(); }) {
      return decomposition_.singularValues().allFinite();
    } else if constexpr (requires(const Decomposition& d) { d.eigenvalues(); }) {
      return decomposition_.eigenvalues().allFinite();
    } else {
      return true;
    }
  }

  Decomposition decomposition_ = {};
  bool ok_ = false;
};

}  // namespace urto
