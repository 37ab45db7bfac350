// What all time steppers share: what a step leaves behind, what it reports, how it ends, and the
// list of steppers by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "urto/math/named_arrays.h"
#include "urto/mechanics/system.h"
#include "urto/problem/certificate.h"
#include "urto/solver/solver.h"
#include "urto/stepper/options.h"

namespace urto {

/// What one step leaves to the next: multipliers by row id, and whatever else a stepper carries, by
/// name. Part of a checkpoint, or a resumed run would differ in its last bits; a checkpoint needs
/// no edit for a new stepper.
struct StepMemory {
  struct Item {
    std::uint64_t id = 0;
    int start = 0;  ///< in lambda
    int dim = 0;
  };
  std::vector<Item> items = {};  ///< sorted by id
  std::vector<double> lambda = {};
  double h = 0;
  NamedArrays arrays = {};

  /// Of a row block; null if there was none of that id and size. `next` is where it may stand, and
  /// then where the next one may: 0 to begin with.
  const Item* find(std::uint64_t id, int dim, std::size_t& next) const;
  const Item* find(std::uint64_t id, int dim) const {
    std::size_t next = 0;
    return find(id, dim, next);
  }
};

/// Multipliers of a step as the next one's memory.
void remember(const Interactions& rows, const Vector& lambda, double h, StepMemory& memory);
/// λ of the rows of the last step, scaled from its length to h; a contact that is gone leaves its
/// force to the nearest one between the same two shapes. Zero elsewhere.
void recall(const StepMemory& memory, const Interactions& rows, double h, Vector& lambda);

/// Energy that went somewhere during a step [J]; docs/results.md has the formulas.
struct EnergyFlow {
  double supplied = 0;  ///< by loads, motors and kinematic bodies
  double friction = 0;  ///< dissipated
  double impact = 0;    ///< dissipated by normal contact and limit impulses
  double drive = 0;     ///< dissipated by motors that slip behind the speed they should have
  double damping = 0;   ///< dissipated
  double recovery = 0;  ///< given by contacts that push overlapping bodies apart
  double defect = 0;    ///< given by the scheme itself, by what it says that it did: `numerical`

  /// What kinetic, potential and stored energy should have grown by.
  double sum() const { return supplied + recovery + defect - friction - impact - drive - damping; }
};

struct StepTimings {  ///< [s]
  double rows = 0, assemble = 0, solve = 0, certify = 0, advance = 0;
};

inline StepTimings& operator+=(StepTimings& sum, const StepTimings& t) {
  sum.rows += t.rows;
  sum.assemble += t.assemble;
  sum.solve += t.solve;
  sum.certify += t.certify;
  sum.advance += t.advance;
  return sum;
}

inline EnergyFlow& operator+=(EnergyFlow& sum, const EnergyFlow& e) {
  sum.supplied += e.supplied;
  sum.friction += e.friction;
  sum.impact += e.impact;
  sum.drive += e.drive;
  sum.damping += e.damping;
  sum.recovery += e.recovery;
  sum.defect += e.defect;
  return sum;
}

struct StepReport {
  double t = 0, h = 0;  ///< the step from t to t + h
  Certificate certificate;
  StepSolveReport solve;
  EnergyFlow energy;
  /// False of a stepper that has no EnergyAuditor: what the balance leaves over is then its defect.
  bool audited = false;
  double joint_error = 0;  ///< largest |g| of a rigid equality row at the end of the step [m, rad]
  double penetration = 0;  ///< deepest rigid contact at the start of the step [m]
  /// Energy of soft rows and cohesive contacts at the start of the step and at its end [J].
  double stored_before = 0, stored = 0;
  int contacts = 0;              ///< row blocks of contacts and limits within reach
  int active = 0;                ///< of those, with an impulse
  std::uint64_t active_set = 0;  ///< a hash of which ones, and of which rebound
  int limited_rebounds =
      0;  ///< contacts that got less than their restitution, for it would have created energy
  double early_rebound = 0;   ///< largest gap at which a rebound was taken, too early [m]
  int newton_iterations = 0;  ///< smooth steppers: over all parts of the step
  int factorizations = 0;     ///< smooth steppers
  int cuts = 0;               ///< smooth steppers: how often Newton failed and the step was halved
  int rejected = 0;           ///< step doubling: attempts that were given up before this one
  double local_error = 0;     ///< estimated, of steps that choose their length [m, rad]
  bool meets_tolerance = true;
  StepTimings timings;
};

/// Two steps one after the other as one: sums, and the worse of two.
StepReport joined(const StepReport& a, const StepReport& b);

enum class StepStatus : std::uint8_t {
  done,    ///< the state is that at the end of the step
  event,   ///< it stopped earlier, at something that happens there: `event` says what
  failed,  ///< no step is possible; the state is as it was
};

/// How a step ended. Numerical trouble is an outcome, not an exception.
struct StepOutcome {
  StepStatus status = StepStatus::done;
  double t = 0;  ///< reached
  std::string event = {};
  std::string message = {};  ///< why, if it failed

  bool failed() const { return status == StepStatus::failed; }
};

/// How a scheme that splits what happens to a row shares its impulse, per row of `rows()`; null
/// from all others.
struct RowSplit {
  const Vector* smooth_forces = nullptr;         ///< λ̃ [N], of which impulses have h λ̃
  const Vector* position_multipliers = nullptr;  ///< ν [kg m], of the positions' correction
};

class Stepper {
 public:
  virtual ~Stepper() = default;
  Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// Advances the state by h, or less: the outcome says how far.
  virtual StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) = 0;
  /// Of the last step: its rows, impulses γ [N·s].
  virtual const Interactions& rows() const = 0;
  virtual const Vector& impulses() const = 0;
  /// The step problem it solved last, null where it solves none.
  virtual const StepProblem* problem() const { return nullptr; }
  virtual RowSplit split() const { return {}; }
  /// True if `step` takes a length of its own choice: it controls its error itself.
  virtual bool chooses_steps() const { return false; }

  /// Brings the velocity of a half-way state along the joints, for extrapolation in step doubling.
  virtual void align_velocities(State& /*state*/) {}
  /// Brings an extrapolated state back to where the stepper wants it.
  virtual void align_positions(State& /*state*/) {}
  /// True if 2 q_{h/2} − q_h of two smooth steps is a better answer than q_{h/2}.
  virtual bool can_extrapolate() const { return false; }
};

/// What a stepper can do.
struct StepperInfo {
  std::string name = {};
  int order = 1;          ///< of positions and velocities; on rotations where it differs, the lower
  bool implicit = false;  ///< stable on stiff springs
  bool contacts = false;  ///< contacts, limits, dry friction
  bool restitution = false;  ///< of them, by Newton's law; else impacts are inelastic
  bool discouraged = false;  ///< kept for comparisons: the source says so, or its own numbers do
  std::string summary = {};
};

/// Makes a stepper for a system that outlives it.
using StepperFactory =
    std::function<std::unique_ptr<Stepper>(const System& system, const SimulationOptions& options)>;

/// Adds a stepper to the list, for scenes and programs to choose by name. Throws InputError if the
/// name is taken or empty.
void register_stepper(StepperInfo info, StepperFactory factory);

/// All that are registered: the built-in ones first.
std::vector<StepperInfo> steppers();
/// Throws InputError with the names for a name that is none.
StepperInfo find_stepper(std::string_view name);

/// Throws InputError naming the first thing in the model, or asked for by the options, that the
/// stepper cannot treat and a stepper that can.
void check_capabilities(const StepperInfo& stepper, const Model& model,
                        const StepperOptions& options);

/// The stepper that options.stepper.name names.
std::unique_ptr<Stepper> make_stepper(const System& system, const SimulationOptions& options);

}  // namespace urto
