// The complementary pairs of the interior point: for every row, or cone of rows, a multiplier λ̂ and
// a velocity ŷ that both stay strictly inside a Lorentz cone (ℝ₊ for one row). From the rows of the
// step problem to the pairs, block i with w_i = tr(W_ii)/d and e the root of a typical energy:
//
//     λ̂ = S⁻¹ (√w_i/e) λ        ŷ = S (1/(√w_i e)) û        S = diag(1, μ, μ)
//
// so that λ̂·ŷ = λ·û/e² and everything is of order one, whatever the masses. A row with two bounds
// has two pairs, λ − lo with y⁺ and hi − λ with y⁻, and û = y⁺ − y⁻. Rows of joints have none.
// Source: recipe 001 §2.6 (S), §2.8.3–2.8.4 (Nesterov–Todd), §2.7.3, 2.8.5 (steps).
#pragma once

#include "urto/solver/interior_point_options.h"
#include "urto/solver/interior_point_system.h"
#include "urto/solver/lorentz_cone.h"

namespace urto {

class BarrierPairs {
 public:
  struct Step {
    double primal = 1, dual = 1;  ///< of ŷ and of λ̂
  };
  /// Sets with μ = 0 or lo = hi must have been reduced before.
  void set(const Delassus& W, double energy_root);

  int degree() const { return static_cast<int>(pairs_.size()); }
  bool has_cones() const { return cones_; }

  /// λ̂ and ŷ such that each pair is central with the given μ and, without two bounds, λ̂ − ŷ is that
  /// of λ and û. λ is moved to match.
  void place_centred(double mu, const Vector& u, Vector& lambda);
  /// Starting point B: λ̂ from λ and ŷ from û, each pushed along the axes by one common amount where
  /// needed, plus a margin of one.
  void place_shifted(const Vector& u, Vector& lambda);
  /// Starting point A: λ̂ and ŷ no smaller than one, from the absolute values.
  void place_absolute(const Vector& u, Vector& lambda);
  void place_ones(Vector& lambda);

  double mu() const;
  /// The width over which De Saxcé's term is rounded off at u_T = 0: ‖u_T‖²/√(‖u_T‖² + ε²), which
  /// is zero there and ‖u_T‖ − O(ε²) elsewhere.
  void set_smoothing(double epsilon) { smoothing_ = epsilon; }
  /// û = Σ ± S⁻¹ŷ in the units of the rows, zero on joints.
  void velocity(Vector& u) const;
  /// μ‖u_T‖ on the normal rows of cones, from ŷ.
  void add_de_saxce(Vector& u) const;

  /// Nesterov–Todd scalings at the current pairs, and T; `exact`: G T with G the derivative of ŷ ↦
  /// û − De Saxcé's term, not symmetric.
  void scale(bool exact, CurvatureBlocks& blocks);
  /// The complementarity part of the right-hand side, to be taken off: predictor (σμ = 0, no
  /// second-order term) or corrector from the last direction.
  void predictor_target();
  void corrector_target(double sigma_mu, bool second_order);
  /// Gondzio's correction: at the end of `trial` along the last direction, scalar products λ̂ŷ
  /// outside [0.1, 10] times `target_mu` are to be brought back. False if none is.
  bool centrality_target(const Step& trial, double target_mu);
  void add_target(bool exact, Vector& r2) const;
  /// The directions of all pairs from that of λ.
  void direction(const Vector& dlambda);
  /// Of all pairs, with the target that it was made for: linear in it, so that a blend of two is
  /// the direction of the blended targets.
  struct Direction {
    std::vector<double> l = {}, y = {}, target = {};
  };
  const Direction& last_direction() const { return d_; }
  /// a + t (b − a)
  void set_direction(const Direction& a, const Direction& b, double t);

  /// To the boundary, not more than `most`.
  Step max_step(InteriorPointOptions::StepLength method, double most) const;
  double mu_after(const Step& step) const;
  void advance(const Step& step);
  /// How many pairs rounding had put on the boundary or outside, now back inside.
  int repair();
  /// In rows that have pairs, λ from λ̂: the two are carried along separately.
  void multipliers(Vector& lambda) const;

 private:
  struct Pair {
    int row = 0, dim = 1, block = 0, at = 0;
    double sign = 1, bound = 0;
    double to_y = 1, to_l = 1;  ///< factors of the rows' units
    double mu = 1;
    bool cone = false;
    double factor(int k) const { return k == 0 ? 1.0 : mu; }
  };
  void add_pairs(const ConvexSet& set, int block, int row, double to_y, double to_l);
  void slope(const Pair& p, double* t) const;

  const SetProduct* K_ = nullptr;
  std::vector<Pair> pairs_ = {};
  std::vector<lorentz::Scaling> scaling_ = {};
  std::vector<double> l_ = {}, y_ = {};
  Direction d_;
  bool cones_ = false;
  double smoothing_ = 0;
};

}  // namespace urto
