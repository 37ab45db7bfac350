// What one thread needs to solve one problem after another by any method: the operator, the
// monitor, the methods with their own storage, analysed factors, a certifier.
#pragma once

#include <deque>
#include <string_view>

#include "urto/solver/registry.h"

namespace urto {

class Workspace {
 public:
  /// Runs one method on the operator's problem from `start_lambda` and certifies the result.
  /// `start`: when the caller's time limit began.
  void run(std::string_view solver, Delassus& W, const SolveOptions& options,
           const Vector& start_lambda, Monitor::Clock::time_point start, Solution& out);

  SymbolicStore store;  ///< before `W`, which borrows from it
  Delassus W;
  Certifier certifier;

 private:
  Method& method(std::string_view solver);

  struct Kept {
    std::string name = {};
    std::unique_ptr<Method> method = {};
  };
  std::deque<Kept> methods_ = {};
  Monitor monitor_;
  Vector lambda_, x_;
};

/// u = J x + E λ + b.
void constraint_velocity(const StepProblem& p, const Vector& x, const Vector& lambda, Vector& u);

inline double seconds_since(Monitor::Clock::time_point start) {
  return std::chrono::duration<double>(Monitor::Clock::now() - start).count();
}

}  // namespace urto
