// The algebra of the second-order cone: identities that must hold for any pair inside (recipe 001
// §2.8, §6).
#include "urto/solver/lorentz_cone.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "urto/math/types.h"

namespace urto {
namespace {

using lorentz::Block;

class RandomBlocks {
 public:
  explicit RandomBlocks(unsigned seed) : generator_(seed) {}
  double number() { return distribution_(generator_); }
  Block any(int d) {
    Block v{};
    for (int k = 0; k < d; ++k) v[k] = number();
    return v;
  }
  /// Inside, often close to the boundary.
  Block inside(int d) {
    Block v = any(d);
    double tail = 0;
    for (int k = 1; k < d; ++k) tail += v[k] * v[k];
    v[0] = std::sqrt(tail) + std::pow(10.0, -4 * std::abs(number()));
    return v;
  }

 private:
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> distribution_{-1, 1};
};

double distance(const Block& a, const Block& b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum);
}

TEST(LorentzCone, DivisionUndoesTheJordanProduct) {
  RandomBlocks random(1);
  for (int n = 0; n < 2000; ++n) {
    const int d = 1 + n % 4;
    const Block u = random.inside(d);
    const Block w = random.any(d);
    Block x{}, back{};
    lorentz::divide(u.data(), w.data(), d, x.data());
    lorentz::product(u.data(), x.data(), d, back.data());
    EXPECT_LT(distance(back, w, d), 1e-11);
  }
}

TEST(LorentzCone, BarrierGradientIsItsDerivative) {
  RandomBlocks random(2);
  for (int n = 0; n < 200; ++n) {
    const int d = 1 + n % 4;
    Block u = random.inside(d);
    u[0] += 0.5;
    Block gradient{};
    lorentz::barrier_gradient(u.data(), d, gradient.data());
    for (int k = 0; k < d; ++k) {
      Block up = u, down = u;
      up[k] += 1e-6;
      down[k] -= 1e-6;
      const double slope =
          (lorentz::barrier(up.data(), d) - lorentz::barrier(down.data(), d)) / 2e-6;
      EXPECT_NEAR(slope, gradient[k], 1e-7 * (1 + std::abs(gradient[k])));
    }
  }
}

TEST(LorentzCone, NesterovToddScalingMeetsInOnePoint) {
  RandomBlocks random(3);
  for (int n = 0; n < 2000; ++n) {
    const int d = 1 + n % 4;
    const Block y = random.inside(d);
    const Block l = random.inside(d);
    lorentz::Scaling W;
    W.set(y.data(), l.data(), d);
    Block from_y{}, from_l{}, back{}, twice{};
    W.apply_inverse(y.data(), from_y.data());
    W.apply(l.data(), from_l.data());
    double size = 0;
    for (int k = 0; k < d; ++k) size += from_l[k] * from_l[k];
    EXPECT_LT(distance(from_y, from_l, d), 1e-10 * std::sqrt(size));
    W.apply_inverse(from_l.data(), back.data());
    EXPECT_LT(distance(back, l, d), 1e-10);
    // The entries of W and of W² are those of the operators.
    W.apply(from_l.data(), twice.data());
    for (int r = 0; r < d; ++r) {
      double once = 0, square = 0;
      for (int c = 0; c < d; ++c) {
        once += W.entry(r, c) * l[c];
        square += W.square(r, c) * l[c];
      }
      EXPECT_NEAR(once, from_l[r], 1e-12 * std::sqrt(size));
      EXPECT_NEAR(square, y[r], 1e-8);
    }
    // λ·y is kept.
    double inner = 0;
    for (int k = 0; k < d; ++k) inner += y[k] * l[k];
    EXPECT_NEAR(inner, size, 1e-10 * size);
  }
}

TEST(LorentzCone, ThreeStepLengthsAgreeAndEndOnTheBoundary) {
  RandomBlocks random(4);
  int bounded = 0;
  for (int n = 0; n < 5000; ++n) {
    const int d = 1 + n % 4;
    const Block u = random.inside(d);
    const Block du = random.any(d);
    const double a = lorentz::max_step(u.data(), du.data(), d);
    const double b = lorentz::max_step_by_roots(u.data(), du.data(), d);
    const double c = lorentz::max_step_by_scaling(u.data(), du.data(), d);
    if (std::isinf(a)) {
      EXPECT_GT(std::min(b, c), 1e6);
      continue;
    }
    ++bounded;
    EXPECT_NEAR(b, a, 1e-8 * a);
    EXPECT_NEAR(c, a, 1e-8 * a);
    Block at{};
    for (int k = 0; k < d; ++k) at[k] = u[k] + a * du[k];
    EXPECT_NEAR(lorentz::margin(at.data(), d), 0, 1e-9 * (1 + std::abs(at[0])));
  }
  EXPECT_GT(bounded, 2000);
}

// Recipe 001 §2.8.5, tables 4.1 (infimum), 4.2 (supremum) and 4.3 (existence) as corrected, against
// looking: from points inside and outside, in directions of every kind (a > 0: into one of the two
// nappes; a < 0: past the tip; a = 0: along a ray of the cone; d₀ of either sign and zero).
TEST(LorentzCone, StepsInsideAreTheIntervalThatASearchFinds) {
  RandomBlocks random(6);
  struct Seen {
    int empty = 0, low = 0, high = 0;
  } seen[3][3];  // sign of a, sign of d₀
  for (int n = 0; n < 20000; ++n) {
    const int d = 1 + n % 4;
    Block u = random.any(d);
    Block du = random.any(d);
    if (n % 3 == 0) u = random.inside(d);
    if (n % 7 == 0) {  // along a ray of the double cone, up to rounding
      const double tail = du[0] - lorentz::margin(du.data(), d);
      du[0] = n % 2 == 0 ? tail : -tail;
    }
    if (n % 11 == 0) du[0] = 0;
    const auto margin_at = [&](double t) {
      Block at{};
      for (int k = 0; k < d; ++k) at[k] = u[k] + t * du[k];
      return lorentz::margin(at.data(), d);
    };
    // The margin is concave along the line: its top by golden section, then bisection on both
    // sides.
    constexpr double far = 1e7, ratio = 0.6180339887498949;
    double left = -far, right = far;
    for (int k = 0; k < 200; ++k) {
      const double a = right - ratio * (right - left), b = left + ratio * (right - left);
      (margin_at(a) < margin_at(b) ? left : right) = margin_at(a) < margin_at(b) ? a : b;
    }
    const double top = 0.5 * (left + right);
    const double highest = margin_at(top);
    const lorentz::Interval found = lorentz::steps_inside(u.data(), du.data(), d);
    const double a = lorentz::determinant(du.data(), d);
    const int sign_a = std::abs(a) < 1e-12 ? 1 : a < 0 ? 0 : 2;
    Seen& s = seen[sign_a][du[0] == 0 ? 1 : du[0] < 0 ? 0 : 2];
    // What a search at double precision can tell.
    const double doubt = 1e-7 * (1 + std::abs(top) * std::sqrt(std::abs(a) + du[0] * du[0]));
    if (std::abs(highest) < doubt) continue;
    if (highest < 0) {
      // Along a ray, up to rounding, the line may meet the cone where no search goes.
      EXPECT_TRUE(found.is_empty() || found.low > far || found.high < -far) << n;
      if (!found.is_empty()) continue;
      ++s.empty;
      continue;
    }
    ASSERT_FALSE(found.is_empty()) << n << " " << top << " " << highest;
    const auto expect_end = [&](double end, double direction, int& count) {
      if (margin_at(direction * far) > 0) {
        EXPECT_GT(direction * end, 0.5 * far) << n;
        return;
      }
      double inside = top, outside = direction * far;
      for (int k = 0; k < 300; ++k) {
        const double middle = 0.5 * (inside + outside);
        (margin_at(middle) >= 0 ? inside : outside) = middle;
      }
      if (std::abs(inside) > 1e5) return;
      EXPECT_NEAR(end, inside, 1e-6 * (1 + std::abs(inside))) << n;
      ++count;
    };
    expect_end(found.low, -1, s.low);
    expect_end(found.high, 1, s.high);
  }
  // Every entry of the three tables was there.
  for (const int d0 : {0, 2}) {
    EXPECT_GT(seen[0][d0].empty, 100) << "table 4.3: a < 0 may miss the cone";
    EXPECT_GT(seen[0][d0].low, 100);
    EXPECT_GT(seen[0][d0].high, 100);
    EXPECT_EQ(seen[2][d0].empty, 0) << "table 4.3: a > 0 always meets it";
  }
  EXPECT_GT(seen[2][2].low, 100);
  EXPECT_EQ(seen[2][2].high, 0) << "table 4.2: no supremum";
  EXPECT_GT(seen[2][0].high, 100);
  EXPECT_EQ(seen[2][0].low, 0) << "table 4.1: no infimum";
  EXPECT_GT(seen[1][0].high + seen[1][2].low, 100);
  EXPECT_GT(seen[0][1].high, 100);
}

// Recipe 001 §2.8.5: along the axis the infimum is −p₀ + ‖p₁‖, what starting point B adds.
TEST(LorentzCone, InfimumAlongTheAxisIsTheMarginsNegative) {
  RandomBlocks random(7);
  for (int n = 0; n < 1000; ++n) {
    const int d = 1 + n % 4;
    const Block u = random.any(d);
    Block axis{};
    axis[0] = 1;
    const lorentz::Interval found = lorentz::steps_inside(u.data(), axis.data(), d);
    EXPECT_NEAR(found.low, -lorentz::margin(u.data(), d), 1e-14);
    EXPECT_EQ(found.high, std::numeric_limits<double>::infinity());
  }
}

TEST(LorentzCone, CentralPairIsCentralAndKeepsTheDifference) {
  RandomBlocks random(5);
  for (int n = 0; n < 2000; ++n) {
    const int d = 1 + n % 4;
    const Block v = random.any(d);
    const double mu = std::pow(10.0, -6 * std::abs(random.number()));
    Block l{}, y{}, product{}, difference{};
    lorentz::central_pair(v.data(), mu, d, l.data(), y.data());
    lorentz::product(l.data(), y.data(), d, product.data());
    Block unit{};
    unit[0] = mu;
    for (int k = 0; k < d; ++k) difference[k] = l[k] - y[k];
    EXPECT_LT(distance(product, unit, d), 1e-14);
    EXPECT_LT(distance(difference, v, d), 1e-14);
    EXPECT_GT(lorentz::margin(l.data(), d), 0);
    EXPECT_GT(lorentz::margin(y.data(), d), 0);
  }
}

}  // namespace
}  // namespace urto
