// All equations of a step of the non-smooth generalised-α scheme together, and their exact
// derivative: the monolithic semi-smooth Newton iteration (recipe 004 §2.3, (37)–(46), with Coulomb
// friction and rotations by its supplement §§2–3).
//
//     smooth      h(M â − f − J_bᵀλ̃) = 0,             J_b ṽ + g_t = 0
//     position    (M U − T(δ)ᵀ y)/h = 0                y = J_bᵀν_b + J_Nᵀν + ½h J_TᵀΛ_T
//                 g_b/h = 0,  g/h = 0 of contacts in 𝒜, −ν/h = 0 of the others
//     velocity    M W − JᵀΛ = 0,                        J_b v + g_t = 0
//                 of contacts behind the gate: u_N + b_N = 0 and u_T = 0 (stick) or Λ_T = μΛ_N ẑ,
//                 z = Λ_T − r u_T (slip), −Λ = 0 of all others
//
// 𝒜: ν − r g ≥ 0;  apart: Λ_N − r(u_N + b_N) < 0;  stick: ‖z‖ ≤ μ Λ_N. r weighs, in the unit of a
// mass, and occurs nowhere else. All is of the size of a momentum or a velocity for every h, and so
// are the unknowns Δx = [Δṽ; −hΔλ̃; ΔU/h; −Δν/h; ΔW; −ΔΛ].
//
// Rows that depend on each other make the matrix singular where the source has no answer: here it
// is shifted (saddle_lu.h), and of all their multipliers those near the least are taken.
#pragma once

#include <cstdint>
#include <vector>

#include "urto/linalg/saddle_lu.h"
#include "urto/stepper/alpha_step.h"
#include "urto/stepper/options.h"

namespace urto {

using RowMajorMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

class AlphaEquations {
 public:
  enum class Contact : std::uint8_t { apart, stick, slip };
  /// Which branch each contact is on.
  struct ActiveSet {
    std::vector<std::uint8_t> positions, gates;  ///< per block of the rows
    std::vector<Contact> contacts;
    bool operator==(const ActiveSet&) const = default;
    std::uint64_t hash() const;
  };

  explicit AlphaEquations(SystemAccess& system) : system_(system) {}

  /// False if the rows have a law that these equations do not know.
  bool begin(const Interactions& detected, const AlphaStep& step, const StepperOptions& options);
  /// Restitution bounds per block, with which the law of the velocities is posed.
  std::vector<double> bound;
  /// [kg] of each row, in the active sets.
  std::vector<double> weight;
  /// Gates that the step's start decides; empty: by the option.
  std::vector<std::uint8_t> frozen_gates;
  /// Forces besides those of the system, constant during the step.
  Vector besides;

  Vector lambda;  ///< λ̃ per row of the rows (equalities only) [N]
  Vector nu;      ///< ν per row: of equalities and normals [kg m]
  Vector Lambda;  ///< Λ per row [N s]

  /// Measures everything where the step is now.
  void measure(AlphaStep& step);
  ActiveSet active(const AlphaStep& step) const;
  void residual(const AlphaStep& step, const ActiveSet& set, Vector& r) const;
  /// The largest part of a residual relative to its terms.
  double relative(const Vector& r) const;
  bool factorize(const AlphaStep& step, const ActiveSet& set);
  /// Newton's correction of the step and of the multipliers.
  void correct(const Vector& r, AlphaStep& step);
  /// Applies a correction Δx; for differences.
  void apply(const Vector& x, AlphaStep& step);
  /// The matrix as it was assembled last.
  SparseMatrix matrix(const AlphaStep& step, const ActiveSet& set);

  int size() const { return at_end_; }
  const Interactions& rows() const { return rows_; }
  bool is_contact(int block) const { return role_[block] == Role::contact; }
  /// Gap of the smooth motion, if the option asks for it.
  double free_gap(int block) const { return free_rows_.g[rows_.J.row_start[block]]; }

 private:
  enum class Role : std::uint8_t { joint, speed, spring, contact };
  void assemble(const AlphaStep& step, const ActiveSet& set);
  void differentiate(const AlphaStep& step, const ActiveSet& set);
  SparseMatrix stiffness(const AlphaStep& step, const Vector& multipliers, const Vector& moved,
                         bool of_forces);
  void entry(int row, int column, double value);
  void add(const SparseMatrix& A, int row, int column, double factor = 1);
  void add_row(const RowMajorMatrix& A, int from, int row, int column, double factor);
  void add_column(const RowMajorMatrix& A, int from, int row, int column, double factor);
  void add_rate_row(int from, int row, double factor);
  void add_rows(int block, const ActiveSet& set);
  void add_contact_rows(int block, const ActiveSet& set);
  bool open(int block, const ActiveSet& set) const;
  /// What is complementary to the gap: ν, of the modified variant ν − hΛ.
  double push(int row) const { return modified_ ? nu[row] - h_ * Lambda[row] : nu[row]; }
  double soft_scale(int block) const;
  int smooth_row(int row) const { return at_smooth_ + smooth_[row]; }
  int position_row(int row) const { return at_position_ + position_[row]; }
  int velocity_row(int row) const { return at_velocity_ + velocity_[row]; }

  SystemAccess& system_;
  const StepperOptions* options_ = nullptr;
  Interactions rows_, free_rows_;
  std::vector<Role> role_;                         ///< per block
  std::vector<int> smooth_, position_, velocity_;  ///< per row, −1: has none
  int at_smooth_ = 0, at_U_ = 0, at_position_ = 0, at_W_ = 0, at_velocity_ = 0, at_end_ = 0;
  double h_ = 0, s_ = 0;
  bool modified_ = false, free_gates_ = false;

  Vector force_, rate_, free_rate_;
  BlockMatrix mass_;
  mutable Vector y_inertia_;
  mutable double momentum_scale_ = 0, velocity_scale_ = 0, rounding_ = 0;
  // Of the derivative, with D = T(δ) and G = ∂(J v)/∂q.
  SparseMatrix M_, C_, KD_, D_, Gp_, Gv_;
  RowMajorMatrix J_, JD_, GsD_, GD_;
  SaddleLu factor_;
  std::vector<Eigen::Triplet<double>>* collected_ = nullptr;
  Vector solution_;
};

}  // namespace urto
