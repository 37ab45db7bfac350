#include "urto/problem/complementarity.h"

#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {

void validate(const ComplementarityProblem& p, std::string_view name) {
  const auto fail = [&](const std::string& where, const std::string& found,
                        const std::string& expected) {
    throw InputError(fmt::format("{}: {}", name, where), found, expected);
  };
  const Eigen::Index n = p.q.size();
  if (n == 0) fail("size", "0", "at least one unknown");
  if (p.M.rows() != n || p.M.cols() != n) {
    fail("size of M", fmt::format("{} × {}", p.M.rows(), p.M.cols()), fmt::format("{} × {}", n, n));
  }
  if (p.lo.size() != n || p.hi.size() != n) {
    fail("size of the bounds", fmt::format("{} and {}", p.lo.size(), p.hi.size()),
         fmt::format("{}", n));
  }
  for (Eigen::Index k = 0; k < p.M.nonZeros(); ++k) {
    if (!std::isfinite(p.M.valuePtr()[k])) {
      fail(fmt::format("M, value {}", k), fmt::format("{}", p.M.valuePtr()[k]), "a finite number");
    }
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    if (!std::isfinite(p.q[i]))
      fail(fmt::format("q, value {}", i), fmt::format("{}", p.q[i]), "a finite number");
    if (!(p.lo[i] <= p.hi[i])) {
      fail(fmt::format("bounds of row {}", i), fmt::format("[{}, {}]", p.lo[i], p.hi[i]),
           "lower ≤ upper");
    }
  }
}

double natural_map_residual(const ComplementarityProblem& p, const Vector& z) {
  const Vector w = p.M * z + p.q;
  const double residual = (z - (z - w).cwiseMax(p.lo).cwiseMin(p.hi)).norm();
  const double size = p.q.norm();
  return size > 0 ? residual / size : residual;
}

}  // namespace urto
