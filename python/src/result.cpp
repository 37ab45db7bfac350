// Runs that leave files, and results read back from them.
#include "bindings.h"
#include "urto/error.h"
#include "urto/page/report_page.h"
#include "urto/result/csv_export.h"
#include "urto/result/result_file.h"
#include "urto/result/run.h"
#include "urto/result/step_columns.h"
#include "urto/result/summary.h"

namespace urto::python {
namespace {

namespace fs = std::filesystem;

class PyResult {
 public:
  explicit PyResult(const fs::path& path)
      : path_(fs::is_directory(path) ? result_path(path) : path), reader_(path_) {}

  const fs::path& path() const { return path_; }
  const ResultReader& reader() const { return reader_; }

  py::array_t<double> channel(const std::string& name) const {
    const Description& d = reader_.description();
    const int index = find_channel(d, name);
    if (index < 0) {
      std::string known;
      for (const Channel& c : d.channels)
        if (d.size(c) > 0) known += (known.empty() ? "" : ", ") + c.name;
      throw InputError(path_.string(), "no channel \"" + name + "\"", "one of " + known);
    }
    const Channel& c = d.channels[index];
    const long frames = reader_.counts().frames;
    const auto items = static_cast<py::ssize_t>(d.size(c)) / c.width;
    std::vector<py::ssize_t> shape{frames, items};
    if (c.width > 1) shape.push_back(c.width);
    return owned_array(reader_.channel(index, 0, frames), shape);
  }

  py::array_t<double> steps(const std::string& name) const {
    const std::span<const StepColumn> columns = step_columns();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].name != name) continue;
      const long steps = reader_.counts().steps;
      return owned_array(reader_.step_values(c, 0, steps), {steps});
    }
    std::string known;
    for (const StepColumn& c : columns) known += (known.empty() ? "" : ", ") + std::string(c.name);
    throw InputError(path_.string(), "no step column \"" + name + "\"", "one of " + known);
  }

  /// Column by column, as NumPy and pandas like it.
  py::dict contacts(long frame) const {
    const long frames = reader_.counts().frames;
    if (frame < 0) frame += frames;
    if (frame < 0 || frame >= frames) {
      throw InputError("Result.contacts", "frame " + std::to_string(frame),
                       "one below " + std::to_string(frames));
    }
    const std::vector<RecordedContact> found = reader_.contacts(frame, 1).front();
    const auto n = static_cast<py::ssize_t>(found.size());
    py::array_t<int> bodies({n, py::ssize_t{2}});
    std::vector<double> point, normal, force, gap;
    for (py::ssize_t k = 0; k < n; ++k) {
      const RecordedContact& c = found[k];
      bodies.mutable_at(k, 0) = c.body_a;
      bodies.mutable_at(k, 1) = c.body_b;
      point.insert(point.end(), c.point.begin(), c.point.end());
      normal.insert(normal.end(), c.normal.begin(), c.normal.end());
      force.insert(force.end(), c.force.begin(), c.force.end());
      gap.push_back(c.gap);
    }
    py::dict out;
    out["bodies"] = bodies;
    out["point"] = owned_array(std::move(point), {n, 3});
    out["normal"] = owned_array(std::move(normal), {n, 3});
    out["force"] = owned_array(std::move(force), {n, 3});
    out["gap"] = owned_array(std::move(gap), {n});
    return out;
  }

 private:
  fs::path path_;
  ResultReader reader_;
};

std::string_view word(Level level) {
  return to_string(level);
}

py::list findings(const Verdict& verdict) {
  py::list out;
  for (const Finding& f : verdict.findings) {
    py::dict one;
    one["level"] = std::string(word(f.level));
    one["what"] = f.what;
    one["text"] = f.text;
    one["time"] = f.time;
    out.append(one);
  }
  return out;
}

py::list verification(const PyResult& r) {
  py::list out;
  const std::optional<Verification> v = r.reader().verification();
  if (!v) return out;
  for (const QuantityError& e : v->errors) {
    py::dict one;
    one["name"] = e.name;
    one["unit"] = e.unit;
    one["worst"] = e.worst;
    one["last"] = e.last;
    one["scale"] = e.scale;
    one["order"] = e.order;
    out.append(one);
  }
  return out;
}

/// `progress(time, end_time, contacts, worst_residual)` is called some ten times a second.
PyResult run(const PyScene& scene, const fs::path& directory, bool verify, bool resume, bool page,
             bool csv, std::optional<py::function> progress) {
  Scene own = scene.scene;
  own.options.verify = own.options.verify || verify;
  RunRequest request{
      .directory = directory, .resume = resume, .derived = {csv_files(), page_files()}};
  request.derived[0].wanted = csv;
  request.derived[1].wanted = page;
  auto last = std::chrono::steady_clock::now() - std::chrono::hours(1);
  std::exception_ptr raised;
  RunProgress latest;
  request.on_step = [&](const RunProgress& p) { latest = p; };
  // A signal (Ctrl-C) or an error of the callback ends the run in order.
  request.stop = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return raised != nullptr;
    last = now;
    const py::gil_scoped_acquire lock;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (progress)
        (*progress)(latest.time, latest.end_time, latest.contacts, latest.worst_residual);
    } catch (...) {
      raised = std::current_exception();
    }
    return raised != nullptr;
  };
  RunOutcome outcome;
  {
    const py::gil_scoped_release released;
    outcome = run_scene(own, request);
  }
  if (raised) std::rethrow_exception(raised);
  scene.errors->raise_kept();
  if (!outcome.broken.empty()) throw InputError(outcome.broken);
  if (progress) {
    (*progress)(outcome.summary.run.time, own.options.duration, 0,
                outcome.summary.run.worst_residual);
  }
  return PyResult(result_path(directory));
}

}  // namespace

void bind_result(py::module_& module) {
  py::class_<PyResult>(module, "Result", "A result file: frames by channel, steps by column.")
      .def(py::init<const fs::path&>(), py::arg("path"), "A result file, or a run's directory.")
      .def_property_readonly("path", &PyResult::path)
      .def_property_readonly("title",
                             [](const PyResult& r) { return r.reader().description().title; })
      .def_property_readonly(
          "scene", [](const PyResult& r) { return r.reader().description().scene; },
          "The scene as it ran, as JSON text.")
      .def_property_readonly("bodies",
                             [](const PyResult& r) {
                               std::vector<std::string> names;
                               for (const DescribedBody& b : r.reader().description().bodies)
                                 names.push_back(b.name);
                               return names;
                             })
      .def_property_readonly(
          "coordinates",
          [](const PyResult& r) {
            const Description& d = r.reader().description();
            std::vector<std::string> names;
            for (const DescribedCoordinate& c : d.coordinates)
              names.push_back(d.joints[c.joint].name + "." + c.name);
            return names;
          },
          "\"joint.coordinate\", in the order of the channels of coordinates.")
      .def_property_readonly(
          "channels",
          [](const PyResult& r) {
            py::dict units;
            const Description& d = r.reader().description();
            for (const Channel& c : d.channels)
              if (d.size(c) > 0) units[c.name.c_str()] = c.unit;
            return units;
          },
          "Names of the channels, with their units.")
      .def_property_readonly(
          "columns",
          [](const PyResult&) {
            py::dict units;
            for (const StepColumn& c : step_columns())
              units[std::string(c.name).c_str()] = std::string(c.unit);
            return units;
          },
          "Names of what is known of every step, with their units.")
      .def_property_readonly(
          "times",
          [](const PyResult& r) {
            const long n = r.reader().counts().frames;
            return owned_array(r.reader().times(0, n), {n});
          },
          "Of the frames [s].")
      .def("channel", &PyResult::channel, py::arg("name"), "frames × items (× width).")
      .def("__getitem__", &PyResult::channel)
      .def("steps", &PyResult::steps, py::arg("name"), "One number per step.")
      .def("contacts", &PyResult::contacts, py::arg("frame"),
           "Contacts of a frame as arrays: bodies, point, normal, force on the first body, gap.")
      .def_property_readonly("status", [](const PyResult& r) { return r.reader().status().status; })
      .def_property_readonly("failure",
                             [](const PyResult& r) { return r.reader().status().failure; })
      .def_property_readonly(
          "verdict", [](const PyResult& r) { return std::string(word(judge(r.reader()).level)); },
          "\"good\", \"remark\" or \"failure\": whether the motion can be "
          "believed.")
      .def_property_readonly(
          "findings", [](const PyResult& r) { return findings(judge(r.reader())); },
          "What the verdict weighed, worst first.")
      .def_property_readonly("verification", &verification,
                             "Errors of a verified run, by quantity; empty if it was not.")
      .def(
          "report", [](const PyResult& r, const fs::path& file) { write_report(r.reader(), file); },
          py::arg("file"), "Writes the page: replay and plots.")
      .def_property_readonly(
          "summary",
          [](const PyResult& r) {
            std::vector<std::pair<std::string, std::string>> lines;
            for (const SummaryLine& l : summary_lines(summarise(r.reader())))
              lines.emplace_back(l.name, l.value);
            return lines;
          },
          "The table that `urto info` prints.");

  module.def("run", &run, py::arg("scene"), py::arg("directory"), py::arg("verify") = false,
             py::arg("resume") = false, py::arg("page") = true, py::arg("csv") = false,
             py::arg("progress") = std::nullopt,
             "Runs a scene to its end and leaves a result, its page and a checkpoint in a "
             "directory.");
}

}  // namespace urto::python
