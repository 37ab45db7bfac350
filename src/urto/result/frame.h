// What is recorded of one moment: numbers by named channels ("position" has three for each body),
// and the contacts with their forces. A plain value: a run's recorder makes it (recorder.h), and
// anybody else may.
#pragma once

#include <string>
#include <vector>

#include "urto/math/types.h"

namespace urto {

/// A quantity of every frame: `width` numbers for each item of a group of the description.
struct Channel {
  std::string name = {};   ///< the dataset is /frames/<name>
  std::string group = {};  ///< "bodies", "joints", "coordinates", or a name of Description::groups
  std::string label = {};  ///< what plots call it
  std::string unit = {};
  int width = 1;
};

/// A contact that touches, pushes or pulls.
struct RecordedContact {
  int body_a = 0, body_b = 0;
  Vec3 point = Vec3::Zero();   ///< world [m]
  Vec3 normal = Vec3::Zero();  ///< world, from b to a
  Vec3 force = Vec3::Zero();   ///< on a, world, cohesion included [N]
  double gap = 0;              ///< [m]
};

struct Frame {
  double time = 0;
  long step = 0;  ///< how many steps had been taken
  /// The numbers of each channel, in the order of Description::channels; item by item.
  std::vector<std::vector<double>> channels = {};
  std::vector<RecordedContact> contacts = {};
};

}  // namespace urto
