// Euler–Moreau with θ and γ (recipe 003 §§5.4, 5.5).
#include <cmath>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "run_first_order.h"
#include "urto/error.h"

namespace urto {
namespace {

constexpr FirstOrderSpan strict{.step = 0.1, .duration = 1, .tolerance = 1e-12};

/// ẋ = A x + b + B λ, y = C x + D λ + e with a complementarity and a relay: every matrix full.
struct FullExample {
  Matrix A = Matrix(2, 2), B = Matrix(2, 2), C = Matrix(2, 2), D = Matrix(2, 2);
  Vector b = Vector(2), e = Vector(2), x = Vector(2);

  FullExample() {
    A << -1, 0.4, -0.3, -2;
    B << 1, 0.2, -0.1, 0.8;
    C << 0.9, 0.1, 0.3, 1.1;
    D << 0.3, 0.1, -0.1, 0.2;
    b << -1, 0.5;
    e << 0.2, -0.4;
    x << 1, -0.5;
  }
  FirstOrderSystem system() const {
    FirstOrderSystem s{.states = 2};
    s.field = linear_field(sparse(A), b);
    s.relation = linear_relation({sparse(C), sparse(D), sparse(B), e});
    s.laws = {complementarity_law(), relay_law()};
    return s;
  }
};

/// ẋ = −x + λ(1 + x²/4), y = x + x³/10 − 1 + λ/2 − λ³/50 …: K ≠ 0, D ≠ 0, all nonlinear.
FirstOrderSystem nonlinear_example() {
  using V = const Vector&;
  const auto one = [](double a) { return Vector(Vector::Constant(1, a)); };
  const auto matrix = [](double a) { return sparse(Matrix::Constant(1, 1, a)); };
  FirstOrderSystem s{.states = 1};
  s.field.f = [=](const Moment& now, V x) { return one(-x[0] * x[0] - std::sin(now.t)); };
  s.field.jacobian = [=](const Moment&, V x) { return matrix(-2 * x[0]); };
  s.relation = nonlinear_relation(
      [=](const Moment&, V x, V l) {
        return one(x[0] + 0.1 * std::pow(x[0], 3) - 0.8 + 0.5 * l[0] + 0.02 * std::pow(l[0], 3));
      },
      [=](const Moment&, V x, V) { return matrix(1 + 0.3 * x[0] * x[0]); },
      [=](const Moment&, V, V l) { return matrix(0.5 + 0.06 * l[0] * l[0]); },
      [=](const Moment&, V x, V l) { return one(l[0] * (1 + 0.25 * x[0] * x[0])); },
      [=](const Moment&, V x, V l) { return matrix(0.5 * l[0] * x[0]); },
      [=](const Moment&, V x, V) { return matrix(1 + 0.25 * x[0] * x[0]); });
  s.laws = {complementarity_law()};
  return s;
}

/// Observed order over a halving of the step, of the state at the end against `exact`.
double order(const FirstOrderSystem& s, const FirstOrderOptions& o, const Vector& start,
             const Vector& exact, double h, double duration) {
  const auto error = [&](double step) {
    const FirstOrderSpan span{.step = step, .duration = duration, .tolerance = 1e-11};
    return (run_to_end(s, o, span, start).x - exact).norm();
  };
  return std::log2(error(h) / error(h / 2));
}

// §5.4, linear case: W = M − hθA, x = x_free + hγW⁻¹Bλ, x_free = W⁻¹(M x_k + h(1−θ)A x_k + hb
// [+ h(1−γ)r_k]): the formulas of T4's "one-step exactness", with the λ that was found.
TEST(EulerMoreau, LinearStepIsTheFormulaOfTheRecipe) {
  const FullExample ex;
  const FirstOrderSystem s = ex.system();
  const double h = 0.1, theta = 0.6, gamma = 0.7;
  for (const bool use_gamma : {false, true}) {
    FirstOrderStepper stepper(s, {.theta = theta, .gamma = gamma, .use_gamma = use_gamma});
    FirstOrderState state{.x = ex.x, .lambda = Vector::Zero(2), .y = Vector::Zero(2)};
    state.r = Vector(2);
    state.r << 0.3, -0.2;
    state.after_jump = false;
    const Vector r_k = state.r;
    FirstOrderReport report;
    ASSERT_TRUE(stepper.step(h, state, report)) << report.failure;
    EXPECT_EQ(report.newton, 1);
    const double g = use_gamma ? gamma : 1;
    const Matrix W = Matrix::Identity(2, 2) - h * theta * ex.A;
    const Vector free =
        W.inverse() * (ex.x + h * (1 - theta) * ex.A * ex.x + h * ex.b + h * (1 - g) * r_k);
    const Vector x = free + h * g * W.inverse() * ex.B * state.lambda;
    EXPECT_LT((state.x - x).norm(), 1e-15);
    const Vector y = (ex.D + h * g * ex.C * W.inverse() * ex.B) * state.lambda + ex.C * free + ex.e;
    EXPECT_LT((state.y - y).norm(), 1e-15);
    EXPECT_LT(report.residuals.worst(), 1e-14);
  }
}

// The full scheme: y_{k+γ} = C((1−γ)x_k + γx_free) + e + (hγCW⁻¹B + D)λ, x = x_free + hW⁻¹Bλ.
TEST(EulerMoreau, FullSchemeIsTheFormulaOfTheRecipe) {
  const FullExample ex;
  const FirstOrderSystem s = ex.system();
  const double h = 0.1, theta = 0.6, gamma = 0.7;
  FirstOrderStepper stepper(s, {.theta = theta, .gamma = gamma, .use_gamma_for_relation = true});
  FirstOrderState state{
      .x = ex.x, .lambda = Vector::Zero(2), .y = Vector::Zero(2), .r = Vector::Zero(2)};
  FirstOrderReport report;
  ASSERT_TRUE(stepper.step(h, state, report)) << report.failure;
  const Matrix W = Matrix::Identity(2, 2) - h * theta * ex.A;
  const Vector free = W.inverse() * (ex.x + h * (1 - theta) * ex.A * ex.x + h * ex.b);
  EXPECT_LT((state.x - (free + h * W.inverse() * ex.B * state.lambda)).norm(), 1e-15);
  const Vector y = (ex.D + h * gamma * ex.C * W.inverse() * ex.B) * state.lambda +
                   ex.C * ((1 - gamma) * ex.x + gamma * free) + ex.e;
  EXPECT_LT((state.y - y).norm(), 1e-15);
}

// The kinds of relation are what may be left out of one another.
TEST(EulerMoreau, KindsOfRelationsAgreeOnALinearSystem) {
  const FullExample ex;
  FirstOrderSystem linear = ex.system();
  const auto constant = [](const Matrix& A) {
    return [A](const Moment&, const Vector&, const Vector&) { return sparse(A); };
  };
  const auto h = [ex](const Moment&, const Vector& x, const Vector& l) {
    return Vector(ex.C * x + ex.D * l + ex.e);
  };
  FirstOrderSystem type2 = linear, general = linear;
  type2.relation = type2_relation(
      h, constant(ex.C), constant(ex.D),
      [ex](const Moment&, const Vector& l) { return Vector(ex.B * l); },
      [ex](const Moment&, const Vector&) { return sparse(ex.B); });
  general.relation = nonlinear_relation(
      h, constant(ex.C), constant(ex.D),
      [ex](const Moment&, const Vector&, const Vector& l) { return Vector(ex.B * l); },
      constant(Matrix::Zero(2, 2)), constant(ex.B));
  for (const FirstOrderOptions& o :
       {FirstOrderOptions{}, FirstOrderOptions{.theta = 0.5, .gamma = 0.5, .use_gamma = true},
        FirstOrderOptions{.theta = 0.5, .gamma = 0.5, .use_gamma_for_relation = true},
        FirstOrderOptions{.theta = 0.5, .midpoint = true}}) {
    const Vector x = run_to_end(linear, o, strict, ex.x).x;
    EXPECT_LT((run_to_end(type2, o, strict, ex.x).x - x).norm(), 1e-13);
    EXPECT_LT((run_to_end(general, o, strict, ex.x).x - x).norm(), 1e-13);
  }
  // Type 1 has no D.
  FirstOrderSystem without = linear, type1 = linear;
  without.relation = linear_relation({sparse(ex.C), {}, sparse(ex.B), ex.e});
  type1.relation =
      type1_relation([ex](const Moment&, const Vector& x) { return Vector(ex.C * x + ex.e); },
                     [ex](const Moment&, const Vector&) { return sparse(ex.C); },
                     [ex](const Moment&, const Vector& l) { return Vector(ex.B * l); },
                     [ex](const Moment&, const Vector&) { return sparse(ex.B); });
  EXPECT_LT(
      (run_to_end(without, {}, strict, ex.x).x - run_to_end(type1, {}, strict, ex.x).x).norm(),
      1e-13);
}

// ẋ = −x + 2 − …: smooth, with a closed form, so that the order is that of the formula. θ = 1/2 is
// the trapezoidal rule; γ weighs r alike, here r = −λ with the equality y = λ − x: ẋ = −x in all.
TEST(EulerMoreau, ThetaAndGammaOfOneHalfAreOfSecondOrder) {
  FirstOrderSystem s{.states = 1};
  s.field = linear_field(sparse(Matrix::Constant(1, 1, -0.5)), Vector::Constant(1, 1));
  const Matrix one = Matrix::Ones(1, 1);
  s.relation = linear_relation({sparse(-one), sparse(one), sparse(-0.7 * one), {}});
  s.laws = {equality_law()};
  const Vector start = Vector::Constant(1, 3);  // ẋ = −1.2 x + 1
  const Vector exact = Vector::Constant(1, 1 / 1.2 + (3 - 1 / 1.2) * std::exp(-1.2));
  const double h = 0.02;
  EXPECT_NEAR(order(s, {}, start, exact, h, 1), 1, 0.05);
  EXPECT_NEAR(order(s, {.theta = 0}, start, exact, h, 1), 1, 0.05);
  const double second =
      order(s, {.theta = 0.5, .gamma = 0.5, .use_gamma = true}, start, exact, h, 1);
  EXPECT_NEAR(second, 2, 0.05);
  EXPECT_NEAR(
      order(s, {.theta = 0.5, .gamma = 0.5, .use_gamma_for_relation = true}, start, exact, h, 1), 2,
      0.05);
}

// A(t), b(t), C(t), D(t): ẋ = −2t x + cos t·λ with y = x − λ = 0 has x = exp(−t² + sin t).
TEST(EulerMoreau, IntegratesMatricesThatDependOnTime) {
  const Matrix one = Matrix::Ones(1, 1);
  FirstOrderSystem s{.states = 1};
  s.field = varying_field([=](const Moment& now) { return sparse(-2 * now.t * one); });
  s.relation = linear_relation([=](const Moment& now) {
    return LinearRelation{sparse(one), sparse(-one), sparse(std::cos(now.t) * one)};
  });
  s.laws = {equality_law()};
  const Vector start = Vector::Ones(1);
  const Vector exact = Vector::Constant(1, std::exp(-1 + std::sin(1.0)));
  EXPECT_NEAR(order(s, {}, start, exact, 0.005, 1), 1, 0.05);
  EXPECT_NEAR(order(s, {.theta = 0.5, .gamma = 0.5, .use_gamma = true}, start, exact, 0.02, 1), 2,
              0.1);
  EXPECT_NEAR(
      order(s, {.theta = 0.5, .gamma = 0.5, .use_gamma_for_relation = true, .midpoint = true},
            start, exact, 0.02, 1),
      2, 0.1);
}

// M ẋ = A x + T u(t) with M = diag(2, 4): the same as without M and the rows divided.
TEST(EulerMoreau, TreatsMassAndControl) {
  const FullExample ex;
  const Vector m = (Vector(2) << 2, 4).finished();
  const Matrix T = (Matrix(2, 1) << 1, 2).finished();
  const auto u = [](const Moment& now, const Vector&) {
    return Vector(Vector::Constant(1, std::sin(now.t)));
  };
  FirstOrderSystem plain{.states = 2}, heavy{.states = 2};
  plain.field = with_control(linear_field(sparse(ex.A), ex.b), sparse(T), u);
  heavy.mass = SparseMatrix(m.asDiagonal());
  heavy.field =
      with_control(linear_field(sparse(m.asDiagonal() * ex.A), Vector(m.asDiagonal() * ex.b)),
                   sparse(m.asDiagonal() * T), u);
  const Vector a = run_to_end(plain, {}, strict, ex.x).x, b = run_to_end(heavy, {}, strict, ex.x).x;
  EXPECT_LT((a - b).norm(), 1e-14);
  // State feedback u = −k x as a control term is the matrix A − T k.
  const Matrix k = (Matrix(1, 2) << 0.5, 0.25).finished();
  FirstOrderSystem feedback{.states = 2}, closed{.states = 2};
  feedback.field = with_control(
      linear_field(sparse(ex.A), ex.b), sparse(T),
      [k](const Moment&, const Vector& x) { return Vector(-k * x); },
      [k](const Moment&, const Vector&) { return sparse(-k); });
  closed.field = linear_field(sparse(ex.A - T * k), ex.b);
  EXPECT_LT(
      (run_to_end(feedback, {}, strict, ex.x).x - run_to_end(closed, {}, strict, ex.x).x).norm(),
      1e-13);
}

TEST(EulerMoreau, NewtonConvergesQuadraticallyWithTangentsOfAllKinds) {
  const FirstOrderSystem s = nonlinear_example();
  for (const FirstOrderOptions& o :
       {FirstOrderOptions{}, FirstOrderOptions{.theta = 0.5, .gamma = 0.5, .use_gamma = true},
        FirstOrderOptions{.gamma = 0.5, .use_gamma_for_relation = true},
        FirstOrderOptions{.theta = 0.5, .midpoint = true}}) {
    FirstOrderSimulation run(s, o, strict, Vector::Constant(1, 1.5));
    int most = 0;
    bool pushed = false;
    while (run.advance()) {
      most = std::max(most, run.report().newton);
      pushed = pushed || run.state().lambda[0] > 0.01;
    }
    EXPECT_TRUE(run.finished()) << run.failure();
    EXPECT_EQ(run.missed(), 0) << run.worst_residual();
    EXPECT_TRUE(pushed);
    EXPECT_LE(most, 6);  // from 0.1 to 1e-12 when the number of digits doubles
  }
}

// The solution of the nonlinear problem, from a step 100 times smaller by the second-order scheme.
TEST(EulerMoreau, ConvergesOnANonlinearRelation) {
  const FirstOrderSystem s = nonlinear_example();
  const Vector start = Vector::Constant(1, 1.5);
  const FirstOrderOptions fine{.theta = 0.5, .gamma = 0.5, .use_gamma = true};
  const Vector exact =
      run_to_end(s, fine, {.step = 1e-4, .duration = 1, .tolerance = 1e-11}, start).x;
  EXPECT_NEAR(order(s, {}, start, exact, 0.01, 1), 1, 0.1);
  EXPECT_NEAR(order(s, {.theta = 0.5, .midpoint = true}, start, exact, 0.01, 1), 1, 0.3);
}

TEST(EulerMoreau, ZeroGammaNeedsADirectAction) {
  const FullExample ex;
  FirstOrderSystem s = ex.system();
  // W_mlcp = D for γ = 0: a P-matrix here.
  run_to_end(s, {.gamma = 0, .use_gamma_for_relation = true}, strict, ex.x);
  s.relation = linear_relation({sparse(ex.C), {}, sparse(ex.B), Vector::Constant(2, -2)});
  FirstOrderSimulation run(s, {.gamma = 0, .use_gamma_for_relation = true}, strict, ex.x);
  while (run.advance()) {
  }
  EXPECT_FALSE(run.finished());
  EXPECT_NE(run.failure().find("t = "), std::string::npos);
}

TEST(EulerMoreau, RefusesWhatIsIncomplete) {
  const FullExample ex;
  const auto refused = [&](const FirstOrderSystem& s, const FirstOrderOptions& o = {}) {
    EXPECT_THROW(FirstOrderSimulation(s, o, strict, ex.x), InputError);
  };
  FirstOrderSystem s = ex.system();
  s.field.jacobian = {};  // f without ∂f/∂x
  refused(s);
  s = nonlinear_example();
  s.states = 2;
  refused(s);
  FirstOrderSystem k = nonlinear_example();
  k.relation.K = {};
  EXPECT_THROW(FirstOrderSimulation(k, {}, strict, Vector::Ones(1)), InputError);
  s = ex.system();
  s.laws[1] = {1, -1};
  refused(s);
  s = ex.system();
  s.laws.pop_back();
  refused(s);
  refused(ex.system(), {.theta = 1.5});
  refused(ex.system(), {.gamma = 0.5, .use_gamma = true, .use_gamma_for_relation = true});
  EXPECT_THROW(FirstOrderSimulation(nonlinear_example(), {.scheme = FirstOrderScheme::zero_order},
                                    strict, Vector::Ones(1)),
               InputError);
  EXPECT_THROW(FirstOrderSimulation(ex.system(), {}, {.step = 0}, ex.x), InputError);
  EXPECT_THROW(FirstOrderSimulation(ex.system(), {}, strict, Vector::Ones(3)), InputError);
}

TEST(EulerMoreau, SystemsWithoutRowsOrStatesAreSystems) {
  FirstOrderSystem free{.states = 1};
  free.field = linear_field(sparse(Matrix::Constant(1, 1, -1)), Vector::Zero(1));
  const Vector end = run_to_end(free, {}, strict, Vector::Ones(1)).x;
  EXPECT_NEAR(end[0], std::pow(1 / 1.1, 10), 1e-14);
  FirstOrderSystem law{};  // 0 ≤ 2λ − 1 ⟂ λ ≥ 0
  law.relation =
      linear_relation({{}, sparse(Matrix::Constant(1, 1, 2)), {}, Vector::Constant(1, -1)});
  law.laws = {complementarity_law()};
  EXPECT_NEAR(run_to_end(law, {}, strict, Vector()).lambda[0], 0.5, 1e-15);
}

}  // namespace
}  // namespace urto
