// Every setting of a run in one place, with unit, default and reason. option_table.cpp has a line
// for each: its key in a scene's "simulation" object, the values it takes, what it means.
#pragma once

#include <cstdint>
#include <string>

#include "urto/model/force.h"
#include "urto/model/penalty_law.h"
#include "urto/solver/solver.h"

namespace urto {

enum class ImplicitForces : std::uint8_t {
  automatic,  ///< each spring as much as its frequency asks for (docs/steppers/dvi.md)
  none,       ///< forces only on the right-hand side: cheapest, the step is limited by the stiffest
              ///< spring
  semidefinite,  ///< recipe 002 (9.2)–(9.3): H positive definite for every step
  exact,  ///< symmetric part of the exact tangents; falls back on `semidefinite` where H would not
          ///< be positive definite
};

struct StepperOptions {
  std::string name = "dvi";
  Friction friction = Friction::exact;
  ImplicitForces implicit_forces = ImplicitForces::automatic;
  /// η_s [m/s]: the fastest a penetration is pushed out, and a broken limit of what slides (recipe
  /// 000 (113)); 0 never corrects, infinity corrects within one step.
  double recovery_speed = 0.01;
  /// [rad/s]: the same for a limit of what turns; recovery_speed at a tenth of a metre.
  double recovery_rate = 0.1;
  /// g/h in the rows; false leaves b = g_t only (recipe 001 checklist 17): joints drift,
  /// penetrations stay. For comparisons.
  bool stabilise = true;
  bool restitution = true;  ///< Newton's law where materials ask for it; false: every impact is
                            ///< inelastic, as in the source
  /// After each step move the bodies back onto the joints by Newton steps in the mass metric. The
  /// stabilised step alone keeps the joint error at O(h²); with this it is at rounding, for the
  /// price of one or two linear solves.
  bool project_joints = false;
  double projection_tolerance = 1e-12;  ///< [m, rad]

  // Smooth steppers (stepper/smooth_stepper.h).
  double newmark_gamma = 0.5;    ///< [½, 1]; second order at ½ only
  double newmark_beta = 0.25;    ///< (0, 1]
  double hht_alpha = -0.1;       ///< [−1/3, 0]; more negative damps more
  double spectral_radius = 0.8;  ///< ρ∞ ∈ [0, 1] of generalised-alpha: what a step leaves of
                                 ///< infinitely fast oscillations
  /// Newton stops when the correction still to come is below this part of the largest acceleration.
  double newton_tolerance = 1e-9;
  int newton_iterations = 20;       ///< then the step is cut
  /// (Jᵀλ)_q, and (M a)_q of a mass that depends on the configuration, in Newton's matrix: fewer
  /// iterations, dearer ones.
  bool geometric_stiffness = true;
  /// The mean of the mass at both ends of the step, recipe 000 (136); else that at its end.
  bool mean_mass = false;
  bool reuse_factor =
      true;  ///< keep Newton's matrix within a step while it contracts fast (modified Newton)
  /// Hold the velocities on the joints too, with a second set of multipliers (Gear, Gupta and
  /// Leimkuhler 1985: index 2).
  bool velocity_constraints = false;
  /// ω [1/s] of Baumgarte's g̈ + 2ω ġ + ω² g = 0 in the explicit steppers; 0 lets the joints drift.
  double baumgarte = 0;
  /// Smooth steppers: contacts as stiff springs with damping and smoothed friction
  /// (mechanics/penalty_system.h) instead of refusing them.
  bool penalty_contact = false;
  PenaltyLaw penalty = {};
};

struct SimulationOptions {
  double duration = 1;    ///< [s]
  double step = 1e-3;     ///< h [s]; the first one when adaptive
  bool adaptive = false;  ///< step doubling
  double error_tolerance =
      1e-4;  ///< adaptive: local error of a step, lengths [m] and angles [rad], relative to 1
  double min_step = 1e-8, max_step = 1e-1;  ///< [s] adaptive
  /// Adaptive, smooth steps only: go on with 2 q_{h/2} − q_h, which is of second order.
  bool extrapolate = true;
  double output_step = 0;  ///< [s] between recorded frames; 0 records every step
  double checkpoint_interval =
      0;  ///< [s] simulated time between checkpoints; 0: only at the end and on interruption
  /// ε_e [m]: pairs closer than this, plus what they can travel in a step, become contacts. 0
  /// chooses a fortieth of the smallest width of a colliding shape, terrain not counted.
  double contact_envelope = 0;
  bool assemble =
      true;  ///< consistent start: project the given positions and velocities onto the joints
  bool islands = true;  ///< false solves all bodies as one problem (for tests)
  int threads = 1;
  StepperOptions stepper = {};
  SolveOptions solver = {};  ///< name, tolerance, limits of the step problem's solver
  bool stop_on_failure =
      false;  ///< end the run at the first step that misses its tolerance (else go on and report)
  /// Run again at half and a quarter of the step and say how far the motion is from its limit
  /// (analysis/verification.h). The drivers of runs do it: a Simulation is one run.
  bool verify = false;
};

/// Throws InputError for values out of range, and for settings that contradict each other.
void validate(const SimulationOptions& options);

}  // namespace urto
