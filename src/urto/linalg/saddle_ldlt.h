// The saddle point of a part of a step problem, factorised by blocks (block_ldlt.h) and corrected
// on the unregularised equations:
//
//     [ H   Jᵀ  ] [  x ]   [  a ]
//     [ J  −E−δ ] [ −λ ] = [ −b ]      over some nodes of H and some row blocks of J
//
// δ > 0 makes the matrix quasi-definite, so that no order of elimination fails and redundant rows
// do no harm (Vanderbei 1995); what δ holds back, the next correction brings. H may be coupled and
// nodes may have any size. Without row blocks it is a factor of H. Factors are kept by pattern:
// a system whose pattern was there before costs no analysis and no allocation.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "urto/linalg/block_ldlt.h"
#include "urto/linalg/block_matrix.h"

namespace urto {

class SaddleLdlt {
 public:
  /// Which part of a problem. The spans are read until the next `set`.
  struct System {
    const BlockMatrix* H = nullptr;  ///< symmetric
    const BlockRows* J = nullptr;    ///< no entry spans two nodes
    std::span<const int> nodes = {};
    std::span<const int> couplings = {};  ///< of H: those between the nodes
    std::span<const int> blocks = {};     ///< row blocks, whose entries stand on the nodes
    std::span<const int> heights = {};    ///< rows of each that take part; empty: all
    std::span<const int> node_of_dof = {};
    std::span<const int> place = {};          ///< of each node of H in `nodes`
    std::span<const double> compliance = {};  ///< diagonal of E, per row of J; empty: none
  };
  /// Right-hand sides, and the row blocks whose λ acts on the nodes: the system's own and those
  /// whose λ is held.
  struct Data {
    const Vector* a = nullptr;
    const Vector* b = nullptr;
    std::span<const int> loads = {};
  };

  void set(const System& system);
  /// δ is relative to a row's own J diag(H)⁻¹ Jᵀ. False if a pivot has the wrong sign or is not a
  /// number.
  [[nodiscard]] bool factorize(double relative_regularisation);
  /// Corrects x and λ in place until the residual of the equations without δ, relative to the data,
  /// is at most `goal`, no longer halves, or `most` corrections are done. Returns the residual.
  double refine(const Data& data, double goal, int most, Vector& x, Vector& lambda);

  /// One solve in place: node n of the system from row(n) on, then the row blocks.
  void solve(double* y) const { factor().ldlt.solve(y); }
  int rows() const { return factor().ldlt.rows(); }
  int row(int n) const { return factor().ldlt.row(n); }

 private:
  struct Factor {
    std::vector<int> pattern = {}, signs = {};
    BlockLdlt ldlt;
  };
  Factor& factor() { return *kept_.front(); }
  const Factor& factor() const { return *kept_.front(); }
  int height(int r) const {
    return system_.heights.empty() ? system_.J->height(system_.blocks[r]) : system_.heights[r];
  }
  void describe();
  void fill_rows(int r, int& edge, double relative_regularisation);
  double momentum_residual(const Data& data, const Vector& x, const Vector& lambda);
  double row_residual(const Data& data, const Vector& x, const Vector& lambda);
  double residual(const Data& data, const Vector& x, const Vector& lambda);

  System system_ = {};
  std::vector<std::unique_ptr<Factor>> kept_ = {};  ///< the last used first
  std::vector<int> sizes_ = {}, pattern_ = {};
  std::vector<std::pair<int, int>> edges_ = {};
  Vector rhs_;
  bool whole_entries_ = true;  ///< each entry of J is a block of the factor, no two the same
  std::vector<double> mass_diagonal_ = {};  ///< of H, in the factor's order
  std::vector<double> free_ = {};  ///< about H⁻¹a: a scale for velocities, in the factor's order
};

}  // namespace urto
