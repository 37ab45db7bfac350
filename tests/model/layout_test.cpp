// Nodes of different kinds in one configuration.
#include "urto/model/layout.h"

#include <gtest/gtest.h>

#include "urto/math/rotation.h"
#include "urto/model/model.h"

namespace urto {
namespace {

Layout mixed() {
  Layout layout;
  layout.add_flat(2);
  layout.add_pose();
  layout.add_flat(3);
  layout.add_pose();
  return layout;
}

Configuration turned_start(const Layout& layout) {
  Configuration q(Vector::LinSpaced(layout.nq(), -1, 1));
  for (int k = 0; k < layout.nodes(); ++k) {
    if (layout.kinds[k] == NodeKind::pose)
      q.segment<4>(layout.q_start[k] + 3) = quaternion_exp({0.3, -0.2, 0.5 + k});
  }
  return q;
}

TEST(Layout, PositionsAndVelocitiesHaveTheirOwnOffsets) {
  const Layout layout = mixed();
  EXPECT_EQ(layout.nq(), 2 + 7 + 3 + 7);
  EXPECT_EQ(layout.nv(), 2 + 6 + 3 + 6);
  EXPECT_EQ(layout.q_start[2], 9);
  EXPECT_EQ(layout.v_start[2], 8);
  EXPECT_FALSE(layout.is_flat());
}

TEST(Layout, DifferenceUndoesAnIncrementOnEveryKindOfNode) {
  const Layout layout = mixed();
  const Configuration q = turned_start(layout);
  const Vector delta = Vector::LinSpaced(layout.nv(), 0.7, -0.9);
  Configuration moved;
  Vector back;
  add_increment(layout, q, delta, moved);
  difference(layout, moved, q, back);
  EXPECT_LT((back - delta).norm(), 1e-13);
  // On poses an increment is not a sum.
  EXPECT_GT((moved.segment<3>(6) - q.segment<3>(6) - delta.segment<3>(5)).norm(), 0.1);
  Configuration in_place = q;
  add_increment(layout, in_place, delta, in_place);
  EXPECT_EQ(in_place, moved);
}

TEST(Layout, TangentIsTheDerivativeOfTheIncrement) {
  const Layout layout = mixed();
  const Configuration q = turned_start(layout);
  const Vector delta = Vector::LinSpaced(layout.nv(), 0.7, -0.9);
  BlockMatrix T;
  increment_tangent(layout, delta, T);
  Configuration at, plus, minus;
  Vector up, down;
  add_increment(layout, q, delta, at);
  constexpr double eps = 1e-6;
  for (int k = 0; k < layout.nv(); ++k) {
    const Vector step = eps * Vector::Unit(layout.nv(), k);
    add_increment(layout, q, delta + step, plus);
    add_increment(layout, q, delta - step, minus);
    difference(layout, plus, at, up);
    difference(layout, minus, at, down);
    EXPECT_LT(((up - down) / (2 * eps) - Matrix(to_sparse(T)).col(k)).norm(), 1e-8) << k;
  }
}

// Recipe 000, checklist 1: (x, ρ) of bodies, 7 numbers in q and 6 in v, and xyz of nodes, 3 and 3,
// in one q and one v.
TEST(Layout, BodiesAndNodesStandInOneConfiguration) {
  Layout layout;
  layout.add_pose();
  layout.add_flat(3);
  layout.add_flat(3);
  layout.add_pose();
  EXPECT_EQ(layout.q_start, (std::vector<int>{0, 7, 10, 13, 20}));
  EXPECT_EQ(layout.v_start, (std::vector<int>{0, 6, 9, 12, 18}));
  const Configuration q = turned_start(layout);
  Vector v(18);
  v << 1, 2, 3, 0.1, 0.2, 0.3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -0.4, 0.5, -0.6;
  constexpr double h = 0.25;
  Configuration moved;
  add_increment(layout, q, h * v, moved);
  // Velocities of centres and nodes in world axes; those of rotation in body axes, so that they
  // multiply on the right.
  for (const auto& [at, dof] : {std::pair{0, 0}, {7, 6}, {10, 9}, {13, 12}})
    EXPECT_LT((moved.segment<3>(at) - q.segment<3>(at) - h * v.segment<3>(dof)).norm(), 1e-15);
  for (const auto& [at, dof] : {std::pair{3, 3}, {16, 15}}) {
    const Vec4 turned =
        quaternion_product(q.segment<4>(at), quaternion_exp(h * v.segment<3>(dof)));
    EXPECT_LT((moved.segment<4>(at) - turned).norm(), 1e-15);
  }
}

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Subtractable = requires(A a, B b) { a - b; };
template <class A, class B>
concept AddableInPlace = requires(A a, B b) { a += b; };
template <class A, class B>
concept SubtractableInPlace = requires(A a, B b) { a -= b; };
template <class Q, class Delta>
concept Incrementable = requires(const Layout layout, const Q q, const Delta delta,
                                 Configuration out) { add_increment(layout, q, delta, out); };

// Recipe 000, checklist 2: coordinates and increments are types of their own. What would be a sum
// where ⊕ is meant does not compile.
TEST(Layout, CoordinatesAndIncrementsDoNotMix) {
  using Expression = decltype(2 * Vector());
  static_assert(Addable<Vector, Vector> && Subtractable<Vector, Vector>);
  static_assert(AddableInPlace<Vector, Vector> && SubtractableInPlace<Vector, Vector>);
  static_assert(!Addable<Configuration, Vector> && !Addable<Vector, Configuration>);
  static_assert(!Addable<Configuration, Expression> && !Addable<Expression, Configuration>);
  static_assert(!Addable<Configuration, Configuration>);
  static_assert(!Subtractable<Configuration, Vector> && !Subtractable<Vector, Configuration>);
  static_assert(!Subtractable<Configuration, Configuration>);
  static_assert(!AddableInPlace<Configuration, Vector>);
  static_assert(!SubtractableInPlace<Configuration, Vector>);
  static_assert(!AddableInPlace<Configuration, Expression>);
  static_assert(Incrementable<Configuration, Vector>);
  static_assert(!Incrementable<Configuration, Configuration>);
  static_assert(!Incrementable<Vector, Vector>);
  static_assert(std::is_same_v<decltype(State::q), Configuration>);
  static_assert(std::is_same_v<decltype(State::v), Vector>);
  // As vectors they have not even the same size.
  const Layout layout = mixed();
  const Configuration q = turned_start(layout);
  const Vector delta = Vector::LinSpaced(layout.nv(), 0.7, -0.9);
  Configuration moved;
  add_increment(layout, q, delta, moved);
  EXPECT_EQ(moved.size(), layout.nq());
  EXPECT_NE(moved.size(), delta.size());
  // And of one body's quaternion, increment and product are not the sum.
  const Vec4 sum = q.segment<4>(5) + (Vec4() << 0, 0.5 * delta.segment<3>(5)).finished();
  EXPECT_GT((moved.segment<4>(5) - sum).norm(), 0.05);
}

TEST(Layout, FlatConfigurationsNeedNoTangent) {
  Layout layout;
  layout.add_flat(5);
  BlockMatrix T;
  increment_tangent(layout, Vector::Ones(5), T);
  EXPECT_EQ(T.blocks(), 0);
  EXPECT_TRUE(layout.is_flat());
}

}  // namespace
}  // namespace urto
