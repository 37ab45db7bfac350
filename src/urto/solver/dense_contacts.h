// Small problems of the exact law with a dense W: a few sweeps, then Newton on Alart and Curnier's
// function
//
//     F(λ) = λ − P(λ − ρ (W λ + q)),   P(z) = (z_N⁺, z_T cut to the length μ z_N⁺)
//
// whose zeros satisfy Coulomb's law without De Saxcé's term (Alart and Curnier 1991; recipe 003
// §5.16). Rows that carry nothing leave the linear system, so a step costs the cube of the loaded
// rows. W need not be symmetric: nothing is lagged. Redundant contacts: the diagonal of what is
// held is raised by a small proximal term around the current λ.
//
// What sweeps and Newton cost is predicted from their operations, so that the same input gives the
// same bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "urto/solver/delassus.h"
#include "urto/solver/local_cone.h"
#include "urto/solver/monitor.h"

namespace urto {

class DenseContacts {
 public:
  struct Result {
    int least_sweeps = 4;             ///< before Newton: they settle who touches
    Status status = Status::stalled;  ///< stalled: Newton led nowhere, and sweeps are slow
    int sweeps = 0, steps = 0;        ///< of Gauss–Seidel, of Newton
    double residual = 0;
    std::vector<HistoryEntry>* history = nullptr;  ///< appended to, if there is one
  };

  /// Whether a problem is small, and of sets that are known here.
  static bool suits(const StepProblem& p);
  /// A problem in local form, W = E and q = b. False if a contact can hardly be moved.
  bool set(const StepProblem& p);
  /// Any other, by the rows of its W.
  bool set(Delassus& W);

  /// From λ to the solution, or to the best point found.
  void solve(const SolveOptions& options, Monitor::Clock::time_point start, Vector& lambda,
             Result& result);

 private:
  /// A cone, or one row of another set as an interval of forces.
  struct Unit {
    int row = 0, dim = 1;
    double lo = 0, hi = 0;  ///< of an interval
    double mu = 0, rho = 1;
    std::array<double, 2> turn = {};
    LocalCone cone = {};
  };
  enum class Role : std::uint8_t { apart, held, sliding };

  void begin(const SetProduct& K);
  bool prepare();
  double* column(int c) { return W_.data() + static_cast<std::size_t>(c) * stride_; }
  const double* column(int c) const { return W_.data() + static_cast<std::size_t>(c) * stride_; }
  void add(int row, const double* delta, int count, double* u) const;
  void velocities();
  double residual(const double* lambda, const double* u) const;
  void sweep();
  void sweep_unit(Unit& unit);
  bool newton(const SolveOptions& options, Monitor::Clock::time_point start, Result& result);
  bool stop(const SolveOptions& options, Monitor::Clock::time_point start, Result& result) const;
  double response(double t);
  void assign_roles();
  bool direction(double shift);
  void assemble(double shift);
  double sweep_price() const;
  double newton_price();

  const SetProduct* K_ = nullptr;
  int rows_ = 0, stride_ = 0;
  double norm_q_ = 1, energy_q_ = 1;
  std::vector<double> W_ = {};  ///< by columns
  std::vector<double> q_ = {}, lambda_ = {}, u_ = {}, kept_ = {}, best_ = {};
  std::vector<Unit> units_ = {};
  std::vector<double> scale_ = {};  ///< ρ per row block

  // Newton.
  std::vector<Role> role_ = {};  ///< per unit
  std::vector<double> z_ = {}, F_ = {}, d_lambda_ = {}, d_u_ = {};
  std::vector<int> active_ = {};  ///< rows of the linear system
  std::vector<int> place_ = {};   ///< of a row in it, −1: its force is known
  std::vector<double> matrix_ = {}, right_ = {};
};

}  // namespace urto
