// What is large and what is small in a model: the sizes beside which a run's errors are judged
// (verdict.h), so that a watch and a bridge of the same design get the same verdict.
#pragma once

#include <vector>

#include "urto/model/model.h"

namespace urto {

struct ModelScales {
  double size = 0;             ///< [m] diagonal of a box around all that moves, at the start
  Vec3 centre = Vec3::Zero();  ///< of that box, world
  /// [m] of the smaller of the two bodies that a joint joins: what an error of its position is to
  /// be compared with. Angles are compared with one radian.
  std::vector<double> joints = {};
  std::vector<double> shapes = {};  ///< [m] smallest width; infinite for terrain
  double fastest = 0;               ///< [m/s] at the start
};

ModelScales scales_of(const Model& model);

/// Energy [J] below which a run says nothing about energy: the work of gravity on all bodies while
/// they fall as far as a step of h carries them from rest (g h²), or a millionth of the model; or
/// that of bodies so slow that nothing has moved by a millionth of the model when the run ends.
double least_energy(const Model& model, const ModelScales& scales, double h, double duration);

}  // namespace urto
