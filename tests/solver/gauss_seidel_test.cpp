// The sweep: its local solution, its packed rows against rows of W, its kernels against each other,
// and momentum.
#include "urto/solver/gauss_seidel.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/local_contact.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

// W = A Aᵀ of a random A whose rows differ in size by up to 10^spread.
Matrix random_block(std::mt19937& random, int dim, double spread) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> exponent(-spread, spread);
  Matrix A(dim, dim + 2);
  for (int r = 0; r < dim; ++r) {
    const double size = std::pow(10.0, exponent(random));
    for (int c = 0; c < A.cols(); ++c) A(r, c) = size * normal(random);
  }
  return A * A.transpose();
}

// The solution of a contact by solve_cone, from λ = 0 in the tangents of the problem.
Vector solved_by_scalar_newton(const Matrix& W, double mu, const Vector& q) {
  LocalCone cone;
  std::array<double, 2> turn{};
  if (!prepare_cone(W.data(), static_cast<int>(W.rows()), mu, cone, turn.data()))
    throw std::runtime_error("degenerate");
  const auto [c, s] = turn;
  const double q2 = W.rows() == 3 ? q[2] : 0;
  const std::array<double, 3> u{q[0], c * q[1] - s * q2, s * q[1] + c * q2}, zero{};
  std::array<double, 3> r{};
  solve_cone(cone, u.data(), zero.data(), r.data());
  Vector out(W.rows());
  out[0] = r[0];
  out[1] = c * r[1] + s * r[2];
  if (W.rows() == 3) out[2] = c * r[2] - s * r[1];
  return out;
}

// Natural-map residual of Coulomb's law for one contact [velocity] (convex_set.h, design §2):
// nothing of what is tested.
double law_residual(const Matrix& W, double mu, const Vector& q, const Vector& r) {
  const ConvexSet set = ConvexSet::cone(mu, static_cast<int>(W.rows()));
  return local_residual(set, W, q.data(), r.data(), Friction::exact);
}

TEST(LocalCone, SolvesTwentyThousandRandomContacts) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> friction(0, 1.2);
  int slides = 0, sticks = 0, open = 0;
  for (int k = 0; k < 20000; ++k) {
    const int dim = k % 4 == 0 ? 2 : 3;
    const Matrix W = random_block(random, dim, k % 3);
    Vector q(dim);
    for (int i = 0; i < dim; ++i) q[i] = normal(random) * std::sqrt(W(i, i));
    const double mu = k % 50 == 0 ? 0 : friction(random);
    const Vector r = solved_by_scalar_newton(W, mu, q);
    const double tangential = r.tail(dim - 1).norm();
    EXPECT_LE(tangential, mu * r[0] * (1 + 1e-14));
    // Local tolerance: the step is accepted when one more would change α by its square.
    EXPECT_LT(law_residual(W, mu, q, r), 1e-7 * q.norm()) << k;
    (r[0] == 0 ? open : tangential < mu * r[0] * (1 - 1e-12) ? sticks : slides) += 1;
  }
  EXPECT_GT(slides, 3000);
  EXPECT_GT(sticks, 1000);
  EXPECT_GT(open, 3000);
}

TEST(LocalCone, ASecondSolutionFromTheFirstIsExact) {
  // α is kept: repeating the local problem converges to rounding, as sweeps do.
  std::mt19937 random(12);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 2000; ++k) {
    const Matrix W = random_block(random, 3, 1);
    LocalCone cone;
    std::array<double, 2> turn{};
    ASSERT_TRUE(prepare_cone(W.data(), 3, 0.4, cone, turn.data()));
    Matrix T = Matrix::Identity(3, 3);
    T(1, 1) = T(2, 2) = turn[0];
    T(1, 2) = -turn[1];
    T(2, 1) = turn[1];
    const Matrix own = T * W * T.transpose();
    // The Schur complement on the tangents is diagonal in the turned tangents.
    EXPECT_NEAR(own(1, 2) - own(1, 0) * own(2, 0) / own(0, 0), 0, 1e-13 * own.trace());
    Vector q(3), r = Vector::Zero(3), next(3);
    for (int i = 0; i < 3; ++i) q[i] = normal(random) * std::sqrt(own(i, i));
    for (int n = 0; n < 4; ++n) {
      const Vector u = own * r + q;
      solve_cone(cone, u.data(), r.data(), next.data());
      r = next;
    }
    EXPECT_LT(law_residual(own, 0.4, q, r), 1e-13 * (q.norm() + own.norm() * r.norm())) << k;
  }
}

TEST(LocalCone, RefusesWhatNoBodyCanFollow) {
  LocalCone cone;
  std::array<double, 2> turn{};
  Matrix W = Matrix::Identity(3, 3);
  W(2, 2) = 0;  // a guided body: one tangent is locked
  EXPECT_FALSE(prepare_cone(W.data(), 3, 0.5, cone, turn.data()));
  W = Matrix::Identity(3, 3);
  W(0, 0) = 0;
  EXPECT_FALSE(prepare_cone(W.data(), 3, 0.5, cone, turn.data()));
}

struct Sweeps {
  Sweeps(const StepProblem& problem, const GaussSeidel::Options& options)
      : W(problem), x(problem.dofs()), lambda(Vector::Zero(problem.rows())) {
    sweeps.rows().set(W, x, lambda);
    sweeps.begin(options);
  }
  Delassus W;
  Vector x, lambda;
  GaussSeidel sweeps;
};

// The same problem without its bodies: u = W λ + q.
StepProblem without_bodies(const StepProblem& p) {
  Delassus W(p);
  return local_problem(to_sparse(W.matrix()), W.q(), p.K);
}

StepProblem soft(StepProblem p) {
  std::vector<double> compliance(p.rows());
  for (int i = 0; i < p.blocks(); ++i) {
    compliance[p.K.start[i]] = 0.1;
    for (int r = p.K.start[i] + 1; r < p.K.start[i + 1]; ++r) compliance[r] = 0.3;
  }
  set_compliance(p, compliance);
  return p;
}

TEST(GaussSeidel, PackedRowsAndRowsOfWMakeTheSameSweeps) {
  // Rows scaled by the masses, tangents of their own: only rounding may differ.
  const StepProblem problems[] = {sphere_packing({.contacts = 150, .mu = 0.3, .step = 2e-3}),
                                  sphere_packing({.contacts = 60, .mu = 0, .step = 2e-3}),
                                  sphere_packing({.contacts = 60, .mass_ratio = 1e6}),
                                  box_wall({.width = 3, .height = 3, .push = 0.5}),
                                  joint_contact_mix({.bodies = 4}),
                                  sliding_mass({}),
                                  soft(box_stack({.levels = 3, .push = 0.2}))};
  for (const StepProblem& p : problems) {
    const StepProblem rows = without_bodies(p);
    for (const Friction law : {Friction::exact, Friction::convex}) {
      const GaussSeidel::Options options{
          .friction = law, .tolerance = 1e-14, .order = GaussSeidel::Order::symmetric};
      Sweeps packed(p, options), by_rows(rows, options);
      for (int k = 0; k < 2; ++k) {
        packed.sweeps.sweep();
        by_rows.sweeps.sweep();
      }
      ASSERT_TRUE(packed.sweeps.is_packed());
      ASSERT_FALSE(by_rows.sweeps.is_packed());
      const double residual = packed.sweeps.residual();
      EXPECT_NEAR(by_rows.sweeps.residual(), residual, 1e-9 * residual + 1e-14);
      EXPECT_LT((packed.lambda - by_rows.lambda).norm(), 1e-9 * by_rows.lambda.norm());
      // x and λ belong together: H x − Jᵀλ = a.
      Vector x;
      packed.W.recover(packed.lambda, x);
      EXPECT_LT((packed.x - x).norm(), 1e-12 * (1 + x.norm()));
    }
  }
}

TEST(GaussSeidel, VelocitiesCarriedAlongAreThoseComputedAnew) {
  const StepProblem p = sphere_packing({.contacts = 200, .mu = 0.5, .step = 2e-3});
  for (const bool momentum : {false, true}) {
    Sweeps s(p, {.momentum = momentum});
    for (int k = 0; k < 150; ++k) s.sweeps.sweep();
    const double carried = s.sweeps.estimate();
    EXPECT_NEAR(s.sweeps.residual(), carried, 1e-10 * carried + 1e-15);
  }
}

// Sweeps to a tolerance, and the velocities there.
int sweeps_to(const StepProblem& p, double tolerance, bool momentum, int most, Vector& u) {
  Sweeps s(p, {.momentum = momentum});
  for (int k = 0; k < most; ++k) {
    if (s.sweeps.estimate() <= tolerance && s.sweeps.residual() <= tolerance) {
      s.sweeps.velocities(u);
      return k;
    }
    s.sweeps.sweep();
  }
  return most;
}

TEST(GaussSeidel, MomentumNeedsHalfTheSweepsOrLess) {
  // The source of the factor is a measurement (docs/solvers/nsgs.md): four in the mean.
  double sum = 0;
  int count = 0;
  for (const std::uint64_t seed : {101, 102, 103, 104, 105, 106}) {
    const StepProblem p = sphere_packing({.contacts = 250, .mu = 0.4, .step = 2e-3, .seed = seed});
    Vector plain, ahead;
    const int without = sweeps_to(p, 1e-4, false, 20000, plain);
    const int with = sweeps_to(p, 1e-4, true, 20000, ahead);
    ASSERT_LT(without, 20000);
    sum += std::log(static_cast<double>(with) / without);
    ++count;
    // Both within 1e-4 of the law; the velocity follows to some ten times that.
    EXPECT_LT((plain - ahead).norm(), 3e-2 * plain.norm()) << seed;
  }
  EXPECT_LT(std::exp(sum / count), 0.5);
}

}  // namespace
}  // namespace urto
