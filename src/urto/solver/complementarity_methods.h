// What the methods for the mixed complementarity problem share with the function that calls them in
// turn.
#pragma once

#include <chrono>
#include <string>

#include "urto/solver/complementarity_solver.h"

namespace urto::complementarity {

struct Limits {
  double tolerance;
  int max_iterations;
  std::chrono::steady_clock::time_point deadline;
  bool out_of_time() const { return std::chrono::steady_clock::now() > deadline; }
};

/// What a method found; the caller measures the residual.
struct Attempt {
  Vector z;
  int iterations = 0;
  Status status = Status::failed;  ///< `converged` if the method thinks so
  std::string message;
  Vector certificate = {};  ///< see ComplementaritySolution
};

/// Dense methods refuse larger problems: their time grows with the cube of the size.
inline constexpr int largest_dense = 2000;

Attempt gauss_seidel(const ComplementarityProblem& problem, const Vector& start,
                     const Limits& limits);
Attempt newton(const ComplementarityProblem& problem, const Vector& start, const Limits& limits);
Attempt lemke(const ComplementarityProblem& problem, const Limits& limits);
Attempt principal_pivoting(const ComplementarityProblem& problem, const Limits& limits);

inline Vector clamp(const ComplementarityProblem& p, const Vector& z) {
  return z.cwiseMax(p.lo).cwiseMin(p.hi);
}

}  // namespace urto::complementarity
