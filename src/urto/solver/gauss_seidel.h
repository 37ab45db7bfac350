// Non-smooth Gauss–Seidel: one row block after the other solved exactly with the others frozen
// (recipe 003 appendix B; Jean, Moreau). The one sweep of `auto` and of the nsgs solvers, on all of
// a problem or on an island of it, in place (row_access.h). Coulomb's law is treated directly.
// Cost of a sweep: the entries of J twice and a local solve for each contact that carries load.
#pragma once

#include <cstdint>

#include "urto/solver/row_access.h"

namespace urto {

class GaussSeidel {
 public:
  /// How a contact with friction is solved (local_contact.h).
  enum class Local : std::uint8_t { newton, quartic, projection };

  struct Options {
    Friction friction = Friction::exact;
    Local local = Local::newton;
    double tolerance = 1e-10;  ///< of a contact's residual, relative to the largest entry of q
  };

  /// After `rows().set(…)`, with the row blocks' data in place.
  void begin(const Options& options);
  RowAccess& rows() { return rows_; }

  void sweep();
  /// The natural-map residual of these row blocks at the current λ (natural_map.h), refreshed.
  double residual();
  int local_failures() const { return local_failures_; }  ///< in the last sweep

 private:
  void update(int p);
  bool solve_contact(const ConvexSet& set, const Eigen::Map<const Matrix>& M, const double* q,
                     double* r) const;

  RowAccess rows_;
  Options options_;
  double local_tolerance_ = 0;  ///< [velocity]
  double norm_q_ = 1, energy_q_ = 1;
  int local_failures_ = 0;
};

}  // namespace urto
