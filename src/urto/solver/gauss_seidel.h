// Non-smooth Gauss–Seidel: one row block after the other solved exactly with the others frozen
// (recipe 003 appendix B; Jean, Moreau). The one sweep of `auto` and of the nsgs solvers, on all of
// a problem or on an island of it. Coulomb's law is treated directly. Where H and E are
// block-diagonal, rows and velocities are packed once a solve and contacts go through a kernel of
// fixed size (packed_rows.h); else rows are those of W (row_access.h).
//
// With momentum a sweep starts from a point extrapolated along the last two,
//
//     y → s = sweep(y);   f = s − y;   d = s − s_previous
//     start anew if f·d < 0 or ‖f‖² > 1.2 · its smallest value since;   y = s + min(0.8, j/(j+3)) d
//
// which takes about a quarter of the sweeps (docs/solvers/nsgs.md). What is measured is always s.
//
// Cost of a sweep: the rows of J once, and the few operations of a local solution (local_cone.h).
#pragma once

#include <cstdint>

#include "urto/solver/packed_rows.h"

namespace urto {

class GaussSeidel {
 public:
  /// How a contact with friction is solved (local_cone.h, local_contact.h). `newton`: exactly, by
  /// the scalar form where there is one.
  enum class Local : std::uint8_t { newton, quartic, projection };
  enum class Order : std::uint8_t { forward, symmetric };  ///< symmetric: there and back

  struct Options {
    Friction friction = Friction::exact;
    Local local = Local::newton;
    double tolerance = 1e-10;  ///< of a contact's residual, relative to the largest entry of q
    bool momentum = false;
    Order order = Order::forward;
  };

  /// After `rows().set(…)`, with the row blocks' data in place. Rows are packed by the first sweep.
  void begin(const Options& options);
  RowAccess& rows() { return rows_; }
  PackedRows& packed() { return packed_; }
  bool is_packed() const { return is_packed_; }
  void set_order(Order order) { options_.order = order; }

  void sweep();
  /// The natural-map residual of these row blocks at the current λ (natural_map.h), from velocities
  /// computed anew. λ and x of `rows` are those of the sweeps after that.
  double residual();
  /// The same from the velocities that sweeps carry along; λ and x of `rows` are left alone.
  double estimate() const;
  /// √(Σ ρ‖u‖² / Σ ρ‖q‖²) over contacts that carry load: small where bodies rest.
  double restlessness() const;
  /// λ of `rows` was changed by somebody else.
  void load();
  /// All velocities, by the rows of the problem; and as `residual`.
  void velocities(Vector& u);
  int local_failures() const { return local_failures_; }  ///< in the last sweep

 private:
  /// A contact of W by rows, as the kernel has it.
  struct Contact {
    LocalCone local;
    std::array<double, 2> turn;
    bool known = false;
  };

  template <class Visit>
  void for_each_velocity(const Visit& visit) const;
  template <class Access>
  void update(Access& access, int p);
  bool solve_contact(const ConvexSet& set, const Eigen::Map<const Matrix>& M, const double* q,
                     double* r) const;
  void solve_known(Contact& contact, int dim, const double* u, const double* lambda, double* r);
  void prepare();
  void prepare_contacts();
  double* force(int p);
  void pass(int step);
  void sweep_packed(int step);
  void synchronise();
  void extrapolate();
  void judge();

  RowAccess rows_;
  PackedRows packed_;
  bool is_prepared_ = false;  ///< for sweeps
  bool is_packed_ = false;
  Options options_;
  double local_tolerance_ = 0;  ///< [velocity]
  double norm_q_ = 1, energy_q_ = 1;
  int local_failures_ = 0;
  int unrefreshed_ = 0;                 ///< sweeps
  std::vector<Contact> contacts_ = {};  ///< per block where rows are those of W

  // Momentum.
  int since_restart_ = 0;
  double smallest_ = 0;                            ///< ‖f‖² since the restart
  double ahead_ = 0;                               ///< the factor of d
  std::vector<double> from_ = {}, previous_ = {};  ///< forces: y and s_previous
  std::vector<BodyLine> previous_bodies_ = {};
};

}  // namespace urto
