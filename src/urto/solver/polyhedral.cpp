#include "urto/solver/polyhedral.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/dense_factor.h"
#include "urto/linalg/sparse_builder.h"
#include "urto/linalg/sparse_factors.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Up to so many unknowns Lemke's pivots are no dearer than Newton's steps, and certain.
constexpr int small_problem = 90;

/// Edges that stand for a circle until they are turned.
constexpr int edges_of_circle = 8;

/// H⁻¹ B; throws if H is singular.
class MassSolver {
 public:
  explicit MassSolver(const StepProblem& p) : problem_(p) {
    if (p.dofs() == 0) return;
    if (const BlockMatrix* blocks = block_diagonal_mass(p)) {
      SparseBuilder builder;
      builder.start(p.dofs(), p.dofs());
      for (int k = 0; k < blocks->blocks(); ++k) {
        const Eigen::PartialPivLU<Matrix> lu{Matrix(blocks->block(k))};
        const Matrix inverse = lu.inverse();
        if (!inverse.allFinite()) refuse();
        for (int c = 0; c < inverse.cols(); ++c) {
          for (int r = 0; r < inverse.rows(); ++r) {
            if (inverse(r, c) != 0)
              builder.add(blocks->start[k] + r, blocks->start[k] + c, inverse(r, c));
          }
        }
      }
      builder.finish(inverse_);
      return;
    }
    const SparseMatrix H = sparse_mass(p);
    factor_.analyzePattern(H);
    if (!factor_.factorize(H)) refuse();
    factored_ = true;
  }

  Vector solve(const Vector& b) const {
    if (problem_.dofs() == 0) return b;
    if (!factored_) return inverse_ * b;
    Vector x;
    factor_.solve(b, x);
    return x;
  }

  /// J H⁻¹ Jᵀ.
  SparseMatrix between(const SparseMatrix& J) const {
    if (problem_.dofs() == 0) return {J.rows(), J.rows()};
    if (!factored_) return J * inverse_ * SparseMatrix(J.transpose());
    Matrix X(J.cols(), J.rows());
    factor_.solve(Matrix(J.transpose()), X);
    return Matrix(J * X).sparseView();
  }

 private:
  [[noreturn]] static void refuse() {
    throw InputError("polyhedral friction", "a singular H", "a regular one");
  }
  const StepProblem& problem_;
  SparseMatrix inverse_;
  SparseLu factor_;
  bool factored_ = false;
};

/// A friction bound: which impulses it adds up, and the normal that it is μ times of.
struct Slip {
  int normal = 0, first = 0, count = 0;  ///< among the impulses y
  double mu = 0, floor = 0;
};

struct Impulses {
  SparseBuilder G;
  std::vector<double> lo = {}, hi = {};
  std::vector<Slip> slips = {};
  int count() const { return static_cast<int>(lo.size()); }
  int add(int row, double low, double high) {
    G.add(row, count(), 1);
    lo.push_back(low);
    hi.push_back(high);
    return count() - 1;
  }
};

void add_edges(const ConeParts::Part& part, int first_row, int normal, double floor, int edges,
               double phase, Impulses& out) {
  Slip slip{.normal = normal, .first = out.count(), .mu = part.bound, .floor = floor};
  if (part.count == 1) {
    for (const double side : {1.0, -1.0}) {
      out.G.add(first_row + part.first, out.count(), side);
      out.lo.push_back(0);
      out.hi.push_back(infinity);
    }
  } else {
    for (int k = 0; k < edges; ++k) {
      const Eigen::Vector2d corner = polygon_corner(edges, k, phase);
      for (int d = 0; d < 2; ++d) out.G.add(first_row + part.first + d, out.count(), corner[d]);
      out.lo.push_back(0);
      out.hi.push_back(infinity);
    }
  }
  slip.count = out.count() - slip.first;
  out.slips.push_back(slip);
}

Impulses generators(const StepProblem& p, const FrictionLaw& law, Vector& shift) {
  Impulses out;
  out.G.start(p.rows(), std::max(1, p.rows() * std::max(2, law.edges)));
  shift.setZero(p.rows());
  for (int i = 0; i < p.blocks(); ++i) {
    const ConvexSet& set = p.K.sets[i];
    const int first = p.K.start[i];
    if (!set.has_friction()) {
      double low = -infinity, high = infinity;
      if (set.kind == SetKind::nonnegative) low = 0;
      if (set.kind == SetKind::box) {
        low = set.lo;
        high = set.hi;
      }
      for (int r = 0; r < set.dim; ++r) out.add(first + r, low, high);
      continue;
    }
    const double floor = law.floor_of(i);
    shift[first] = floor;
    const int normal = out.add(first, 0, infinity);
    for (const ConeParts::Part& part : cone_parts(set)) {
      if (part.bound <= 0) continue;
      if (part.count == 2 && law.edges < 3) {
        throw InputError(fmt::format("polyhedral friction of block {}", i),
                         fmt::format("{} edges", law.edges), "3 or more");
      }
      add_edges(part, first, normal, floor, law.edges, law.phase_of(i), out);
    }
  }
  return out;
}

}  // namespace

PolyhedralForm polyhedral_form(const StepProblem& p, const FrictionLaw& law, bool condensed) {
  PolyhedralForm form;
  Impulses impulses = generators(p, law, form.shift);
  SparseMatrix wide;
  impulses.G.finish(wide);
  const int y = impulses.count(), s = static_cast<int>(impulses.slips.size());
  form.G = wide.leftCols(y);
  form.primal = condensed ? 0 : p.dofs();
  const int n = form.primal, size = n + y + s;
  const SparseMatrix J = to_sparse(p.J), Gt = form.G.transpose();
  ComplementarityProblem& out = form.problem;
  out.q.setZero(size);
  out.lo.setConstant(size, -infinity);
  out.hi.setConstant(size, infinity);
  SparseBuilder M;
  M.start(size, size);
  if (condensed) {
    const MassSolver H(p);
    const SparseMatrix W = H.between(J) + p.E;
    const double yields = p.rows() > 0 ? W.diagonal().cwiseAbs().mean() : 0;
    form.unit = yields > 0 ? 1 / yields : 1;
    M.add(SparseMatrix(form.unit * (Gt * W * form.G)));
    Vector u = p.b + W * form.shift;
    if (p.dofs() > 0) u += J * H.solve(p.a);
    out.q.head(y) = Gt * u;
  } else {
    const SparseMatrix JG = SparseMatrix(J.transpose()) * form.G;
    const SparseMatrix H = sparse_mass(p);
    const double mass = H.diagonal().cwiseAbs().mean();
    form.unit = mass > 0 ? mass : 1;
    M.add(SparseMatrix(H / form.unit));
    M.add(SparseMatrix(-JG), 0, n);
    M.add(SparseMatrix(JG.transpose()), n, 0);
    M.add(SparseMatrix(form.unit * (Gt * p.E * form.G)), n, n);
    out.q.head(n) = (-p.a - J.transpose() * form.shift) / form.unit;
    out.q.segment(n, y) = Gt * (p.b + p.E * form.shift);
  }
  for (int k = 0; k < y; ++k) {
    out.lo[n + k] = impulses.lo[k];
    out.hi[n + k] = impulses.hi[k];
  }
  for (int k = 0; k < s; ++k) {
    const Slip& slip = impulses.slips[k];
    const int row = n + y + k;
    out.lo[row] = 0;
    out.q[row] = slip.mu * slip.floor / form.unit;
    M.add(row, n + slip.normal, slip.mu);
    for (int e = slip.first; e < slip.first + slip.count; ++e) {
      M.add(row, n + e, -1);
      M.add(n + e, row, 1);
    }
  }
  M.finish(out.M);
  return form;
}

Vector impulses_of(const PolyhedralForm& form, const Vector& z) {
  return form.unit * (form.G * z.segment(form.primal, form.G.cols())) + form.shift;
}

// Keeps the best by its certificate, which knows nothing of edges' impulses.
void PolyhedralSolver::consider(const StepProblem& p, const FrictionLaw& law,
                                const PolyhedralForm& form, const ComplementaritySolution& found) {
  iterations_ += found.iterations;
  if (!found.z.allFinite()) return;
  const Vector lambda = impulses_of(form, found.z);
  Vector x(p.dofs());
  if (form.primal > 0) {
    x = found.z.head(form.primal);
  } else if (p.dofs() > 0) {
    Vector a = p.a;
    transpose_multiply_add(p.J, lambda, a);
    x = MassSolver(p).solve(a);
  }
  Certificate certificate;
  certifier_.use_law(law);
  certifier_.certify(p, x, lambda, Friction::exact, certificate);
  const double residual = certificate.residual();
  if (!(residual < residual_)) return;
  residual_ = residual;
  x_ = x;
  lambda_ = lambda;
  method_ = found.solver;
  trouble_ = found.message;
}

bool PolyhedralSolver::solve_polygons(const StepProblem& p, const FrictionLaw& law,
                                      double tolerance) {
  residual_ = infinity;
  trouble_.clear();
  const auto attempt = [&](const PolyhedralForm& form, const char* method) {
    const ComplementarityOptions options{.solver = method, .tolerance = 0.01 * tolerance};
    consider(p, law, form, urto::solve(form.problem, options));
    return residual_ <= tolerance;
  };
  const PolyhedralForm condensed = polyhedral_form(p, law, true);
  const bool small = condensed.problem.size() <= small_problem;
  if (attempt(condensed, small ? "lemke" : "newton")) return true;
  if (attempt(condensed, small ? "newton" : "lemke")) return true;
  return attempt(polyhedral_form(p, law, false), "newton");
}

// Turns each polygon until a corner points against the slip; returns how far the farthest still had
// to go. The slip turns as well, the other way: by the secant of its last two turns.
double PolyhedralSolver::turn(const StepProblem& p, std::vector<double>& phase) {
  Vector u;
  multiply(p.J, x_, u);
  u += p.b + p.E * lambda_;
  const double side = 2 * std::numbers::pi / edges_of_circle;
  double farthest = 0;
  for (int i = 0; i < p.blocks(); ++i) {
    const ConvexSet& set = p.K.sets[i];
    const int first = p.K.start[i];
    if (!set.has_friction() || set.dim < 3 || set.mu <= 0) continue;
    const Eigen::Vector2d slip = u.segment<2>(first + 1), pull = lambda_.segment<2>(first + 1);
    // What sticks inside the polygon sticks inside the circle.
    if (pull.isZero(0) || slip.norm() <= 1e-13 * (1 + u.norm())) continue;
    const double left = std::remainder(std::atan2(-slip.y(), -slip.x()) - phase[i], side);
    const double change = left - last_turn_[i];
    double step = left;
    if (last_step_[i] != 0 && change != 0)
      step = left * std::clamp(-last_step_[i] / change, 0.05, 1.5);
    last_turn_[i] = left;
    last_step_[i] = step;
    phase[i] += step;
    farthest = std::max(farthest, std::abs(left));
  }
  return farthest;
}

void PolyhedralSolver::solve_circles(const StepProblem& p, const FrictionLaw& law,
                                     double tolerance) {
  constexpr int most_turns = 30;
  FrictionLaw polygon = law;
  polygon.edges = edges_of_circle;
  polygon.phase.assign(p.blocks(), 0.0);
  last_turn_.assign(p.blocks(), 0.0);
  last_step_.assign(p.blocks(), 0.0);
  double best = infinity;
  Vector x, lambda;
  for (int k = 0; k < most_turns && !(best <= tolerance); ++k) {
    solve_polygons(p, polygon, tolerance);
    if (!(residual_ < infinity)) break;
    Certificate circle;
    certifier_.use_law(law);
    certifier_.certify(p, x_, lambda_, Friction::exact, circle);
    if (circle.residual() < best) {
      best = circle.residual();
      x = x_;
      lambda = lambda_;
    }
    if (turn(p, polygon.phase) == 0) break;
  }
  residual_ = best;
  if (!(best < infinity)) return;
  x_ = x;
  lambda_ = lambda;
}

void PolyhedralSolver::solve(const StepProblem& p, const FrictionLaw& law,
                             const SolveOptions& options, Vector& x, Vector& lambda,
                             StepSolveReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  report = {};
  iterations_ = 0;
  if (law.edges > 0)
    solve_polygons(p, law, options.tolerance);
  else
    solve_circles(p, law, options.tolerance);
  if (residual_ < infinity) {
    x = x_;
    lambda = lambda_;
  } else {
    x.setConstant(p.dofs(), std::numeric_limits<double>::quiet_NaN());
    lambda.setZero(p.rows());
  }
  const bool done = residual_ <= options.tolerance;
  report.iterations = iterations_;
  report.islands = 1;
  report.largest_island = p.rows();
  report.handed_on = 1;
  report.solver = "polyhedral " + method_;
  report.status = done ? Status::converged : Status::not_certified;
  if (!done) {
    report.message = fmt::format("polyhedral friction: a residual of {:.1e}{}{}", residual_,
                                 trouble_.empty() ? "" : "; ", trouble_);
  }
  report.timings.solve =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace urto
