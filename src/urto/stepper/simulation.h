// The simulation loop: consistent start, steps (fixed or adaptive), energy audit, checkpoints. Recording is somebody else's: a run
// is driven by calling `advance` until it returns false, and looking at what it offers in between.
//
//     Simulation run(model, options);
//     run.start();
//     while (run.advance()) recorder.add(run);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "urto/mechanics/penalty_system.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/stepper/consistent_start.h"
#include "urto/stepper/dvi.h"
#include "urto/stepper/options.h"

namespace urto {

/// Where the energy went since the start [J]. energy − energy at the start = supplied + recovery − friction − impact − damping + numerical.
struct EnergyAudit {
  double kinetic = 0, potential = 0;
  double start = 0;  ///< kinetic + potential at the start
  double supplied = 0, friction = 0, impact = 0, damping = 0, recovery = 0;
  double total() const { return kinetic + potential; }
  double numerical() const {
    return total() - start - supplied - recovery + friction + impact + damping;
  }
};

/// Everything a run needs to go on from here with the same bits.
struct Checkpoint {
  State state;
  StepMemory memory;
  EnergyAudit energy;
  long steps = 0;  ///< accepted
  long rejected = 0;
  long missed = 0;         ///< steps whose certificate missed the tolerance
  double next_step = 0;    ///< adaptive: h of the next attempt
  double smooth_step = 0;  ///< adaptive: h before the last event
  double worst_residual = 0, worst_residual_time = 0;
  double worst_joint_error = 0, worst_penetration = 0;
  double next_output = 0;  ///< time of the next recorded frame
};

enum class RunState : std::uint8_t { ready, running, finished, failed };

class Simulation {
 public:
  /// The model must be finalized and outlive the run. Throws InputError for bad options or shapes that cannot collide.
  Simulation(const Model& model, const SimulationOptions& options);

  /// Consistent start. Throws InputError for contradictory joints.
  const StartReport& start();
  /// Goes on from a checkpoint instead.
  void resume(const Checkpoint& checkpoint);

  /// Takes one accepted step. False when the run is over: `run_state` and `failure` say why. Never throws for trouble of the numerical kind.
  bool advance();

  const Model& model() const { return system_.model(); }
  RigidSystem& system() { return system_; }
  const SimulationOptions& options() const { return options_; }
  const State& state() const { return point_.state; }
  const Checkpoint& checkpoint() const { return point_; }  ///< of the last accepted step
  const EnergyAudit& energy() const { return point_.energy; }
  const StepReport& report() const { return report_; }  ///< of the last accepted step
  const StartReport& start_report() const { return start_report_; }
  /// Rows and impulses of the last step; contacts through system().contacts().
  const Interactions& rows() const { return stepper().rows(); }
  const Vector& impulses() const { return stepper().impulses(); }
  /// Of the stepper dvi.
  const StepProblem& problem() const { return dvi_.problem(); }
  RunState run_state() const { return run_state_; }
  const std::string& failure() const { return failure_; }
  double end_time() const { return options_.duration; }
  /// True when a frame is due at the current state (output_step); advances the schedule.
  bool frame_due();
  const StepTimings& total_timings() const { return total_; }

 private:
  /// What energies are asked of: with contacts by penalty not the model's own system.
  System& mechanics() { return penalty_ ? static_cast<System&>(*penalty_) : system_; }
  Stepper& stepper() { return smooth_ ? *smooth_ : static_cast<Stepper&>(dvi_); }
  const Stepper& stepper() const { return smooth_ ? *smooth_ : static_cast<const Stepper&>(dvi_); }
  bool fixed_step();
  bool adaptive_step();
  double attempt_error();
  void account(const StepReport& report);
  bool fail(std::string why);

  SimulationOptions options_;
  RigidSystem system_;
  DviStepper dvi_;  ///< also projects onto the joints
  std::unique_ptr<PenaltySystem> penalty_ = {};
  std::unique_ptr<Stepper> smooth_ = {};  ///< when the options name one
  int order_ = 1;
  Checkpoint point_;
  StepReport report_;
  StartReport start_report_;
  StepTimings total_;
  RunState run_state_ = RunState::ready;
  std::string failure_ = {};
  // Adaptive attempts.
  State coarse_, fine_;
  StepMemory coarse_memory_, fine_memory_;
  StepReport first_half_, coarse_report_;
};

}  // namespace urto
