// Contact points between shapes. This file holds the interface that steppers use and the closed-form pairs sphere–sphere, sphere–half-space and
// box corner–half-space; every other pair of colliding shapes is refused when the model is prepared, never ignored.
#pragma once

#include <cstdint>
#include <vector>

#include "urto/model/model.h"

namespace urto {

struct Contact {
  int shape_a = -1, shape_b = -1;
  int body_a = -1, body_b = -1;
  Vec3 point = Vec3::Zero();    ///< midway between the two surfaces, world
  Vec3 normal = Vec3::UnitZ();  ///< unit, from B to A
  double gap = 0;               ///< [m] positive when apart
  int material = 0;             ///< into ContactFinder::materials()
  std::uint64_t id = 0;         ///< stable from step to step
};

/// Finds contacts; keeps its buffers, so that a second call at a similar state allocates nothing.
class ContactFinder {
 public:
  /// Throws InputError if two shapes that may meet have no closed form here.
  explicit ContactFinder(const Model& model);

  /// All pairs closer than `envelope` plus what they can travel towards each other in `h` [s], sorted by id.
  void find(const State& state, double envelope, double h, std::vector<Contact>& out);
  /// Mixed properties of the pairs that occur.
  const std::vector<Material>& materials() const { return materials_; }

 private:
  struct Moving {  ///< a sphere, or a box by its bounding sphere, of a body
    int shape = 0;
    double radius = 0;
    Vec3 center = Vec3::Zero();
    Vec3 reach = Vec3::Zero();  ///< half extents of its box with envelope and travel
  };
  bool may_touch(int shape_a, int shape_b) const;
  int pair_material(int a, int b) const { return material_of_pair_[a * material_count_ + b]; }
  void against_half_space(const State& state, const Moving& m, int plane, double reach,
                          std::vector<Contact>& out) const;

  const Model& model_;
  std::vector<Moving>
      moving_;  ///< sorted by lowest x; the order of the last step is nearly the order of this one
  std::vector<int> planes_ = {};
  std::vector<std::uint64_t> joined_ =
      {};  ///< sorted pairs of bodies that do not touch: joined or excluded
  std::vector<Material> materials_ = {};
  std::vector<int> material_of_pair_ = {};
  int material_count_ = 0;
};

}  // namespace urto
