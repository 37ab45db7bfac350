// What a method gets and gives, and how a program adds one of its own:
//
//     void richardson(urto::Run& run) { … }    // improves run.lambda
//     urto::register_solver({"richardson", "projected Richardson", can},
//         urto::stateless(richardson));
//
// From then on `solvers()` lists it, and scenes, `solve` and `make_solver` take it by name
// (docs/extending-solver.md). The methods of this folder stand in the same registry.
#pragma once

#include <functional>
#include <memory>

#include "urto/solver/delassus.h"
#include "urto/solver/monitor.h"
#include "urto/solver/solver.h"

namespace urto {

/// One solve on its way: a method reads the operator and options and improves `lambda`.
struct Run {
  Delassus& W;
  const SolveOptions& options;
  Monitor& monitor;
  Vector& lambda;      ///< in: the start, inside K; out: the result
  Vector& x;           ///< for methods that find x themselves
  bool has_x = false;  ///< said by these; else x is recovered from λ
  int iterations = 0;
  int outer_iterations = 0;
  int factorizations = 0;
  int bad_starts = 0;          ///< warm starts of ipm that were given up for cold ones
  LinearCounters linear = {};  ///< of ipm
  std::string message = {};
  std::vector<InteriorPointRecord> interior_point_log =
      {};  ///< filled by ipm if the history is recorded
};

/// A method with what it keeps between solves. An object serves one thread at a time.
class Method {
 public:
  Method() = default;
  virtual ~Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  virtual void solve(Run& run) = 0;
};
using MethodFactory = std::function<std::unique_ptr<Method>()>;

/// For methods that keep nothing.
MethodFactory stateless(void (*function)(Run&));

/// Adds a solver by name; what it says it cannot do is refused before it is called. Throws
/// InputError if the name is taken or empty. Not while another thread solves or reads `solvers()`.
void register_solver(const SolverInfo& info, MethodFactory make);

/// A convex problem min ½ λᵀW λ + qᵀλ over K, with its own q: what gradient-type methods solve.
struct ConvexTask {
  Delassus& W;
  const Vector& q;
  const SolveOptions& options;
  Monitor& monitor;
  Vector& lambda;  ///< start and result
  /// Not convex: De Saxcé's term follows the velocity from iteration to iteration, a skew part of W
  /// the multipliers, and the monitor measures the exact law. Asked only of methods that take them.
  bool live = false;
  int iterations = 0;  ///< added to, bounded by options.max_iterations through the monitor
  int factorizations = 0;
};
/// With what it keeps between solves, as a Method.
class ConvexMethod {
 public:
  ConvexMethod() = default;
  virtual ~ConvexMethod() = default;
  ConvexMethod(const ConvexMethod&) = delete;
  ConvexMethod& operator=(const ConvexMethod&) = delete;

  virtual void solve(ConvexTask& task) = 0;
  virtual bool takes_live_terms() const { return false; }
};

/// The method that runs a convex one on the convex problem, or, for exact friction or a slightly
/// non-symmetric W, inside the loop that lags De Saxcé's term and the skew part of W: q ← q +
/// (μ‖u_T‖, 0, 0) + skew(W) λ (recipe 000 §2.7.3). Methods that take live terms are tried with them
/// first, for exact friction.
std::unique_ptr<Method> with_lagged_terms(std::unique_ptr<ConvexMethod> method);

// The registered methods, one file each.
std::unique_ptr<Method> make_jacobi();
std::unique_ptr<Method> make_sor();
std::unique_ptr<Method> make_symmetric_sor();
std::unique_ptr<Method> make_nsgs_projection();
std::unique_ptr<Method> make_nsgs_quartic();
std::unique_ptr<Method> make_nsgs_alart_curnier();
void coloured_sor(Run& run);
std::unique_ptr<Method> make_spg();
std::unique_ptr<Method> make_apgd();
std::unique_ptr<Method> make_admm();
std::unique_ptr<Method> make_prox();
std::unique_ptr<Method> make_ipm();
std::unique_ptr<Method> make_minres();
std::unique_ptr<Method> make_cg();
std::unique_ptr<Method> make_ldlt();

}  // namespace urto
