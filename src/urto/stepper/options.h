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

/// Which forces and rows the θ-method of Moreau and Jean takes (stepper/moreau_jean.h).
enum class MoreauVariant : std::uint8_t {
  implicit,
  nearly_implicit,
  nearly_implicit_start,  ///< rows as they were at the start of the step
  semi_explicit,
};

/// The prediction q* that decides whether a contact obeys the law of its velocity: where g(q*) ≤ 0.
enum class Activation : std::uint8_t {
  automatic,  ///< end for moreau-jean, closed for nonsmooth-alpha
  start,      ///< q
  half,       ///< q ⊕ ½h v
  end,        ///< q ⊕ h v
  free,       ///< where forces alone lead
  closed,     ///< nonsmooth-alpha: what its position correction holds, or has closed
};

/// What a contact at rest or parting may do after its impact: u_N⁺ ≥ −e u_N⁻ whatever u_N⁻
/// (source), or u_N⁺ ≥ −e min(u_N⁻, 0).
enum class RestitutionBound : std::uint8_t { approach, source };

/// How nonsmooth-alpha finds the motion of a step (stepper/nonsmooth_alpha.h).
enum class AlphaAlgorithm : std::uint8_t {
  one_pass,    ///< smooth motion, positions, velocities, one after the other
  sequential,  ///< the same again and again, to the solution of all equations together
  monolithic,  ///< Newton's method on all of them
};

/// What bounds friction by μ λ_N.
enum class FrictionBound : std::uint8_t { circle, polygon };

/// What an impact of trapezoidal-lcp gives back (stepper/two_phase_impact.h).
enum class RestitutionLaw : std::uint8_t {
  poisson,  ///< e times the impulse of compression
  newton,   ///< e times the speed of approach
};

/// What bounds friction while an impact by Poisson's law gives back: μ times …
enum class RestitutionFriction : std::uint8_t {
  extra,  ///< … what the normal impulse has beyond e times that of compression (source)
  total,  ///< … all of the normal impulse
};

/// Contacts that are hit at the same time.
enum class ImpactOrder : std::uint8_t {
  simultaneous,  ///< one impact of all that touch
  sequential,    ///< the fastest first, by itself, and so on until none approaches
};

/// Which contacts the velocities of a step of trapezoidal-lcp obey.
enum class ActiveContacts : std::uint8_t {
  touching,   ///< what touches and does not part
  predicted,  ///< recipe 002 (6.1): also what q ⊕ h v closes. Reflects it; for comparisons
};

/// What trapezoidal-lcp does about position errors.
enum class DriftControl : std::uint8_t {
  projection,       ///< after each step, positions and velocities, least in the mass metric
  right_hand_side,  ///< g/(2h) in the rows
  none,
};

/// What nonsmooth-alpha asks of positions and velocities. All but the first are the variants that
/// its source compares it with.
enum class AlphaVariant : std::uint8_t {
  both,          ///< gaps and joints hold at positions (ν) and velocities (Λ)
  modified_lcp,  ///< positions with ν − hΛ in place of ν: contacts at rest chatter
  index_3,       ///< positions alone and no law of impact: energy grows
};

/// Which contact forces nonsmooth-alpha carries into the next step's smooth motion
/// (stepper/alpha_carried.h).
enum class CarriedContacts : std::uint8_t {
  none,     ///< of first order where a contact lasts on rows that turn
  lasting,  ///< of second order there, but for slip that turns
  sliding,  ///< … with the friction of what slides as a law: also there
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
  /// Contacts without their tangential rows, as if no material had friction (recipe 001 checklist
  /// 24). For comparisons.
  bool skip_tangential = false;
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
  int newton_iterations = 20;  ///< then the step is cut; dvi-newton: it misses its tolerance
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
  // Non-smooth steppers other than dvi.
  MoreauVariant moreau_variant = MoreauVariant::nearly_implicit;
  Activation activation = Activation::automatic;
  RestitutionBound restitution_bound = RestitutionBound::approach;
  AlphaAlgorithm alpha_algorithm = AlphaAlgorithm::one_pass;
  AlphaVariant alpha_variant = AlphaVariant::both;
  CarriedContacts carried_contacts = CarriedContacts::none;
  bool restart = true;  ///< consistent accelerations after an impact or a change of contacts
  /// Friction moves bodies by half of its impulse within its step; without it they creep.
  bool friction_displacement = true;
  /// Of a contact's effective mass: what weighs gaps against multipliers in the active sets.
  double activation_mass = 1;
  FrictionBound friction_bound = FrictionBound::circle;
  int friction_edges = 8;  ///< of the polygon
  // trapezoidal-lcp.
  RestitutionLaw restitution_law = RestitutionLaw::poisson;
  RestitutionFriction restitution_friction = RestitutionFriction::extra;
  ImpactOrder impact_order = ImpactOrder::simultaneous;
  ActiveContacts active_contacts = ActiveContacts::touching;
  DriftControl drift_control = DriftControl::projection;
  /// Rows of contacts, and a mass that depends on the configuration, at q ⊕ ½h v; else at q as in
  /// the source, of first order where surfaces are curved.
  bool midpoint_rows = true;
  bool end_at_impacts = false;      ///< a step ends where an impact was
  double contact_tolerance = 1e-8;  ///< ε_a [m]: what is closer touches
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
  /// [s] between recorded frames; a step or less records every step. 0 chooses about 60 frames a
  /// second, from 200 to 3000 in all.
  double output_step = 0;
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
