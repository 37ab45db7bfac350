// The inner loop of Gauss–Seidel on contacts between bodies of up to six degrees of freedom: data
// packed once a solve, and read as one stream.
//
// A body is a line y of eight numbers, x = C y with H⁻¹ = C Cᵀ, so that one set of rows G = J C
// serves both u = G y + b and y += Gᵀ δ. A contact has a record of its own with its rows, what the
// local solution needs (local_cone.h), and where its bodies are; its force (n, t₁, t₂) in the
// tangents of local_cone.h stands in an array of four for each contact.
//
// Vectors of two, which every x86-64 has: the same source compiled for AVX2 was not faster
// (docs/solvers/nsgs.md).
#pragma once

#include "urto/solver/local_cone.h"

namespace urto {

struct alignas(64) BodyLine {
  double y[8];
};

struct alignas(64) PackedContact {
  /// Groups of four: columns 0–3 of rows n, t₁, t₂ on body A, the same on body B; columns 4–5 of n
  /// and t₁ on A, the same on B; columns 4–5 of t₂ on A and on B.
  double rows[36];
  double b[3];
  double compliance[2];  ///< along the normal and along both tangents
  LocalCone local;
  int body[2];  ///< lines; the second −1 where there is one body
};

/// Contacts with two bodies, or with one.
enum class Touching : bool { one, two };

/// One contact after the other, `step` is 1 or −1 (from the last to the first); `lambda` is that of
/// contacts[0].
void sweep_contacts(Touching bodies, PackedContact* contacts, int count, int step, double* lambda,
                    BodyLine* y);
/// u of each, four numbers a contact.
void measure_contacts(Touching bodies, const PackedContact* contacts, int count,
                      const double* lambda, const BodyLine* y, double* u);

}  // namespace urto
