// Step problems made from physics, for tests, benchmarks and `urto generate`: one implicit-Euler
// step of a scene,
//     H = M (+ h D + h² K),   a = M v + h f,   b = gap / h on normal rows,   gravity 9.81 m/s²
//     along −z.
// The same options give the same bits on every machine: own random numbers, only correctly rounded
// operations. Options out of range throw InputError.
#pragma once

#include <cstdint>

#include "urto/problem/step_problem.h"

namespace urto {

struct SpherePacking {
  int contacts = 1000;    ///< exactly this many
  double mu = 0.5;        ///< friction of every contact
  double mass_ratio = 1;  ///< masses are log-uniform in [1, mass_ratio] kg
  double step = 0.01;     ///< [s]
  std::uint64_t seed = 1;
};
/// Spheres of 5 cm ± 10 % settled under gravity in an open box: a jittered staggered lattice,
/// relaxed until nothing overlaps. Contacts are the pairs and walls with the smallest gaps, at most
/// 1 mm; a third of them stand open by more than 10 µm. Six dofs a sphere; velocities are random
/// and small (1 cm/s), so that most contacts stick.
StepProblem sphere_packing(const SpherePacking& options = {});

struct BoxStack {
  int levels = 3;
  double mu = 0.4;
  double push = 0;        ///< lateral force on the centre of the top cube, in units of its weight
  double mass_ratio = 1;  ///< mass of the top cube [kg]; the others have 1 kg
  double step = 0.01;     ///< [s]
};
/// Cubes of 1 m and 1 kg on top of each other, at rest, each on four corner contacts: 12 rows a
/// cube against 6 dofs, so forces are not unique and velocities are. Recipe 000 T5 is {3, 0.4,
/// 0.1}, T6 is {5, 0.4, 0.2, 1000}.
StepProblem box_stack(const BoxStack& options = {});

struct BoxWall {
  int width = 6;   ///< bricks in a course
  int height = 6;  ///< courses
  double mu = 0.6;
  double push = 0;          ///< sideways acceleration of the ground [g], in the plane of the wall
  double mass_ratio = 1;    ///< density of the top course over that of the others
  bool head_joints = true;  ///< bricks of one course touch end to end
  double step = 0.01;       ///< [s]
};
/// A dry wall of 4 kg bricks (0.2 × 0.1 × 0.1 m) in running bond with half bricks at the ends of
/// every second course. Four contacts for each pair of touching bricks, and for each brick on the
/// ground: highly redundant.
StepProblem box_wall(const BoxWall& options = {});

struct Chain {
  int links = 10;
  double mass_ratio = 1;  ///< mass of the last link [kg]; the others have 1 kg
  double step = 0.01;     ///< [s]
};
/// A horizontal chain of 1 m rods released from rest, hung from the ground at one end. Spherical
/// joints only: every row is an equality, so the problem is one linear solve.
StepProblem chain(const Chain& options = {});

struct SlidingMass {
  double mass = 1;  ///< [kg]
  double mu = 0.3;
  double velocity = 2;  ///< along t₁ [m/s]
  double gap = 0;       ///< [m]
  double step = 0.01;   ///< [s]
};
/// A point mass (three dofs) that slides on the plane z = 0: recipe 000 T3. Convex friction lifts
/// it off.
StepProblem sliding_mass(const SlidingMass& options = {});

struct JointContactMix {
  int bodies = 5;
  double mu = 0.5;
  double brake = 2;     ///< dry-friction torque of each hinge [N·m]
  double velocity = 1;  ///< of the train along x [m/s], towards a frictionless stop at its front
  double step = 0.01;   ///< [s]
};
/// A train of 1 kg cubes on the ground, coupled by hinges about y (five equality rows) with dry
/// friction (one box row ±h·brake); four friction contacts a cube, and one frictionless stop that
/// the front cube runs into.
StepProblem joint_contact_mix(const JointContactMix& options = {});

struct StiffLattice {
  int nx = 4, ny = 4, nz = 4;  ///< nodes along each axis
  double mass = 0.1;           ///< of a node [kg]
  double stiffness = 1e5;      ///< of a spring [N/m]
  double damping = 10;         ///< of a spring [N·s/m]
  double mu = 0.4;
  double velocity = 1;  ///< along x [m/s]; the lattice also falls at half of it
  double step = 0.01;   ///< [s]
};
/// An elastic block that lands on a plane: point masses (three dofs) 0.1 m apart, joined along
/// edges and face diagonals by springs with dampers, so H = M + h D + h² K is sparse and not
/// block-diagonal. The nodes of the bottom layer have friction contacts.
StepProblem stiff_lattice(const StiffLattice& options = {});

struct RandomLocal {
  int contacts = 10;
  double rank_deficiency = 0;  ///< in [0, 1): the share of the eigenvalues of W that are zero
  double mu = 0.5;
  double conditioning = 100;  ///< ratio of the largest and smallest nonzero eigenvalue of W
  std::uint64_t seed = 1;
};
/// No physics but the worst of it: W = A Aᵀ with random eigenvectors and prescribed eigenvalues
/// from 1 down to 1/conditioning. Feasible: q = u₀ − W λ₀ with λ₀ in the cone and u₀ inside its
/// dual, which also makes a solution with exact friction exist (Acary and Cadoux).
StepProblem random_local(const RandomLocal& options = {});

/// A 1 kg point mass squeezed by a floor rising and a ceiling coming down, both at 1 m/s: no
/// velocity satisfies u₁ = v − 1 ≥ 0 and u₂ = −v − 1 ≥ 0. With mu > 0 the rows have friction.
StepProblem infeasible_gap(double mu = 0);

}  // namespace urto
