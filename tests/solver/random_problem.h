// Random step problems of two bodies with a solution, in any sets.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "urto/problem/step_problem.h"

namespace urto {

class RandomProblem {
 public:
  explicit RandomProblem(unsigned seed) : generator_(seed) {}

  /// Two bodies of six dofs, rows in the sets given; a velocity strictly inside K* exists, so there
  /// is a solution.
  StepProblem make(const std::vector<ConvexSet>& sets, bool redundant) {
    StepProblem p;
    BlockMatrix H;
    for (int k = 0; k < 2; ++k) {
      Matrix A = matrix(6, 6);
      H.push_back(A * A.transpose() + 0.1 * Matrix::Identity(6, 6));
    }
    p.H = H;
    p.a = matrix(12, 1);
    p.J.columns = 12;
    const Vector x = matrix(12, 1);
    std::vector<double> b;
    for (const ConvexSet& set : sets) add(p, set, matrix(set.dim, 12), x, b);
    if (redundant) {
      // Every block once more, in the same rows: rank-deficient, and as feasible as before.
      const BlockRows J = p.J;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        p.J.add_block(sets[i].dim);
        for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
          const auto& entry = J.entries[e];
          p.J.add_entry(
              entry.column,
              Matrix(Eigen::Map<
                     const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                  J.values.data() + entry.offset, sets[i].dim, entry.width)));
        }
        p.K.push_back(sets[i]);
      }
      const std::vector<double> once = b;
      b.insert(b.end(), once.begin(), once.end());
    }
    p.b = Eigen::Map<const Vector>(b.data(), static_cast<Eigen::Index>(b.size()));
    p.E.resize(p.rows(), p.rows());
    return p;
  }
  double number() { return distribution_(generator_); }
  Matrix matrix(int rows, int columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return number(); });
  }

 private:
  void add(StepProblem& p, const ConvexSet& set, const Matrix& J, const Vector& x,
           std::vector<double>& b) {
    p.J.add_block(set.dim);
    p.J.add_entry(0, J.leftCols(6));
    p.J.add_entry(6, J.rightCols(6));
    p.K.push_back(set);
    const Vector u = J * x;
    for (int k = 0; k < set.dim; ++k) {
      const bool axis = k == 0 || set.kind == SetKind::nonnegative;
      // Inside the dual cone: u = (1, 0, 0) and more; anything is for a box.
      const double inside = set.kind == SetKind::free ? 0 : axis ? 0.1 + std::abs(number()) : 0;
      b.push_back(inside - u[k]);
    }
  }
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> distribution_{-1, 1};
};

}  // namespace urto
