// Eigen's sparse LU with its analysis kept and its working arrays too: Eigen's own `factorize`
// makes a copy of the matrix and a dozen arrays each time, and its `solve` one more. The same
// operations in the same order, hence the same bits. For the sources of the factors only, as
// simplicial_ldlt.h. What follows Eigen is from version 3.4, Eigen/src/SparseLU (MPL 2.0; there
// after SuperLU: Demmel, Eisenstat, Gilbert, Li and Liu, SIAM J. Matrix Anal. Appl. 20:3, 1999).
#pragma once

#include <algorithm>
#include <utility>

#include <Eigen/SparseLU>

#include "urto/linalg/sparse_factors.h"

namespace urto {

class SupernodalLu : private Eigen::SparseLU<SparseMatrix, Eigen::COLAMDOrdering<int>> {
 public:
  /// Of a compressed matrix.
  void analyze(const SparseRef& A) {
    const SparseMatrix copy = A;
    analyzePattern(copy);
    lay_out(copy);
  }
  /// Of a matrix with the pattern that was analysed. False for a pivot of zero: `solve` would then
  /// read what was never written.
  [[nodiscard]] bool factorize(const SparseRef& A);
  void solve(const Vector& rhs, Vector& x) const;

 private:
  using Index = Eigen::Index;
  using Indices = IndexVector;
  using Column = Eigen::VectorBlock<Vector>;
  using IndexColumn = Eigen::VectorBlock<Indices>;
  using ConstBlock = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
  using Part = Eigen::Map<Vector, 0, Eigen::OuterStride<>>;

  void lay_out(const SparseMatrix& A);
  void reserve();
  void start();
  Index panel_at(Index column) const;
  bool eliminate(Index column, Index panel, Index segments);
  void solve_lower(Vector& x) const;
  void solve_upper(Vector& x) const;

  Indices segrep_, parent_, xplore_, repfnz_, panel_lsub_, xprune_, marker_, relax_end_;
  Vector dense_, tempv_;
  PermutationType inverse_columns_;
  mutable Vector work_, permuted_;
};

// m_mat: the columns of A in their new order, by pointers to where they start in the old one.
inline void SupernodalLu::lay_out(const SparseMatrix& A) {
  m_mat = A;
  m_mat.uncompress();  // makes the counts per column
  inverse_columns_ = m_perm_c.inverse();
  for (Index c = 0; c < A.cols(); ++c) {
    const int at = m_perm_c.indices()[c];
    m_mat.outerIndexPtr()[at] = A.outerIndexPtr()[c];
    m_mat.innerNonZeroPtr()[at] = A.outerIndexPtr()[c + 1] - A.outerIndexPtr()[c];
  }
}

// Room for the factors: Eigen's first estimate, and what an earlier factorisation needed beyond it.
inline void SupernodalLu::reserve() {
  const Index n = m_mat.cols(), entries = m_mat.nonZeros(), fill = m_perfv.fillfactor;
  const Index estimate = std::min(fill * (entries + 1) / n, n) * n;
  for (Indices* starts : {&m_glu.xsup, &m_glu.supno, &m_glu.xlsub, &m_glu.xlusup, &m_glu.xusub})
    starts->resize(n + 1);
  m_glu.nzlumax = std::max(estimate, m_glu.lusup.size());
  m_glu.nzumax = std::max(estimate, m_glu.ucol.size());
  m_glu.nzlmax = std::max(fill * (entries + 1) / 4, m_glu.lsub.size());
  m_glu.lusup.resize(m_glu.nzlumax);
  m_glu.ucol.resize(m_glu.nzumax);
  m_glu.usub.resize(m_glu.nzumax);
  m_glu.lsub.resize(m_glu.nzlmax);
  m_glu.num_expansions = 1;
}

inline void SupernodalLu::start() {
  const Index n = m_mat.cols();
  const Index panels = m_perfv.panel_size * n;
  reserve();
  Index rows = n;
  Index whole = n;
  segrep_.setZero(n);
  parent_.setZero(n);
  xplore_.setZero(n);
  xprune_.setZero(n);
  repfnz_.setConstant(panels, -1);
  panel_lsub_.setConstant(panels, -1);
  marker_.setZero(n * Eigen::internal::LUNoMarker);
  dense_.setZero(panels);
  tempv_.setZero(Eigen::internal::LUnumTempV(rows, m_perfv.panel_size, m_perfv.maxsuper, whole));
  relax_end_.resize(n);
  relax_snode(n, m_etree, m_perfv.relax, marker_, relax_end_);
  m_perm_r.resize(n);
  m_perm_r.indices().setConstant(-1);
  marker_.setConstant(-1);
  m_glu.supno(0) = Eigen::internal::emptyIdxLU;
  m_glu.xsup.setConstant(0);
  m_glu.xsup(0) = m_glu.xlsub(0) = m_glu.xusub(0) = m_glu.xlusup(0) = 0;
}

// Columns from this one on, up to the next relaxed supernode.
inline Eigen::Index SupernodalLu::panel_at(Index column) const {
  const Index n = m_mat.cols();
  for (Index k = column + 1; k < std::min(column + m_perfv.panel_size, n); ++k) {
    if (relax_end_(k) != Eigen::internal::emptyIdxLU) return k - column;
  }
  return std::min(m_perfv.panel_size, n - column);
}

// Sparse LU within the panel that begins at `first`, and below its diagonal. False for a pivot of
// zero.
inline bool SupernodalLu::eliminate(Index first, Index column, Index segments) {
  const Index n = m_mat.rows();
  const Index at = (column - first) * n;
  Index all = segments;
  IndexColumn panel_lsub(panel_lsub_, at, n), repfnz(repfnz_, at, n);
  if (column_dfs(n, column, m_perm_r.indices(), m_perfv.maxsuper, all, panel_lsub, segrep_, repfnz,
                 xprune_, marker_, parent_, xplore_, m_glu) != 0)
    return false;
  Column dense(dense_, at, n);
  IndexColumn segrep(segrep_, segments, n - segments);
  if (column_bmod(column, all - segments, dense, tempv_, segrep, repfnz, first, m_glu) != 0)
    return false;
  if (copy_to_ucol(column, all, segrep_, repfnz, m_perm_r.indices(), dense, m_glu) != 0)
    return false;
  Index pivot = 0;
  if (pivotL(column, m_diagpivotthresh, m_perm_r.indices(), inverse_columns_.indices(), pivot,
             m_glu) != 0)
    return false;
  pruneL(column, m_perm_r.indices(), pivot, all, segrep_, repfnz, xprune_, m_glu);
  for (Index k = 0; k < all; ++k) repfnz(segrep_(k)) = Eigen::internal::emptyIdxLU;
  return true;
}

inline bool SupernodalLu::factorize(const SparseRef& A) {
  std::copy_n(A.valuePtr(), A.nonZeros(), m_mat.valuePtr());
  m_isInitialized = true;
  m_info = Eigen::NumericalIssue;
  m_factorizationIsOk = false;
  start();
  const Index n = m_mat.cols();
  for (Index first = 0; first < n;) {
    const Index panel = panel_at(first);
    Index segments = 0;
    panel_dfs(n, panel, first, m_mat, m_perm_r.indices(), segments, dense_, panel_lsub_, segrep_,
              repfnz_, xprune_, marker_, parent_, xplore_, m_glu);
    panel_bmod(n, panel, first, segments, dense_, tempv_, segrep_, repfnz_, m_glu);
    for (Index column = first; column < first + panel; ++column) {
      if (!eliminate(first, column, segments)) return false;
    }
    first += panel;
  }
  countnz(n, m_nnzL, m_nnzU, m_glu);
  fixupL(n, m_perm_r.indices(), m_glu);
  m_Lstore.setInfos(n, n, m_glu.lusup, m_glu.xlusup, m_glu.lsub, m_glu.xlsub, m_glu.supno,
                    m_glu.xsup);
  using Upper = decltype(m_Ustore);
  m_Ustore.~Upper();
  new (&m_Ustore) Upper(n, n, m_nnzU, m_glu.xusub.data(), m_glu.usub.data(), m_glu.ucol.data());
  m_info = Eigen::Success;
  m_factorizationIsOk = true;
  return true;
}

inline void SupernodalLu::solve_lower(Vector& x) const {
  const SCMatrix& L = m_Lstore;
  work_.setZero(x.size());
  for (Index k = 0; k <= L.nsuper(); ++k) {
    const Index first = L.supToCol()[k], start = L.rowIndexPtr()[first];
    const Index rows = L.rowIndexPtr()[first + 1] - start, columns = L.supToCol()[k + 1] - first;
    const Index below = rows - columns;
    if (columns == 1) {
      SCMatrix::InnerIterator it(L, first);
      for (++it; it; ++it) x[it.row()] -= x[first] * it.value();
      continue;
    }
    const Index at = L.colIndexPtr()[first];
    const Eigen::OuterStride<> stride(L.colIndexPtr()[first + 1] - at);
    const ConstBlock diagonal(L.valuePtr() + at, columns, columns, stride);
    Part part(&x[first], columns, Eigen::OuterStride<>(x.size()));
    part = diagonal.triangularView<Eigen::UnitLower>().solve(part);
    const ConstBlock rest(L.valuePtr() + at + columns, below, columns, stride);
    work_.topRows(below).noalias() = rest * part;
    for (Index i = 0; i < below; ++i) {
      x[L.rowIndex()[start + columns + i]] -= work_[i];
      work_[i] = 0;
    }
  }
}

inline void SupernodalLu::solve_upper(Vector& x) const {
  const SCMatrix& L = m_Lstore;  // with the diagonal blocks of U
  for (Index k = L.nsuper(); k >= 0; --k) {
    const Index first = L.supToCol()[k], columns = L.supToCol()[k + 1] - first;
    const Index at = L.colIndexPtr()[first];
    if (columns == 1) {
      x[first] /= L.valuePtr()[at];
    } else {
      const ConstBlock diagonal(L.valuePtr() + at, columns, columns,
                                Eigen::OuterStride<>(L.colIndexPtr()[first + 1] - at));
      Part part(&x[first], columns, Eigen::OuterStride<>(x.size()));
      part = diagonal.triangularView<Eigen::Upper>().solve(part);
    }
    for (Index c = first; c < first + columns; ++c) {
      for (decltype(m_Ustore)::InnerIterator it(m_Ustore, c); it; ++it)
        x[it.index()] -= x[c] * it.value();
    }
  }
}

inline void SupernodalLu::solve(const Vector& rhs, Vector& x) const {
  permuted_ = m_perm_r * rhs;
  solve_lower(permuted_);
  solve_upper(permuted_);
  x = m_perm_c.inverse() * permuted_;
}

}  // namespace urto
