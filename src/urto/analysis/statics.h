// Static equilibrium with joints, and with contacts (contact_statics.h): f(q, 0, t) + Jᵀλ = 0, g(q,
// t) = 0 (recipe 000 §2.17).
//
//     [ K + τM   Jᵀ ] {  δq }   { f + Jᵀλ + (s − 1) f₀ }
//     [ J        0  ] { −δλ } = { −g                   }
//
// Far from the equilibrium τ > 0 makes a step one of implicit Euler without inertia, which goes
// downhill; τ falls with the residual, and at τ = 0 it is Newton's iteration with a line search. In
// systems of up to `largest_checked` velocities K + τM is kept positive definite on the motions
// that the joints allow, so that only stable equilibria attract. Load steps: s rises from 0 to 1 in
// parts, f₀ the force that was unbalanced at the start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "urto/mechanics/system.h"

namespace urto {

struct StaticsOptions {
  int load_steps = 1;
  int max_iterations = 500;  ///< of each load step
  double tolerance = 1e-11;  ///< of ‖f + Jᵀλ‖ relative to the forces' size
  int largest_checked = 300;
  double largest_move = 0.3;  ///< [m, rad] of a body in one iteration

  // Where contacts, limits or dry friction act (contact_statics.h).
  bool contacts = true;    ///< false refuses them
  double envelope = 1e-3;  ///< [m] contacts are sought so far away; a step moves half of it
  double contact_tolerance = 1e-8;  ///< of forces and cones, relative to the forces' size
  double gap_tolerance = 1e-9;      ///< [m]
  /// [m] A contact with friction that slides further is falling: where it ends depends on its
  /// inertia, and statics does not say.
  double largest_slide = 0.1;
};

struct StaticsReport {
  bool converged = false;
  int iterations = 0;
  double residual = 0;     ///< relative
  double joint_error = 0;  ///< [m, rad]
  double move = 0;         ///< largest from the start [m, rad]
  double lowest =
      0;  ///< the least ω² there [1/s²], NaN where it was not looked for; below zero: unstable
  Vector lambda;  ///< reactions, in the order of `rows`
  Interactions rows;
  std::string message = {};  ///< why, if not converged

  bool with_contact =
      false;  ///< found with contacts, limits or dry friction at work; the rest is of that case
  double gap_error = 0;   ///< deepest overlap, and largest gap across which a force acts [m]
  double cone_error = 0;  ///< how far a force is outside its cone, relative
  double slide = 0;       ///< the longest way of a contact with friction [m]
  int freedom = -1;       ///< dimension of the reactions that balance; −1: not looked for
  std::optional<bool> unique =
      {};  ///< no other reactions in the cones balance; empty: not looked for
  std::vector<std::string> names = {};  ///< of the blocks of `rows`
};

/// A model in which what follows a function of time stays where it is at t: kinematic bodies,
/// position motors, couplings, and the speeds of speed motors.
struct StillModel {
  Model model;
  std::vector<std::string> moving = {};  ///< what would not stay there, by name
};
StillModel hold_still(Model model, double t);

/// Moves `state` to an equilibrium; its velocity becomes zero. Speed motors hold their coordinate
/// where it stands. Throws InputError if one imposes a speed, and with options.contacts off where a
/// contact, limit or dry friction acts at the start or the end.
StaticsReport find_equilibrium(const System& system, State& state,
                               const StaticsOptions& options = {});

struct LinearStatics {
  Vector displacement;  ///< increments of the configuration
  Vector lambda;        ///< reactions, in the order of the linearisation's rows
};
/// The answer of the system linearised at `state`, J x = −g. Throws InputError if it can move
/// without resistance.
LinearStatics linear_statics(const System& system, const State& state);

}  // namespace urto
