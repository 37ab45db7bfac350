// The algebra of the interior point's pairs: what a full step along the directions leaves of λ̂ ∘ ŷ,
// and pairs pushed back from outside.
#include "urto/solver/barrier_pairs.h"

#include <cmath>

#include <gtest/gtest.h>

#include "solver/random_problem.h"

namespace urto {
namespace {

using lorentz::Block;

/// Pairs of a problem of rows and cones, in the dimensionless units of barrier_pairs.h.
class Pairs {
 public:
  explicit Pairs(unsigned seed)
      : random_(seed),
        problem_(random_.make({ConvexSet::nonnegative(), ConvexSet::cone(0.6),
                               ConvexSet::nonnegative(2), ConvexSet::cone(1.4, 2)},
                              false)),
        W_(problem_) {
    pairs.set(W_, energy);
    curvature.set(problem_.K);
    for (int i = 0; i < problem_.blocks(); ++i) {
      const ConvexSet& set = problem_.K.sets[i];
      const bool cone = set.kind == SetKind::cone;
      for (int k = 0; k < set.dim; ++k) {
        scale.push_back((cone && k > 0 ? set.mu : 1) / std::sqrt(W_.mean_diagonal(i)));
        if (!cone || k == 0) {
          start.push_back(problem_.K.start[i] + k);
          dim.push_back(cone ? set.dim : 1);
        }
      }
    }
  }

  /// Somewhere inside.
  void place() {
    Vector lambda = 3 * random_.matrix(rows(), 1);
    pairs.place_centred(std::pow(10, 2 * random_.number()), 3 * random_.matrix(rows(), 1), lambda);
    // Off the central path.
    pairs.scale(false, curvature);
    pairs.predictor_target();
    pairs.direction(0.1 * random_.matrix(rows(), 1));
    const auto step = pairs.max_step(InteriorPointOptions::StepLength::formula, 1);
    pairs.advance({0.9 * step.primal, 0.5 * step.dual});
    pairs.scale(false, curvature);
  }
  Vector random_direction() { return random_.matrix(rows(), 1); }
  int rows() const { return problem_.rows(); }
  int count() const { return static_cast<int>(start.size()); }
  double number() { return random_.number(); }

  Block multiplier(int pair) const {
    Vector lambda = Vector::Zero(rows());
    pairs.multipliers(lambda);
    Block out{};
    for (int k = 0; k < dim[pair]; ++k)
      out[k] = lambda[start[pair] + k] / (energy * scale[start[pair] + k]);
    return out;
  }
  Block velocity(int pair) const {
    Vector u;
    pairs.velocity(u);
    Block out{};
    for (int k = 0; k < dim[pair]; ++k)
      out[k] = u[start[pair] + k] * scale[start[pair] + k] / energy;
    return out;
  }

  static constexpr double energy = 1.7;
  BarrierPairs pairs;
  CurvatureBlocks curvature;
  std::vector<int> start, dim;
  std::vector<double> scale;

 private:
  RandomProblem random_;
  StepProblem problem_;
  Delassus W_;
};

/// The two factors of λ̂ ∘ ŷ: for a cone Wλ̂ and W⁻¹ŷ of the pair's scaling before the step.
struct Factors {
  Block l{}, y{};
};

std::vector<lorentz::Scaling> scalings(const Pairs& p) {
  std::vector<lorentz::Scaling> all(p.count());
  for (int i = 0; i < p.count(); ++i)
    all[i].set(p.velocity(i).data(), p.multiplier(i).data(), p.dim[i]);
  return all;
}

Factors scaled(const lorentz::Scaling& W, const Block& l, const Block& y) {
  Factors f;
  W.apply(l.data(), f.l.data());
  W.apply_inverse(y.data(), f.y.data());
  return f;
}

/// Δλ̂ and Δŷ of the last direction, as the difference of two full iterates would not have them:
/// exactly.
Factors direction(const Pairs& p, const lorentz::Scaling& W, int pair, int at) {
  const BarrierPairs::Direction& d = p.pairs.last_direction();
  Block l{}, y{};
  for (int k = 0; k < p.dim[pair]; ++k) {
    l[k] = d.l[at + k];
    y[k] = d.y[at + k];
  }
  return scaled(W, l, y);
}

Block product(const Factors& f, int dim) {
  Block out{};
  lorentz::product(f.l.data(), f.y.data(), dim, out.data());
  return out;
}

std::vector<Factors> directions(const Pairs& p, const std::vector<lorentz::Scaling>& W) {
  std::vector<Factors> all;
  int at = 0;
  for (int i = 0; i < p.count(); at += p.dim[i++]) all.push_back(direction(p, W[i], i, at));
  return all;
}

// Newton on λ̂ ∘ ŷ = 0 leaves its second-order term, ΔŷΔλ̂, after a full step (recipe 001 §2.7.2,
// checklist 30).
TEST(BarrierPairs, AFullPredictorStepLeavesTheProductOfTheDirections) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Pairs p(seed);
    p.place();
    const auto W = scalings(p);
    p.pairs.predictor_target();
    p.pairs.direction(p.random_direction());
    const auto d = directions(p, W);
    p.pairs.advance({1, 1});
    for (int i = 0; i < p.count(); ++i) {
      const Block left = product(scaled(W[i], p.multiplier(i), p.velocity(i)), p.dim[i]);
      const Block wanted = product(d[i], p.dim[i]);
      for (int k = 0; k < p.dim[i]; ++k)
        EXPECT_NEAR(left[k], wanted[k], 1e-9 * (1 + std::abs(wanted[k])));
    }
  }
}

// Recipe 001 §2.7.2, 2.8.4, checklist 32 and 56: after a full step of the corrector
//
//     ŷ ∘ λ̂ = σμ e + Δŷ ∘ Δλ̂ − Δŷ_p ∘ Δλ̂_p,
//
// on ℝ₊ component by component, on a cone in the scaled variables Wλ̂ and W⁻¹ŷ.
TEST(BarrierPairs, AFullCorrectorStepLeavesTheCentreAndTwoProducts) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    for (const bool second_order : {true, false}) {
      Pairs p(seed);
      p.place();
      const auto W = scalings(p);
      p.pairs.predictor_target();
      p.pairs.direction(p.random_direction());
      const auto predictor = directions(p, W);
      const double sigma_mu = std::abs(p.number());
      p.pairs.corrector_target(sigma_mu, second_order);
      p.pairs.direction(p.random_direction());
      const auto corrector = directions(p, W);
      p.pairs.advance({1, 1});
      for (int i = 0; i < p.count(); ++i) {
        const Block left = product(scaled(W[i], p.multiplier(i), p.velocity(i)), p.dim[i]);
        const Block gained = product(corrector[i], p.dim[i]);
        const Block foreseen = product(predictor[i], p.dim[i]);
        for (int k = 0; k < p.dim[i]; ++k) {
          const double centre = k == 0 ? sigma_mu : 0;
          const double wanted = centre + gained[k] - (second_order ? foreseen[k] : 0);
          EXPECT_NEAR(left[k], wanted, 1e-9 * (1 + std::abs(gained[k]) + std::abs(foreseen[k])));
        }
        if (p.dim[i] > 1) continue;
        // On ℝ₊ W cancels: the products are those of λ̂ and ŷ themselves.
        EXPECT_NEAR(left[0], p.multiplier(i)[0] * p.velocity(i)[0],
                    1e-10 * (1 + std::abs(left[0])));
      }
    }
  }
}

// Recipe 001 §2.8.7, checklist 60: a pair that a step has carried out of its cone comes back, and
// moves along the axis only.
TEST(BarrierPairs, APairOutsideItsConeIsPushedBackAlongTheAxis) {
  int fired = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    Pairs p(seed);
    p.place();
    EXPECT_EQ(p.pairs.repair(), 0) << "inside";
    p.pairs.predictor_target();
    p.pairs.direction(p.random_direction());
    const auto longest = p.pairs.max_step(InteriorPointOptions::StepLength::formula, 1e300);
    if (longest.dual > 1e6) continue;
    p.pairs.advance({0, longest.dual * 1.5});
    std::vector<Block> before;
    int outside = 0;
    for (int i = 0; i < p.count(); ++i) {
      before.push_back(p.multiplier(i));
      outside += lorentz::margin(before[i].data(), p.dim[i]) < 0 ? 1 : 0;
    }
    ASSERT_GT(outside, 0);
    EXPECT_EQ(p.pairs.repair(), outside);
    fired += outside;
    for (int i = 0; i < p.count(); ++i) {
      const Block after = p.multiplier(i);
      const bool was_outside = lorentz::margin(before[i].data(), p.dim[i]) < 0;
      EXPECT_GE(lorentz::margin(after.data(), p.dim[i]), -1e-15 * after[0]);
      EXPECT_EQ(after[0] != before[i][0], was_outside);
      for (int k = 1; k < p.dim[i]; ++k) EXPECT_EQ(after[k], before[i][k]);
    }
  }
  EXPECT_GT(fired, 50);
}

}  // namespace
}  // namespace urto
