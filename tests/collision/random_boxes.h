// Sets of boxes, kind and unkind, for the tests of trees and of the broad phase.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "urto/collision/aabb.h"

namespace urto::testing {

using BoxEngine = std::mt19937_64;

inline double uniform(BoxEngine& r, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(r);
}

inline Vec3 uniform3(BoxEngine& r, double low, double high) {
  const double x = uniform(r, low, high);
  const double y = uniform(r, low, high);
  return {x, y, uniform(r, low, high)};
}

inline constexpr int box_set_kinds = 10;

/// One box of the set `kind`; `side` is about the length of the whole.
inline Aabb random_box(int kind, double side, BoxEngine& r) {
  Vec3 center = uniform3(r, -0.5 * side, 0.5 * side);
  Vec3 half = Vec3::Constant(0.5 * std::pow(10, uniform(r, -3, 3)));
  const double t = uniform(r, -0.5 * side, 0.5 * side);
  switch (kind) {
    case 0:
      break;  // sizes over six decades
    case 1:
      center.setZero(), half.setOnes();
      break;  // all the same
    case 2:
      half.setZero();
      break;  // points
    case 3:
      center = center.array().round(), half.setConstant(0.5);
      break;  // touching exactly
    case 4:
      center = {t, 0, 0}, half = {0.5, 0, 0};
      break;  // segments of one line
    case 5:
      center = Vec3::Constant(t), half.setConstant(0.5);
      break;  // a diagonal
    case 6:
      center[0] = 0, half = {side, 0.2, 0.2};
      break;  // the same extent along x
    case 7:
      center += Vec3::Constant(1e7), half.setConstant(0.3);
      break;  // far from the origin
    case 8:
      half = (half.array() * uniform3(r, 0, 1).array()).eval();
      break;  // rods and plates
    default:
      half.setConstant(uniform(r, 0, 1) < 0.1 ? side : 1e-3);
      break;  // huge among tiny
  }
  return {center - half, center + half};
}

inline std::vector<Aabb> random_boxes(int kind, int count, BoxEngine& r) {
  const double side = std::cbrt(count) * uniform(r, 0.5, 4);
  std::vector<Aabb> boxes;
  for (int k = 0; k < count; ++k) boxes.push_back(random_box(kind, side, r));
  return boxes;
}

}  // namespace urto::testing
