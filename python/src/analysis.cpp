// Statics and modes.
#include <numbers>

#include "bindings.h"
#include "urto/analysis/modes.h"
#include "urto/error.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/result/equilibrium.h"

namespace urto::python {
namespace {

SceneEquilibrium at_rest(const PyScene& scene) {
  SceneEquilibrium out = equilibrium_of(scene.scene, scene.scene.title, {});
  scene.errors->raise_kept();
  return out;
}

py::dict statics(const PyScene& scene) {
  const SceneEquilibrium at = at_rest(scene);
  py::dict out;
  out["converged"] = at.report.converged;
  out["message"] = at.report.message;
  out["iterations"] = at.report.iterations;
  out["residual"] = at.report.residual;
  out["move"] = at.report.move;
  out["lowest"] = at.report.lowest;
  out["q"] = owned_array(at.state.q);
  out["remarks"] = at.remarks;
  return out;
}

py::dict modes(const PyScene& scene, int count) {
  const SceneEquilibrium at = at_rest(scene);
  if (!at.report.converged)
    throw InputError(scene.scene.title, at.report.message, "a place to rest");
  const RigidSystem system(at.scene.model);
  const Modes found =
      find_modes(linearise(system, at.state, held_at_rest(system, at.report)), {.count = count});
  std::vector<double> hertz, shapes;
  for (const double squared : found.squared) {
    hertz.push_back(std::copysign(std::sqrt(std::abs(squared)), squared) / (2 * std::numbers::pi));
  }
  for (Eigen::Index k = 0; k < found.shapes.cols(); ++k)
    shapes.insert(shapes.end(), found.shapes.col(k).begin(), found.shapes.col(k).end());
  py::dict out;
  out["hertz"] = owned_array(std::move(hertz), {found.squared.size()});
  out["squared"] = owned_array(found.squared);
  out["shapes"] = owned_array(std::move(shapes), {found.shapes.cols(), found.shapes.rows()});
  return out;
}

}  // namespace

void bind_analysis(py::module_& module) {
  module.def("statics", &statics, py::arg("scene"),
             "Where the scene rests: q there, how good it is, and whether it was found.");
  module.def("modes", &modes, py::arg("scene"), py::arg("count") = 0,
             "Small oscillations about rest: hertz (negative: unstable), squared [1/s²], and "
             "shapes, one row per mode.");
}

}  // namespace urto::python
