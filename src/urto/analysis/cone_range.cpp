#include "urto/analysis/cone_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "urto/linalg/checked.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double far = 1e7;  ///< times the size: what gets there has no bound

/// α − ‖β‖.
double margin(const Vector& x) {
  return x.size() > 1 ? x[0] - x.tail(x.size() - 1).norm() : x[0];
}

// −log(α² − ‖β‖²) (one row: −log α), and what it adds to the gradient and the Hessian in s.
double add_barrier(const AffineCone& cone, const Vector& s, Vector& gradient, Matrix& hessian) {
  const Vector x = cone.offset + cone.slopes * s;
  if (!(margin(x) > 0)) return infinity;
  if (x.size() == 1) {
    const Vector row = cone.slopes.row(0).transpose() / x[0];
    gradient -= row;
    hessian += row * row.transpose();
    return -std::log(x[0]);
  }
  Vector reflected = -x;
  reflected[0] = x[0];
  const double square = margin(x) * (x[0] + x.tail(x.size() - 1).norm());
  const Vector g = cone.slopes.transpose() * reflected;  // half the gradient of α² − ‖β‖²
  gradient -= 2 / square * g;
  Matrix bent = cone.slopes;
  bent.row(0) *= -1;
  hessian +=
      2 / square * (cone.slopes.transpose() * bent) + 4 / (square * square) * (g * g.transpose());
  return -std::log(square);
}

/// Value of weight · c·s less the barrier of the cones and of |s| < reach; infinity outside.
struct Objective {
  const std::vector<AffineCone>& cones;
  const Vector& c;
  double reach = 0;

  double value(const Vector& s, double weight, Vector& gradient, Matrix& hessian) const {
    const auto n = s.size();
    gradient = -weight * c;
    hessian.setZero(n, n);
    double sum = -weight * c.dot(s);
    for (Eigen::Index k = 0; k < n; ++k) {
      const double up = reach - s[k];
      const double down = reach + s[k];
      if (!(up > 0 && down > 0)) return infinity;
      sum -= std::log(up / reach) + std::log(down / reach);
      gradient[k] += 1 / up - 1 / down;
      hessian(k, k) += 1 / (up * up) + 1 / (down * down);
    }
    for (const AffineCone& cone : cones) sum += add_barrier(cone, s, gradient, hessian);
    return sum;
  }
};

/// From an s inside to near the maximum, the weight rising tenfold; `enough` may stop it early.
template <typename Enough>
void climb(const Objective& objective, double size, const Enough& enough, Vector& s) {
  Vector gradient, trial_gradient;
  Matrix hessian, trial_hessian;
  for (double weight = 1 / size; weight < 1e12 / size; weight *= 10) {
    double now = objective.value(s, weight, gradient, hessian);
    for (int k = 0; k < 50; ++k) {
      const Vector step = -Checked<Eigen::LDLT<Matrix>>(hessian).solve(gradient);
      const double decrement = -gradient.dot(step);
      if (!step.allFinite() || !(decrement > 1e-12)) break;
      double part = decrement > 0.25 ? 1 / (1 + std::sqrt(decrement)) : 1;
      double next = infinity;
      Vector trial = s;
      for (int cut = 0; cut < 40 && !(next < now); ++cut, part *= 0.5) {
        trial = s + part * step;
        next = objective.value(trial, weight, trial_gradient, trial_hessian);
      }
      if (!(next < now)) break;  // rounding
      s = trial;
      now = next;
      std::swap(gradient, trial_gradient);
      std::swap(hessian, trial_hessian);
    }
    if (enough(s)) return;
  }
}

}  // namespace

ConeRange::ConeRange(std::vector<AffineCone> cones, int unknowns, double size)
    : cones_(std::move(cones)), size_(size > 0 ? size : 1) {
  for (AffineCone& cone : cones_) cone.offset[0] += 1e-9 * size_;
  // A point inside: the largest τ with α − τ ≥ ‖β‖ everywhere, from s = 0 and a τ that is small
  // enough.
  std::vector<AffineCone> lifted = cones_;
  double least = size_;
  for (AffineCone& cone : lifted) {
    cone.slopes.conservativeResize(Eigen::NoChange, unknowns + 1);
    cone.slopes.col(unknowns).setZero();
    cone.slopes(0, unknowns) = -1;
    least = std::min(least, margin(cone.offset));
  }
  AffineCone ceiling{.offset = Vector::Constant(1, size_), .slopes = Matrix::Zero(1, unknowns + 1)};
  ceiling.slopes(0, unknowns) = -1;
  lifted.push_back(ceiling);
  Vector s = Vector::Zero(unknowns + 1);
  s[unknowns] = least - size_;
  Vector c = Vector::Zero(unknowns + 1);
  c[unknowns] = 1;
  climb(
      Objective{lifted, c, far * size_}, size_,
      [&](const Vector& x) { return x[unknowns] > 0.05 * size_; }, s);
  possible_ = s[unknowns] > 0;
  inside_ = s.head(unknowns);
}

double ConeRange::highest(const Vector& c) const {
  const double length = c.norm();
  if (length == 0) return 0;
  Vector s = inside_;
  const Vector direction = c / length;
  const double reach = far * size_;
  climb(
      Objective{cones_, direction, reach}, size_,
      [&](const Vector& x) { return direction.dot(x) > 0.1 * reach; }, s);
  const double found = direction.dot(s);
  return found > 0.01 * reach ? infinity : length * found;
}

}  // namespace urto
