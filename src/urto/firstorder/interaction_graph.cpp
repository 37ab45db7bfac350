#include "urto/firstorder/interaction_graph.h"

#include <algorithm>
#include <utility>

#include <Eigen/LU>
#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

int size_of(const SubSystem& s) {
  return static_cast<int>(s.A.rows());
}

Matrix mass_of(const SubSystem& s) {
  return s.M.size() > 0 ? s.M : Matrix(Matrix::Identity(size_of(s), size_of(s)));
}

Vector load_of(const SubSystem& s) {
  return s.b.size() > 0 ? s.b : Vector(Vector::Zero(size_of(s)));
}

Matrix own_matrix(const Interaction& i) {
  return i.D.size() > 0 ? i.D : Matrix(Matrix::Zero(i.size(), i.size()));
}

Vector offset_of(const Interaction& i) {
  return i.e.size() > 0 ? i.e : Vector(Vector::Zero(i.size()));
}

const InteractionLink* link_to(const Interaction& i, int system) {
  const auto at = std::ranges::find(i.links, system, &InteractionLink::system);
  return at == i.links.end() ? nullptr : &*at;
}

std::vector<int> row_starts(const InteractionGraph& g) {
  std::vector<int> start{0};
  for (const Interaction& i : g.interactions) start.push_back(start.back() + i.size());
  return start;
}

std::vector<int> state_starts(const InteractionGraph& g) {
  std::vector<int> start{0};
  for (const SubSystem& s : g.systems) start.push_back(start.back() + size_of(s));
  return start;
}

/// Everything behind everything, absent blocks zero.
struct GlobalMatrices {
  Matrix M, A, B, C, D;
  Vector b, e;
};

GlobalMatrices global_matrices(const InteractionGraph& g) {
  const std::vector<int> rows = row_starts(g), states = state_starts(g);
  const int m = rows.back(), n = states.back();
  GlobalMatrices out{Matrix::Zero(n, n), Matrix::Zero(n, n), Matrix::Zero(n, m), Matrix::Zero(m, n),
                     Matrix::Zero(m, m), Vector(n),          Vector(m)};
  for (std::size_t i = 0; i < g.systems.size(); ++i) {
    const int at = states[i], size = size_of(g.systems[i]);
    out.M.block(at, at, size, size) = mass_of(g.systems[i]);
    out.A.block(at, at, size, size) = g.systems[i].A;
    out.b.segment(at, size) = load_of(g.systems[i]);
  }
  for (std::size_t a = 0; a < g.interactions.size(); ++a) {
    const Interaction& inter = g.interactions[a];
    const int at = rows[a], size = inter.size();
    out.D.block(at, at, size, size) = own_matrix(inter);
    out.e.segment(at, size) = offset_of(inter);
    for (const InteractionLink& link : inter.links) {
      const int x = states[static_cast<std::size_t>(link.system)];
      out.C.block(at, x, size, link.C.cols()) = link.C;
      out.B.block(x, at, link.B.rows(), size) = link.B;
    }
  }
  return out;
}

bool is_zero(const Matrix& product, const Matrix& sizes, double zero) {
  return (product.cwiseAbs().array() <= zero * std::max(sizes.maxCoeff(), 1e-300)).all();
}

bool is_regular(const Matrix& A, double zero) {
  Eigen::FullPivLU<Matrix> lu(A);
  lu.setThreshold(zero);
  return A.rows() > 0 && lu.isInvertible();
}

}  // namespace

void validate(const InteractionGraph& g) {
  const auto fits = [](std::string_view what, std::size_t k, const auto& A, Eigen::Index rows,
                       Eigen::Index columns) {
    if (A.rows() == rows && A.cols() == columns) return;
    throw InputError(fmt::format("{} {}", what, k), fmt::format("{} × {}", A.rows(), A.cols()),
                     fmt::format("{} × {}", rows, columns));
  };
  for (std::size_t i = 0; i < g.systems.size(); ++i) {
    const SubSystem& s = g.systems[i];
    fits("A of system", i, s.A, size_of(s), size_of(s));
    if (s.M.size() > 0) fits("M of system", i, s.M, size_of(s), size_of(s));
    if (s.b.size() > 0) fits("b of system", i, s.b, size_of(s), 1);
  }
  for (std::size_t a = 0; a < g.interactions.size(); ++a) {
    const Interaction& inter = g.interactions[a];
    if (inter.D.size() > 0) fits("D of interaction", a, inter.D, inter.size(), inter.size());
    if (inter.e.size() > 0) fits("e of interaction", a, inter.e, inter.size(), 1);
    std::vector<int> seen;
    for (const InteractionLink& link : inter.links) {
      if (link.system < 0 || link.system >= static_cast<int>(g.systems.size()) ||
          std::ranges::find(seen, link.system) != seen.end()) {
        throw InputError(fmt::format("interaction {}", a), fmt::format("system {}", link.system),
                         fmt::format("one of {} systems, once", g.systems.size()));
      }
      seen.push_back(link.system);
      const int n = size_of(g.systems[static_cast<std::size_t>(link.system)]);
      fits("C of interaction", a, link.C, inter.size(), n);
      fits("B of interaction", a, link.B, n, inter.size());
    }
  }
}

std::vector<std::vector<int>> linked_interactions(const InteractionGraph& g) {
  std::vector<std::vector<int>> of_system(g.systems.size()), out(g.interactions.size());
  for (std::size_t a = 0; a < g.interactions.size(); ++a) {
    for (const InteractionLink& link : g.interactions[a].links)
      of_system[static_cast<std::size_t>(link.system)].push_back(static_cast<int>(a));
  }
  for (std::size_t a = 0; a < g.interactions.size(); ++a) {
    for (const InteractionLink& link : g.interactions[a].links) {
      for (const int b : of_system[static_cast<std::size_t>(link.system)]) {
        if (b != static_cast<int>(a)) out[a].push_back(b);
      }
    }
    std::ranges::sort(out[a]);
    out[a].erase(std::unique(out[a].begin(), out[a].end()), out[a].end());
  }
  return out;
}

OneStepProblem assemble_by_blocks(const InteractionGraph& g, double h, const Vector& x) {
  validate(g);
  const std::vector<int> states = state_starts(g);
  OneStepProblem out{.start = row_starts(g)};
  const int m = out.start.back();
  out.M = Matrix::Zero(m, m);
  out.q = Vector::Zero(m);
  std::vector<Eigen::PartialPivLU<Matrix>> W;
  std::vector<Vector> free;
  for (std::size_t i = 0; i < g.systems.size(); ++i) {
    const SubSystem& s = g.systems[i];
    W.emplace_back(mass_of(s) - h * s.theta * s.A);
    const Vector x_k = x.segment(states[i], size_of(s));
    free.emplace_back(
        W.back().solve(mass_of(s) * x_k + h * (1 - s.theta) * s.A * x_k + h * load_of(s)));
  }
  const std::vector<std::vector<int>> linked = linked_interactions(g);
  for (std::size_t a = 0; a < g.interactions.size(); ++a) {
    const Interaction& row = g.interactions[a];
    out.q.segment(out.start[a], row.size()) = offset_of(row);
    out.M.block(out.start[a], out.start[a], row.size(), row.size()) = own_matrix(row);
    std::vector<int> partners = linked[a];
    partners.push_back(static_cast<int>(a));
    for (const InteractionLink& link : row.links) {
      const auto j = static_cast<std::size_t>(link.system);
      out.q.segment(out.start[a], row.size()) += link.C * free[j];
      for (const int b : partners) {
        const Interaction& column = g.interactions[static_cast<std::size_t>(b)];
        const InteractionLink* other = link_to(column, link.system);
        if (other == nullptr) continue;
        out.M.block(out.start[a], out.start[static_cast<std::size_t>(b)], row.size(),
                    column.size()) += h * link.C * W[j].solve(other->B);
      }
    }
  }
  return out;
}

OneStepProblem assemble_globally(const InteractionGraph& g, double h, const Vector& x) {
  validate(g);
  const GlobalMatrices all = global_matrices(g);
  Vector theta(all.M.rows());
  const std::vector<int> states = state_starts(g);
  for (std::size_t i = 0; i < g.systems.size(); ++i)
    theta.segment(states[i], size_of(g.systems[i])).setConstant(g.systems[i].theta);
  const Matrix implicit = theta.asDiagonal() * all.A;
  const Eigen::FullPivLU<Matrix> W(all.M - h * implicit);
  const Vector free = W.solve(all.M * x + h * (all.A - implicit) * x + h * all.b);
  return {all.D + h * all.C * W.solve(all.B), all.C * free + all.e, row_starts(g)};
}

FirstOrderSystem joined_system(const InteractionGraph& g) {
  validate(g);
  const GlobalMatrices all = global_matrices(g);
  FirstOrderSystem out{.states = static_cast<int>(all.A.rows())};
  out.mass = all.M.sparseView();
  out.field = linear_field(SparseMatrix(all.A.sparseView()), all.b);
  out.relation =
      linear_relation({all.C.sparseView(), all.D.sparseView(), all.B.sparseView(), all.e});
  for (const Interaction& i : g.interactions)
    out.laws.insert(out.laws.end(), i.laws.begin(), i.laws.end());
  return out;
}

std::optional<int> relative_degree(const Matrix& A, const Matrix& B, const Matrix& C,
                                   const Matrix& D, double zero) {
  if (D.size() > 0 && is_regular(D, zero)) return 0;
  if (D.size() > 0 && !is_zero(D, D.cwiseAbs(), zero)) return std::nullopt;
  Matrix product = B, sizes = B.cwiseAbs();
  for (int r = 1; r <= static_cast<int>(A.rows()); ++r) {
    const Matrix response = C * product, scale = C.cwiseAbs() * sizes;
    if (!is_zero(response, scale, zero)) {
      if (is_regular(response, zero)) return r;
      return std::nullopt;
    }
    product = A * product;
    sizes = A.cwiseAbs() * sizes;
  }
  return std::nullopt;
}

std::vector<int> row_relative_degrees(const InteractionGraph& g, int interaction, double zero) {
  const Interaction& inter = g.interactions.at(static_cast<std::size_t>(interaction));
  std::vector<int> out;
  int most = 0;
  for (const InteractionLink& link : inter.links)
    most += size_of(g.systems[static_cast<std::size_t>(link.system)]);
  for (int j = 0; j < inter.size(); ++j) {
    int found = inter.D.size() > 0 && inter.D(j, j) != 0 ? 0 : -1;
    std::vector<Vector> product, sizes;
    for (const InteractionLink& link : inter.links) {
      product.emplace_back(link.B.col(j));
      sizes.emplace_back(link.B.col(j).cwiseAbs());
    }
    for (int r = 1; r <= most && found < 0; ++r) {
      double sum = 0, scale = 0;
      for (std::size_t k = 0; k < inter.links.size(); ++k) {
        const SubSystem& s = g.systems[static_cast<std::size_t>(inter.links[k].system)];
        const Matrix inverse = mass_of(s).inverse(), A = s.A * inverse;  // of M ẋ
        const Matrix C = inter.links[k].C * inverse;
        const auto row = C.row(j);
        sum += row * product[k];
        scale += row.cwiseAbs() * sizes[k];
        product[k] = A * product[k];
        sizes[k] = A.cwiseAbs() * sizes[k];
      }
      if (std::abs(sum) > zero * scale && sum != 0) found = r;
    }
    out.push_back(found);
  }
  return out;
}

}  // namespace urto
