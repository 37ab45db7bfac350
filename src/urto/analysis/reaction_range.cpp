#include "urto/analysis/reaction_range.h"

#include <algorithm>
#include <cmath>

#include <Eigen/SVD>

#include "urto/analysis/cone_range.h"
#include "urto/linalg/checked.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Interval {
  double low = -infinity, high = infinity;
  void meet(double a, double b) {
    low = std::max(low, a);
    high = std::min(high, b);
  }
  /// a + b s ≥ 0
  void meet_half_line(double a, double b) {
    if (b > 0) meet(-a / b, infinity);
    if (b < 0) meet(-infinity, -a / b);
    if (b == 0 && a < 0) meet(infinity, -infinity);
  }
};

// μ(a + b s) ≥ ‖c + d s‖ with a + b s ≥ 0: within the normal's half-line a quadratic that is
// positive between its roots or beyond one of them.
void meet_cone(double mu, double a, double b, const Eigen::Vector2d& c, const Eigen::Vector2d& d,
               double size, Interval& s) {
  s.meet_half_line(a + 1e-12 * size, b);
  const double A = mu * mu * b * b - d.squaredNorm();
  const double B = mu * mu * a * b - c.dot(d);
  const double C = mu * mu * a * a - c.squaredNorm() + 1e-12 * size * size;
  if (std::abs(A) < 1e-14 * (mu * mu * b * b + d.squaredNorm())) {
    s.meet_half_line(C, 2 * B);
    return;
  }
  const double discriminant = B * B - A * C;
  if (A < 0) {
    if (discriminant < 0) return s.meet(infinity, -infinity);
    const double root = std::sqrt(discriminant);
    return s.meet((-B + root) / A, (-B - root) / A);
  }
  // Outside the roots; the side is that of growing normal force.
  if (discriminant <= 0) return;
  const double root = std::sqrt(discriminant);
  if (b > 0) {
    s.meet((-B + root) / A, infinity);
  } else {
    s.meet(-infinity, (-B - root) / A);
  }
}

void meet_law(const Law& law, const double* l, const double* z, double size, Interval& s) {
  switch (law.kind) {
    case LawKind::equality:
      return;
    case LawKind::unilateral:
      return s.meet_half_line(l[0] + 1e-12 * size, z[0]);
    case LawKind::box:
      s.meet_half_line(l[0] - law.lower, z[0]);
      return s.meet_half_line(law.upper - l[0], -z[0]);
    case LawKind::coulomb:
      if (law.dim < 3) return s.meet_half_line(l[0] + 1e-12 * size, z[0]);
      return meet_cone(law.friction, l[0], z[0], {l[1], l[2]}, {z[1], z[2]}, size, s);
  }
}

/// Rows `rows` of λ = first + Z s with the leading one times `scale`: a cone scale λ₀ ≥ ‖rest‖.
AffineCone cone_of(const Vector& first, const Matrix& Z, std::initializer_list<int> rows,
                   double scale) {
  AffineCone out;
  out.offset.resize(static_cast<Eigen::Index>(rows.size()));
  out.slopes.resize(out.offset.size(), Z.cols());
  int k = 0;
  for (const int r : rows) {
    const double factor = k == 0 ? scale : 1;
    out.offset[k] = factor * first[r];
    out.slopes.row(k++) = factor * Z.row(r);
  }
  return out;
}

void add_cones(const Law& law, int row, const Vector& first, const Matrix& Z,
               std::vector<AffineCone>& out) {
  switch (law.kind) {
    case LawKind::equality:
      return;
    case LawKind::unilateral:
      out.push_back(cone_of(first, Z, {row}, 1));
      return;
    case LawKind::box:
      if (std::isfinite(law.lower)) {
        out.push_back(cone_of(first, Z, {row}, 1));
        out.back().offset[0] -= law.lower;
      }
      if (std::isfinite(law.upper)) {
        out.push_back(cone_of(first, Z, {row}, -1));
        out.back().offset[0] += law.upper;
      }
      return;
    case LawKind::coulomb:
      out.push_back(cone_of(first, Z, {row}, 1));
      if (law.dim >= 3) out.push_back(cone_of(first, Z, {row, row + 1, row + 2}, law.friction));
      if (law.dim >= 5) out.push_back(cone_of(first, Z, {row, row + 3, row + 4}, law.rolling));
      if (law.dim == 4 || law.dim == 6)
        out.push_back(cone_of(first, Z, {row, row + law.dim - 1}, law.spinning));
  }
}

// Of every row that Z moves, by two cone programs.
void search_ranges(const std::vector<bool>& acts, const Vector& first, const Matrix& Z, double size,
                   ReactionRange& out) {
  std::vector<AffineCone> cones;
  for (int i = 0; i < out.rows.blocks(); ++i) {
    if (acts[i]) add_cones(out.rows.laws[i], out.rows.J.row_start[i], first, Z, cones);
  }
  const ConeRange search(std::move(cones), static_cast<int>(Z.cols()), size);
  out.exact = true;
  out.possible = search.possible();
  if (!out.possible) return;
  for (int r = 0; r < out.rows.rows(); ++r) {
    const Vector z = Z.row(r).transpose();
    out.low[r] = out.high[r] = first[r];
    if (z.norm() < 1e-10) continue;
    out.high[r] += search.highest(z);
    out.low[r] -= search.highest(-z);
  }
}

/// Rows that act: equalities, and contacts and limits that touch.
Matrix acting_rows(const Interactions& rows, double touching, std::vector<bool>& acts) {
  Matrix J(to_sparse(rows.J));
  acts.assign(rows.blocks(), true);
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const int first = rows.J.row_start[i];
    const bool open =
        law.kind != LawKind::equality && law.kind != LawKind::box && rows.g[first] > touching;
    if (!open) continue;
    J.middleRows(first, law.dim).setZero();
    acts[i] = false;
  }
  return J;
}

}  // namespace

ReactionRange reaction_range(const System& mechanics, const State& state, double touching) {
  SystemAccess system(mechanics);
  ReactionRange out;
  State still = state;
  still.v.setZero(system.nv());
  system.interactions(still, {.envelope = touching}, out.rows);
  Vector f;
  system.force(still, f);
  const int m = out.rows.rows();
  std::vector<bool> acts;
  const Matrix A = acting_rows(out.rows, touching, acts).transpose();
  out.low = out.high = Vector::Zero(m);
  if (m == 0) {
    out.balanced = out.possible = out.exact = f.size() == 0 || f.cwiseAbs().maxCoeff() == 0;
    return out;
  }
  Checked<Eigen::JacobiSVD<Matrix>> svd;
  svd.settings().setThreshold(1e-10);
  if (!svd.compute(A, Eigen::ComputeThinU | Eigen::ComputeFullV)) return out;
  const Vector first = svd.solve(-f);
  const double size = std::max(f.norm(), first.norm());
  out.balanced = (A * first + f).norm() <= 1e-9 * size;
  // Rows that do not act are free in A, but carry nothing.
  Matrix free = svd->matrixV().rightCols(m - svd->rank());
  for (int r = 0; r < m; ++r) {
    if (A.col(r).norm() > 0) continue;
    free.row(r).setZero();
  }
  Vector z = Vector::Zero(m);
  Matrix Z;
  if (free.cols() > 0) {
    const Checked<Eigen::JacobiSVD<Matrix>> kernel(free, Eigen::ComputeThinU);
    for (int k = 0; k < kernel->singularValues().size(); ++k) {
      if (kernel->singularValues()[k] > 1e-8) ++out.freedom;
    }
    if (out.freedom == 1) z = kernel->matrixU().col(0);
    Z = kernel->matrixU().leftCols(out.freedom);
  }
  if (out.balanced && out.freedom > 1 && out.freedom <= largest_freedom) {
    search_ranges(acts, first, Z, size, out);
    return out;
  }
  out.exact = out.balanced && out.freedom <= 1;
  if (!out.exact) return out;
  Interval s;
  if (out.freedom == 0) s = {0, 0};
  for (int i = 0; i < out.rows.blocks(); ++i) {
    const int row = out.rows.J.row_start[i];
    meet_law(out.rows.laws[i], first.data() + row, z.data() + row, size, s);
  }
  out.possible = s.low <= s.high;
  if (!out.possible) return out;
  for (int r = 0; r < m; ++r) {
    const double a = z[r] == 0 ? first[r] : first[r] + s.low * z[r];
    const double b = z[r] == 0 ? first[r] : first[r] + s.high * z[r];
    out.low[r] = std::min(a, b);
    out.high[r] = std::max(a, b);
  }
  return out;
}

}  // namespace urto
