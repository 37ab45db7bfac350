// What all time steppers share: what a step leaves behind, what it reports, and the list of steppers by name.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/mechanics/system.h"
#include "urto/problem/certificate.h"
#include "urto/solver/solver.h"
#include "urto/stepper/options.h"

namespace urto {

/// What one step leaves to the next: multipliers by row id. Part of a checkpoint, or a resumed run would differ in its last bits.
struct StepMemory {
  struct Item {
    std::uint64_t id = 0;
    int start = 0;  ///< in lambda
    int dim = 0;
  };
  std::vector<Item> items = {};  ///< sorted by id
  std::vector<double> lambda = {};
  double h = 0;
  /// Smooth steppers: the method's acceleration and the motion's (generalised-α keeps the two apart), and (supplied, dissipated) power at the end of the step.
  std::vector<double> acceleration = {}, true_acceleration = {};
  std::array<double, 2> power{};
};

/// Energy that went somewhere during a step [J].
struct EnergyFlow {
  double supplied = 0;  ///< by loads, motors and bodies that move as told
  double friction = 0;  ///< dissipated
  double impact = 0;    ///< dissipated by normal contact and limit impulses
  double damping = 0;   ///< dissipated
  double recovery = 0;  ///< given by contacts that push overlapping bodies apart
};

struct StepTimings {  ///< [s]
  double rows = 0, assemble = 0, solve = 0, certify = 0, advance = 0;
};

struct StepReport {
  double t = 0, h = 0;  ///< the step from t to t + h
  Certificate certificate;
  StepSolveReport solve;
  EnergyFlow energy;
  double joint_error =
      0;  ///< largest |g| of a rigid equality row at the start of the step [m, rad]
  double penetration = 0;  ///< deepest rigid contact at the start of the step [m]
  /// Energy of soft and cohesive contacts at the start of the step and, by the gaps' linear motion, at its end [J].
  double contact_energy_before = 0, contact_energy = 0;
  int contacts = 0;              ///< rows blocks of contacts and limits within reach
  int active = 0;                ///< of those, with an impulse
  std::uint64_t active_set = 0;  ///< a hash of which ones, and of which rebound
  int limited_rebounds =
      0;  ///< contacts that got less than their restitution, for it would have created energy
  double early_rebound = 0;   ///< largest gap at which a rebound was taken, too early [m]
  int newton_iterations = 0;  ///< smooth steppers: over all parts of the step
  int factorizations = 0;     ///< smooth steppers
  int cuts = 0;               ///< smooth steppers: how often Newton failed and the step was halved
  bool meets_tolerance = true;
  StepTimings timings;
};

class Stepper {
 public:
  virtual ~Stepper() = default;
  Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// Advances the state by h. Throws InputError where it cannot go on.
  virtual void step(State& state, double h, StepMemory& memory, StepReport& report) = 0;
  /// Of the last step: its rows, impulses γ [N·s].
  virtual const Interactions& rows() const = 0;
  virtual const Vector& impulses() const = 0;
};

/// What a stepper can do.
struct StepperInfo {
  std::string_view name = {};
  int order = 1;          ///< of positions and velocities; on rotations where it differs, the lower
  bool implicit = false;  ///< stable on stiff springs
  bool contacts = false;  ///< contacts, limits, dry friction
  bool discouraged = false;  ///< kept for comparisons: the source says so, or its own numbers do
  std::string_view summary = {};
};

std::span<const StepperInfo> steppers();
/// Throws InputError with the names for a name that is none.
const StepperInfo& find_stepper(std::string_view name);

/// Throws InputError naming the first thing in the model that the stepper cannot treat and a stepper that can.
void check_capabilities(const StepperInfo& stepper, const Model& model);

/// A smooth stepper by name; the system must outlive it.
std::unique_ptr<Stepper> make_smooth_stepper(System& system, const SimulationOptions& options);

}  // namespace urto
