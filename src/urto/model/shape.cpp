#include "urto/model/shape.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;

// How many entries of `size` a kind uses, and what they are called.
struct SizeNames {
  int count;
  std::string_view names[3];
};

SizeNames size_names(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
      return {1, {"radius", "", ""}};
    case ShapeKind::box:
      return {3, {"half edge x", "half edge y", "half edge z"}};
    case ShapeKind::cylinder:
    case ShapeKind::capsule:
      return {2, {"radius", "half length", ""}};
    case ShapeKind::cone:
      return {2, {"base radius", "half height", ""}};
    case ShapeKind::ellipsoid:
      return {3, {"half axis x", "half axis y", "half axis z"}};
    case ShapeKind::half_space:
    case ShapeKind::hull:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      break;
  }
  return {0, {"", "", ""}};
}

void check_solid(ShapeKind kind, const Vec3& size, double density) {
  if (kind == ShapeKind::half_space) {
    throw InputError("mass of a shape", "a half-space", "a solid of finite size");
  }
  if (kind > ShapeKind::half_space) {
    throw InputError("mass of a shape", fmt::format("a {} without its mesh", to_string(kind)),
                     "mass_properties of the mesh");
  }
  const SizeNames used = size_names(kind);
  for (int i = 0; i < used.count; ++i) {
    if (!(size[i] > 0) || !std::isfinite(size[i])) {
      throw InputError(fmt::format("{}: {}", to_string(kind), used.names[i]),
                       fmt::format("{}", size[i]), "a positive number (m)");
    }
  }
  // Zero is a solid that is seen and touched but not weighed.
  if (!(density >= 0) || !std::isfinite(density)) {
    throw InputError(fmt::format("{}: density", to_string(kind)), fmt::format("{}", density),
                     "a number that is not negative (kg/m³)");
  }
}

MassProperties solid(double mass, const Vec3& principal_moments) {
  return {mass, Vec3::Zero(), principal_moments.asDiagonal()};
}

// Moments of a unit mass about x, y, z from its second moments ∫x², ∫y², ∫z².
Vec3 moments(double xx, double yy, double zz) {
  return {yy + zz, zz + xx, xx + yy};
}

MassProperties capsule(double r, double h, double density) {
  const double straight = density * 2 * pi * r * r * h;
  const double caps = density * 4 * pi / 3 * r * r * r;
  // ∫z² of the caps: a half ball has its centre 3r/8 from its flat side, so that the cross term of
  // the parallel axes is 2h · 3r/8.
  const double zz = straight * h * h / 3 + caps * (r * r / 5 + 0.75 * r * h + h * h);
  const double xx = straight * r * r / 4 + caps * r * r / 5;
  return solid(straight + caps, moments(xx, xx, zz));
}

double combine(double a, double b, MixingRule rule) {
  switch (rule) {
    case MixingRule::minimum:
      return std::min(a, b);
    case MixingRule::maximum:
      return std::max(a, b);
    case MixingRule::average:
      return 0.5 * (a + b);
    case MixingRule::geometric:
      return std::sqrt(a * b);
    case MixingRule::multiply:
      return a * b;
  }
  return a;
}

MassProperties cone(double r, double h, double density) {
  const double m = density * 2 * pi / 3 * r * r * h;
  // The centre is at a quarter of the height 2h above the base, which is at −h.
  MassProperties out = solid(m, m * moments(3 * r * r / 20, 3 * r * r / 20, 3 * h * h / 20));
  out.center.z() = -h / 2;
  return out;
}

}  // namespace

std::string_view to_string(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
      return "sphere";
    case ShapeKind::box:
      return "box";
    case ShapeKind::cylinder:
      return "cylinder";
    case ShapeKind::capsule:
      return "capsule";
    case ShapeKind::cone:
      return "cone";
    case ShapeKind::ellipsoid:
      return "ellipsoid";
    case ShapeKind::half_space:
      return "half-space";
    case ShapeKind::hull:
      return "hull";
    case ShapeKind::mesh:
      return "mesh";
    case ShapeKind::height_field:
      return "height-field";
  }
  return "unknown shape";
}

MassProperties mass_properties(ShapeKind kind, const Vec3& size, double density) {
  check_solid(kind, size, density);
  const Vec3 squares = size.cwiseProduct(size);
  const double r = size[0], h = size[1];
  switch (kind) {
    case ShapeKind::sphere: {
      const double m = density * 4 * pi / 3 * r * r * r;
      return solid(m, Vec3::Constant(0.4 * m * r * r));
    }
    case ShapeKind::box: {
      const double m = density * 8 * size.prod();
      return solid(m, m / 3 * moments(squares[0], squares[1], squares[2]));
    }
    case ShapeKind::cylinder: {
      const double m = density * 2 * pi * r * r * h;
      return solid(m, m * moments(r * r / 4, r * r / 4, h * h / 3));
    }
    case ShapeKind::capsule:
      return capsule(r, h, density);
    case ShapeKind::cone:
      return cone(r, h, density);
    case ShapeKind::ellipsoid: {
      const double m = density * 4 * pi / 3 * size.prod();
      return solid(m, m / 5 * moments(squares[0], squares[1], squares[2]));
    }
    case ShapeKind::half_space:
    case ShapeKind::hull:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      break;
  }
  return {};
}

MassProperties transformed(const MassProperties& m, const Pose& pose) {
  const Mat3 R = rotation_matrix(normalize(pose.rotation));
  return {m.mass, pose.position + R * m.center, R * m.inertia * R.transpose()};
}

MassProperties combined(const MassProperties& a, const MassProperties& b) {
  const double mass = a.mass + b.mass;
  if (mass == 0) return {0, 0.5 * (a.center + b.center), a.inertia + b.inertia};
  const Vec3 d = b.center - a.center;
  // Both parallel-axis terms about the common centre are one with the reduced mass.
  const double reduced = a.mass * b.mass / mass;
  return {
      mass, a.center + b.mass / mass * d,
      a.inertia + b.inertia + reduced * (d.squaredNorm() * Mat3::Identity() - d * d.transpose())};
}

FrictionCoefficient friction_at(const Material& m, double slip) {
  if (!has_stribeck_effect(m)) return {.value = m.friction};
  const double power = std::pow(slip / m.stribeck_speed, m.stribeck_exponent);
  const double more = (m.static_friction - m.friction) * std::exp(-power);
  // Below δ = 1 the law starts with an infinite slope, of which nobody wants to hear at rest.
  const double slope = slip > 0 ? -more * m.stribeck_exponent * power / slip : 0;
  return {.value = m.friction + more, .slope = slope};
}

Material mixed(const Material& a, const Material& b, const Mixing& rules) {
  const auto mix = [&](double Material::*property, MixingRule rule) {
    return combine(a.*property, b.*property, rule);
  };
  Material m{
      .name = a.name == b.name ? a.name : a.name + "/" + b.name,
      .friction = mix(&Material::friction, rules.friction),
      .restitution = mix(&Material::restitution, rules.restitution),
      .restitution_threshold = mix(&Material::restitution_threshold, rules.restitution_threshold),
      .rolling_friction = mix(&Material::rolling_friction, rules.rolling_friction),
      .spinning_friction = mix(&Material::spinning_friction, rules.spinning_friction),
      .cohesion = mix(&Material::cohesion, rules.cohesion),
      .cohesion_range = mix(&Material::cohesion_range, rules.cohesion_range)};
  if (has_stribeck_effect(a) || has_stribeck_effect(b)) {
    m.static_friction = combine(std::max(a.static_friction, a.friction),
                                std::max(b.static_friction, b.friction), rules.friction);
    const Material& slow = a.stribeck_speed > b.stribeck_speed ? a : b;
    m.stribeck_speed = slow.stribeck_speed;
    m.stribeck_exponent = slow.stribeck_exponent;
  }
  const double compliance = 1 / a.stiffness + 1 / b.stiffness;
  if (compliance == 0) return m;
  const double share_a = 1 / (a.stiffness * compliance);
  const double share_b = 1 / (b.stiffness * compliance);
  m.stiffness = 1 / compliance;
  m.damping = a.damping * share_a * share_a + b.damping * share_b * share_b;
  m.restitution = 0;
  return m;
}

}  // namespace urto
