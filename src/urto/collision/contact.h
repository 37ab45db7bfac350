// Contact points of a whole model: broad phase, narrow phase, filtering, materials and identities.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "urto/collision/broad_phase.h"
#include "urto/collision/contact_anchor.h"
#include "urto/collision/mesh_surface.h"
#include "urto/collision/narrow_phase.h"
#include "urto/model/model.h"
#include "urto/thread/thread_pool.h"

namespace urto {

struct Contact {
  int shape_a = -1, shape_b = -1;
  int body_a = -1, body_b = -1;
  Vec3 point = Vec3::Zero();    ///< midway between the two surfaces, world
  Vec3 normal = Vec3::UnitZ();  ///< unit, from B to A
  double gap = 0;               ///< [m] positive when apart
  int material = 0;             ///< into ContactFinder::materials()
  std::uint64_t id = 0;         ///< stable from step to step
  /// From `point` to the point of A that meets; that of B is at −arm. Zero but for contacts that
  /// are foreseen along a path, and those that `remeasure` follows along a normal that no face
  /// carries.
  Vec3 arm = Vec3::Zero();
  std::uint32_t feature = 0;  ///< what meets, by the names of manifold.h
  int triangle_a = -1;        ///< of a mesh against a mesh
  int triangle_b = -1;        ///< where B is a mesh
  bool own_normal = false;    ///< of the nearest points of a line's end, see line_ends.h
  bool followed = false;      ///< `remeasure` did not find the feature: see there
  ContactAnchor anchor = {};  ///< as it was found
};

/// How many pairs each phase saw in the last call.
struct CollisionCounts {
  long near_pairs = 0;    ///< boxes overlap
  long tested_pairs = 0;  ///< left by the filters
  long contacts = 0;
};

/// A shape as the phases see it.
struct Collider {
  int shape = -1;
  Convex convex = {};                    ///< bounded convex shapes
  const MeshSurface* surface = nullptr;  ///< meshes and height fields
  bool half_space = false;
  Place place = {};
  Vec3 velocity = Vec3::Zero();  ///< of its origin
  double turning = 0;            ///< how far turning can carry any of its points in the step [m]
};

/// Of a bounded collider, where it is.
Aabb bounds(const Collider& c);

/// Finds contacts; keeps its buffers, so that a second call at a similar state allocates nothing.
class ContactFinder {
 public:
  /// The model is finalized and outlives the finder.
  explicit ContactFinder(const Model& model);
  /// Shares shapes and pairs among the threads of a pool that outlives the finder; null: none. What
  /// is found does not depend on it.
  void use_threads(ThreadPool* threads) { threads_ = threads; }

  /// All pairs closer than `envelope` plus what they can travel towards each other in `h` [s],
  /// sorted by id. Throws InputError for a pose that is not finite, and where there are more
  /// contacts than a step has memory for.
  void find(const State& state, double envelope, double h, std::vector<Contact>& out);
  /// The same contacts at another state near by: gap, point, normal and arm, in place; all else
  /// stays, `followed` and the triangles apart. The contacts are those of one call of `find`, in
  /// its order.
  ///
  /// Measured, as `find` does, is what can be found again by its name: nearest points, vertices on
  /// faces, lowest points of rims, edges that cross. Else a contact is followed, and says so: its
  /// two points stay where they were found on the bodies, its normal turns with the face that had
  /// it (of B, else of A; for a vertex of B of A first) or stays as it was, and gap = n·(a − b).
  /// Always followed are contacts that were foreseen, and those points of a rim that only sample
  /// it: their gap then changes as their rows say.
  ///
  /// The rows of a measured contact are the derivative of its gap where n is normal to what its
  /// points slide on: nearest points, and points whose own feature is not left. Points of a
  /// manifold that slide over a face which leans against n by φ are off by sin φ times their
  /// sliding.
  void remeasure(const State& state, std::vector<Contact>& contacts);
  /// Mixed properties of the pairs that occur.
  const std::vector<Material>& materials() const { return materials_; }
  const CollisionCounts& counts() const { return counts_; }
  /// Shapes that collide, placed where the last call of `find`, `remeasure` or `place_colliders`
  /// saw them.
  const std::vector<Collider>& colliders() const { return colliders_; }
  void place_colliders(const State& state, double h);
  const Collider& collider(int shape) const { return colliders_[collider_of_[shape]]; }
  const Model& model() const { return model_; }
  bool may_touch(int shape_a, int shape_b) const;

 private:
  int pair_material(int a, int b) const { return material_of_pair_[a * material_count_ + b]; }
  void add_collider(int shape);
  void near_pairs(double envelope, double h);
  /// What one thread needs: scratch, and the contacts that it found.
  struct Worker {
    NarrowPhase narrow = {};
    MeshPhase mesh_phase = {};
    Manifold manifold = {};
    std::vector<SurfacePointContact> on_mesh = {};
    std::vector<ManifoldPoint> again = {};           ///< of a convex pair measured again
    std::vector<SurfacePointContact> measured = {};  ///< of any pair measured again
    std::size_t chosen = 0;  ///< the first of them: those that `find` would choose, on meshes
    std::vector<Contact> found = {};
  };
  /// Where the contacts of a range of pairs are.
  struct Found {
    int thread = 0;
    std::size_t first = 0, last = 0;
    long tested = 0;
  };
  struct Listed {  ///< a contact by its id and where it stands
    std::uint64_t id = 0;
    const Contact* at = nullptr;
  };

  void prepare_workers();
  template <class F>
  void find_among(int pairs, const F& look);
  void find_pairs(const State& state, double envelope, double h);
  void find_on_planes(const State& state, double envelope, double h);
  void touch(Worker& w, const State& state, const Collider& a, const Collider& b, double envelope,
             double h) const;
  void against_plane(Worker& w, const Collider& a, const Collider& plane, double reach) const;
  void add_manifold(Worker& w, const Collider& a, const Collider& b,
                    const std::array<int, 2>& triangles = {-1, -1}) const;
  void foresee(Worker& w, const State& state, const Collider& a, const Collider& b, double envelope,
               double h) const;
  void list_found(std::size_t first, std::size_t last);
  void sort_listed(std::size_t first, std::size_t last);
  void name_contacts(std::size_t planes, std::vector<Contact>& out);
  static void measure_pair(Worker& w, const Collider& a, const Collider& b, double reach);
  static void measure_nearest(Worker& w, const Collider& a, const Collider& b);
  static void match(const Worker& w, const Collider& a, const Collider& b, Contact& c);
  void remeasure_pair(Worker& w, std::span<Contact> contacts) const;

  const Model& model_;
  std::vector<std::unique_ptr<Polytope>> polytopes_ = {};
  std::vector<std::unique_ptr<MeshSurface>> surfaces_ = {};
  std::vector<Collider> colliders_ = {};
  std::vector<int> collider_of_ = {};            ///< by shape, −1: does not collide
  std::vector<int> bounded_ = {}, planes_ = {};  ///< into colliders_
  std::vector<Aabb> boxes_ = {};                 ///< one a bounded collider
  std::vector<std::uint8_t> resting_ = {};       ///< the same: of fixed bodies
  std::vector<std::array<int, 2>> pairs_ = {};
  BroadPhase broad_ = {};
  ThreadPool* threads_ = nullptr;
  std::vector<Worker> workers_ = std::vector<Worker>(1);
  std::vector<Found> found_ = {};  ///< in the order of the pairs
  std::size_t most_contacts_ = 0;
  std::vector<Listed> order_ = {}, merged_ = {};
  CollisionCounts counts_ = {};
  std::vector<std::uint64_t> joined_ =
      {};  ///< sorted pairs of bodies that do not touch: joined or excluded
  std::vector<Material> materials_ = {};
  std::vector<int> material_of_pair_ = {};
  int material_count_ = 0;
};

}  // namespace urto
