// The linear systems of the interior point: one matrix an iteration, factorised once and solved twice or more,
//
//     H dx − Jᵀ dλ = r₁
//     J dx + (E + T) dλ = r₂        T one small block a row block: the barrier's curvature, 0 on joints, positive definite elsewhere
//
// in one of three forms, chosen by the structure and changed when the residual says so:
//   condensed   H + Jᵀ(E + T)⁻¹J, positive definite, Cholesky: with a mass matrix and a compliance that stays inside its blocks
//   augmented   [H Jᵀ; J −(E + T)], quasi-definite, LDLᵀ: any compliance; also where the condensed form loses too many digits
//   local       E + T, Cholesky: no mass matrix, W given as E
// A T that is not symmetric (the direct treatment of Coulomb friction) is factorised by LU in the same forms.
//
// Static regularisation: δ_i = δ tr(W_ii)/d is added to T, so that redundant joints and contacts leave the matrix regular; refinement on the
// system without δ takes its effect away. A factorisation that breaks down is repeated with a larger δ (recipe 001 §2.7.2, 2.7.10, 2.8.4).
#pragma once

#include <memory>
#include <vector>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include "urto/solver/condensed_matrix.h"

namespace urto {

/// T of every row block, its inverse, and factors T = left · right, column-major, dim × dim, block after block. On joints all are zero. The entries of a cone's T
/// hide its smallest eigenvalue, μ against μ⁻¹, in rounding; the factors have only the roots of these, so products go through them.
struct CurvatureBlocks {
  explicit CurvatureBlocks(const SetProduct& K);
  std::vector<int> start;
  std::vector<double> T, inverse, left, right;
};

class InteriorPointSystem {
 public:
  enum class Form : std::uint8_t { condensed, augmented, local };

  explicit InteriorPointSystem(Delassus& W);

  /// False if no form could be factorised.
  bool factorize(const CurvatureBlocks& blocks, bool symmetric);
  /// The residual of the unregularised system after refinement, relative, weighted so that masses and rows of every size count alike.
  double solve(const Vector& r1, const Vector& r2, Vector& dx, Vector& dlambda);
  /// To be called when `solve` was not good enough: another form or a larger δ, factorised. False when there is none left.
  bool strengthen();

  Form form() const { return form_; }
  int factorizations() const { return factorizations_; }

 private:
  bool factorize_once();
  bool factorize_condensed();
  bool factorize_sparse();
  void build_pattern();
  void substitute(const Vector& r1, const Vector& r2, Vector& dx, Vector& dlambda);
  double residual(const Vector& r1, const Vector& r2, const Vector& dx, const Vector& dlambda);
  double shift(int block) const;

  // The augmented or local matrix: lower triangle for the symmetric factors, all of it for LU.
  struct SparseForm {
    SparseMatrix matrix;
    std::vector<double> base;  ///< values without T
    std::vector<int>
        position;  ///< of every entry of every block of T; −1 above the diagonal of a lower triangle
  };

  Delassus& W_;
  int n_, m_;
  Form form_;
  bool block_compliance_ = true;
  bool symmetric_ = true;
  double regularisation_;
  int factorizations_ = 0;
  const CurvatureBlocks* blocks_ = nullptr;
  std::vector<double> compliance_, D_;
  std::unique_ptr<CondensedMatrix> condensed_[2];  ///< symmetric, general
  std::unique_ptr<SparseForm> sparse_[2];
  SpdFactor cholesky_;
  Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower> ldlt_;
  Eigen::SparseLU<SparseMatrix> lu_;
  Vector weight1_, weight2_;  ///< 1/√H_jj, 1/√(tr W_ii/d)
  Vector rho1_, rho2_, part_, work1_, work2_, ddx_, ddl_, full_, solved_;
};

}  // namespace urto
