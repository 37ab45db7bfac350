// Stepping from Python: one Simulation with its own copy of the model, so that motors can be told
// from step to step what to do, and roll-outs of many on threads.
#include "urto/stepper/simulation.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "bindings.h"
#include "urto/error.h"
#include "urto/result/description.h"
#include "urto/result/recorder.h"

namespace urto::python {
namespace {

/// What a controlled motor is told: constant within a step.
using HeldValue = std::shared_ptr<double>;

/// A run with the memory that Python's views look at.
class PySimulation {
 public:
  PySimulation(const PyScene& scene, const std::vector<std::string>& controls)
      : model_(scene.scene.model),
        options_(scene.scene.options),
        errors_(scene.errors),
        control_names_(controls) {
    for (const std::string& name : controls) held_.push_back(control(name));
    run_.emplace(model_, options_);
    q_.resize(model_.nq());
    v_.resize(model_.nv());
    run_->start();
    errors_->raise_kept();
    look();
  }

  bool step(int count) {
    bool goes_on = true;
    {
      const py::gil_scoped_release released;
      for (int k = 0; k < count && goes_on; ++k) goes_on = run_->advance();
    }
    look();
    errors_->raise_kept();
    return goes_on;
  }

  void run_until(double time) {
    bool goes_on = true;
    while (goes_on && run_->state().t < time) {
      {
        const py::gil_scoped_release released;
        for (int k = 0; k < 100 && goes_on && run_->state().t < time; ++k)
          goes_on = run_->advance_to(time);
      }
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    look();
    errors_->raise_kept();
  }

  void restore(const Checkpoint& point) {
    if (point.state.q.size() != q_.size() || point.state.v.size() != v_.size()) {
      throw InputError("Simulation.restore", "a checkpoint of another model",
                       "one that this simulation saved");
    }
    run_.emplace(model_, options_);
    run_->resume(point);
    look();
  }

  void set_control(const std::string& name, double value) {
    const auto found = std::find(control_names_.begin(), control_names_.end(), name);
    if (found == control_names_.end()) {
      throw InputError("Simulation.control", "\"" + name + "\"",
                       "a motor named in Simulation(scene, controls=[…])");
    }
    set_control(static_cast<std::size_t>(found - control_names_.begin()), value);
  }
  void set_control(std::size_t index, double value) {
    if (!std::isfinite(value)) {
      throw InputError("control of " + control_names_[index], std::to_string(value),
                       "a finite number");
    }
    *held_[index] = value;
  }

  py::dict frame() {
    const Frame f = record_frame(*run_);
    py::dict out;
    const std::span<const Channel> channels = model_channels();
    for (std::size_t c = 0; c < channels.size() && c < f.channels.size(); ++c) {
      const auto width = static_cast<py::ssize_t>(channels[c].width);
      const auto items = static_cast<py::ssize_t>(f.channels[c].size()) / width;
      out[channels[c].name.c_str()] =
          owned_array(f.channels[c], width == 1 ? std::vector<py::ssize_t>{items}
                                                : std::vector<py::ssize_t>{items, width});
    }
    return out;
  }

  py::list contacts() {
    py::list out;
    for (const RecordedContact& c : record_frame(*run_).contacts) {
      py::dict one;
      one["bodies"] = py::make_tuple(model_.bodies[c.body_a].name, model_.bodies[c.body_b].name);
      one["point"] = owned_array(c.point);
      one["normal"] = owned_array(c.normal);
      one["force"] = owned_array(c.force);
      one["gap"] = c.gap;
      out.append(one);
    }
    return out;
  }

  const Model& model() const { return model_; }
  Simulation& run() { return *run_; }
  const Vector& q() const { return q_; }
  const Vector& v() const { return v_; }
  const std::vector<std::string>& controls() const { return control_names_; }

 private:
  HeldValue control(const std::string& name) {
    for (Motor& motor : model_.motors) {
      if (motor.name != name) continue;
      const FunctionValue at_start = evaluate(motor.value, 0);
      auto value = std::make_shared<double>(at_start.value);
      motor.value = UserFunction{[value](double) { return FunctionValue{*value, 0, 0}; }};
      return value;
    }
    throw InputError("Simulation(controls=…)", "\"" + name + "\"", "the name of a motor");
  }
  /// Brings what the views look at up to date.
  void look() {
    q_ = run_->state().q;
    v_ = run_->state().v;
  }

  Model model_;
  SimulationOptions options_;
  std::shared_ptr<CallbackErrors> errors_;
  std::vector<std::string> control_names_;
  std::vector<HeldValue> held_;
  std::optional<Simulation> run_;
  Vector q_, v_;  // never resized: Python looks at them
};

int body_of(const PySimulation& s, const std::string& name) {
  const auto& bodies = s.model().bodies;
  for (std::size_t k = 0; k < bodies.size(); ++k)
    if (bodies[k].name == name) return static_cast<int>(k);
  throw InputError("Simulation", "no body named \"" + name + "\"", "one of Scene.bodies");
}

std::string_view word(RunState state) {
  switch (state) {
    case RunState::ready:
      return "ready";
    case RunState::running:
      return "running";
    case RunState::finished:
      return "finished";
    case RunState::failed:
      return "failed";
  }
  return "?";
}

py::dict to_dict(const StepReport& r) {
  py::dict out;
  out["t"] = r.t;
  out["h"] = r.h;
  out["residual"] = r.certificate.residual();
  out["meets_tolerance"] = r.meets_tolerance;
  out["joint_error"] = r.joint_error;
  out["penetration"] = r.penetration;
  out["contacts"] = r.contacts;
  out["active"] = r.active;
  out["sweeps"] = r.solve.sweeps;
  out["islands"] = r.solve.islands;
  return out;
}

py::dict to_dict(const EnergyAudit& e) {
  py::dict out;
  out["kinetic"] = e.kinetic;
  out["potential"] = e.potential;
  out["start"] = e.start;
  out["supplied"] = e.supplied;
  out["friction"] = e.friction;
  out["impact"] = e.impact;
  out["drive"] = e.drive;
  out["damping"] = e.damping;
  out["recovery"] = e.recovery;
  out["numerical"] = e.numerical();
  out["unexplained"] = e.unexplained();
  return out;
}

/// controls[k, i, c]: what the c-th motor is told before the i-th step of the k-th roll-out.
py::tuple rollout(const PyScene& scene, const std::vector<std::string>& motors,
                  const py::array_t<double, py::array::c_style | py::array::forcecast>& controls,
                  int threads) {
  if (controls.ndim() != 3 || controls.shape(2) != static_cast<py::ssize_t>(motors.size())) {
    throw InputError("rollout: controls",
                     "an array of " + std::to_string(controls.ndim()) + " dimensions",
                     "three: roll-outs, steps, motors (" + std::to_string(motors.size()) + ")");
  }
  if (threads < 1) throw InputError("rollout: threads", std::to_string(threads), "at least 1");
  for (const Force& force : scene.scene.model.forces) {
    if (std::holds_alternative<UserForce>(force)) {
      throw InputError("rollout", "the Python force \"" + name_of(force) + "\"",
                       "a scene without: Python runs in one thread");
    }
  }
  const py::ssize_t runs = controls.shape(0), steps = controls.shape(1), nm = controls.shape(2);
  const py::ssize_t nq = scene.scene.model.nq(), nv = scene.scene.model.nv();
  std::vector<double> q(static_cast<std::size_t>(runs * (steps + 1) * nq));
  std::vector<double> v(static_cast<std::size_t>(runs * (steps + 1) * nv));
  std::vector<std::int64_t> done(static_cast<std::size_t>(runs), 0);
  std::vector<std::unique_ptr<PySimulation>> simulations;
  const double* told = controls.data();
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(runs));
  {
    const py::gil_scoped_release released;
    std::atomic<py::ssize_t> next{0};
    const auto work = [&] {
      for (py::ssize_t k = next++; k < runs; k = next++) {
        try {
          PySimulation run(scene, motors);
          const auto write = [&](py::ssize_t row) {
            std::copy_n(run.run().state().q.data(), nq, &q[(k * (steps + 1) + row) * nq]);
            std::copy_n(run.run().state().v.data(), nv, &v[(k * (steps + 1) + row) * nv]);
          };
          write(0);
          for (py::ssize_t i = 0; i < steps; ++i) {
            for (py::ssize_t c = 0; c < nm; ++c)
              run.set_control(static_cast<std::size_t>(c), told[(k * steps + i) * nm + c]);
            if (run.run().advance()) done[k] = i + 1;
            // A run that failed stays where it was: `steps` says how far it came.
            write(i + 1);
          }
        } catch (...) {
          failures[k] = std::current_exception();
        }
      }
    };
    std::vector<std::thread> others;
    for (int k = 1; k < threads; ++k) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  py::array_t<std::int64_t> reached(runs, done.data());
  return py::make_tuple(owned_array(std::move(q), {runs, steps + 1, nq}),
                        owned_array(std::move(v), {runs, steps + 1, nv}), reached);
}

}  // namespace

void bind_simulation(py::module_& module) {
  py::class_<Checkpoint>(module, "Checkpoint",
                         "A moment of a simulation, to go on from with the same bits.")
      .def_property_readonly("time", [](const Checkpoint& c) { return c.state.t; });

  py::class_<PySimulation>(
      module, "Simulation",
      "A scene that is stepped. Arrays it shows are views: they change with every step; copy what "
      "is to be kept.")
      .def(py::init<const PyScene&, const std::vector<std::string>&>(), py::arg("scene"),
           py::arg("controls") = std::vector<std::string>{},
           "`controls`: motors that `control` tells from step to step what to do.")
      .def("step", &PySimulation::step, py::arg("count") = 1,
           "Takes so many steps. False when the run is over: see `status` and `failure`.")
      .def("run_until", &PySimulation::run_until, py::arg("time"),
           "Steps to a time [s], exactly, or to the end of the run.")
      .def("control", py::overload_cast<const std::string&, double>(&PySimulation::set_control),
           py::arg("motor"), py::arg("value"),
           "Tells a motor its value [N, N m, m/s, rad/s, m or rad] for the steps to come.")
      .def_property_readonly("controls", &PySimulation::controls)
      .def("save", [](PySimulation& s) { return s.run().checkpoint(); })
      .def("restore", &PySimulation::restore, py::arg("checkpoint"))
      .def_property_readonly(
          "time", [](PySimulation& s) { return s.run().state().t; }, "[s]")
      .def_property_readonly("steps", [](PySimulation& s) { return s.run().checkpoint().steps; })
      .def_property_readonly(
          "missed", [](PySimulation& s) { return s.run().checkpoint().missed; },
          "Steps whose certificate missed the tolerance.")
      .def_property_readonly("status",
                             [](PySimulation& s) { return std::string(word(s.run().run_state())); })
      .def_property_readonly("failure", [](PySimulation& s) { return s.run().failure(); })
      .def_property_readonly(
          "q",
          [](py::object self) {
            const auto& s = self.cast<const PySimulation&>();
            return read_only_view(s.q().data(), {s.q().size()}, self);
          },
          "Configuration: seven numbers per moving body, position [m, world] "
          "and quaternion (w, x, y, z).")
      .def_property_readonly(
          "v",
          [](py::object self) {
            const auto& s = self.cast<const PySimulation&>();
            return read_only_view(s.v().data(), {s.v().size()}, self);
          },
          "Velocities: six numbers per moving body, [m/s, world] and "
          "[rad/s, body axes].")
      .def(
          "position",
          [](PySimulation& s, const std::string& body) {
            return owned_array(place(s.model(), s.run().state(), body_of(s, body)).x);
          },
          py::arg("body"), "Of the centre of mass [m], world.")
      .def(
          "rotation",
          [](PySimulation& s, const std::string& body) {
            return owned_array(Vector(rotation(s.model(), s.run().state(), body_of(s, body))));
          },
          py::arg("body"), "Unit quaternion (w, x, y, z).")
      .def(
          "velocity",
          [](PySimulation& s, const std::string& body) {
            return owned_array(Vector(velocity(s.model(), s.run().state(), body_of(s, body)).v));
          },
          py::arg("body"), "Of the centre of mass [m/s], world.")
      .def(
          "angular_velocity",
          [](PySimulation& s, const std::string& body) {
            return owned_array(
                Vector(velocity(s.model(), s.run().state(), body_of(s, body)).omega));
          },
          py::arg("body"), "[rad/s], body axes.")
      .def("frame", &PySimulation::frame,
           "All channels of this moment by name, as a result file has them.")
      .def("contacts", &PySimulation::contacts,
           "Contacts that touch, with the forces of the last step on the first body [N, world].")
      .def_property_readonly(
          "report", [](PySimulation& s) { return to_dict(s.run().report()); },
          "What is known of the last step.")
      .def_property_readonly(
          "energy", [](PySimulation& s) { return to_dict(s.run().energy()); },
          "Where every joule went since the start.")
      .def("__repr__", [](PySimulation& s) {
        return "<urto.Simulation at t = " + std::to_string(s.run().state().t) + " s, " +
               std::string(word(s.run().run_state())) + ">";
      });

  module.def("rollout", &rollout, py::arg("scene"), py::arg("motors"), py::arg("controls"),
             py::arg("threads") = 1,
             "Runs a scene once for each controls[k] (steps × motors), on threads. Returns q and v "
             "(roll-outs × steps + 1 × numbers) and how many steps each took.");
}

}  // namespace urto::python
