// Smooth forces with their tangents: springs, dampers, bushings, loads, gravity fields.
//
// A force adds its wrench to f and, when asked, its tangents to a block matrix with one node per
// dynamic body:
//     stiffness  −∂f/∂q  and  damping  −∂f/∂v   in the tangent space (increments ⊕), each with the
//                factor the caller wants.
// Exact tangents are not symmetric in general. For the implicit steppers with contact there is the
// positive semi-definite approximation of recipe 002 (9.2)–(9.3): only the terms γ ∇φ ∇φᵀ of each
// spring and δ ∇φ ∇φᵀ of each damper, which keeps H positive definite for every step size.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/model/function.h"
#include "urto/model/measure.h"

namespace urto {

struct Model;
struct State;

/// force = characteristic(argument), a line, a table (linear between points, straight lines
/// outside) or a user function that returns (value, derivative).
struct Characteristic {
  double slope = 0;  ///< used when `table_x` is empty and `user` is not set
  std::vector<double> table_x, table_y;
  std::function<std::array<double, 2>(double)> user = {};
};
/// (value, derivative) at x.
std::array<double, 2> evaluate(const Characteristic& c, double x);

/// A spring and damper on a measure s between two markers: generalised force −k(s − s₀) − c(ṡ),
/// plus `preload`, along ∇s. With the measure `distance` it is the spring between two points, with
/// `angle` the torsion spring about an axis, with `along` a slide spring.
struct MeasureSpring {
  std::string name = {};
  int marker_a = -1, marker_b = -1;
  Measure measure{MeasureKind::distance, 0, 0};
  double rest = 0;                ///< s₀ [m or rad]
  Characteristic stiffness = {};  ///< of s − s₀ [N or N·m]
  Characteristic damping = {};    ///< of ṡ
  double preload = 0;             ///< constant force, positive drives s up
  int angle_index = -1;  ///< into State::angles when the measure counts turns, −1 otherwise
};

/// Six-dimensional linear spring between two markers, in the axes of a: forces on the components of
/// w, torques on the rotation vector θ of b against a. The force on a acts at b's origin. It has
/// the potential ½Σk w² + ½Σk θ², and its exact tangent is complete. ‖θ‖ ≤ π: past half a turn the
/// torque jumps.
struct Bushing {
  std::string name = {};
  int marker_a = -1, marker_b = -1;
  Eigen::Matrix<double, 6, 1> stiffness =
      Eigen::Matrix<double, 6, 1>::Zero();  ///< [N/m ×3, N·m/rad ×3]
  Eigen::Matrix<double, 6, 1> damping = Eigen::Matrix<double, 6, 1>::Zero();
};

/// A force and a torque at a marker, functions of time, in world or marker axes (`follows` the
/// body).
struct Load {
  std::string name = {};
  int marker = -1;
  bool follows = false;
  std::array<Function, 3> force{ConstantFunction{}, ConstantFunction{}, ConstantFunction{}};
  std::array<Function, 3> torque{ConstantFunction{}, ConstantFunction{}, ConstantFunction{}};
};

/// Attraction −strength · m (x − centre)/‖x − centre‖³ on every dynamic body; strength = G M
/// [m³/s²].
struct CentralGravity {
  std::string name = {};
  Vec3 centre = Vec3::Zero();
  double strength = 0;
};

/// Viscous drag on a body: −c v (world) and −c_r Ω (body).
struct Drag {
  std::string name = {};
  int body = -1;
  double linear = 0, angular = 0;  ///< [N·s/m], [N·m·s]
};

/// Anything else, from C++ or Python: adds to f (size nv). Explicit in the implicit steppers (no
/// tangent).
struct UserForce {
  std::string name = {};
  std::function<void(const Model&, const State&, Vector& f)> add = {};
};

using Force = std::variant<MeasureSpring, Bushing, Load, CentralGravity, Drag, UserForce>;
const std::string& name_of(const Force& force);

enum class Tangent : std::uint8_t { exact, semidefinite };

/// The tangent ω of a spring seen by a step of h: the share σ(hω) of its stiffness is stiff, the
/// rest is resolved by steps of this size. Smooth in h, and of so high an order that a spring which
/// is resolved well has next to nothing stiff about it.
inline double stiff_share(double h_omega_squared) {
  const double z = h_omega_squared * h_omega_squared;
  return std::isfinite(z) ? z / (1 + z) : 1;
}

/// Which part of the semi-definite stiffness of forces is wanted.
struct StiffnessPart {
  enum class Kind : std::uint8_t { all, resolved, stiff };
  Kind kind = Kind::all;
  double h = 0;  ///< [s] the step that resolves it, or not

  /// The weight of a stiffness with this ω² [1/s²].
  double weight(double omega_squared) const {
    if (kind == Kind::all) return 1;
    const double share = stiff_share(h * h * omega_squared);
    return kind == Kind::stiff ? share : 1 - share;
  }
};

/// f += the force at the state.
void add_force(const Force& force, const Model& model, const State& state, Vector& f);
/// out += −c_v ∂f/∂v − c_q ∂f/∂q (nothing for UserForce), nodes numbered as the model's slots.
/// Central gravity has the semi-definite tangent zero.
struct TangentFactors {
  double damping = 0, stiffness = 0;  ///< c_v, c_q
  StiffnessPart part = {};            ///< of semi-definite tangents
  /// Of the two bodies of a spring or bushing, (v_A, Ω_A, v_B, Ω_B): how they give way to an
  /// impulse. For parts only.
  const Mat12* inverse_mass = nullptr;
};
void add_tangents(const Force& force, const Model& model, const State& state, Tangent kind,
                  const TangentFactors& factors, BlockMatrix& out);
/// Potential energy stored (a preload's included); zero at s = s₀, for dissipative parts, loads and
/// user forces.
double potential_energy(const Force& force, const Model& model, const State& state);
/// Power that the force takes out by damping, ≥ 0 [W]; a spring's damper, a bushing's, drag.
double dissipated_power(const Force& force, const Model& model, const State& state);
/// Power of what is neither potential nor damping, positive when energy enters [W]: loads, user
/// forces, and what kinematic bodies give through springs and bushings. For every force f·v =
/// −d(potential_energy)/dt − dissipated_power + supplied_power.
double supplied_power(const Force& force, const Model& model, const State& state);

}  // namespace urto
