// What the files of the Python module share: each binds one folder of the library, and nothing here
// computes. Arrays that Python gets are views of memory that the C++ object keeps in place as long
// as it lives; what is made for the call is handed over without a copy.
#pragma once

#include <memory>
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <string>
#include <vector>

#include "urto/math/types.h"
#include "urto/problem/certificate.h"
#include "urto/scene/scene.h"

namespace urto::python {

namespace py = pybind11;

/// Numbers made for Python, in an array of this shape that owns them.
inline py::array_t<double> owned_array(std::vector<double> values,
                                       const std::vector<py::ssize_t>& shape) {
  auto* kept = new std::vector<double>(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<double>*>(p); });
  return py::array_t<double>(shape, kept->data(), owner);
}
inline py::array_t<double> owned_array(const Vector& values) {
  return owned_array(std::vector<double>(values.data(), values.data() + values.size()),
                     {values.size()});
}

/// A view that cannot be written through; `owner` keeps the memory.
inline py::array_t<double> read_only_view(const double* data, const std::vector<py::ssize_t>& shape,
                                          py::handle owner) {
  py::array_t<double> view(shape, data, owner);
  view.attr("setflags")(py::arg("write") = false);
  return view;
}

/// Python errors that come out of callbacks cannot pass through the engine: the first is kept, and
/// raised when the engine has returned.
class CallbackErrors {
 public:
  void keep(py::error_already_set& error) {
    if (!first_) first_ = std::make_shared<py::error_already_set>(error);
  }
  void raise_kept() {
    if (!first_) return;
    const std::shared_ptr<py::error_already_set> error = std::move(first_);
    first_.reset();
    throw py::error_already_set(*error);
  }

 private:
  std::shared_ptr<py::error_already_set> first_;
};

/// A callable that may be copied and dropped by threads that do not hold the interpreter's lock.
inline std::shared_ptr<py::function> shared_callable(py::function function) {
  return {new py::function(std::move(function)), [](py::function* f) {
            const py::gil_scoped_acquire lock;
            delete f;
          }};
}

py::dict to_dict(const Certificate& certificate);

void bind_scene(py::module_& module);
void bind_simulation(py::module_& module);
void bind_result(py::module_& module);
void bind_problem(py::module_& module);
void bind_analysis(py::module_& module);

/// A scene as Python holds it. Functions and forces that Python gave write their errors here.
struct PyScene {
  Scene scene;
  std::shared_ptr<CallbackErrors> errors = std::make_shared<CallbackErrors>();
};

}  // namespace urto::python
