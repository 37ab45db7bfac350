// The simulation loop: consistent start, steps (fixed or adaptive), energy audit, checkpoints.
// Recording is somebody else's: a run is driven by calling `advance` until it returns false, and
// looking at what it offers in between.
//
//     Simulation run(model, options);
//     run.start();
//     while (run.advance()) recorder.add(run);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "urto/mechanics/rigid_system.h"
#include "urto/stepper/consistent_start.h"
#include "urto/stepper/options.h"
#include "urto/stepper/step_doubling.h"
#include "urto/stepper/stepper.h"

namespace urto {

/// Where the energy went since the start [J]. energy − energy at the start = supplied + recovery −
/// friction − impact − drive − damping + numerical, up to `unexplained`: the two sides are computed
/// apart.
struct EnergyAudit : EnergyFlow {
  double kinetic = 0, potential = 0;  ///< the potential includes what soft rows store
  double start = 0;                   ///< kinetic + potential at the start
  double total() const { return kinetic + potential; }
  double numerical() const { return defect; }
  /// What no account explains: rounding and the residual of the solver, if the audit is right.
  double unexplained() const { return total() - start - sum(); }
};

/// Everything a run needs to go on from here with the same bits.
struct Checkpoint {
  State state;
  StepMemory memory;
  EnergyAudit energy;
  long steps = 0;  ///< accepted
  long rejected = 0;
  long missed = 0;  ///< steps whose certificate missed the tolerance
  double worst_residual = 0, worst_residual_time = 0;
  double worst_joint_error = 0, worst_penetration = 0;
  double next_output = 0;  ///< time of the next recorded frame
};

/// The same settings with what they leave to be chosen: the contact envelope, by the smallest
/// shape, and the time between frames, about 60 a second, at least 200 and at most 3000 in a run,
/// fewer where they would not fit into 160 MB.
SimulationOptions with_choices(SimulationOptions options, const Model& model);

enum class RunState : std::uint8_t { ready, running, finished, failed };

class Simulation {
 public:
  /// A run of a model with the stepper that the options name. The model must be finalized and
  /// outlive the run. Throws InputError for bad options or shapes that cannot collide.
  Simulation(const Model& model, const SimulationOptions& options);
  /// A run of any system with any stepper, both the caller's; options.stepper.name says what the
  /// stepper can do (order).
  Simulation(const System& system, Stepper& stepper, State start, const SimulationOptions& options);
  ~Simulation();

  /// Consistent start. Throws InputError for contradictory joints.
  const StartReport& start();
  /// Goes on from a checkpoint instead.
  void resume(const Checkpoint& checkpoint);

  /// Takes one accepted step. False when the run is over: `run_state` and `failure` say why. Never
  /// throws for trouble of the numerical kind.
  bool advance();
  /// The same, but no step goes beyond `stop`, where one ends exactly: false when there, too. For
  /// runs that are compared at given times.
  bool advance_to(double stop);

  /// Of a run of a model only.
  const RigidSystem& system() const;
  const Model& model() const { return system().model(); }
  /// What was left to be chosen is chosen in them.
  const SimulationOptions& options() const { return options_; }
  const State& state() const { return point_.state; }
  const Checkpoint& checkpoint() const { return point_; }  ///< of the last accepted step
  const EnergyAudit& energy() const { return point_.energy; }
  const StepReport& report() const { return report_; }  ///< of the last accepted step
  const StartReport& start_report() const { return start_report_; }
  /// Rows, contacts and impulses of the last step.
  const Interactions& rows() const { return stepper_->rows(); }
  const std::vector<Contact>& contacts() const { return rows().contacts; }
  const Vector& impulses() const { return stepper_->impulses(); }
  /// The step problem of the last step, null for steppers that solve none.
  const StepProblem* problem() const { return stepper_->problem(); }
  RowSplit split() const { return stepper_->split(); }
  RunState run_state() const { return run_state_; }
  const std::string& failure() const { return failure_; }
  double end_time() const { return options_.duration; }
  /// True when a frame is due at the current state (output_step); advances the schedule.
  bool frame_due();
  const StepTimings& total_timings() const { return total_; }

 private:
  struct Parts;
  void double_steps(int order);
  bool take_step(double end);
  void account(const StepReport& report);
  bool fail(std::string why);

  SimulationOptions options_;
  std::unique_ptr<Parts> parts_;
  SystemAccess mechanics_;  ///< what energies are asked of: with contacts by penalty not the
                            ///< model's own system
  Stepper* stepper_ = nullptr;
  std::unique_ptr<StepDoubling> doubling_;
  bool on_grid_ = true;  ///< every step so far was a whole one
  Checkpoint point_;
  StepReport report_;
  StartReport start_report_;
  StepTimings total_;
  RunState run_state_ = RunState::ready;
  std::string failure_ = {};
};

}  // namespace urto
