// Problems and solvers: step problems with contacts, and complementarity problems.
#include "bindings.h"
#include "urto/error.h"
#include "urto/problem/problem_file.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"

namespace urto::python {
namespace {

using Triplets = std::tuple<std::vector<int>, std::vector<int>, std::vector<double>>;

SparseMatrix sparse(const std::string& name, int rows, int columns, const Triplets& entries) {
  const auto& [row, column, value] = entries;
  if (row.size() != value.size() || column.size() != value.size()) {
    throw InputError(name, "rows, columns and values of different lengths", "the same");
  }
  std::vector<Eigen::Triplet<double>> list;
  list.reserve(value.size());
  for (std::size_t k = 0; k < value.size(); ++k) {
    if (row[k] < 0 || row[k] >= rows || column[k] < 0 || column[k] >= columns) {
      throw InputError(
          name, "an entry at (" + std::to_string(row[k]) + ", " + std::to_string(column[k]) + ")",
          "one within " + std::to_string(rows) + " × " + std::to_string(columns));
    }
    list.emplace_back(row[k], column[k], value[k]);
  }
  SparseMatrix out(rows, columns);
  out.setFromTriplets(list.begin(), list.end());
  return out;
}

Vector vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// A set as Python says it: ("free", n), ("nonnegative",), ("cone", μ), ("box", lo, hi).
ConvexSet set_from(const py::tuple& said) {
  const auto kind = said.empty() ? std::string() : said[0].cast<std::string>();
  const auto number = [&](std::size_t k) { return said[k].cast<double>(); };
  if (kind == "free" && said.size() == 2) return ConvexSet::free(said[1].cast<int>());
  if (kind == "nonnegative" && said.size() == 1) return ConvexSet::nonnegative();
  if (kind == "cone" && said.size() == 2) return ConvexSet::cone(number(1));
  if (kind == "cone" && said.size() == 3) return ConvexSet::cone(number(1), said[2].cast<int>());
  if (kind == "box" && said.size() == 3) return ConvexSet::box(number(1), number(2));
  throw InputError("StepProblem: sets", py::repr(said).cast<std::string>(),
                   "(\"free\", rows), (\"nonnegative\",), (\"cone\", mu), (\"cone\", mu, rows) or "
                   "(\"box\", lo, hi)");
}

StepProblem step_problem(int dofs, const Triplets& H, int rows, const Triplets& J,
                         const std::vector<double>& a, const std::vector<double>& b,
                         const std::vector<py::tuple>& sets) {
  SetProduct K;
  for (const py::tuple& set : sets) K.push_back(set_from(set));
  if (static_cast<int>(a.size()) != dofs || static_cast<int>(b.size()) != rows ||
      K.rows() != rows) {
    throw InputError(
        "StepProblem",
        std::to_string(a.size()) + " entries of a, " + std::to_string(b.size()) +
            " of b and sets of " + std::to_string(K.rows()) + " rows",
        std::to_string(dofs) + " (as H), and twice " + std::to_string(rows) + " (as J)");
  }
  StepProblem p =
      global_problem(sparse("StepProblem: H", dofs, dofs, H),
                     sparse("StepProblem: J", rows, dofs, J), vector(a), vector(b), std::move(K));
  validate(p, "StepProblem");
  return p;
}

py::dict to_dict(const Solution& s) {
  py::dict out;
  out["x"] = owned_array(s.x);
  out["lambda"] = owned_array(s.lambda);
  out["u"] = owned_array(s.u);
  out["status"] = std::string(to_string(s.status));
  out["solver"] = s.solver;
  out["message"] = s.message;
  out["iterations"] = s.iterations;
  out["seconds"] = s.timings.total();
  out["certificate"] = python::to_dict(s.certificate);
  return out;
}

}  // namespace

py::dict to_dict(const Certificate& c) {
  py::dict out;
  out["residual"] = c.residual();
  out["momentum"] = c.momentum;
  out["natural_map"] = c.natural_map;
  out["natural_map_scaled"] = c.natural_map_scaled;
  out["penetration"] = c.penetration;
  out["cone_violation"] = c.cone_violation;
  out["dissipation"] = c.dissipation;
  out["complementarity"] = c.complementarity;
  out["objective"] = c.objective;
  out["duality_gap"] = c.duality_gap;
  return out;
}

void bind_problem(py::module_& module) {
  py::class_<StepProblem>(module, "StepProblem", "H x − Jᵀλ = a, u = J x + b, λ ∈ K, −û ∈ N_K(λ).")
      .def(py::init(&step_problem), py::arg("dofs"), py::arg("H"), py::arg("rows"), py::arg("J"),
           py::arg("a"), py::arg("b"), py::arg("sets"))
      .def_property_readonly("dofs", [](const StepProblem& p) { return p.dofs(); })
      .def_property_readonly("rows", [](const StepProblem& p) { return p.rows(); })
      .def_property_readonly("contacts", [](const StepProblem& p) { return p.contacts(); })
      .def(
          "solve",
          [](const StepProblem& p, const std::string& solver, double tolerance, int max_iterations,
             double time_limit, const std::string& friction, int threads,
             const std::optional<std::vector<double>>& warm_start) {
            if (friction != "exact" && friction != "convex")
              throw InputError("solve: friction", "\"" + friction + "\"",
                               "\"exact\" or \"convex\"");
            const SolveOptions options{
                .solver = solver,
                .tolerance = tolerance,
                .max_iterations = max_iterations,
                .time_limit = time_limit,
                .friction = friction == "exact" ? Friction::exact : Friction::convex,
                .threads = threads};
            Vector start;
            if (warm_start) start = vector(*warm_start);
            Solution s;
            {
              const py::gil_scoped_release released;
              s = solve(p, options, warm_start ? &start : nullptr);
            }
            return to_dict(s);
          },
          py::arg("solver") = "auto", py::arg("tolerance") = 1e-8,
          py::arg("max_iterations") = 10000,
          py::arg("time_limit") = std::numeric_limits<double>::infinity(),
          py::arg("friction") = "exact", py::arg("threads") = 1,
          py::arg("warm_start") = std::nullopt,
          "Solves it; the result has x, lambda, u, status and the certificate: measured "
          "residuals.");

  py::class_<ComplementarityProblem>(module, "ComplementarityProblem",
                                     "w = M z + q, lo ≤ z ≤ hi, w the multiplier of the bounds.")
      .def(py::init([](int size, const Triplets& M, const std::vector<double>& q,
                       const std::vector<double>& lo, const std::vector<double>& hi) {
             ComplementarityProblem p{sparse("ComplementarityProblem: M", size, size, M), vector(q),
                                      vector(lo), vector(hi)};
             validate(p, "ComplementarityProblem");
             return p;
           }),
           py::arg("size"), py::arg("M"), py::arg("q"), py::arg("lo"), py::arg("hi"))
      .def_property_readonly("size", &ComplementarityProblem::size)
      .def(
          "solve",
          [](const ComplementarityProblem& p, const std::string& solver, double tolerance,
             int max_iterations, double time_limit) {
            ComplementaritySolution s;
            {
              const py::gil_scoped_release released;
              s = solve(p, {.solver = solver,
                            .tolerance = tolerance,
                            .max_iterations = max_iterations,
                            .time_limit = time_limit});
            }
            py::dict out;
            out["z"] = owned_array(s.z);
            out["residual"] = s.residual;
            out["status"] = std::string(to_string(s.status));
            out["solver"] = s.solver;
            out["message"] = s.message;
            out["iterations"] = s.iterations;
            out["seconds"] = s.seconds;
            return out;
          },
          py::arg("solver") = "auto", py::arg("tolerance") = 1e-8,
          py::arg("max_iterations") = 10000,
          py::arg("time_limit") = std::numeric_limits<double>::infinity());

  module.def(
      "read_problem",
      [](const std::filesystem::path& file) -> Problem { return read_problem(file).problem; },
      py::arg("file"), "Reads a problem file: FCLIB, Siconos' texts or our own.");
  module.def(
      "write_problem",
      [](const std::filesystem::path& file, const Problem& problem) {
        write_problem(file, problem);
      },
      py::arg("file"), py::arg("problem"));
}

}  // namespace urto::python
