// What exists (Model, constant during a run) and where it is (State, copyable). Bodies, markers and
// the rest are indices into arrays; names are for people.
//
//   q of a dynamic body: centre of mass (world), unit quaternion (w, x, y, z): 7 numbers at 7·slot
//   v of a dynamic body: velocity (world), angular velocity (body):            6 numbers at 6·slot
// Fixed and kinematic bodies have no slot; a kinematic body's pose and velocity are functions of
// time.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "urto/math/named_arrays.h"
#include "urto/model/force.h"
#include "urto/model/function.h"
#include "urto/model/joint.h"
#include "urto/model/layout.h"
#include "urto/model/measure.h"
#include "urto/model/shape.h"

namespace urto {

enum class BodyKind : std::uint8_t { dynamic, fixed, kinematic };

/// A prescribed motion: the start pose moved by (x, y, z)(t) in world axes and turned by angle(t)
/// about a body axis.
struct Motion {
  std::array<Function, 3> position{ConstantFunction{}, ConstantFunction{}, ConstantFunction{}};
  Vec3 axis = Vec3::UnitZ();
  Function angle = ConstantFunction{};
};

struct Body {
  std::string name = {};
  BodyKind kind = BodyKind::dynamic;
  double mass = 1;                  ///< [kg], dynamic bodies
  Mat3 inertia = Mat3::Identity();  ///< about the centre of mass in body axes, symmetric positive
                                    ///< definite [kg m²]
  Pose start = {};                  ///< of the centre of mass and the body axes, world
  Vec3 velocity = Vec3::Zero();     ///< at the start, world
  Vec3 angular_velocity = Vec3::Zero();  ///< at the start, body axes
  Motion motion = {};                    ///< kinematic bodies
  bool gyroscopic = true;                ///< false leaves −Ω × IΩ out
  bool continuous = false;               ///< fast: what it will meet is sought along its path
  int slot = -1;                         ///< set by finalize()
};

struct Marker {
  std::string name = {};
  int body = -1;
  LocalFrame frame = {};
};

/// Compliance of held rows: a spring and damper instead of a rigid constraint (recipe 000 §2.17).
/// Infinite stiffness is rigid.
struct Softness {
  double stiffness = std::numeric_limits<double>::infinity();  ///< [N/m, N·m/rad]
  double damping = 0;
};

struct Joint {
  std::string name = {};
  JointKind kind = JointKind::fixed;
  int marker_a = -1, marker_b = -1;
  double length = 0;  ///< distance joints [m]
  double pitch = 0;   ///< screw joints: displacement a turn [m]
  Softness softness = {};
  bool collide = false;  ///< joined bodies do not touch each other unless asked
  int first_angle = -1;  ///< set by finalize(): State::angles of its angular coordinates, in order
};

/// One coordinate of one joint.
struct CoordinateRef {
  int joint = -1, coordinate = 0;
};

/// Σ factor_k · coordinate_k = target(t): gears (factors 1 and ratio), rack and pinion,
/// differentials.
struct Coupling {
  std::string name = {};
  std::vector<CoordinateRef> coordinates = {};
  std::vector<double> factors = {};
  Function target = ConstantFunction{};
  Softness softness = {};
};

enum class MotorMode : std::uint8_t { position, speed, force };

struct Motor {
  std::string name = {};
  CoordinateRef on = {};
  MotorMode mode = MotorMode::position;
  Function value = ConstantFunction{};
  double max_force = std::numeric_limits<double>::infinity();  ///< [N, N·m] speed motors: a bound
                                                               ///< on what it can give
  Softness softness = {};
};

struct Limit {
  std::string name = {};
  CoordinateRef on = {};
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double restitution = 0;
  Softness softness = {};
};

/// Dry friction on a joint coordinate with a constant bound (a box law).
struct JointFriction {
  std::string name = {};
  CoordinateRef on = {};
  double bound = 0;  ///< [N, N·m]
};

struct Model {
  std::string name = {};
  Vec3 gravity{0, 0, -9.81};
  std::vector<Body> bodies = {};
  std::vector<Marker> markers = {};
  std::vector<Joint> joints = {};
  std::vector<Coupling> couplings = {};
  std::vector<Motor> motors = {};
  std::vector<Limit> limits = {};
  std::vector<JointFriction> frictions = {};
  std::vector<Force> forces = {};
  std::vector<Shape> shapes = {};
  std::vector<TriangleMesh> meshes =
      {};  ///< of hulls, meshes and height fields; shapes may share one
  std::vector<std::array<int, 2>> excluded = {};  ///< pairs of bodies that never touch
  std::vector<Material> materials{Material{}};
  Mixing mixing = {};  ///< of materials without a pair of their own
  struct MaterialPair {
    int a = 0, b = 0;
    Material properties;
  };
  std::vector<MaterialPair> material_pairs = {};

  // Set by finalize().
  int slots = 0;                    ///< dynamic bodies
  Layout layout = {};               ///< a pose per slot
  int angle_count = 0;              ///< entries of State::angles
  std::vector<int> slot_body = {};  ///< slot → body

  int nq() const { return 7 * slots; }
  int nv() const { return 6 * slots; }
};

/// Numbers the slots and the angles and checks everything: indices, finite numbers, positive
/// masses, positive definite inertias that satisfy the triangle inequality, non-zero quaternions
/// (normalised here), limits in order, friction ≥ 0, meshes and margins (shape_geometry.h). Throws
/// InputError naming the item.
void finalize(Model& model);

/// Where the system is. Copy it to keep it.
struct State {
  double t = 0;
  Configuration q;
  Vector v;
  /// What parts of a system remember of the last accepted state: angles that count turns, springs
  /// of friction.
  NamedArrays memory = {};
};

/// Angles of joint coordinates (and angular springs) that count turns, as they were at the last
/// accepted state: a measured angle is continued to the nearest value. One per angle of the model.
inline const std::vector<double>& angles(const State& state) {
  static const std::vector<double> none;
  const std::vector<double>* found = state.memory.find("angles");
  return found != nullptr ? *found : none;
}
inline std::vector<double>& angles(State& state) {
  return state.memory.at("angles");
}

/// The state the model starts in, as given (not yet consistent with the joints).
State initial_state(const Model& model);

struct BodyVelocity {
  Vec3 v = Vec3::Zero();      ///< world
  Vec3 omega = Vec3::Zero();  ///< body axes
};

BodyPlace place(const Model& model, const State& state, int body);
Vec4 rotation(const Model& model, const State& state, int body);
BodyVelocity velocity(const Model& model, const State& state, int body);
/// First dof of a body, −1 for fixed and kinematic ones.
inline int dof(const Model& model, int body) {
  const int slot = model.bodies[body].slot;
  return slot < 0 ? -1 : 6 * slot;
}

/// Value of a measure continued from `previous` by whole turns.
double continued_angle(double measured, double previous);

/// q ⊕ δ for all bodies; `out` may be `q`. Quaternions stay unit.
inline void add_increment(const Model& model, const Configuration& q, const Vector& delta,
                          Configuration& out) {
  add_increment(model.layout, q, delta, out);
}
/// The δ with from ⊕ δ = to.
inline Vector difference(const Model& model, const Configuration& to, const Configuration& from) {
  Vector delta;
  difference(model.layout, to, from, delta);
  return delta;
}

/// The value of a joint coordinate at a state (angles continued), its rate.
double coordinate_value(const Model& model, const State& state, const CoordinateRef& c);
double coordinate_rate(const Model& model, const State& state, const CoordinateRef& c);

/// Entry of State::angles of a coordinate, −1 if it is not an angle.
int angle_slot(const Model& model, const CoordinateRef& c);

/// Brings State::angles up to date after a step.
void update_angles(const Model& model, State& state);

/// Adds a body, marker …; returns its index. For C++ users; scenes use the arrays.
int add_body(Model& model, Body body);
int add_marker(Model& model, std::string name, int body, const Pose& pose);
int add_joint(Model& model, Joint joint);

}  // namespace urto
