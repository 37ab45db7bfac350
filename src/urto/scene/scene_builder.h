// The sections of an expanded scene, read into a model one after the other.
//
// Users give places in a body's *reference frame* (its "position" and "rotation"); the model counts
// from the centre of mass. The builder keeps both until the model is complete.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "urto/model/shape_geometry.h"
#include "urto/scene/scene.h"
#include "urto/scene/scene_reader.h"

namespace urto::scene {

/// Names of one kind of thing, with the place of the first use for messages.
struct NameIndex {
  struct Entry {
    int index = 0;
    std::string path;
  };
  std::string_view noun;  ///< "body"
  std::map<std::string, Entry, std::less<>> entries = {};
};

struct Builder {
  Scene& scene;
  Model& model;
  NameIndex bodies{"body"}, markers{"marker"}, joints{"joint"}, materials{"material"};
  NameIndex motors{"motor"}, limits{"limit"}, frictions{"joint friction"}, couplings{"coupling"};
  NameIndex forces{"force"}, meshes{"mesh"};
  NameIndex layers{"layer"};                   ///< index: the bit
  std::vector<Vec3> centers = {};              ///< by body: centre of mass in the reference frame
  std::vector<TriangleMesh> mesh_data = {};    ///< of the section "meshes", as given
  std::map<std::string, int> geometries = {};  ///< model's meshes by what was written about them
  std::vector<MeshFacts> mesh_facts = {};      ///< of the model's meshes
  /// Couplings that hold the value the scene starts with (gears mesh as they are placed).
  std::vector<int> couplings_as_placed = {};
};

/// Registers the item's "name", or "<noun>-<number>" when it has none. Names are unique.
std::string take_name(NameIndex& names, const Object& o, int index);
std::string take_name(NameIndex& names, const Value& place, std::string name, int index);
/// The index of the thing a value names.
int find_named(const NameIndex& names, const Value& v);

// ---- Sections, in the order in which they need each other
void read_materials(Builder& b, const Object& scene);
void read_meshes(Builder& b, const Object& scene);
void add_world(Builder& b);
void read_bodies(Builder& b, const Object& scene);
void read_excluded(Builder& b, const Object& scene);
void read_markers(Builder& b, const Object& scene);
void read_joints(Builder& b, const Object& scene);
void read_drives(Builder& b, const Object& scene);  ///< motors, limits, frictions, couplings …
void read_forces(Builder& b, const Object& scene);
void read_simulation(SimulationOptions& options, const Object& scene);
void read_watch(Builder& b, const Object& scene);

// ---- Scenes without bodies
bool has_first_order(const Object& scene);
/// Refuses sections that belong to bodies.
void read_first_order(Scene& out, const Object& scene);
void read_first_order_watch(Scene& out, const Object& scene);

// ---- Shared by sections
/// Where a shape is and what it meets: Shape::layers and Shape::mask.
struct Filter {
  std::uint32_t layers = Shape{}.layers, mask = Shape{}.mask;
};
/// "layers", "collides_with" and "ignores" of a body or shape; what it does not say stays as given.
Filter read_filter(const Builder& b, const Object& o, Filter filter);
/// Numbers the layers that bodies and shapes are in, before anything refers to them.
void collect_layers(Builder& b, const std::vector<Value>& bodies);
/// `filter`: that of the body.
Shape read_shape(Builder& b, const Value& v, const Filter& filter);
/// The model's mesh of a hull, mesh or height field.
int read_geometry(Builder& b, const Object& o, ShapeKind kind);
Function read_function(const Value& v);
std::array<Function, 3> read_functions(const Value& v);
Softness read_softness(const Object& o);

/// The coordinate named by the key "coordinate"; may be left out where the joint has only one.
CoordinateRef read_coordinate(const Builder& b, const Object& o, int joint);
CoordinateRef to_coordinate(const Builder& b, const Value& name_place, std::string_view name,
                            int joint);

/// Inline "limits", "motor" and "friction" of a joint.
void read_joint_extras(Builder& b, const Object& o, int joint);

/// Two markers, one on each body.
struct Attachment {
  int a = -1, b = -1;
};
enum class Need { no, yes };
/// "markers": [a, b], or "bodies" with one frame given in the world at the start, where both
/// markers coincide then.
Attachment read_frames(Builder& b, const Object& o, const std::string& name, Need position,
                       Need axis);
/// "markers": [a, b], or "bodies" with two "points" in the world at the start.
Attachment read_points(Builder& b, const Object& o, const std::string& name);
/// A marker at a place given in the world at the start.
int add_world_marker(Builder& b, std::string name, int body, const Vec3& point, const Mat3& axes);
/// A measure between two markers at the start.
double start_value(const Builder& b, const Attachment& at, const Measure& measure);

}  // namespace urto::scene
