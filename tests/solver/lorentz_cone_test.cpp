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
