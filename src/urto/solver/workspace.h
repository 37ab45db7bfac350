// What one thread needs to solve one problem after another of one size by any method: the operator,
// the monitor, the methods with their own storage, a certifier.
#pragma once

#include <deque>
#include <string_view>

#include "urto/linalg/symbolic_store.h"
#include "urto/solver/registry.h"

namespace urto {

class Workspace {
 public:
  /// `store`: of analysed factors, for all problems of the thread.
  explicit Workspace(SymbolicStore& kept) : store(kept) {}

  /// Runs one method on the operator's problem from `start_lambda` and certifies the result.
  /// `start`: when the caller's time limit began. `patience`: of the monitor.
  void run(std::string_view solver, Delassus& W, const SolveOptions& options,
           const Vector& start_lambda, Monitor::Clock::time_point start, Solution& out,
           int patience = 0);

  SymbolicStore& store;
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
