// Scenes: loading, looking, and what only Python can add to them, its own forces.
#include <algorithm>

#include "bindings.h"
#include "urto/error.h"
#include "urto/page/report_page.h"
#include "urto/result/run.h"

namespace urto::python {
namespace {

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

/// f(t, q, v, force): adds generalised forces to `force`, world axes for dynamic bodies' forces,
/// body axes for their torques, six numbers each.
void add_force(PyScene& self, const std::string& name, py::function function) {
  const auto& forces = self.scene.model.forces;
  if (std::any_of(forces.begin(), forces.end(),
                  [&](const Force& f) { return name_of(f) == name; })) {
    throw InputError("add_force", "a force named \"" + name + "\" already", "a name of its own");
  }
  const std::shared_ptr<py::function> callable = shared_callable(std::move(function));
  const std::shared_ptr<CallbackErrors> errors = self.errors;
  self.scene.model.forces.emplace_back(
      UserForce{name, [callable, errors](const Model&, const State& state, Vector& f) {
                  const py::gil_scoped_acquire lock;
                  try {
                    // The arrays live as long as the call: Python that keeps one keeps a copy.
                    const py::array_t<double> q(state.q.size(), state.q.data());
                    const py::array_t<double> v(state.v.size(), state.v.data());
                    py::array_t<double> own(f.size());
                    std::fill_n(own.mutable_data(), f.size(), 0.0);
                    (*callable)(state.t, q, v, own);
                    f += Eigen::Map<const Vector>(own.data(), f.size());
                  } catch (py::error_already_set& error) {
                    errors->keep(error);
                  }
                }});
}

PyScene with_overrides(const PyScene& self, const std::vector<std::string>& overrides) {
  for (const Force& force : self.scene.model.forces) {
    if (std::holds_alternative<UserForce>(force)) {
      throw InputError("Scene.replace", "the Python force \"" + name_of(force) + "\"",
                       "a scene without: add forces after overrides");
    }
  }
  return {parse_scene(self.scene.normalized_json, self.scene.title, overrides)};
}

}  // namespace

void bind_scene(py::module_& module) {
  py::class_<PyScene>(module, "Scene", "A model and the settings of its run, checked.")
      .def_static(
          "load",
          [](const std::filesystem::path& file, const std::vector<std::string>& overrides) {
            return PyScene{load_scene(file, overrides)};
          },
          py::arg("file"), py::arg("overrides") = std::vector<std::string>{},
          "Reads a scene file; overrides are \"path=value\" as for `urto run --set`.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& name,
             const std::vector<std::string>& overrides) {
            return PyScene{parse_scene(text, name, overrides)};
          },
          py::arg("text"), py::arg("name") = "scene",
          py::arg("overrides") = std::vector<std::string>{},
          "Reads a scene from JSON text; `name` stands for the file in messages.")
      .def("replace", &with_overrides, py::arg("overrides"), "The same scene with overrides.")
      .def("add_force", &add_force, py::arg("name"), py::arg("function"),
           "Adds f(t, q, v, force), which adds generalised forces to the array `force`: for every "
           "moving body its force [N, world axes] and its torque [N m, body axes].")
      .def_property_readonly("title", [](const PyScene& s) { return s.scene.title; })
      .def_property_readonly(
          "json", [](const PyScene& s) { return s.scene.normalized_json; },
          "The scene as one plain JSON text, without includes or expressions.")
      .def_property_readonly("parameters", [](const PyScene& s) { return s.scene.parameters; })
      .def_property_readonly(
          "bodies", [](const PyScene& s) { return names_of(s.scene.model.bodies); },
          "Names of all bodies; the first is the world.")
      .def_property_readonly(
          "moving_bodies",
          [](const PyScene& s) {
            std::vector<std::string> names;
            for (const int body : s.scene.model.slot_body)
              names.push_back(s.scene.model.bodies[body].name);
            return names;
          },
          "Names of the dynamic bodies, in the order of q and v.")
      .def_property_readonly("joints",
                             [](const PyScene& s) { return names_of(s.scene.model.joints); })
      .def_property_readonly("motors",
                             [](const PyScene& s) { return names_of(s.scene.model.motors); })
      .def_property_readonly("nq", [](const PyScene& s) { return s.scene.model.nq(); })
      .def_property_readonly("nv", [](const PyScene& s) { return s.scene.model.nv(); })
      .def_property_readonly(
          "step", [](const PyScene& s) { return s.scene.options.step; }, "[s]")
      .def_property_readonly(
          "duration", [](const PyScene& s) { return s.scene.options.duration; }, "[s]")
      .def(
          "view",
          [](const PyScene& s, const std::filesystem::path& file) {
            const FirstMoment moment = first_moment(s.scene);
            write_report(ResultValues(moment.result), file, {.mode = "scene"});
          },
          py::arg("file"), "Writes a page that shows the scene before it runs.")
      .def("__repr__", [](const PyScene& s) {
        const Model& m = s.scene.model;
        return "<urto.Scene \"" + s.scene.title + "\": " + std::to_string(m.slots) +
               " moving bodies, " + std::to_string(m.joints.size()) + " joints>";
      });
}

}  // namespace urto::python
