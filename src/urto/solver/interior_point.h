// Primal–dual interior point: Mehrotra's predictor and corrector on the cone quadratic program
//
//     H x − Jᵀλ = a,   J x + E λ + b + s = û,   λ̂ ∘ ŷ = σμ e,
//                      λ̂ and ŷ inside their cones (barrier_pairs.h),
//
// one factorisation and two solves an iteration (interior_point_system.h). s = 0 for convex
// friction. Coulomb's law itself is s = (μ‖u_T‖, 0, 0):
//   direct   part of every Newton step at u_T = û_T, smoothed over a width of √μ (after Acary,
//            Armand, Nguyen and Shpakovych); the matrix is not symmetric
//   loop     frozen, in an outer loop of cone programs, each started from the last
// Degenerate contacts, λ and û both zero, approach their solution like √μ, which sliding contacts
// stop at 1e-16: rounding. There the last digits are the work of semi-smooth Newton steps of the
// proximal point (proximal_subproblem.h), started from the interior point; without cones, of a
// guess of the active set. Where the direct treatment stalls, proximal steps with the term frozen
// go on (prox_newton.cpp).
//
// Cost: a sparse Cholesky factorisation of H + JᵀDJ an iteration (LU with the direct treatment of
// friction). Sources: recipe 001 §2.7–2.8 with its corrections; Mehrotra 1992; Vandenberghe 2010.
#pragma once

#include "urto/solver/barrier_pairs.h"
#include "urto/solver/fixed_rows.h"
#include "urto/solver/prox_newton.h"

namespace urto {

class InteriorPoint {
 public:
  /// W is that of the run, or that of `reduced`, the problem without rows whose multiplier has no
  /// freedom.
  void solve(Run& run, Delassus& W, const FreeRows* reduced);

 private:
  enum class Outcome : std::uint8_t { stopped, stalled, bad_start };

  // interior_point.cpp: starting, stopping, restarting
  void begin(Run& run, Delassus& W, const FreeRows* reduced);
  void weigh_rows();
  void solve_from_the_start_given();
  void start_without_multipliers();
  void measure_start();
  bool observe_start();
  bool start_is_warm();
  bool has_start_velocity();
  void place_cold(double mu);
  void place_warm();
  void place_velocity();
  void show() const;
  Outcome iterate(int short_steps_allowed);
  void solve_from_several_starts();
  void rescue();
  void loop_on_de_saxce();
  bool observe(double mu);
  bool meets_own_test(double mu) const;
  const Vector& publish();
  bool is_infeasible();
  void least_squares(Vector& u);

  // interior_point_finish.cpp: the last digits
  bool ripe(double residual, double finish_at);
  bool finish();
  void guess_active_set();
  bool finish_by_active_set();
  bool polish(const Vector& from, double shift, int most_steps);
  bool polish_best();
  double measure_polished();

  // interior_point_step.cpp: one iteration
  struct Candidate {
    BarrierPairs::Step affine = {}, step = {};
    double affine_mu = 0, sigma = 0;
  };
  /// Of a linear solve; blends of two satisfy the linear equations as well.
  struct Direction {
    Vector x, lambda;
    BarrierPairs::Direction pairs;
  };
  bool step();
  bool find_step(bool exact, Candidate& found);
  bool choose_centring(bool exact, double mu, Candidate& found);
  void correct_centrality(bool exact, double mu, Candidate& found);
  bool lengthen(bool exact, double mu, double aim, double by, Candidate& found);
  BarrierPairs::Step equalised(BarrierPairs::Step s) const;
  void residuals();
  void measure();
  void weigh_residuals();
  double damping(double sigma) const { return options_->damp_residuals ? 1 - sigma : 1; }
  bool newton_direction(bool exact, double keep);
  bool solve_linear(const Vector& r1, const Vector& r2);
  BarrierPairs::Step shortened(BarrierPairs::Step step, double mu);
  BarrierPairs::Step longest_step(double mu);
  void keep_direction(Direction& out) const;
  void set_direction(const Direction& a, const Direction& b, double t);
  void advance(const Candidate& taken);
  void carry_residuals(const BarrierPairs::Step& step, double kept);
  void record(const Candidate& taken);

  Run* run_ = nullptr;
  const InteriorPointOptions* options_ = nullptr;
  Delassus* W_ = nullptr;
  const FreeRows* reduced_ = nullptr;
  int n_ = 0;
  bool exact_ = false, direct_ = false;
  bool careful_ = false;  ///< a second start of exact friction: see step()
  double energy_ = 1;     ///< root of a typical energy of a block: what everything is relative to
  BarrierPairs pairs_;
  InteriorPointSystem system_;
  CurvatureBlocks blocks_;
  ProximalSubproblem polisher_;
  bool polisher_begun_ = false;
  ProximalPoint rescuer_;
  InfeasibleRay infeasible_ray_;

  Vector x_, lambda_, s_;  ///< s: the frozen part of De Saxcé's term
  Vector u_, y_, rd_,
      rp_;  ///< velocity J x + Eλ + b, that of the pairs, and the residuals of the two equations
  Vector r1_, r2_, dx_, dl_, skew_, reaction_, carried_, full_u_, full_lambda_;
  Vector given_;                 ///< the multipliers to start from
  Vector start_u_;               ///< of a start, with De Saxcé's term
  Vector kept_x_, kept_lambda_;  ///< before a guess of the active set
  Vector polish_from_, polish_lambda_, polish_u_, polish_c_, polish_sum_, alpha_;
  Direction predictor_, uncentred_, centred_, before_, corrected_;
  std::vector<char> active_ = {};  ///< λ̂ > ŷ, one iteration ago
  std::vector<char> held_ = {};    ///< rows whose multiplier is at a bound
  Vector weight_;                  ///< of rp: to dimensionless velocities
  int iteration_ = 0;
  double momentum_ = 0;                             ///< as in the certificate
  double momentum_terms_ = 0, velocity_terms_ = 0;  ///< norms of what the residuals are sums of
  int repaired_ = 0;
  double recursion_gap_ = 0;
  double last_step_ = 1, eta_ = 1, linear_residual_ = 0;
  double ray_ = 0;  ///< largest infeasibility() so far
  double dual_norm_ = 0, joint_norm_ = 0, primal_norm_ = 0;
};

}  // namespace urto
