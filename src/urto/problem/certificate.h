// Certificates: how well a candidate (x, λ) satisfies a step problem, measured from the problem
// data alone.
//
// The code behind `certify` shares nothing with the solvers: its own products, its own projection,
// no Delassus matrix, no factorisation of the solver's. A solver may be wrong about having
// converged; the certificate is not.
#pragma once

#include <string>
#include <vector>

#include "urto/linalg/block_factor.h"
#include "urto/problem/friction_polygon.h"
#include "urto/problem/step_problem.h"
#include "urto/thread/thread_pool.h"

namespace urto {

struct Certificate {
  Friction friction = Friction::exact;  ///< the law the numbers below refer to

  // From the numerators of the three relative numbers what rounding can make of them is taken off,
  // and a q that is rounding is no scale (docs/step-problem.md §5).

  /// ‖H x − Jᵀλ − a‖ / (‖a‖ + ‖Jᵀλ‖ + ‖H x‖): the equation of motion.
  double momentum = 0;
  /// ‖λ − Π_K(λ − û)‖ / ‖q‖, q = J H⁻¹ a + b: the error of FCLIB and of Acary, Brémond and Huber
  /// (2018). It adds impulses and velocities, so it depends on the units: comparable with published
  /// numbers, not between problems.
  double natural_map = 0;
  double natural_map_absolute = 0;  ///< ‖λ − Π_K(λ − û)‖ itself, rounding and all
  /// √(Σ ‖λ_i − Π(λ_i − ρ_i û_i)‖²/ρ_i) / √(Σ ρ_i ‖q_i‖²), ρ_i = d/tr(J_i B⁻¹ J_iᵀ + E_ii), B the
  /// block diagonal of H: a ratio of square roots of energies: the same in every system of units
  /// (for blocks whose rows have one unit; a six-row joint mixes lengths and angles) and for every
  /// scaling of a row block.
  double natural_map_scaled = 0;

  double penetration = 0;     ///< worst −u_N of a contact [velocity]; of an equality row |u|
  double cone_violation = 0;  ///< worst distance of λ_i to K_i [impulse]
  double dissipation = 0;  ///< worst λ_T·u_T + μ λ_N ‖u_T‖ [energy]: zero for maximal dissipation
  double complementarity = 0;  ///< worst |λ_i·û_i| of a contact [energy]
  int worst_block = -1;        ///< the block with the largest share of the scaled natural map

  /// ½ xᵀH x − aᵀx + ½ λᵀE λ, the primal objective of the convex problem (with û's extra term
  /// frozen at this u).
  double objective = 0;
  double duality_gap = 0;  ///< λ·û + σ_K(−û) summed; zero at a solution of the convex problem

  /// The one number that a tolerance refers to: the worst of momentum, natural map and scaled
  /// natural map.
  double residual() const;
  bool meets(double tolerance) const { return residual() <= tolerance; }  // false for NaN
};

Certificate certify(const StepProblem& problem, const Vector& x, const Vector& lambda,
                    Friction friction);

/// The same for a loop over steps: keeps its buffers, so that certifying a problem of the same
/// pattern, H by blocks, allocates nothing.
class Certifier {
 public:
  /// Shares the rows among the threads of a pool that outlives the certifier. Sums over them are
  /// taken in the order of the rows: the certificate does not depend on it.
  void use_threads(ThreadPool& threads) { threads_ = &threads; }
  /// From now on friction has this law: for exact friction only. Its error is measured part by
  /// part, λ_T − Π(λ_T − u_T) on what the normal impulse bounds, and not on the cone.
  void use_law(const FrictionLaw& law) { law_ = law; }
  /// `terms_of_b`: the size of the numbers that b was made of, for the rounding it was born with.
  void certify(const StepProblem& problem, const Vector& x, const Vector& lambda, Friction friction,
               Certificate& out, double terms_of_b = 0);

 private:
  /// What one row block adds to the sums and maxima of a certificate.
  struct BlockMeasure {
    double natural_map = 0, share = 0, q = 0, terms = 0;  ///< squares
    double duality_gap = 0;
    double cone_violation = 0, penetration = 0, complementarity = 0, dissipation = 0;
  };

  void measure_motion(const StepProblem& p, const Vector& x, const Vector& lambda,
                      double terms_of_b);
  void measure_row(const StepProblem& p, const Vector& x, int block, int row, double terms_of_b);
  void sum_reactions(const StepProblem& p, const Vector& lambda);
  BlockMeasure measure_block(const StepProblem& p, const Vector& lambda, Friction friction,
                             int block) const;
  void invert_block(const BlockMatrix& H, int node);
  bool solve_coupled(const BlockMatrix& H, const Vector& a);
  void solve_mass(const StepProblem& p, const Vector& x);
  double inverse_mass_norm(const BlockMatrix& H, const BlockRows::Entry& entry,
                           const double* v) const;
  double inverse_scale(const StepProblem& p, const BlockMatrix* blocks, int block) const;
  void measure_scales(const StepProblem& p);

  double momentum_rounding(const StepProblem& p, const Vector& x, const Vector& lambda);

  Vector Hx_, reaction_, free_, u_, q_, compliance_, diagonal_;
  Vector terms_;  ///< |J||x| + |J||H⁻¹a| + |E||λ| + |b|: the sizes of what u and q are sums of
  Vector force_terms_;  ///< |H||x| + |Jᵀ||λ| + |a|
  std::vector<double> scale_, mass_, inverse_;
  std::vector<int> mass_start_, node_of_dof_;
  std::vector<BlockMeasure> measures_;
  BlockFactor coupled_;  ///< of an H whose blocks are coupled
  ThreadPool* threads_ = nullptr;
  FrictionLaw law_ = {};
};

}  // namespace urto
