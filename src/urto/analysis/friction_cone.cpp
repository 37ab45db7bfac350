#include "urto/analysis/friction_cone.h"

#include <algorithm>
#include <cmath>

#include <Eigen/QR>

#include "urto/solver/solver.h"
#include "urto/stepper/impulse_kernel.h"

namespace urto {
namespace {

/// Of the unit masses: contacts that a velocity of 1 m/s cannot take apart give way by it, so that
/// the problem has a solution in either case.
constexpr double give = 1e-6;  ///< [1/kg]
/// Share of the speed asked for that a witness must reach, and of the forces that may be left of
/// those that cancel.
constexpr double enough = 0.5, cancelled = 1e-3;

bool is_contact(const Law& law) {
  return law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
}

bool acts(const Law& law, double gap, double touching) {
  if (is_soft(law) || law.kind == LawKind::box) return false;
  return !is_contact(law) || gap <= touching;
}

/// Bodies of one kilogram, their inertia in proportion: what they weigh changes no cone, and large
/// ratios of masses only make it harder to find.
BlockMatrix unit_masses(const BlockMatrix& mass) {
  BlockMatrix out;
  for (int k = 0; k < mass.blocks(); ++k) {
    const auto block = mass.block(k);
    out.push_back(block / block(0, 0));
  }
  return out;
}

/// min ½vᵀHv where the acting rows, a little compliant, part at 1 m/s: u = J v + Eλ − e_N ∈ K*.
struct Parting {
  StepProblem problem;
  std::vector<int> blocks = {};  ///< of the given rows

  Parting(SystemAccess& system, const State& state, const Interactions& rows, double touching) {
    BlockMatrix mass;
    system.mass(state, mass);
    problem.H = unit_masses(mass);
    problem.J.columns = rows.J.columns;
    for (int i = 0; i < rows.blocks(); ++i) {
      if (!acts(rows.laws[i], rows.g[rows.J.row_start[i]], touching)) continue;
      blocks.push_back(i);
      problem.K.push_back(set_of(rows.laws[i], 1));
      add_block(rows.J, i);
    }
    const int m = problem.J.rows();
    problem.a.setZero(rows.J.columns);
    problem.b.setZero(m);
    for (int k = 0; k < problem.blocks(); ++k) {
      if (is_contact(rows.laws[blocks[k]])) problem.b[problem.J.row_start[k]] = -1;
    }
    set_compliance(problem, std::vector<double>(m, give));
  }

  void add_block(const BlockRows& J, int i) {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    problem.J.add_block(J.height(i));
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const Eigen::Map<const RowMajor> values(J.values.data() + entry.offset, J.height(i),
                                              entry.width);
      problem.J.add_entry(entry.column, values);
    }
  }
};

/// J v at least half the way into every K*, and joints held to the same share.
bool parts_all(const StepProblem& p, const Vector& v) {
  Vector u = Vector::Zero(p.rows());
  multiply(p.J, v, u);
  for (int k = 0; k < p.blocks(); ++k) {
    const int first = p.J.row_start[k], dim = p.J.height(k);
    u[first] += enough * p.b[first];
    std::array<double, max_block> inside{};
    project_dual(p.K.sets[k], u.data() + first, inside.data());
    for (int r = 0; r < dim; ++r) {
      if (std::abs(inside[r] - u[first + r]) > cancelled) return false;
    }
  }
  return true;
}

/// Σλ_N of forces whose sum on every body is next to nothing beside them; 0 if it is not.
double cancelling(const StepProblem& p, const Vector& lambda) {
  Vector sum = Vector::Zero(p.dofs());
  transpose_multiply_add(p.J, lambda, sum);
  const double pressed = -p.b.dot(lambda);
  return sum.norm() <= cancelled * pressed ? pressed : 0;
}

/// Rank of some blocks of J, by the columns that they touch.
int rank_of(const BlockRows& J, const std::vector<int>& blocks) {
  std::vector<int> column(J.columns, -1);
  int rows = 0, columns = 0;
  for (const int i : blocks) {
    rows += J.height(i);
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      for (int c = 0; c < J.entries[e].width; ++c) {
        int& at = column[J.entries[e].column + c];
        if (at < 0) at = columns++;
      }
    }
  }
  if (rows == 0 || columns == 0) return 0;
  Matrix dense = Matrix::Zero(columns, rows);
  int row = 0;
  for (const int i : blocks) {
    for (int r = 0; r < J.height(i); ++r, ++row) {
      for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = J.entries[e];
        for (int c = 0; c < entry.width; ++c)
          dense(column[entry.column + c], row) = J.values[entry.offset + r * entry.width + c];
      }
      const double size = dense.col(row).norm();
      if (size > 0) dense.col(row) /= size;
    }
  }
  Eigen::ColPivHouseholderQR<Matrix> factor(dense);
  factor.setThreshold(1e-9);
  return static_cast<int>(factor.rank());
}

/// What the contacts add to the kernel of Jᵀ.
int freedom_of(const Interactions& rows, const std::vector<int>& acting) {
  std::vector<int> joints;
  int contact_rows = 0;
  for (const int i : acting) {
    if (is_contact(rows.laws[i])) {
      contact_rows += rows.laws[i].dim;
    } else {
      joints.push_back(i);
    }
  }
  return contact_rows - (rank_of(rows.J, acting) - rank_of(rows.J, joints));
}

}  // namespace

FrictionCone friction_cone(const System& mechanics, const State& state, const Interactions& rows,
                           double touching) {
  SystemAccess system(mechanics);
  FrictionCone out;
  const Parting parting(system, state, rows, touching);
  const StepProblem& p = parting.problem;
  for (const int i : parting.blocks) out.touching += is_contact(rows.laws[i]) ? 1 : 0;
  if (out.touching == 0) {
    out.known = out.pointed = true;
    out.freedom = 0;
    return out;
  }
  if (p.rows() <= largest_ranked) out.freedom = freedom_of(rows, parting.blocks);
  if (p.rows() > largest_examined) return out;
  const Solution s = solve(p, {.tolerance = 1e-8,
                               .max_iterations = 2000,
                               .friction = Friction::convex,
                               .islands = true,
                               .settle = false});
  if (!s.x.allFinite() || !s.lambda.allFinite()) return out;
  if (parts_all(p, s.x)) {
    out.known = out.pointed = true;
    return out;
  }
  if (cancelling(p, s.lambda) == 0) return out;
  out.known = true;
  // Forces of 1/give yield at the speed that was asked for; all others stay finite.
  for (int k = 0; k < p.blocks(); ++k) {
    const int i = parting.blocks[k];
    if (is_contact(rows.laws[i]) && give * s.lambda[p.J.row_start[k]] > 1e-2)
      out.jammed.push_back(i);
  }
  return out;
}

}  // namespace urto
