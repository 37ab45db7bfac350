// Nodes of different kinds in one configuration.
#include "urto/model/layout.h"

#include <gtest/gtest.h>

#include "urto/math/rotation.h"

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

Vector turned_start(const Layout& layout) {
  Vector q = Vector::LinSpaced(layout.nq(), -1, 1);
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
  const Vector q = turned_start(layout);
  const Vector delta = Vector::LinSpaced(layout.nv(), 0.7, -0.9);
  Vector moved, back;
  add_increment(layout, q, delta, moved);
  difference(layout, moved, q, back);
  EXPECT_LT((back - delta).norm(), 1e-13);
  // On poses an increment is not a sum.
  EXPECT_GT((moved.segment<3>(6) - q.segment<3>(6) - delta.segment<3>(5)).norm(), 0.1);
  Vector in_place = q;
  add_increment(layout, in_place, delta, in_place);
  EXPECT_EQ(in_place, moved);
}

TEST(Layout, TangentIsTheDerivativeOfTheIncrement) {
  const Layout layout = mixed();
  const Vector q = turned_start(layout);
  const Vector delta = Vector::LinSpaced(layout.nv(), 0.7, -0.9);
  BlockMatrix T;
  increment_tangent(layout, delta, T);
  Vector at, plus, minus, up, down;
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
