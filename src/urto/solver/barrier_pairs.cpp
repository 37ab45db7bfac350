#include "urto/solver/barrier_pairs.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

using lorentz::Block;

// Recipe 001 §2.8.7: a pair closer to the boundary than this, relative to its size, is pushed back.
constexpr double repair_margin = 1e-15;

}  // namespace

void BarrierPairs::set(const Delassus& W, double energy_root) {
  K_ = &W.K();
  pairs_.clear();
  cones_ = false;
  smoothing_ = 0;
  for (int i = 0; i < K_->blocks(); ++i) {
    const double root = std::sqrt(W.mean_diagonal(i));
    add_pairs(K_->sets[i], i, K_->start[i], 1 / (root * energy_root), root / energy_root);
  }
  int total = 0;
  for (Pair& p : pairs_) {
    p.at = total;
    total += p.dim;
  }
  scaling_.assign(pairs_.size(), {});
  for (std::vector<double>* values : {&l_, &y_, &d_.l, &d_.y, &d_.target})
    values->assign(total, 0.0);
}

void BarrierPairs::add_pairs(const ConvexSet& set, int block, int row, double to_y, double to_l) {
  Pair pair{.row = row, .block = block, .to_y = to_y, .to_l = to_l};
  if (set.kind == SetKind::cone) {
    pair.dim = set.dim;
    pair.mu = set.mu;
    pair.cone = cones_ = true;
    pairs_.push_back(pair);
    return;
  }
  for (int k = 0; k < set.dim; ++k) {
    pair.row = row + k;
    if (set.kind == SetKind::nonnegative) pairs_.push_back(pair);
    if (set.kind != SetKind::box) continue;
    for (const double sign : {1.0, -1.0}) {
      pair.sign = sign;
      pair.bound = sign > 0 ? set.lo : set.hi;
      if (std::isfinite(pair.bound)) pairs_.push_back(pair);
    }
  }
}

void BarrierPairs::multipliers(Vector& lambda) const {
  for (const Pair& p : pairs_) {
    // With two bounds the nearer one says it without cancellation; the pairs of a row stand side by
    // side.
    if (p.sign < 0 && p.at > 0) {
      const Pair& lower = *(&p - 1);
      if (&p != pairs_.data() && lower.row == p.row && l_[lower.at] < l_[p.at]) continue;
    }
    for (int k = 0; k < p.dim; ++k)
      lambda[p.row + k] = p.bound + p.sign * p.factor(k) * l_[p.at + k] / p.to_l;
  }
}

void BarrierPairs::place_centred(double mu, const Vector& u, Vector& lambda) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    const bool two = i + 1 < pairs_.size() && pairs_[i + 1].row == p.row;
    if (two) {
      const Pair& upper = pairs_[i + 1];
      const double range = (upper.bound - p.bound) * p.to_l;
      const double inside = std::min(0.25 * range, std::sqrt(mu));
      l_[p.at] = std::clamp((lambda[p.row] - p.bound) * p.to_l, inside, range - inside);
      l_[upper.at] = range - l_[p.at];
      y_[p.at] = mu / l_[p.at];
      y_[upper.at] = mu / l_[upper.at];
      ++i;
      continue;
    }
    Block v{};
    for (int k = 0; k < p.dim; ++k) {
      const double l = p.sign * (lambda[p.row + k] - p.bound) * p.to_l / p.factor(k);
      v[k] = l - p.sign * u[p.row + k] * p.to_y * p.factor(k);
    }
    lorentz::central_pair(v.data(), mu, p.dim, &l_[p.at], &y_[p.at]);
  }
  multipliers(lambda);
}

void BarrierPairs::place_shifted(const Vector& u, Vector& lambda) {
  double shift_l = -1e300;
  double shift_y = -1e300;
  for (const Pair& p : pairs_) {
    for (int k = 0; k < p.dim; ++k) {
      l_[p.at + k] = p.sign * (lambda[p.row + k] - p.bound) * p.to_l / p.factor(k);
      y_[p.at + k] = p.sign * u[p.row + k] * p.to_y * p.factor(k);
    }
    shift_l = std::max(shift_l, -lorentz::margin(&l_[p.at], p.dim));
    shift_y = std::max(shift_y, -lorentz::margin(&y_[p.at], p.dim));
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    if (shift_y >= -1e-8) y_[p.at] += 1 + shift_y;
    const bool two = i + 1 < pairs_.size() && pairs_[i + 1].row == p.row;
    if (!two) {
      if (shift_l >= -1e-8) l_[p.at] += 1 + shift_l;
      continue;
    }
    const Pair& upper =
        pairs_[i + 1];  // the middle is the only place that both bounds leave room at
    if (shift_y >= -1e-8) y_[upper.at] += 1 + shift_y;
    l_[p.at] = l_[upper.at] = 0.5 * (upper.bound - p.bound) * p.to_l;
    ++i;
  }
  multipliers(lambda);
}

void BarrierPairs::place_ones(Vector& lambda) {
  std::fill(l_.begin(), l_.end(), 0.0);
  std::fill(y_.begin(), y_.end(), 0.0);
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    l_[p.at] = y_[p.at] = 1;
    if (i + 1 < pairs_.size() && pairs_[i + 1].row == p.row) {
      const Pair& upper = pairs_[i + 1];
      l_[p.at] = l_[upper.at] = 0.5 * (upper.bound - p.bound) * p.to_l;
      y_[upper.at] = 1;
      ++i;
    }
  }
  multipliers(lambda);
}

void BarrierPairs::place_absolute(const Vector& u, Vector& lambda) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    const bool two = i + 1 < pairs_.size() && pairs_[i + 1].row == p.row;
    for (int k = 0; k < p.dim; ++k) {
      l_[p.at + k] = p.sign * (lambda[p.row + k] - p.bound) * p.to_l / p.factor(k);
      y_[p.at + k] = p.sign * u[p.row + k] * p.to_y * p.factor(k);
    }
    // The componentwise max{1, |·|} of ℝ₊; on a cone the axis also has to exceed the rest.
    const double tail_l = l_[p.at] - lorentz::margin(&l_[p.at], p.dim);
    const double tail_y = y_[p.at] - lorentz::margin(&y_[p.at], p.dim);
    l_[p.at] = std::max(1 + tail_l, std::abs(l_[p.at]));
    y_[p.at] = std::max(1 + tail_y, std::abs(y_[p.at]));
    if (p.dim > 1 && l_[p.at] < 1 + tail_l) l_[p.at] = 1 + tail_l;
    if (two) {
      const Pair& upper = pairs_[i + 1];
      l_[p.at] = l_[upper.at] = 0.5 * (upper.bound - p.bound) * p.to_l;
      y_[upper.at] = 1;
      ++i;
    }
  }
  multipliers(lambda);
}

double BarrierPairs::mu() const {
  double sum = 0;
  for (std::size_t k = 0; k < l_.size(); ++k) sum += l_[k] * y_[k];
  return pairs_.empty() ? 0 : sum / degree();
}

void BarrierPairs::velocity(Vector& u) const {
  u.setZero(K_->rows());
  for (const Pair& p : pairs_) {
    for (int k = 0; k < p.dim; ++k) u[p.row + k] += p.sign * y_[p.at + k] / (p.to_y * p.factor(k));
  }
}

void BarrierPairs::add_de_saxce(Vector& u) const {
  for (const Pair& p : pairs_) {
    if (!p.cone) continue;
    const double size = y_[p.at] - lorentz::margin(&y_[p.at], p.dim);
    if (size > 0) u[p.row] += size * size / std::hypot(size, smoothing_) / p.to_y;
  }
}

// The derivative of De Saxcé's term, smoothed: in the direction of sliding.
void BarrierPairs::slope(const Pair& p, double* t) const {
  const double size = y_[p.at] - lorentz::margin(&y_[p.at], p.dim);
  const double root = std::hypot(size, smoothing_);
  const double factor =
      size > 0 ? (size * size + 2 * smoothing_ * smoothing_) / (root * root * root) : 0;
  for (int k = 1; k < p.dim; ++k) t[k] = factor * y_[p.at + k];
}

void BarrierPairs::scale(bool exact, CurvatureBlocks& blocks) {
  std::fill(blocks.T.begin(), blocks.T.end(), 0.0);
  std::fill(blocks.inverse.begin(), blocks.inverse.end(), 0.0);
  std::fill(blocks.left.begin(), blocks.left.end(), 0.0);
  std::fill(blocks.right.begin(), blocks.right.end(), 0.0);
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    lorentz::Scaling& s = scaling_[i];
    s.set(&y_[p.at], &l_[p.at], p.dim);
    const int d = K_->sets[p.block].dim;
    const int first = p.row - K_->start[p.block];
    const double unit = p.to_l / p.to_y;
    double* T = blocks.T.data() + blocks.start[p.block];
    double* inverse = blocks.inverse.data() + blocks.start[p.block];
    double* left = blocks.left.data() + blocks.start[p.block];
    double* right = blocks.right.data() + blocks.start[p.block];
    if (!p.cone) {
      const int at = first * (d + 1);
      T[at] += unit * s.square(0, 0);
      inverse[at] = 1 / T[at];
      left[at] = 1;
      right[at] = T[at];
      continue;
    }
    const double b4 = std::pow(s.beta, 4);
    for (int r = 0; r < d; ++r) {
      for (int c = 0; c < d; ++c) {
        const double flip = (r == 0) == (c == 0) ? 1.0 : -1.0;  // W⁻² = β⁻⁴ J W² J
        T[c * d + r] = unit * s.square(r, c) / (p.factor(r) * p.factor(c));
        left[c * d + r] = s.entry(r, c) / (p.factor(r) * p.to_y);
        right[c * d + r] = s.entry(r, c) * p.to_l / p.factor(c);
        inverse[c * d + r] = flip * s.square(r, c) / (b4 * unit) * p.factor(r) * p.factor(c);
      }
    }
    if (!exact) continue;
    Block t{};
    slope(p, t.data());
    for (int c = 0; c < d; ++c) {  // G T and T⁻¹G⁻¹, G = (1 −μt̂ᵀ; 0 I)
      for (int k = 1; k < d; ++k) {
        T[c * d] -= p.mu * t[k] * T[c * d + k];
        left[c * d] -= p.mu * t[k] * left[c * d + k];
      }
    }
    for (int k = 1; k < d; ++k) {
      for (int r = 0; r < d; ++r) inverse[k * d + r] += inverse[r] * p.mu * t[k];
    }
  }
}

void BarrierPairs::predictor_target() {
  d_.target = y_;
}

void BarrierPairs::corrector_target(double sigma_mu, bool second_order) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    const lorentz::Scaling& s = scaling_[i];
    Block z{}, a{}, b{}, rest{}, out{};
    s.apply(&l_[p.at], z.data());
    if (second_order) {
      s.apply_inverse(&d_.y[p.at], a.data());
      s.apply(&d_.l[p.at], b.data());
      lorentz::product(a.data(), b.data(), p.dim, rest.data());
    }
    for (int k = 0; k < p.dim; ++k) rest[k] = (k == 0 ? sigma_mu : 0.0) - rest[k];
    lorentz::divide(z.data(), rest.data(), p.dim, a.data());
    s.apply(a.data(), out.data());
    for (int k = 0; k < p.dim; ++k) d_.target[p.at + k] = y_[p.at + k] - out[k];
  }
}

// On a cone the products are the eigenvalues of Wλ̂ ∘ W⁻¹ŷ in the scaled variables; on ℝ₊ that is
// λ̂ŷ.
bool BarrierPairs::centrality_target(const Step& trial, double target_mu) {
  bool changed = false;
  const auto correction = [&](double product) {
    const double wanted = std::clamp(product, 0.1 * target_mu, 10 * target_mu);
    const double c = std::max(wanted - product, -10 * target_mu);
    changed = changed || c != 0;
    return c;
  };
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    if (!p.cone) {
      const int k = p.at;
      const double product = (l_[k] + trial.dual * d_.l[k]) * (y_[k] + trial.primal * d_.y[k]);
      d_.target[k] -= correction(product) / l_[k];
      continue;
    }
    const lorentz::Scaling& s = scaling_[i];
    Block l{}, y{}, a{}, b{}, v{}, z{};
    for (int k = 0; k < p.dim; ++k) {
      l[k] = l_[p.at + k] + trial.dual * d_.l[p.at + k];
      y[k] = y_[p.at + k] + trial.primal * d_.y[p.at + k];
    }
    s.apply(l.data(), a.data());
    s.apply_inverse(y.data(), b.data());
    lorentz::product(a.data(), b.data(), p.dim, v.data());
    const double tail = v[0] - lorentz::margin(v.data(), p.dim);
    const double high = correction(v[0] + tail);
    const double low = correction(v[0] - tail);
    if (high == 0 && low == 0) continue;
    v[0] = 0.5 * (high + low);
    for (int k = 1; k < p.dim; ++k) v[k] *= tail > 0 ? 0.5 * (high - low) / tail : 0;
    s.apply(&l_[p.at], z.data());
    lorentz::divide(z.data(), v.data(), p.dim, a.data());
    s.apply(a.data(), b.data());
    for (int k = 0; k < p.dim; ++k) d_.target[p.at + k] -= b[k];
  }
  return changed;
}

void BarrierPairs::add_target(bool exact, Vector& r2) const {
  for (const Pair& p : pairs_) {
    Block t{};
    if (exact && p.cone) slope(p, t.data());
    for (int k = 0; k < p.dim; ++k) {
      const double value = p.sign * d_.target[p.at + k] / (p.to_y * p.factor(k));
      r2[p.row + k] -= value;
      if (k > 0) r2[p.row] += p.mu * t[k] * value;
    }
  }
}

void BarrierPairs::set_direction(const Direction& a, const Direction& b, double t) {
  const auto blend = [t](const std::vector<double>& from, const std::vector<double>& to,
                         std::vector<double>& out) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = from[k] + t * (to[k] - from[k]);
  };
  blend(a.l, b.l, d_.l);
  blend(a.y, b.y, d_.y);
  blend(a.target, b.target, d_.target);
}

void BarrierPairs::direction(const Vector& dlambda) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& p = pairs_[i];
    for (int k = 0; k < p.dim; ++k)
      d_.l[p.at + k] = p.sign * dlambda[p.row + k] * p.to_l / p.factor(k);
    Block scaled{};
    scaling_[i].apply(&d_.l[p.at], scaled.data());
    scaling_[i].apply(scaled.data(), &d_.y[p.at]);
    for (int k = 0; k < p.dim; ++k) d_.y[p.at + k] = -d_.y[p.at + k] - d_.target[p.at + k];
  }
}

BarrierPairs::Step BarrierPairs::max_step(InteriorPointOptions::StepLength method,
                                          double most) const {
  Step step{most, most};
  const auto length = method == InteriorPointOptions::StepLength::formula ? lorentz::max_step
                      : method == InteriorPointOptions::StepLength::roots
                          ? lorentz::max_step_by_roots
                          : lorentz::max_step_by_scaling;
  for (const Pair& p : pairs_) {
    step.primal = std::min(step.primal, length(&y_[p.at], &d_.y[p.at], p.dim));
    step.dual = std::min(step.dual, length(&l_[p.at], &d_.l[p.at], p.dim));
  }
  return step;
}

double BarrierPairs::mu_after(const Step& step) const {
  double sum = 0;
  for (std::size_t k = 0; k < l_.size(); ++k)
    sum += (l_[k] + step.dual * d_.l[k]) * (y_[k] + step.primal * d_.y[k]);
  return pairs_.empty() ? 0 : sum / degree();
}

void BarrierPairs::advance(const Step& step) {
  for (std::size_t k = 0; k < l_.size(); ++k) {
    l_[k] += step.dual * d_.l[k];
    y_[k] += step.primal * d_.y[k];
  }
}

int BarrierPairs::repair() {
  int repaired = 0;
  for (const Pair& p : pairs_) {
    for (double* v : {&l_[p.at], &y_[p.at]}) {
      const double least =
          std::max(repair_margin * std::abs(v[0]), std::numeric_limits<double>::min() * 1e10);
      const double inside = lorentz::margin(v, p.dim);
      if (inside >= least) continue;
      v[0] += 2 * least - inside;
      ++repaired;
    }
  }
  return repaired;
}

}  // namespace urto
