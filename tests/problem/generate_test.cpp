// The generated problems are the physics they claim to be.
#include "urto/problem/generate.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

Matrix dense_mass(const StepProblem& p) {
  return std::visit(
      [](const auto& H) {
        if constexpr (std::is_same_v<std::decay_t<decltype(H)>, BlockMatrix>) {
          return Matrix(to_sparse(H));
        } else {
          return Matrix(H);
        }
      },
      p.H);
}

Matrix delassus(const StepProblem& p) {
  if (p.dofs() == 0) return Matrix(p.E);
  const Matrix J(to_sparse(p.J));
  return J * dense_mass(p).llt().solve(Matrix(J.transpose())) + Matrix(p.E);
}

Vector free_velocity(const StepProblem& p) {
  return Matrix(to_sparse(p.J)) * dense_mass(p).llt().solve(p.a) + p.b;
}

Solution solve_to(double tolerance, const StepProblem& p, Friction friction = Friction::exact) {
  SolveOptions options;
  options.tolerance = tolerance;
  options.friction = friction;
  return solve(p, options);
}

int rank(const Matrix& A) {
  Eigen::FullPivLU<Matrix> factor(A);
  factor.setThreshold(1e-10);
  return static_cast<int>(factor.rank());
}

double total_mass(const StepProblem& p) {  // of bodies whose first dofs are translations
  const auto& H = std::get<BlockMatrix>(p.H);
  double sum = 0;
  for (int k = 0; k < H.blocks(); ++k) sum += H.block(k)(0, 0);
  return sum;
}

/// Sum over contacts of the vertical impulse on the first body, for contacts with the ground only.
double support_impulse(const StepProblem& p, const Vector& lambda) {
  double sum = 0;
  for (int i = 0; i < p.blocks(); ++i) {
    if (p.J.entry_start[i + 1] - p.J.entry_start[i] != 1) continue;
    Vector x = Vector::Zero(p.dofs());
    transpose_multiply_add_block(p.J, i, lambda.data() + p.K.start[i], x.data());
    sum += x[p.J.entries[p.J.entry_start[i]].column + 2];
  }
  return sum;
}

std::vector<std::pair<const char*, StepProblem>> one_of_each() {
  return {{"sphere_packing", sphere_packing({.contacts = 60, .mass_ratio = 100})},
          {"box_stack", box_stack({.levels = 4, .push = 0.1})},
          {"box_wall", box_wall({.width = 3, .height = 3})},
          {"chain", chain()},
          {"sliding_mass", sliding_mass()},
          {"joint_contact_mix", joint_contact_mix()},
          {"stiff_lattice", stiff_lattice({.nx = 3, .ny = 3, .nz = 2})},
          {"random_local", random_local({.rank_deficiency = 0.3})},
          {"infeasible_gap", infeasible_gap()},
          {"infeasible_gap with friction", infeasible_gap(0.3)}};
}

TEST(Generate, ProblemsAreValidWithSymmetricPositiveSemidefiniteDelassusMatrices) {
  for (const auto& [name, problem] : one_of_each()) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(validate(problem, name, 1e-12));
    EXPECT_EQ(problem.J.rows(), problem.rows());
    const Matrix W = delassus(problem);
    EXPECT_LE((W - W.transpose()).cwiseAbs().maxCoeff(), 1e-12 * W.cwiseAbs().maxCoeff());
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(W);
    EXPECT_GE(eigen.eigenvalues().minCoeff(), -1e-12 * eigen.eigenvalues().maxCoeff());
  }
}

TEST(Generate, RigidMotionsOfTouchingBodiesAreNotSeenByTheirContacts) {
  // Moving all bodies by one velocity v + ω × x leaves rows between two bodies at zero.
  const StepProblem p = box_wall({.width = 3, .height = 4});
  const Vec3 v(0.3, -0.2, 0.5), omega(0.1, 0.7, -0.4);
  const auto& H = std::get<BlockMatrix>(p.H);
  // The generator does not export positions; a rigid motion is found from the rows themselves for
  // pure translation.
  Vector x = Vector::Zero(p.dofs());
  for (int k = 0; k < H.blocks(); ++k) x.segment<3>(6 * k) = v;
  Vector u;
  multiply(p.J, x, u);
  for (int i = 0; i < p.blocks(); ++i) {
    const bool ground = p.J.entry_start[i + 1] - p.J.entry_start[i] == 1;
    const Vec3 row = u.segment<3>(3 * i);
    if (ground) {
      EXPECT_NEAR(row.norm(), v.norm(), 1e-12);  // frames are orthonormal
    } else {
      EXPECT_NEAR(row.norm(), 0, 1e-12);
    }
  }
  // Turning one body alone gives a point at `arm` the velocity ω × arm: along its own arm it is
  // zero.
  for (int i = 0; i < p.blocks(); ++i) {
    const BlockRows::Entry& entry = p.J.entries[p.J.entry_start[i]];
    const Eigen::Map<const Eigen::Matrix<double, 3, 6, Eigen::RowMajor>> rows(p.J.values.data() +
                                                                              entry.offset);
    const Mat3 frame = rows.leftCols<3>();
    EXPECT_NEAR((frame * frame.transpose() - Mat3::Identity()).norm(), 0, 1e-12);
    EXPECT_NEAR(frame.determinant(), 1, 1e-12);
    const Mat3 arm = frame.transpose() * rows.rightCols<3>();  // −[r]×, skew
    EXPECT_NEAR((arm + arm.transpose()).norm(), 0, 1e-12);
    EXPECT_NEAR(omega.dot(arm * omega), 0, 1e-12);
  }
}

TEST(Generate, BoxStackHasTheRankOfItsDofs) {
  const StepProblem p = box_stack({.levels = 3});
  EXPECT_EQ(p.contacts(), 12);
  EXPECT_EQ(p.rows(), 36);
  EXPECT_EQ(rank(delassus(p)),
            18);  // every motion of the cubes is seen, and half of the rows is redundant
}

TEST(Generate, BoxStackIsTestT5OfRecipe000) {
  const StepProblem p = box_stack({.levels = 3, .mu = 0.4, .push = 0.1, .step = 0.01});
  const Solution s = solve_to(1e-10, p, Friction::convex);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  const double objective =
      0.5 * s.lambda.dot(delassus(p) * s.lambda) + s.lambda.dot(free_velocity(p));
  EXPECT_NEAR(objective, -0.0144835331, 1e-9);
  EXPECT_LT(s.x.norm(), 2e-8);
  EXPECT_NEAR(support_impulse(p, s.lambda) / 0.01, 29.43, 1e-6);
}

TEST(Generate, HeavyTopOfTestT6Topples) {
  const StepProblem p = box_stack({.levels = 5, .mu = 0.4, .push = 0.2, .mass_ratio = 1000});
  EXPECT_NEAR(total_mass(p), 1004, 1e-12);
  const Solution s = solve_to(1e-8, p, Friction::convex);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  // The recipe's best value, -4.985, is of a run that had not converged: the optimum is below it.
  const double objective =
      0.5 * s.lambda.dot(delassus(p) * s.lambda) + s.lambda.dot(free_velocity(p));
  EXPECT_LT(objective, -4.985);
  EXPECT_GT(objective, -5.2) << objective;
  EXPECT_GT(s.x[6 * 4 + 4], 1e-4);  // the top turns about +y, towards the push along x
}

TEST(Generate, SlidingMassIsTestT3OfRecipe000) {
  const StepProblem p = sliding_mass();
  const Solution convex = solve_to(1e-12, p, Friction::convex);
  EXPECT_NEAR(convex.u[1], 1.80786, 1e-5);
  EXPECT_NEAR(convex.u[0], 0.54236, 1e-5);
  const Solution exact = solve_to(1e-12, p);
  EXPECT_NEAR(exact.u[1], 2 - 0.3 * 9.81 * 0.01, 1e-10);
  EXPECT_NEAR(exact.u[0], 0, 1e-10);
}

TEST(Generate, WallAtRestCarriesItsWeight) {
  const StepProblem p = box_wall({.width = 4, .height = 3, .mass_ratio = 10});
  EXPECT_NEAR(total_mass(p), 4 * 4 * (2 + 10), 1e-9);
  const Solution s = solve_to(1e-9, p);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_LT(s.x.norm(), 1e-6);
  EXPECT_NEAR(support_impulse(p, s.lambda), total_mass(p) * 9.81 * 0.01, 1e-5);
}

TEST(Generate, WallHasFourContactsForEachTouchingPair) {
  // Two courses of two bricks: two on the ground; above, a brick and two halves, each half on one
  // brick, the brick on two; head joints: one below, two above.
  EXPECT_EQ(box_wall({.width = 2, .height = 2}).contacts(), 4 * (2 + 4 + 3));
  EXPECT_EQ(box_wall({.width = 2, .height = 2, .head_joints = false}).contacts(), 4 * (2 + 4));
}

TEST(Generate, ChainIsLinearAndFallsAboutItsSupport) {
  const StepProblem one = chain({.links = 1});
  EXPECT_TRUE(one.K.is_linear());
  EXPECT_EQ(one.rows(), 3);
  const Solution s = solve_to(1e-12, one);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  // A rod about its end: α = m g (l/2) / (I + m l²/4), about +y.
  const double inertia = (1 + 0.01) / 12;
  EXPECT_NEAR(s.x[4], 0.01 * 9.81 * 0.5 / (inertia + 0.25), 1e-10);
  EXPECT_NEAR(s.x[2], -0.5 * s.x[4], 1e-10);
  EXPECT_EQ(rank(delassus(chain({.links = 6}))), 18);
}

TEST(Generate, TrainMixesEveryKindOfRow) {
  const StepProblem p = joint_contact_mix({.bodies = 3});
  int kinds[5] = {};
  for (const ConvexSet& set : p.K.sets) ++kinds[static_cast<int>(set.kind)];
  EXPECT_EQ(kinds[static_cast<int>(SetKind::free)], 2);
  EXPECT_EQ(kinds[static_cast<int>(SetKind::nonnegative)], 1);
  EXPECT_EQ(kinds[static_cast<int>(SetKind::cone)], 12);
  EXPECT_EQ(kinds[static_cast<int>(SetKind::box)], 2);
  const Solution s = solve_to(1e-9, p);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  for (int k = 0; k < 3; ++k) EXPECT_LE(s.x[6 * k], 1e-7);  // the stop takes the whole momentum
}

TEST(Generate, LatticeKeepsMomentumInsideAndHasASparseMass) {
  const StepProblem p = stiff_lattice({.nx = 3, .ny = 2, .nz = 3});
  ASSERT_TRUE(std::holds_alternative<SparseMatrix>(p.H));
  const auto& H = std::get<SparseMatrix>(p.H);
  // Springs and dampers do not see a translation: H v = M v there.
  for (int axis = 0; axis < 3; ++axis) {
    Vector x = Vector::Zero(p.dofs());
    for (int i = axis; i < p.dofs(); i += 3) x[i] = 1;
    EXPECT_NEAR((H * x - 0.1 * x).norm(), 0, 1e-10);
  }
  EXPECT_GT(Matrix(H).llt().matrixL().toDenseMatrix().diagonal().minCoeff(), 0);
}

TEST(Generate, RandomLocalHasTheRankAndConditioningAskedFor) {
  const StepProblem p =
      random_local({.contacts = 8, .rank_deficiency = 0.5, .conditioning = 1e4, .seed = 7});
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(Matrix(p.E));
  const Vector& values = eigen.eigenvalues();  // increasing
  EXPECT_LT(values.head(12).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(values[12], 1e-4, 1e-12);
  EXPECT_NEAR(values[23], 1, 1e-12);
}

TEST(Generate, PackingHasTheContactsAskedForAndNothingOverlaps) {
  for (const int contacts : {1, 10, 100, 700}) {
    const StepProblem p = sphere_packing({.contacts = contacts, .mass_ratio = 50, .seed = 3});
    EXPECT_EQ(p.contacts(), contacts);
    const auto& H = std::get<BlockMatrix>(p.H);
    for (int k = 0; k < H.blocks(); ++k) {
      EXPECT_GE(H.block(k)(0, 0), 1);
      EXPECT_LE(H.block(k)(0, 0), 50);
    }
    int closed = 0;
    for (int i = 0; i < p.blocks(); ++i) {
      const double gap = 0.01 * p.b[3 * i];
      EXPECT_GE(gap, 0);
      EXPECT_LE(gap, 1.01e-3);
      closed += gap < 1e-5 ? 1 : 0;
    }
    EXPECT_GE(closed, contacts / 2);
  }
}

TEST(Generate, SameOptionsGiveTheSameBits) {
  const auto make = [](std::uint64_t seed) {
    return sphere_packing({.contacts = 200, .mass_ratio = 1000, .seed = seed});
  };
  const StepProblem p = make(5), q = make(5), other = make(6);
  EXPECT_EQ(p.J, q.J);
  EXPECT_EQ(p.a, q.a);
  EXPECT_EQ(p.b, q.b);
  EXPECT_EQ(std::get<BlockMatrix>(p.H), std::get<BlockMatrix>(q.H));
  EXPECT_FALSE(p.J == other.J);
  const StepProblem r = random_local({.seed = 2}), s = random_local({.seed = 2});
  EXPECT_EQ(r.b, s.b);
  EXPECT_EQ(Matrix(r.E), Matrix(s.E));
}

TEST(Generate, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(sphere_packing({.contacts = 0}), InputError);
  EXPECT_THROW(sphere_packing({.mu = -0.1}), InputError);
  EXPECT_THROW(sphere_packing({.mass_ratio = 0.5}), InputError);
  EXPECT_THROW(box_stack({.levels = 0}), InputError);
  EXPECT_THROW(box_stack({.step = 0}), InputError);
  EXPECT_THROW(box_wall({.height = -1}), InputError);
  EXPECT_THROW(chain({.links = 0}), InputError);
  EXPECT_THROW(sliding_mass({.mass = NAN}), InputError);
  EXPECT_THROW(joint_contact_mix({.bodies = 0}), InputError);
  EXPECT_THROW(stiff_lattice({.nx = 0}), InputError);
  EXPECT_THROW(random_local({.rank_deficiency = 1}), InputError);
  EXPECT_THROW(infeasible_gap(-1), InputError);
}

}  // namespace
}  // namespace urto
