// The second-order system: all that a time stepper may ask of mechanics (design §2). The full 3D
// model is one (RigidSystem), the small systems of the papers, given by formulas, are others
// (textbook.h), and so is a user's own. A handful of virtual calls per step, none per row; nothing
// here knows how large a node is.
//
//     M(q) v̇ = f(q, v, t) + Jᵀλ,     g(q, t) obeys its laws,     q̇ by ⊕ of the layout
//
// A system is constant: threads may share it. What a call needs to work with belongs to the caller
// (SystemWorkspace); steppers and analyses hold both together (SystemAccess, below).
#pragma once

#include <memory>
#include <string>

#include "urto/linalg/block_matrix.h"
#include "urto/mechanics/interactions.h"
#include "urto/model/force.h"
#include "urto/model/layout.h"
#include "urto/model/model.h"
#include "urto/thread/thread_pool.h"

namespace urto {

/// Which rows are to be detected.
struct DetectionQuery {
  double h = 0;         ///< [s] the step ahead: what can be reached within it becomes a row
  double envelope = 0;  ///< ε_e [m]
  bool equalities_only =
      false;  ///< joints, couplings, position motors: what a position must satisfy
  bool velocity_equalities = false;  ///< besides those: speed motors without a bound
  bool normal_rows_only = false;     ///< contacts as if no material had friction
};

/// c_M M − c_v ∂f/∂v − c_q ∂f/∂q.
struct Coefficients {
  double mass = 0, damping = 0, stiffness = 0;
  /// Of the semi-definite stiffness only the part that a step of h resolves, or only the rest. A
  /// system that does not tell its springs apart has no resolved part.
  StiffnessPart part = {};
};

struct Energies {  ///< [J]
  double kinetic = 0, potential = 0;
};

inline Energies& operator+=(Energies& sum, const Energies& e) {
  sum.kinetic += e.kinetic;
  sum.potential += e.potential;
  return sum;
}

struct Powers {           ///< [W]
  double dissipated = 0;  ///< by damping, ≥ 0
  double supplied = 0;    ///< by loads and motors' force laws
  double friction = 0;    ///< dissipated by friction that is a force law, ≥ 0
};

class System;

/// Scratch of one user of a system, made by it and good for it alone. One per thread.
class SystemWorkspace {
 public:
  virtual ~SystemWorkspace() = default;
  ThreadPool* threads = nullptr;  ///< of the user, for what is worth sharing; null: none
};

/// A contact now, and what happened to the place where its two bodies met at an earlier time.
struct ContactShift {
  Mat3 axes = Mat3::Identity();  ///< (n, t₁, t₂) of the rows, world
  Vec3 point = Vec3::Zero();     ///< world
  Vec3 slip = Vec3::Zero();      ///< of A's point of then relative to B's: zero if both move as one
  Vec3 turn = Vec3::Zero();      ///< mean rotation vector of the two, world
};

/// What only rigid bodies have: gyroscopic moments that can be integrated by themselves.
class FreeRotation {
 public:
  virtual ~FreeRotation() = default;
  /// Takes the gyroscopic moments out of f, a `force` of this state. For steppers of first order,
  /// to which explicit moments would give energy: they turn freely instead.
  virtual void remove_gyroscopic(const State& state, SystemWorkspace& work, Vector& f) const = 0;
  /// What those moments alone do to v within h, without changing its kinetic energy; `increment`
  /// is that of the configuration meanwhile, the mean velocity times h.
  virtual void turn_freely(double h, SystemWorkspace& work, Vector& v, Vector& increment) const = 0;
};

/// What only contacts with memory need (penalty_system.h): material points followed from one state
/// to another.
class ContactTracking {
 public:
  virtual ~ContactTracking() = default;
  /// Of a contact block of rows detected at `state`. Its bodies met at `point` at the time `from`,
  /// and the configuration moved by `increment` since then.
  virtual ContactShift contact_shift(const State& state, const Interactions& rows, int block,
                                     const Vec3& point, const Vector& increment, double from,
                                     SystemWorkspace& work) const = 0;
};

class System {
 public:
  virtual ~System() = default;
  System() = default;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  virtual const Layout& layout() const = 0;
  int nq() const { return layout().nq(); }
  int nv() const { return layout().nv(); }
  virtual std::unique_ptr<SystemWorkspace> make_workspace() const {
    return std::make_unique<SystemWorkspace>();
  }

  /// f(q, v, t), overwritten.
  virtual void force(const State& state, SystemWorkspace& work, Vector& f) const = 0;
  /// out += c_M M − c_v ∂f/∂v − c_q ∂f/∂q, between the matrix's start_assembly and finish_assembly.
  /// `kind` is that of the tangents of f.
  virtual void assemble(const State& state, const Coefficients& c, Tangent kind,
                        SystemWorkspace& work, BlockMatrix& out) const = 0;

  /// Which rows exist: laws, ids, origins, the nodes they touch, contacts. Overwrites `rows`, whose
  /// numbers stay zero.
  virtual void detect(const State& /*state*/, const DetectionQuery& /*query*/,
                      SystemWorkspace& /*work*/, Interactions& rows) const {
    rows.clear(nv());
  }
  /// Those rows at any state: g, J, g_t and, when asked for, J̇v.
  virtual void measure(const State& /*state*/, bool /*accelerations*/, SystemWorkspace& /*work*/,
                       Interactions& rows) const {
    rows.clear_numbers();
  }
  /// How much g_t of each row jumped within the time `before` that ends at this state, where what
  /// moves in time has changed its velocity at once; smooth changes are taken off. False: nothing
  /// did, and `jumps` is left alone.
  virtual bool rate_jumps(const State& /*state*/, double /*before*/, SystemWorkspace& /*work*/,
                          const Interactions& /*rows*/, std::vector<double>& /*jumps*/) const {
    return false;
  }
  /// True if `detect` can ever offer a row that is no equality: contacts, limits, dry friction.
  virtual bool may_be_one_sided() const { return false; }
  /// out −= factor · ∂(Jᵀλ)/∂q of rows measured at this state.
  virtual void add_geometric_stiffness(const State& /*state*/, const Interactions& /*rows*/,
                                       const Vector& /*lambda*/, double /*factor*/,
                                       SystemWorkspace& /*work*/, BlockMatrix& /*out*/) const {}
  /// out += factor · ∂(M a)/∂q, of a mass that depends on the configuration.
  virtual void add_inertial_stiffness(const State& /*state*/, const Vector& /*a*/,
                                      double /*factor*/, SystemWorkspace& /*work*/,
                                      BlockMatrix& /*out*/) const {}

  /// ∂(J v)/∂q of rows measured at this state, v that of the state: rows of the pattern of J. Made
  /// of geometric stiffnesses, (∂(J_r v)/∂q) = vᵀ ∂(J_rᵀ)/∂q, unless a system knows better.
  virtual void rate_tangent(const State& state, const Interactions& rows, SystemWorkspace& work,
                            BlockRows& out) const;

  /// Called on every accepted state: counters of turns and the like, in the state's named arrays.
  virtual void accept(State& /*state*/, SystemWorkspace& /*work*/) const {}
  virtual Energies energies(const State& state, SystemWorkspace& work) const = 0;
  virtual Powers powers(const State& /*state*/, SystemWorkspace& /*work*/) const { return {}; }
  /// False only if `powers` are zero in every state.
  virtual bool has_powers() const { return true; }
  /// A person's name for a row block.
  virtual std::string describe(const Interactions& /*rows*/, int block) const {
    return "row block " + std::to_string(block);
  }

  virtual const FreeRotation* free_rotation() const { return nullptr; }
  virtual const ContactTracking* contact_tracking() const { return nullptr; }
};

/// A system together with scratch of its own: what steppers and analyses work with, each its own.
class SystemAccess {
 public:
  explicit SystemAccess(const System& system) : system_(system), work_(system.make_workspace()) {}

  const System& system() const { return system_; }
  SystemWorkspace& workspace() { return *work_; }
  /// Shares out what the system can share; the pool outlives this object.
  void use_threads(ThreadPool& pool) { work_->threads = &pool; }
  const Layout& layout() const { return system_.layout(); }
  int nq() const { return system_.nq(); }
  int nv() const { return system_.nv(); }
  void add_increment(const Configuration& q, const Vector& delta, Configuration& out) const {
    urto::add_increment(layout(), q, delta, out, work_->threads);
  }
  Vector difference(const Configuration& to, const Configuration& from) const {
    Vector delta;
    urto::difference(layout(), to, from, delta);
    return delta;
  }
  void increment_tangent(const Vector& delta, BlockMatrix& T) const {
    urto::increment_tangent(layout(), delta, T);
  }
  void force(const State& state, Vector& f) { system_.force(state, *work_, f); }
  /// M(q), overwritten.
  void mass(const State& state, BlockMatrix& M) {
    M.start_assembly(layout().v_start, BlockMatrix::Symmetry::symmetric);
    assemble(state, {.mass = 1}, Tangent::exact, M);
    M.finish_assembly();
  }
  void assemble(const State& state, const Coefficients& c, Tangent kind, BlockMatrix& out) {
    system_.assemble(state, c, kind, *work_, out);
  }
  void detect(const State& state, const DetectionQuery& query, Interactions& rows) {
    system_.detect(state, query, *work_, rows);
  }
  void measure(const State& state, Interactions& rows, bool accelerations = false) {
    system_.measure(state, accelerations, *work_, rows);
  }
  /// Detected and measured at one state.
  void interactions(const State& state, const DetectionQuery& query, Interactions& rows,
                    bool accelerations = false) {
    detect(state, query, rows);
    measure(state, rows, accelerations);
  }
  bool rate_jumps(const State& state, double before, const Interactions& rows,
                  std::vector<double>& jumps) {
    return system_.rate_jumps(state, before, *work_, rows, jumps);
  }
  bool may_be_one_sided() const { return system_.may_be_one_sided(); }
  void add_geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                               double factor, BlockMatrix& out) {
    system_.add_geometric_stiffness(state, rows, lambda, factor, *work_, out);
  }
  void rate_tangent(const State& state, const Interactions& rows, BlockRows& out) {
    system_.rate_tangent(state, rows, *work_, out);
  }
  void add_inertial_stiffness(const State& state, const Vector& a, double factor,
                              BlockMatrix& out) {
    system_.add_inertial_stiffness(state, a, factor, *work_, out);
  }
  void accept(State& state) { system_.accept(state, *work_); }
  Energies energies(const State& state) { return system_.energies(state, *work_); }
  Powers powers(const State& state) { return system_.powers(state, *work_); }
  bool has_powers() const { return system_.has_powers(); }
  std::string describe(const Interactions& rows, int block) const {
    return system_.describe(rows, block);
  }

 private:
  const System& system_;
  std::unique_ptr<SystemWorkspace> work_;
};

}  // namespace urto
