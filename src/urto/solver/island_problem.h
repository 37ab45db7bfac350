// One island as a step problem of its own, for methods that need contiguous vectors. Kept and
// filled again: time and memory are those of the island.
#pragma once

#include <vector>

#include "urto/solver/islands.h"

namespace urto {

// NOLINTNEXTLINE(bugprone-exception-escape): Eigen moves a sparse matrix by copying.
class IslandProblem {
 public:
  void extract(const StepProblem& whole, const Islands& islands, const Island& island);
  const StepProblem& problem() const { return problem_; }

  /// Rows and dofs of the island out of those of the whole, and back.
  void gather_rows(const Vector& whole, Vector& part) const;
  void gather_dofs(const Vector& whole, Vector& part) const;
  void scatter_rows(const Vector& part, Vector& whole) const;
  void scatter_dofs(const Vector& part, Vector& whole) const;

 private:
  void copy_mass(const BlockMatrix& whole, std::span<const int> couplings,
                 std::span<const int> place);
  void copy_rows(const StepProblem& whole, const Islands& islands);
  void copy_compliance(std::span<const double> compliance);

  const StepProblem* whole_ = nullptr;
  std::span<const int> nodes_ = {}, blocks_ = {};
  std::vector<double> soft_ = {};
  StepProblem problem_;
};

}  // namespace urto
