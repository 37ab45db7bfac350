// The options of gradient methods told apart (recipe 000 §2.8, checklist 34-35): the spectral
// gradient with and without its preconditioner and with the memory of its search, against the
// recipe's formulas in dense algebra; restart; the best iterate.
#include <algorithm>
#include <cmath>
#include <deque>

#include <Eigen/Cholesky>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

/// The dual problem min ½γᵀNγ + γᵀr over K in full.
struct Dual {
  StepProblem problem;
  Eigen::LLT<Matrix> H;
  Matrix J, N;
  Vector r;

  explicit Dual(StepProblem p) : problem(std::move(p)), H(Matrix(sparse_mass(problem))) {
    J = Matrix(to_sparse(problem.J));
    N = J * H.solve(Matrix(J.transpose()));
    r = J * H.solve(problem.a) + problem.b;
  }
  double objective(const Vector& gamma) const { return 0.5 * gamma.dot(N * gamma) + gamma.dot(r); }
  double residual(const Vector& gamma) const {
    const Vector x = H.solve(Vector(problem.a + J.transpose() * gamma));
    return certify(problem, x, gamma, Friction::convex).residual();
  }
  /// P: the mean over each block of the diagonal of N, or one.
  Vector preconditioner(bool wanted) const {
    Vector P = Vector::Ones(r.size());
    for (int i = 0; wanted && i < problem.blocks(); ++i) {
      const int first = problem.K.start[i], dim = problem.K.sets[i].dim;
      P.segment(first, dim).setConstant(N.diagonal().segment(first, dim).mean());
    }
    return P;
  }
};

struct Iterate {
  Vector gamma;
  double objective = 0, residual = 0;
  bool cut = false;  ///< the search took less than the whole step to get here
};

/// P-SPG-FB by the recipe: d = Π(γ − αP⁻¹g) − γ, Armijo over the last `memory` values, α = sᵀPs/sᵀy
/// and sᵀy/yᵀP⁻¹y in turn.
std::vector<Iterate> spectral_gradient(const Dual& dual, bool precondition, int memory, int count) {
  const Vector P = dual.preconditioner(precondition);
  Vector gamma = Vector::Zero(dual.r.size());
  std::deque<double> values;
  std::vector<Iterate> out;
  double alpha = 1;
  bool cut = false;
  for (int k = 0; k <= count; ++k) {
    const double f = dual.objective(gamma);
    out.push_back({gamma, f, dual.residual(gamma), cut});
    values.push_back(f);
    if (static_cast<int>(values.size()) > memory) values.pop_front();
    const double reference = *std::max_element(values.begin(), values.end());
    const Vector g = dual.N * gamma + dual.r;
    Vector d = gamma - alpha * g.cwiseQuotient(P);
    project(dual.problem.K, d, d);
    d -= gamma;
    double t = 1;
    cut = false;
    while (dual.objective(gamma + t * d) > reference + 1e-4 * t * g.dot(d)) {
      const double vertex = -g.dot(d) / d.dot(dual.N * d);
      t = std::clamp(vertex, 0.1 * t, 0.9 * t);
      cut = true;
    }
    const Vector s = t * d, y = dual.N * s;
    alpha = k % 2 == 0 ? s.dot(P.cwiseProduct(s)) / s.dot(y) : s.dot(y) / y.dot(y.cwiseQuotient(P));
    gamma += s;
  }
  return out;
}

Solution gradient_steps(const StepProblem& p, const char* solver, int count, bool precondition,
                        int memory) {
  SolveOptions o{.solver = solver,
                 .tolerance = 1e-13,
                 .max_iterations = count,
                 .friction = Friction::convex,
                 .record_history = true};
  o.precondition = precondition;
  o.search_memory = memory;
  return solve(p, o);
}

/// Masses of 1 and 1000 kg, and blocks of different size: there is something to precondition.
StepProblem toppling_stack() {
  return box_stack({.levels = 5, .mu = 0.4, .push = 0.2, .mass_ratio = 1000});
}

// Rounding tells two ways of the same formulas apart after some thirty steps.
TEST(SpectralGradient, GoesByTheFormulasOfTheRecipeWithEveryOption) {
  const Dual wall(box_wall({.width = 3, .height = 3, .push = 0.1}));
  const Dual train(joint_contact_mix({.bodies = 3}));
  constexpr int count = 22;
  for (const auto& [dual, precondition] :
       {std::pair{&wall, true}, {&wall, false}, {&train, false}}) {
    std::vector<double> ends;
    for (const int memory : {1, 2, 10}) {
      const std::vector<Iterate> known = spectral_gradient(*dual, precondition, memory, count);
      const std::string note = fmt::format("{} {}", precondition, memory);
      for (int n = 1; n <= count; ++n) {
        const Solution s = gradient_steps(dual->problem, "spg", n, precondition, memory);
        const Iterate& best =
            *std::min_element(known.begin(), known.begin() + n + 1,
                              [](const auto& a, const auto& b) { return a.residual < b.residual; });
        EXPECT_LT((s.lambda - best.gamma).norm(), 1e-7 * (1e-3 + best.gamma.norm())) << note;
        EXPECT_NEAR(s.history.back().residual, known[n].residual, 1e-6 * known[n].residual) << note;
      }
      ends.push_back(known.back().residual);
      // A memory of one makes the objective fall at every step; a longer one lets it rise.
      bool rose = false;
      for (int k = 0; k < count; ++k) rose = rose || known[k + 1].objective > known[k].objective;
      EXPECT_EQ(rose, memory > 1) << note;
    }
    EXPECT_GT(std::abs(ends[0] - ends[1]), 1e-3 * ends[0]) << precondition;
    EXPECT_GT(std::abs(ends[1] - ends[2]), 1e-3 * ends[1]) << precondition;
  }
}

// Neither method is monotone: what is returned is the best that was seen, not the last.
TEST(GradientMethods, ReturnTheLeastResidualOfTheirHistory) {
  const StepProblem problems[] = {toppling_stack(), box_wall({.width = 3, .height = 3, .push = 0.1}),
                                  sphere_packing({.contacts = 60, .step = 1e-3})};
  for (const char* solver : {"spg", "apgd"}) {
    int worse = 0;
    for (const StepProblem& p : problems) {
      for (const int count : {7, 20, 33, 50, 71, 90}) {
        const Solution s = gradient_steps(p, solver, count, true, 10);
        ASSERT_EQ(s.status, Status::iteration_limit) << solver;
        ASSERT_EQ(s.history.size(), static_cast<std::size_t>(count) + 1);
        double least = s.history.front().residual;
        for (const HistoryEntry& entry : s.history) least = std::min(least, entry.residual);
        EXPECT_NEAR(s.certificate.residual(), least, 1e-6 * least) << solver << count;
        worse += s.history.back().residual > 1.01 * least ? 1 : 0;
      }
    }
    EXPECT_GT(worse, 2) << solver << ": or the last would do as well";
  }
}

// Where the problem is strongly convex restart makes the rate linear: as many iterations for two
// digits as for the two before. Without it: 54, 260, 819 for 4, 6, 8 digits on the lattice, and 2561
// for 8 on the stack.
TEST(GradientMethods, RestartMakesTheAcceleratedOneLinear) {
  const auto count = [](const StepProblem& p, double tolerance) {
    const Solution s = solve(p, {.solver = "apgd",
                                 .tolerance = tolerance,
                                 .max_iterations = 100'000,
                                 .friction = Friction::convex,
                                 .settle = false});
    EXPECT_EQ(s.status, Status::converged);
    return s.iterations;
  };
  const StepProblem lattice = stiff_lattice();
  const int four = count(lattice, 1e-4), six = count(lattice, 1e-6), eight = count(lattice, 1e-8);
  RecordProperty("lattice", fmt::format("{} {} {}", four, six, eight));
  EXPECT_LT(eight - six, 1.6 * (six - four));
  EXPECT_LT(eight, 250);
  EXPECT_LT(count(box_stack({.levels = 5, .push = 0.1}), 1e-8), 800);
}

}  // namespace
}  // namespace urto
