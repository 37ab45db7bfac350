// Forces of contacts that last, carried from step to step of the non-smooth generalised-α scheme
// (recipe 004, supplement §6). In Λ alone a contact's force acts along the rows of the step's end,
// which is of first order wherever rows turn. So what it was in the last step is a force of the
// smooth motion, and positions and velocities add what is missing:
//
//     smooth      M â = f + J_bᵀλ̃ + J_cᵀλᶜ,       λᶜ = P/h of the last step, 0 after an event
//     filtered    (1 − α_m) λ̄⁺ + α_m λ̄ = (1 − α_f) λᶜ + α_f λᶜ₋       as a follows â
//     position    M U = J̄_Nᵀ(ν̂ − νᶜ) + …,         νᶜ = h²[(½ − β) λ̄ + β λ̄⁺]_N
//     velocity    M W = J_cᵀ(P − Pᶜ) + …,          Pᶜ = h[(1 − γ) λ̄ + γ λ̄⁺]
//
// The laws are those of the totals ν̂ and P: an error of λᶜ of O(h) costs O(h³). Friction of a
// contact that cannot stop within the step follows the slip: λᶜ_T = −μ λᶜ_N u_T/‖u_T‖ where the
// smooth motion is, and Pᶜ_T likewise at the step's end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "urto/stepper/alpha_step.h"
#include "urto/stepper/stepper.h"

namespace urto {

class CarriedForces {
 public:
  /// For a step of h from here: what the last one left to `rows`. Null memory: nothing.
  void recall(const StepMemory* memory, const Interactions& rows, double h);
  bool any() const { return !blocks_.empty(); }

  /// out += J_cᵀλᶜ at a state.
  void add_force(SystemAccess& system, const State& at, Vector& out);
  /// out −= factor · ∂(J_cᵀλᶜ)/∂q where `add_force` was last, λᶜ fixed.
  void add_stiffness(SystemAccess& system, const State& at, double factor, BlockMatrix& out) const;
  /// out += factor · μλᶜ_N J_Tᵀ(I − ssᵀ)J_T/‖u_T‖: how the friction of what slides turns with v.
  void add_damping(const Layout& layout, double factor, BlockMatrix& out) const;
  /// Pᶜ and νᶜ, once the smooth motion is found.
  void filter(const AlphaScheme& scheme, double h);
  /// Pᶜ_T of what slides, against the slip of v along rows measured where the step ends.
  void turn(const Interactions& rows, const Vector& v);
  const Vector& impulses() const { return impulse_; }  ///< Pᶜ per row of the step
  const Vector& heights() const { return height_; }    ///< νᶜ per row, on normals
  /// Pᶜ of the last step, for a step of h, per row.
  const Vector& last_impulses() const { return last_impulse_; }

  /// What the next step gets: rows behind the gate, the first of each block among the step's rows,
  /// and their totals P, rates at the end and effective masses. `lasts`: per block, behind the gate
  /// in the last step too, and without an approach.
  struct End {
    const Interactions& rows;
    std::span<const int> first;
    const Vector& impulses;
    const Vector& rate;
    std::span<const std::uint8_t> lasts;
    std::span<const double> mass;  ///< per row of the step
    double h = 0;
    bool sliding = false;  ///< friction of what slides as a law
  };
  void end(const End& e);
  const Vector& next() const { return next_; }  ///< λᶜ of the next step, per row of End::rows
  /// After an event: the filter starts anew.
  void reset(int first_row, int rows);
  void store(StepMemory& memory) const;

 private:
  std::vector<int> blocks_ = {};  ///< of the step's rows: those with a force
  std::vector<std::uint8_t> slides_ = {}, next_slides_ = {};  ///< per row
  Interactions carried_;
  std::vector<int> first_ = {};                  ///< of each carried block, in the step's rows
  Vector force_, last_, filter_start_, filter_;  ///< λᶜ, λᶜ₋, λ̄, λ̄⁺ per row of the step
  Vector impulse_, height_, last_impulse_;
  Vector along_, carried_force_;                          ///< per row of carried_: the slip, λᶜ
  Vector next_, next_last_, next_filter_, next_impulse_;  ///< per row of End::rows
};

}  // namespace urto
