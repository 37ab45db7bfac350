// The extension module urto._urto; python/urto/__init__.py is what users import.
#include "bindings.h"
#include "urto/error.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"
#include "urto/stepper/stepper.h"
#include "urto/version.h"

PYBIND11_MODULE(_urto, m) {
  namespace py = pybind11;
  using namespace urto;

  m.doc() = "Non-smooth multibody dynamics with certified steps: the compiled part.";
  m.attr("__version__") = version;
  py::register_exception<InputError>(m, "InputError", PyExc_ValueError).doc() =
      "A scene, file, problem or option that cannot be used: what, what was found, what was "
      "expected.";

  m.def(
      "solvers",
      [] {
        std::vector<std::string> names;
        for (const SolverInfo& s : solvers()) names.emplace_back(s.name);
        return names;
      },
      "Names of the solvers of step problems.");
  m.def(
      "complementarity_solvers",
      [] {
        std::vector<std::string> names;
        for (const ComplementaritySolverInfo& s : complementarity_solvers())
          names.emplace_back(s.name);
        return names;
      },
      "Names of the solvers of complementarity problems.");
  m.def(
      "steppers",
      [] {
        std::vector<std::string> names;
        for (const StepperInfo& s : steppers()) names.emplace_back(s.name);
        return names;
      },
      "Names of the time steppers.");

  python::bind_scene(m);
  python::bind_simulation(m);
  python::bind_result(m);
  python::bind_problem(m);
  python::bind_analysis(m);
}
