#include "urto/stepper/consistent_start.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/stepper/projection.h"

namespace urto {
namespace {

// A row that keeps less than this of its length beside the rows before it depends on them. Joint
// rows are built from unit vectors, so that true dependence shows at 1e-14 and a nearly singular
// position (a four-bar folded flat) at the square root of rounding.
constexpr double dependent = 1e-8;

constexpr int largest_ranked = 1500;  // rows of one mechanism: the search is cubic

struct Dependence {
  int row = 0;
  std::vector<int> on;  ///< rows with a noticeable share
};

[[noreturn]] void fail_mass() {
  throw InputError("the mass matrix", "one that is not positive definite",
                   "masses and inertia that are");
}

/// Joined nodes and their row blocks: rank is a matter of each component by itself.
struct Component {
  std::vector<int> rows, blocks, nodes;
  int dofs = 0;
};

int node_at(const Layout& layout, int column) {
  const std::vector<int>& start = layout.v_start;
  return static_cast<int>(std::upper_bound(start.begin(), start.end(), column) - start.begin()) - 1;
}

std::vector<Component> components(const Interactions& rows, const BlockMatrix& M,
                                  const Layout& layout) {
  std::vector<int> root(layout.nodes());
  for (std::size_t k = 0; k < root.size(); ++k) root[k] = static_cast<int>(k);
  const auto find = [&](int k) {
    while (root[k] != k) k = root[k] = root[root[k]];
    return k;
  };
  const auto join = [&](int a, int b) {
    a = find(a);
    b = find(b);
    root[std::max(a, b)] = std::min(a, b);
  };
  const BlockRows& J = rows.J;
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i] + 1; e < J.entry_start[i + 1]; ++e) {
      join(node_at(layout, J.entries[J.entry_start[i]].column),
           node_at(layout, J.entries[e].column));
    }
  }
  for (const BlockMatrix::Coupling& c : M.couplings) join(c.row, c.column);
  std::vector<Component> all(root.size());
  for (int k = 0; k < static_cast<int>(root.size()); ++k) {
    all[find(k)].nodes.push_back(k);
    all[find(k)].dofs += layout.size(k);
  }
  for (int i = 0; i < J.blocks(); ++i) {
    if (J.entry_start[i] == J.entry_start[i + 1]) continue;
    Component& c = all[find(node_at(layout, J.entries[J.entry_start[i]].column))];
    c.blocks.push_back(i);
    for (int r = J.row_start[i]; r < J.row_start[i + 1]; ++r) c.rows.push_back(r);
  }
  std::erase_if(all, [](const Component& c) { return c.rows.empty(); });
  return all;
}

/// M^{-1/2} Jᵀ of a component, a column per row of J; `local` is scratch, one per node of the whole
/// system.
Matrix scaled_rows(const Interactions& rows, const BlockMatrix& M, const Component& c,
                   std::vector<int>& local) {
  const BlockRows& J = rows.J;
  int dofs = 0;
  for (const int node : c.nodes) {
    local[node] = dofs;
    dofs += M.size(node);
  }
  Matrix out = Matrix::Zero(c.dofs, static_cast<int>(c.rows.size()));
  int column = 0;
  for (const int i : c.blocks) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int node = static_cast<int>(
          std::upper_bound(M.start.begin(), M.start.end(), entry.column) - M.start.begin() - 1);
      const int first = local[node] + entry.column - M.start[node];
      for (int r = 0; r < J.height(i); ++r) {
        for (int k = 0; k < entry.width; ++k)
          out(first + k, column + r) += J.values[entry.offset + r * entry.width + k];
      }
    }
    column += J.height(i);
  }
  if (M.is_block_diagonal()) {
    for (const int node : c.nodes) {
      const Checked<Eigen::LLT<Matrix>> llt(M.block(node));
      if (!llt.ok()) fail_mass();
      auto block = out.middleRows(local[node], M.size(node));
      llt->matrixL().solveInPlace(block);
    }
    return out;
  }
  Matrix mass = Matrix::Zero(c.dofs, c.dofs);
  for (const int node : c.nodes)
    mass.block(local[node], local[node], M.size(node), M.size(node)) = M.block(node);
  for (int k = 0; k < static_cast<int>(M.couplings.size()); ++k) {
    const auto [a, b, offset] = M.couplings[k];
    // Couplings join components, so both ends are here or neither is.
    if (!std::binary_search(c.nodes.begin(), c.nodes.end(), a)) continue;
    mass.block(local[a], local[b], M.size(a), M.size(b)) = M.coupling(k);
    mass.block(local[b], local[a], M.size(b), M.size(a)) = M.coupling(k).transpose();
  }
  const Checked<Eigen::LLT<Matrix>> llt(mass);
  if (!llt.ok()) fail_mass();
  llt->matrixL().solveInPlace(out);
  return out;
}

// Gram–Schmidt in the order of the rows, twice for orthogonality to rounding.
std::vector<Dependence> dependent_rows(const Matrix& A, const Component& c, int& rank) {
  std::vector<Dependence> out;
  Matrix Q(A.rows(), std::min(A.rows(), A.cols()));
  std::vector<int> independent;
  for (int j = 0; j < A.cols(); ++j) {
    const int n = static_cast<int>(independent.size());
    Vector v = A.col(j);
    const double length = v.norm();
    for (int pass = 0; pass < 2 && n > 0; ++pass)
      v -= Q.leftCols(n) * (Q.leftCols(n).transpose() * v).eval();
    if (n < Q.cols() && length > 0 && v.norm() > dependent * length) {
      Q.col(n) = v / v.norm();
      independent.push_back(j);
      continue;
    }
    Dependence d{c.rows[j], {}};
    if (length > 0 && n > 0) {
      const Vector share = A(Eigen::all, independent).colPivHouseholderQr().solve(A.col(j));
      for (int k = 0; k < n; ++k) {
        if (std::abs(share[k]) * A.col(independent[k]).norm() > 1e-6 * length)
          d.on.push_back(c.rows[independent[k]]);
      }
    }
    out.push_back(std::move(d));
  }
  rank += static_cast<int>(independent.size());
  return out;
}

int block_of(const Interactions& rows, int row) {
  const auto& start = rows.J.row_start;
  return static_cast<int>(std::upper_bound(start.begin(), start.end(), row) - start.begin()) - 1;
}

RedundantRows& entry_for(StartReport& report, const std::string& name, int of) {
  for (RedundantRows& r : report.redundant) {
    if (r.name == name) return r;
  }
  report.redundant.push_back({.name = name, .rows = 0, .of = of, .on = {}});
  return report.redundant.back();
}

void find_rank(SystemAccess& system, const State& state, const Interactions& rows,
               StartReport& report) {
  BlockMatrix M;
  system.mass(state, M);
  std::vector<int> local(system.layout().nodes());
  for (const Component& c : components(rows, M, system.layout())) {
    if (static_cast<int>(c.rows.size()) > largest_ranked) {
      report.rank += std::min<int>(static_cast<int>(c.rows.size()), c.dofs);
      report.warnings.push_back(
          fmt::format("a mechanism of {} rows is too large for the search for redundant ones: "
                      "taken as independent",
                      c.rows.size()));
      continue;
    }
    for (const Dependence& d : dependent_rows(scaled_rows(rows, M, c, local), c, report.rank)) {
      const int block = block_of(rows, d.row);
      const std::string name = system.describe(rows, block);
      RedundantRows& entry = entry_for(report, name, rows.laws[block].dim);
      ++entry.rows;
      for (const int on : d.on) {
        const std::string other = system.describe(rows, block_of(rows, on));
        if (other != name && std::find(entry.on.begin(), entry.on.end(), other) == entry.on.end())
          entry.on.push_back(other);
      }
    }
  }
}

// The rigid row with the largest |value|; soft rows may be anywhere.
int worst_row(const Interactions& rows, const std::vector<double>& value) {
  int worst = -1;
  for (int r = 0; r < rows.rows(); ++r) {
    if (is_soft(rows.laws[block_of(rows, r)])) continue;
    if (worst < 0 || !(std::abs(value[r]) <= std::abs(value[worst]))) worst = r;
  }
  return worst;
}

/// Errors of rows that cannot all be satisfied.
struct Conflict {
  std::vector<double> left;   ///< after assembling
  std::vector<double> given;  ///< before
  double tolerance = 0;
  const char* what = "";  ///< is off: position, velocity
};

/// The largest |error| of each rigid block.
std::vector<double> errors_of_blocks(const Interactions& rows, const std::vector<double>& error) {
  std::vector<double> out(rows.blocks(), 0.0);
  for (int i = 0; i < rows.blocks(); ++i) {
    if (is_soft(rows.laws[i])) continue;
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
      if (!(std::abs(error[r]) <= out[i])) out[i] = std::abs(error[r]);
    }
  }
  return out;
}

// Assembling shares what is left among all rows that are in the way. The one to blame is that
// which asked for the most: joints in the short form begin without an error.
[[noreturn]] void refuse(const SystemAccess& system, const StartReport& report,
                         const Interactions& rows, const Conflict& conflict) {
  const std::vector<double> left = errors_of_blocks(rows, conflict.left);
  const std::vector<double> given = errors_of_blocks(rows, conflict.given);
  int blamed = block_of(rows, worst_row(rows, conflict.left));
  const double off = left[blamed];
  for (int i = 0; i < rows.blocks(); ++i) {
    if (left[i] > conflict.tolerance && given[i] > given[blamed]) blamed = i;
  }
  const std::string name = system.describe(rows, blamed);
  // Where a row depends on others and cannot hold, the others are the other side of the
  // contradiction.
  for (const RedundantRows& r : report.redundant) {
    std::vector<std::string> others = r.on;
    if (r.name != name) {
      const auto at = std::find(others.begin(), others.end(), name);
      if (at == others.end()) continue;
      *at = r.name;
    }
    if (others.empty()) continue;
    throw InputError(
        fmt::format("{} contradicts {}: {} off by {:.3g}; remove one of them or make them agree",
                    name, fmt::join(others, ", "), conflict.what, off));
  }
  std::vector<std::string> others;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (i != blamed && left[i] > conflict.tolerance) others.push_back(system.describe(rows, i));
  }
  throw InputError(fmt::format(
      "{} cannot be satisfied{}: {} off by {:.3g} after assembling, by {:.3g} as given; change "
      "what it asks for, or move the bodies nearer to where they belong",
      name, others.empty() ? "" : fmt::format(" beside {}", fmt::join(others, ", ")), conflict.what,
      off, given[blamed]));
}

/// The rates of the rows, J v + g_t.
std::vector<double> rates(const Interactions& rows, const Vector& v) {
  Vector rate;
  multiply(rows.J, v, rate);
  std::vector<double> out(rate.data(), rate.data() + rate.size());
  for (int r = 0; r < rows.rows(); ++r) out[r] += rows.g_t[r];
  return out;
}

// Speed motors hold no position, and a start need not have their speed yet. But the speeds must be
// possible: with each other and with the joints.
void check_speeds(SystemAccess& system, JointProjection& projection, const State& state,
                  StartReport& report) {
  Interactions rows;
  system.interactions(state, {.equalities_only = true, .velocity_equalities = true}, rows);
  if (std::none_of(rows.laws.begin(), rows.laws.end(),
                   [](const Law& law) { return law.on_velocity; }))
    return;
  State driven = state;
  projection.project_velocities(driven, true);
  StartReport dependent_too;
  find_rank(system, state, rows, dependent_too);
  Conflict conflict{
      .left = rates(rows, driven.v), .given = rates(rows, state.v), .what = "velocity"};
  double size = 1 + driven.v.lpNorm<Eigen::Infinity>();
  for (const double speed : rows.g_t) size = std::max(size, std::abs(speed));
  conflict.tolerance = 1e-8 * size;
  const int worst = worst_row(rows, conflict.left);
  if (worst >= 0 && !(std::abs(conflict.left[worst]) <= conflict.tolerance))
    refuse(system, dependent_too, rows, conflict);
  for (const RedundantRows& r : dependent_too.redundant) {
    const bool known = std::any_of(report.redundant.begin(), report.redundant.end(),
                                   [&](const RedundantRows& k) { return k.name == r.name; });
    if (known || r.on.empty()) continue;
    report.warnings.push_back(
        fmt::format("{} drives what {} fixes already: they must agree as "
                    "long as the run lasts",
                    r.name, fmt::join(r.on, ", ")));
  }
}

}  // namespace

StartReport consistent_start(const System& mechanics, const SimulationOptions& options,
                             State& state) {
  SystemAccess system(mechanics);
  StartReport report;
  report.dofs = system.nv();
  Interactions rows;
  system.interactions(state, {.equalities_only = true}, rows);
  report.rows = rows.rows();
  const std::vector<double> given = rows.g;
  const int farthest = worst_row(rows, given);
  report.position_error = farthest >= 0 ? std::abs(given[farthest]) : 0;

  JointProjection projection(mechanics);
  const Configuration q = state.q;
  const Vector v = state.v;
  const double tolerance = options.stepper.projection_tolerance;
  if (options.assemble && report.rows > 0) {
    projection.project_positions(state, tolerance, 100);
    system.interactions(state, {.equalities_only = true}, rows);
  }
  find_rank(system, state, rows, report);
  // Rounding of positions far from the origin is not a contradiction.
  const double reach = 1 + state.q.lpNorm<Eigen::Infinity>();
  const double allowed = std::max(10 * tolerance, 1e-10) * reach;
  const int worst = worst_row(rows, rows.g);
  if (options.assemble && worst >= 0 && !(std::abs(rows.g[worst]) <= allowed)) {
    refuse(system, report, rows,
           {.left = rows.g, .given = given, .tolerance = allowed, .what = "position"});
  }
  if (options.assemble && report.rows > 0) {
    const std::vector<double> before = rates(rows, state.v);
    projection.project_velocities(state);
    const std::vector<double> u = rates(rows, state.v);
    const int fastest = worst_row(rows, u);
    const double slowest = 1e-8 * (1 + state.v.lpNorm<Eigen::Infinity>());
    if (fastest >= 0 && !(std::abs(u[fastest]) <= slowest)) {
      refuse(system, report, rows,
             {.left = u, .given = before, .tolerance = slowest, .what = "velocity"});
    }
  }
  check_speeds(system, projection, state, report);
  report.position_change = system.difference(state.q, q).lpNorm<Eigen::Infinity>();
  report.velocity_change = (state.v - v).lpNorm<Eigen::Infinity>();
  return report;
}

}  // namespace urto
