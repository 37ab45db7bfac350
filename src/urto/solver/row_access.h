// The velocity of one row block at the current multipliers, and the news that a block changed: what
// every method that goes from block to block needs of u = W λ + q. On all row blocks of a problem
// or on those of an island; λ and x are the caller's, in place.
//
//   factored   H and E block-diagonal: x = H⁻¹(a + Jᵀλ) is carried along, and a block costs its
//              own entries of J only
//   coupled    x = H⁻¹(a + Jᵀλ) through a factor of H, at each refresh: to measure, not to sweep
//   by rows    W itself, row block by row block
//
// Joints may be held by the factor: then x and their multipliers are those of all other λ, W and q
// those of what is left when joints have been eliminated.
#pragma once

#include <span>

#include "urto/linalg/saddle_ldlt.h"
#include "urto/solver/delassus.h"
#include "urto/solver/row_blocks.h"

namespace urto {

/// Some row blocks of a step problem, and where what is known of them stands.
struct RowView {
  const StepProblem* problem = nullptr;
  const RowBlocks* rows = nullptr;
  const SparseMatrix* E = nullptr;            ///< symmetric part
  std::span<const int> blocks = {};           ///< in the order of the sweep
  std::span<const int> nodes = {};            ///< the bodies that these blocks move …
  const BlockMatrix* inverse_mass = nullptr;  ///< … and H⁻¹, if H is block-diagonal
  SaddleLdlt* mass = nullptr;                 ///< coupled: a factor of H on the nodes
  std::span<const int> node_of_dof = {};      ///< with either
  std::span<const int> place = {};            ///< coupled: as in SaddleLdlt::System
  const BlockRows* W = nullptr;  ///< by rows: row block p is that of blocks[p], on the columns of λ
  const Vector* q = nullptr;     ///< by rows, if it is not that of `rows`
  std::span<const int> held = {};  ///< the row blocks that `mass` holds …
  std::span<const int> all = {};   ///< … and those with `blocks`, to which residuals are relative
  const Delassus* skewed = nullptr;  ///< has a skew part that W lacks (files only), or null
};

class RowAccess {
 public:
  /// x is written where there is a mass.
  void set(const RowView& view, Vector& x, Vector& lambda) {
    view_ = view;
    x_ = &x;
    lambda_ = &lambda;
  }
  /// All of a problem.
  void set(Delassus& W, Vector& x, Vector& lambda);

  const RowView& view() const { return view_; }
  int size() const { return static_cast<int>(view_.blocks.size()); }
  int block(int p) const { return view_.blocks[p]; }
  Vector& x() { return *x_; }
  Vector& lambda() { return *lambda_; }
  const Vector& lambda() const { return *lambda_; }

  /// Recomputes x, and the skew part of W λ, from λ: incremental updates collect rounding. By rows
  /// x is not needed and left alone.
  void refresh();
  /// x = H⁻¹(a + Jᵀλ) on the nodes, also by rows if H is given; with the multipliers of what is
  /// held.
  void recover();
  /// How far the last recovery was from its equations, relative to their data: of what is held they
  /// may be singular, or nearly.
  double off_recovery() const { return off_recovery_; }

  /// u = (W λ + q) of blocks[p]. A skew part of W is taken from the last `refresh`.
  void velocity(int p, double* u) const {
    const StepProblem& problem = *view_.problem;
    const int i = view_.blocks[p];
    const int first = problem.K.start[i];
    const int d = problem.K.sets[i].dim;
    if (view_.W == nullptr) {
      for (int k = 0; k < d; ++k) u[k] = problem.b[first + k];
      if (view_.E->nonZeros() > 0) add_compliance(first, d, u);
      multiply_add_block(problem.J, i, x_->data(), u);
    } else {
      const Vector& q = view_.q != nullptr ? *view_.q : view_.rows->q;
      for (int k = 0; k < d; ++k) u[k] = q[first + k];
      d == 3 ? add_loaded(p, u) : multiply_add_block(*view_.W, p, lambda_->data(), u);
    }
    if (view_.skewed != nullptr) {
      for (int k = 0; k < d; ++k) u[k] += skew_[first + k];
    }
  }

  /// λ of blocks[p] has grown by `delta`.
  void changed(int p, const double* delta);

  /// All velocities, by the rows of the problem, after a refresh.
  void velocities(Vector& u);

 private:
  // u += three rows of W λ, but for contacts without load: half of a pile's.
  void add_loaded(int p, double* u) const {
    const BlockRows& W = *view_.W;
    const double* lambda = lambda_->data();
    double u0 = u[0], u1 = u[1], u2 = u[2];
    const BlockRows::Entry* const end = W.entries.data() + W.entry_start[p + 1];
    for (const BlockRows::Entry* e = W.entries.data() + W.entry_start[p]; e != end; ++e) {
      const double* x = lambda + e->column;
      const double* A = W.values.data() + e->offset;
      if (e->width == 3) {
        const double x0 = x[0], x1 = x[1], x2 = x[2];
        if (x0 == 0 && x1 == 0 && x2 == 0) continue;
        u0 += A[0] * x0 + A[1] * x1 + A[2] * x2;
        u1 += A[3] * x0 + A[4] * x1 + A[5] * x2;
        u2 += A[6] * x0 + A[7] * x1 + A[8] * x2;
        continue;
      }
      for (int c = 0; c < e->width; ++c) {
        u0 += A[c] * x[c];
        u1 += A[e->width + c] * x[c];
        u2 += A[2 * e->width + c] * x[c];
      }
    }
    u[0] = u0;
    u[1] = u1;
    u[2] = u2;
  }
  void add_compliance(int first, int rows, double* u) const;
  void recover_coupled();

  RowView view_;
  Vector* x_ = nullptr;
  Vector* lambda_ = nullptr;
  Vector skew_, work_;
  double off_recovery_ = 0;
  std::vector<int> all_ = {};  ///< 0, 1, 2, …
};

/// Steps of the projected fixed point, block by block: 1/W_kk for separable sets, W_ii⁻¹ for
/// joints, and one number d/tr(W_ii) for cones, whose Euclidean projection allows no other (recipe
/// 000 §2.8). out = λ_i − ω·step·u_i.
void descend(const RowBlocks& rows, const ConvexSet& set, int i, double omega, const double* lambda,
             const double* u, double* out);

}  // namespace urto
