// Interactions: every constraint and contact of one moment, as rows of numbers and the law each
// obeys. The contract between a system and the steppers (design §2): the system measures, the
// stepper decides with which coefficients the rows enter its problem.
//
//     g(q, t)   rows: joint error, gap (normal row of a contact; its tangential rows are 0)
//     J         ∂g/∂q in the tangent space, block-sparse;   u = J v + g_t
//     g_t       ∂g/∂t: motors, and kinematic bodies
//     J̇v        = vᵀ K v plus the mixed and second time derivatives, when asked for (smooth
//               steppers); else of motors what their function of time gives, the rate of g_t
//
// Detection decides once per step which rows there are; measuring puts numbers into them at any
// state, as often as Newton likes.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "urto/collision/contact.h"
#include "urto/linalg/block_matrix.h"

namespace urto {

enum class LawKind : std::uint8_t { equality, unilateral, coulomb, box };

/// How fast a row that is broken, g < 0, is brought back: within a step, or at a speed that the
/// stepper's options bound.
enum class Recovery : std::uint8_t {
  at_once,
  linear,   ///< g is a length: contacts, limits of what slides
  angular,  ///< g is an angle: limits of what turns
};

struct Law {
  LawKind kind = LawKind::equality;
  int dim = 1;
  /// μ, coulomb: at the state that was measured. A system may let it depend on the slip, or on
  /// what else it likes; steppers take it as it is at the state whose rows they measure.
  double friction = 0;
  double friction_slope = 0;  ///< ∂μ/∂‖u_T‖ [s/m]
  double rolling = 0;  ///< coulomb, dim 5 and 6: bound of the rolling rows (n, t₁, t₂, m₁, m₂) …
  double spinning = 0;  ///< … dim 4 and 6: and of the last row, the spin about the normal
  double length = 1;    ///< [m] rolling and spinning rows are this times an angular velocity, their
                        ///< impulses moments divided by it
  double restitution = 0;            ///< Newton's e
  double restitution_threshold = 0;  ///< [m/s] slower approaches do not rebound
  double lower = 0, upper = 0;       ///< force bounds of a box law [N, N·m]
  double stiffness = std::numeric_limits<double>::infinity();  ///< compliance: infinite is rigid
  double damping = 0;
  double cohesion = 0;        ///< [N] pull of a contact whose gap is at most …
  double cohesion_range = 0;  ///< [m] … this
  bool on_velocity = false;   ///< there is no position to keep: speed motors, joint friction
  Recovery recovery = Recovery::at_once;
};

/// A spring, and perhaps a damper, stands for the row: λ = −(k g + c ġ).
inline bool is_soft(const Law& law) {
  return std::isfinite(law.stiffness);
}

/// A row that must hold at every position: neither soft nor on velocities.
inline bool holds_position(const Law& law) {
  return law.kind == LawKind::equality && !is_soft(law) && !law.on_velocity;
}

/// True if a contact or limit with this gap, or dry friction, is at work.
inline bool acts_one_sided(const Law& law, double gap) {
  return law.kind == LawKind::box || (law.kind != LawKind::equality && gap <= 0);
}

/// The pull of a contact at a gap [N]. A multiplier of the row is what the surfaces press with
/// besides: the force between them is that less the pull.
inline double pull(const Law& law, double gap) {
  return gap <= law.cohesion_range ? law.cohesion : 0;
}

enum class Origin : std::uint8_t { joint, screw, coupling, motor, limit, friction, contact };

/// Where a row block comes from: `index` into the model's array of that kind, or into the rows'
/// contacts.
struct RowOrigin {
  Origin kind = Origin::joint;
  int index = 0;
};

struct Interactions {
  BlockRows J;
  std::vector<double> g, g_t, jdot_v;
  std::vector<Law> laws;  ///< one per block
  std::vector<std::uint64_t>
      ids;  ///< one per block, stable from step to step: multipliers warm-start by it
  std::vector<RowOrigin> origins;  ///< one per block
  std::vector<Contact> contacts;   ///< as they were last measured, at …
  Vector contacts_q = {};          ///< … this configuration
  double contacts_t = 0;           ///< [s]
  /// Of `measure` only g is wanted; a system may leave the other numbers as they are.
  bool gaps_only = false;
  double horizon = 0;  ///< [s] the step they were detected for: speed motors aim at its end

  int blocks() const { return static_cast<int>(laws.size()); }
  int rows() const { return J.rows(); }
  void clear(int columns);
  /// Opens a block; its rows are zero and without entries.
  void add_block(const Law& law, RowOrigin origin, std::uint64_t id);
  /// Appends an entry of zeros to the last block and returns its values, `law.dim` × width,
  /// row-major. An entry covers one node.
  double* add_entry(int column, int width);
  /// Opens `count` blocks at once, whose laws, origins and ids are then written, in any order and
  /// by several threads; `append_rows` makes their rows.
  void append_blocks(int count);
  /// The rows of the blocks from `first` on as their laws say, each with entries of `width` at the
  /// columns columns[block − first] that are not negative.
  void append_rows(int first, int width, std::span<const std::array<int, 2>> columns);
  /// Zeros for all that is measured.
  void clear_numbers();
  void clear_numbers(int block);
  /// Values of the k-th entry of a block.
  double* entry(int block, int k) {
    return J.values.data() + J.entries[J.entry_start[block] + k].offset;
  }
};

/// The force [N] of a contact's block on its body A, world axes, cohesion included; the multipliers
/// are impulses of a time h (1: they are forces).
Vec3 contact_force(const Interactions& rows, int block, const Vector& impulses, double h);

/// Ids of blocks that are not contacts: kind and index packed. Contacts have the top bit set.
inline std::uint64_t row_id(Origin kind, int index, int part = 0) {
  return (static_cast<std::uint64_t>(kind) << 40) | (static_cast<std::uint64_t>(index) << 8) |
         static_cast<std::uint64_t>(part);
}

}  // namespace urto
