// What the linear algebra of a solve was and cost: which paths were taken, how often, how long.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace urto {

/// How the linear systems of the interior point are solved (interior_point_system.h), from the
/// cheapest to the safest.
enum class LinearPath : std::uint8_t {
  dense,      ///< condensed or local, small: dense Cholesky
  condensed,  ///< H + JᵀT⁻¹J, sparse Cholesky
  local,      ///< W + T, sparse Cholesky
  augmented,  ///< [H Jᵀ; J −T], LDLᵀ without pivoting
  pivoting,   ///< augmented or local, pivots for accuracy: MUMPS, or full pivoting where small
};
inline constexpr int linear_paths = 5;
std::string_view to_string(LinearPath path);

struct LinearCounters {
  std::array<int, linear_paths> factorizations{};  ///< by path
  int analyses = 0;                                ///< of a pattern
  int reused = 0;                                  ///< patterns known from an earlier solve
  int solves = 0;                                  ///< right-hand sides
  int refinements = 0;                             ///< steps of refinement, all solves
  int strengthened = 0;  ///< factorised again: another path, or a larger shift
  int missed = 0;        ///< solves whose residual stayed above the limit
  int null_pivots = 0;   ///< the most that one factorisation found
  double backward_error =
      0;  ///< largest of Arioli, Demmel and Duff's that the error analysis of `pivoting` found
  double analysis_seconds = 0, factorization_seconds = 0, solve_seconds = 0;

  int all_factorizations() const;
  LinearCounters& operator+=(const LinearCounters& other);
};

}  // namespace urto
