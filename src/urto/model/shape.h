// Shapes: what a body looks like, weighs and touches with; and the materials of their surfaces.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "urto/math/types.h"
#include "urto/model/measure.h"

namespace urto {

enum class ShapeKind : std::uint8_t {
  sphere,
  box,
  cylinder,
  capsule,
  cone,
  ellipsoid,
  half_space,
  hull,
  mesh,
  height_field
};
std::string_view to_string(ShapeKind kind);

/// A surface of triangles, counter-clockwise seen from outside. Hulls: the closed convex surface,
/// every vertex on it. Height fields: the upper surface, the solid is below (−z).
struct TriangleMesh {
  std::vector<Vec3> vertices = {};  ///< [m]
  std::vector<std::array<int, 3>> triangles = {};
};

/// One shape of a body. `size` [m] by kind: sphere (radius, –, –); box: half edges; cylinder,
/// capsule: (radius, half length of the straight part, –), axis z; cone: (base radius, half height,
/// –), axis z, apex at +z, origin at half height; ellipsoid: half axes; half-space: unused, the
/// solid is z ≤ 0; hull, mesh, height field: unused, see `geometry`.
struct Shape {
  ShapeKind kind = ShapeKind::sphere;
  Vec3 size = Vec3::Zero();
  Pose pose = {};  ///< in the body's frame (from its centre of mass)
  int body = -1;
  int material = 0;
  int geometry = -1;  ///< into Model::meshes: hulls, meshes, height fields
  double margin =
      0;  ///< ε_m [m]: edges rounded to this radius; the size stays as it is (recipe 000 §2.4.1)
  bool collides = true;              ///< false: seen and weighed only
  std::uint32_t layers = 1;          ///< bits: where it is
  std::uint32_t mask = 0xffffffffu;  ///< bits: what it meets; a pair needs both ways
};

struct MassProperties {
  double mass = 0;              ///< [kg]
  Vec3 center = Vec3::Zero();   ///< [m]
  Mat3 inertia = Mat3::Zero();  ///< about the centre, in the axes of the frame asked for [kg m²]
};

/// Of a homogeneous solid in its own frame. Throws InputError for a half-space (infinite) and for
/// sizes that are not positive.
MassProperties mass_properties(ShapeKind kind, const Vec3& size, double density);
/// The same solid placed in another frame.
MassProperties transformed(const MassProperties& m, const Pose& pose);
/// Two solids as one (parallel axes).
MassProperties combined(const MassProperties& a, const MassProperties& b);

/// Surface properties; a pair of materials is mixed when it has no entry of its own. Forces,
/// moments and stiffness are those of one contact point.
struct Material {
  std::string name = "default";
  double friction = 0.5;             ///< Coulomb's μ
  double restitution = 0;            ///< Newton's e in [0, 1]
  double restitution_threshold = 0;  ///< [m/s] slower impacts do not rebound
  double rolling_friction =
      0;  ///< ρ [m]: the moment against rolling is at most ρ times the normal force
  double spinning_friction = 0;  ///< σ [m]: the same about the normal
  double stiffness = std::numeric_limits<double>::infinity();  ///< [N/m] normal; infinite is rigid
  double damping = 0;         ///< [N s/m] normal, while the surfaces overlap; needs a stiffness
  double cohesion = 0;        ///< [N] the pull that a contact bears while it touches
  double cohesion_range = 0;  ///< [m] gaps up to this touch; 0: a tenth of the contact envelope
  /// μ_s ≥ μ of what does not slide; sliding at v, friction is μ(v) = μ + (μ_s − μ) exp(−(v/v_s)^δ).
  /// 0: the same as `friction`.
  double static_friction = 0;
  double stribeck_speed = 0;     ///< v_s [m/s]
  double stribeck_exponent = 2;  ///< δ: 1 is Tustin's law, 2 Armstrong's
};

/// True if the coefficient of friction depends on how fast the surfaces slide.
inline bool has_stribeck_effect(const Material& m) {
  return m.static_friction > m.friction;
}

struct FrictionCoefficient {
  double value = 0, slope = 0;  ///< μ(v) and its derivative [s/m]
};
/// μ at the slip v ≥ 0 [m/s] (R. Stribeck 1902; formula: B. Armstrong-Hélouvry, Control of Machines
/// with Friction, 1991).
FrictionCoefficient friction_at(const Material& m, double slip);

enum class MixingRule : std::uint8_t { minimum, maximum, average, geometric, multiply };

/// How the properties of two surfaces make those of the pair. Stiffness and damping have no choice:
/// the two surfaces are springs in series. v_s and δ are those of the surface with the larger v_s.
struct Mixing {
  MixingRule friction = MixingRule::geometric;  ///< zero wins; of both coefficients
  MixingRule restitution = MixingRule::maximum;
  MixingRule restitution_threshold = MixingRule::maximum;
  MixingRule rolling_friction = MixingRule::maximum;
  MixingRule spinning_friction = MixingRule::maximum;
  MixingRule cohesion = MixingRule::minimum;
  MixingRule cohesion_range = MixingRule::maximum;
};

/// The properties of a pair. 1/k = 1/k_a + 1/k_b; the dampers dissipate what they do when the
/// springs share the deformation, c = c_a s_a² + c_b s_b² with s_a = k/k_a. A soft pair has no
/// restitution: its rebound comes from k and c.
Material mixed(const Material& a, const Material& b, const Mixing& rules = {});

}  // namespace urto
