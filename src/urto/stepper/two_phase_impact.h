// An impact in no time, of contacts, limits and joints together (recipe 002 §2.6). By Poisson's law
// in two problems at one configuration, both with conditions on the velocity they end with:
//
//     compression      M(vᶜ − v⁻) = Jᵀγᶜ,          K ∋ γᶜ ⊥ û(vᶜ)
//     decompression    M(v⁺ − vᶜ) = Jᵀ(γʳ + γˣ),    γʳ_N = e γᶜ_N,  K ∋ γˣ ⊥ û(v⁺)
//
// so that an impact whose compression others share gives back what it took. Friction of the second
// phase is bounded by μ γˣ_N as the source has it, or by μ (γʳ_N + γˣ_N) as E. J. Routh does. By
// Newton's law in one problem, u⁺_N ≥ −e u⁻_N of what approached (ImpulseKernel::add_rebound).
// Compression never gains energy; Poisson's decompression may.
#pragma once

#include <span>

#include "urto/stepper/impulse_kernel.h"

namespace urto {

class TwoPhaseImpact {
 public:
  explicit TwoPhaseImpact(ImpulseKernel& kernel) : kernel_(kernel) {}

  /// Of kernel.rows, measured at `state`, which touch or are joints. `restitution`: e per block.
  /// Leaves v⁺ and all impulses in the kernel, its problem as M v⁺ = M v⁻ + Jᵀγ. `h`: of the step
  /// around the impact, a scale for rounding.
  void solve(const State& state, double h, std::span<const double> restitution, StepReport& report);
  /// ½vᵀM v before, after compression and in the end [J].
  double energy_before() const { return energy_[0]; }
  double energy_compressed() const { return energy_[1]; }
  double energy_after() const { return energy_[2]; }

 private:
  void pose(const State& state, double h);
  double kinetic(const Vector& v);
  void solve_phase(const State& state, StepReport& report);
  void decompress(const State& state, std::span<const double> restitution, StepReport& report);

  ImpulseKernel& kernel_;
  StepMemory nothing_ = {};  ///< impacts start from no impulses
  Vector momentum_, compression_;
  double energy_[3] = {};
};

}  // namespace urto
