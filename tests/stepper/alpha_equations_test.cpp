// The equations of the monolithic scheme and their derivative (recipe 004 §2.3 (44), supplement
// §3): against differences for every status of a contact, and bounded condition as h → 0.
#include "urto/stepper/alpha_equations.h"

#include <cmath>
#include <numbers>

#include <Eigen/SVD>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/math/rotation.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

using Contact = AlphaEquations::Contact;

/// Deterministic numbers in (−1, 1).
struct Numbers {
  std::uint64_t state = 12345;
  double next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11U) / 4503599627370496.0 - 1;
  }
  Vector vector(int n) {
    Vector v(n);
    for (double& x : v) x = next();
    return v;
  }
};

struct Trial {
  explicit Trial(const System& system, const State& from, double h, Numbers& random)
      : access(system), equations(access) {
    start = from;
    Interactions rows;
    access.interactions(start, {.h = h, .envelope = 0.1}, rows);
    step.scheme = alpha_scheme(0.8);
    step.a_start = random.vector(access.nv());
    step.a_hat_start = random.vector(access.nv());
    step.begin(access, start, h, Vector::Zero(access.nv()));
    known = equations.begin(rows, step, options);
    for (double& r : equations.weight) r = 0.7;
    for (double& b : equations.bound) b = 0.3 * random.next();
  }
  State start;
  StepperOptions options;
  SystemAccess access;
  AlphaStep step;
  AlphaEquations equations;
  bool known = false;
};

// The largest difference between the matrix and differences of the residual, relative to the
// matrix, at multipliers and corrections drawn at random.
double derivative_error(const System& system, const State& start,
                        const std::vector<Contact>& status, bool closed) {
  Numbers random;
  const double h = 0.1;
  Trial s(system, start, h, random);
  EXPECT_TRUE(s.known);
  const int m = s.equations.rows().rows(), n = s.access.nv();
  s.step.a += random.vector(n);
  s.step.U = 0.05 * random.vector(n);
  s.step.W = 0.3 * random.vector(n);
  s.equations.lambda = 0.3 * random.vector(m);
  s.equations.nu = 0.3 * random.vector(m);
  s.equations.Lambda = 0.3 * random.vector(m);
  s.equations.measure(s.step);
  AlphaEquations::ActiveSet set = s.equations.active(s.step);
  int contact = 0;
  for (int i = 0; i < s.equations.rows().blocks(); ++i) {
    if (!s.equations.is_contact(i)) continue;
    set.positions[i] = closed ? 1 : 0;
    set.contacts[i] = status[contact++ % status.size()];
    if (s.equations.rows().laws[i].dim == 1 && set.contacts[i] == Contact::slip)
      set.contacts[i] = Contact::stick;
    s.equations.Lambda[s.equations.rows().J.row_start[i]] = 4 + random.next();
  }
  s.equations.measure(s.step);
  const Matrix S = s.equations.matrix(s.step, set);
  Matrix differences(S.rows(), S.cols());
  const double eps = 1e-6;
  Vector x = Vector::Zero(S.cols()), above, below;
  for (int k = 0; k < S.cols(); ++k) {
    x[k] = eps;
    s.equations.apply(x, s.step);
    s.equations.measure(s.step);
    s.equations.residual(s.step, set, above);
    x[k] = -2 * eps;
    s.equations.apply(x, s.step);
    s.equations.measure(s.step);
    s.equations.residual(s.step, set, below);
    x[k] = eps;
    s.equations.apply(x, s.step);
    x[k] = 0;
    differences.col(k) = (above - below) / (2 * eps);
  }
  return (S - differences).cwiseAbs().maxCoeff() / S.cwiseAbs().maxCoeff();
}

// Two bodies in the air over a floor and near each other, one on a ball joint: curved contacts,
// corners, rotations.
Model contacts_of_all_kinds() {
  Model m = testing::empty_model();
  testing::add_floor(m);
  testing::add_cube(m, "cube", {0, 0, 0.23}, 0.4, 1);
  m.bodies.back().start.rotation = quaternion_exp(Vec3(0.02, -0.03, 0.4));
  m.bodies.back().velocity = Vec3(0.3, -0.2, -0.5);
  m.bodies.back().angular_velocity = Vec3(0.4, -0.7, 0.5);
  const int egg =
      testing::add_rigid(m, "egg", {0.05, 0.02, 0.73}, 2, Vec3(0.05, 0.06, 0.07).asDiagonal());
  m.shapes.push_back(
      {.kind = ShapeKind::ellipsoid, .size = {0.3, 0.2, 0.25}, .pose = {}, .body = egg});
  m.bodies.back().angular_velocity = Vec3(-0.4, 0.8, 1.1);
  testing::join(m, "joint", JointKind::spherical, 0, egg, {0.3, 0.2, 1.1});
  m.materials[0].friction = 0.3;
  m.materials[0].restitution = 0.5;
  finalize(m);
  return m;
}

TEST(AlphaEquations, DerivativeIsThatOfTheResidualForEveryStatusOfAContact) {
  const std::vector<std::vector<Contact>> statuses = {
      {Contact::apart, Contact::stick, Contact::slip},
      {Contact::stick},
      {Contact::slip},
      {Contact::apart}};
  const Model model = contacts_of_all_kinds();
  const RigidSystem rigid(model);
  BlockOnCorners block;
  block.friction = 0.5;
  State tilted;
  tilted.q = Vec3(0, 0.8, 0.2);
  tilted.v = Vec3(0.3, -0.2, 1.5);
  MassInBowl bowl;
  bowl.friction = 0.2;
  State hanging;
  hanging.q = Vec3(std::sin(1.2), 0, -std::cos(1.2));
  hanging.v = Vec3(0, 1.5, 0);
  const BouncingPendulum pendulum;
  State swinging = pendulum.start(0.3);
  swinging.v = Vec3(-0.3, 0.9, 1);
  for (const auto& status : statuses) {
    for (const bool closed : {true, false}) {
      EXPECT_LT(derivative_error(rigid, initial_state(model), status, closed), 1e-6);
      EXPECT_LT(derivative_error(block, tilted, status, closed), 1e-8);
      EXPECT_LT(derivative_error(bowl, hanging, status, closed), 1e-8);
      EXPECT_LT(derivative_error(pendulum, swinging, status, closed), 1e-8);
    }
  }
}

// Mass matrices that depend on positions, springs in joints.
TEST(AlphaEquations, DerivativeKnowsMassesThatChangeAndSoftJoints) {
  const CartPendulum cart;
  State s;
  s.q = Eigen::Vector2d(0, 1.2);
  s.v = Eigen::Vector2d(0.3, -0.8);
  EXPECT_LT(derivative_error(cart, s, {Contact::stick}, true), 1e-8);
  Model m = testing::empty_model();
  const int body = testing::add_rigid(m, "rod", {0.5, 0, 0}, 1, 0.1 * Mat3::Identity());
  const int joint = testing::join(m, "bush", JointKind::revolute, 0, body, Vec3::Zero());
  m.joints[joint].softness = {.stiffness = 30, .damping = 2};
  finalize(m);
  const RigidSystem rigid(m);
  State start = initial_state(m);
  start.v << 0.1, 0.2, -0.3, 0.4, 0.5, -0.6;
  EXPECT_LT(derivative_error(rigid, start, {Contact::stick}, true), 1e-6);
}

// (46): with scaled unknowns the limit h → 0 is regular.
TEST(AlphaEquations, ConditionIsBoundedAsStepsGetSmall) {
  const BouncingPendulum pendulum;
  State start = pendulum.start(-std::numbers::pi / 4);
  start.v = 0.5 * Vec3(std::sin(std::numbers::pi / 4), std::cos(std::numbers::pi / 4), 1);
  double least = 1e300, most = 0;
  for (const double h : {1e-2, 1e-3, 1e-4, 1e-6, 1e-8}) {
    Numbers random;
    Trial s(pendulum, start, h, random);
    s.equations.nu[2] = h;
    s.equations.Lambda[2] = 1;
    s.equations.measure(s.step);
    AlphaEquations::ActiveSet set = s.equations.active(s.step);
    set.positions[2] = set.gates[2] = 1;
    set.contacts[2] = Contact::stick;
    const Matrix S = s.equations.matrix(s.step, set);
    const Eigen::JacobiSVD<Matrix> svd(S);
    const double condition = svd.singularValues()[0] / svd.singularValues()[S.rows() - 1];
    least = std::min(least, condition);
    most = std::max(most, condition);
  }
  EXPECT_LT(most, 1.5 * least);
  EXPECT_LT(most, 1e3);
}

}  // namespace
}  // namespace urto
