// Static equilibrium where contacts, limits or dry friction act: f(q, 0, t) + Jᵀλ = 0, λ in its
// cone, gaps not negative and zero where a force acts.
//
// Steps of the scheme of hard contact (stepper/dvi.h) from rest, again and again: with δ = q⁺ ⊖ q
// and v = 0 its step problem is
//
//     (M/h² + K) δ = f + Jᵀλ,     g + J δ ⊥ λ ∈ cone
//
// a step of pseudo-time that goes downhill; the larger h, the more it is Newton's iteration. An
// equilibrium is where it finds forces that balance without a motion. It is certified there: the
// residual of the forces, the gaps and the cones are measured at q with λ.
#pragma once

#include "urto/analysis/statics.h"

namespace urto {

/// Moves `state`, whose velocity is zero, to an equilibrium.
StaticsReport relax_to_contact(const System& system, State& state, const StaticsOptions& options);

/// Whether a contact, limit or dry friction acts at the state.
bool one_sided_acts(const System& system, const State& state);

}  // namespace urto
