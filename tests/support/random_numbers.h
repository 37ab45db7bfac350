// Random numbers of one seed: what every test draws its own shapes, poses and matrices from.
#pragma once

#include <random>

#include "urto/math/types.h"

namespace urto::samples {

struct RandomNumbers {
  std::mt19937_64 engine;
  explicit RandomNumbers(unsigned seed) : engine(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
  double normal() { return std::normal_distribution<double>()(engine); }
  Vec3 in_cube() { return {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}; }
  Vec3 normals() { return {normal(), normal(), normal()}; }
  Vec4 quaternion() { return Vec4(normal(), normal(), normal(), normal()).normalized(); }
};

}  // namespace urto::samples
