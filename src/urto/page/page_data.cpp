#include "urto/page/page_data.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "urto/result/step_columns.h"
#include "urto/result/summary_json.h"
#include "urto/version.h"

namespace urto {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the page's arrays are little-endian");

template <typename Number>
json append(std::string& binary, const std::vector<Number>& values, const char* type) {
  binary.resize((binary.size() + 7) / 8 * 8, '\0');
  json array{{"at", binary.size()}, {"n", values.size()}, {"type", type}};
  binary.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
  return array;
}

json numbers3(const Vec3& x) {
  return {x[0], x[1], x[2]};
}

json numbers4(const Vec4& x) {
  return {x[0], x[1], x[2], x[3]};
}

/// The lowest and the highest value of every `stretch` steps, in the order in which they came.
std::vector<float> lowest_and_highest(const std::vector<double>& values, std::size_t stretch) {
  std::vector<float> out;
  for (std::size_t first = 0; first < values.size(); first += stretch) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        values.begin() + static_cast<std::ptrdiff_t>(std::min(first + stretch, values.size()));
    const auto [low, high] = std::minmax_element(begin, end);
    out.push_back(static_cast<float>(low < high ? *low : *high));
    out.push_back(static_cast<float>(low < high ? *high : *low));
  }
  return out;
}

json page_summary(const RunSummary& s) {
  const RunStatus& run = s.run;
  json out{{"status", run.status},
           {"failure", run.failure},
           {"time", run.time},
           {"rejected", run.rejected},
           {"missed", run.missed},
           {"wall_seconds", run.wall_seconds},
           {"worst_residual", run.worst_residual},
           {"worst_residual_time", run.worst_residual_time},
           {"worst_joint_error", run.worst_joint_error},
           {"worst_penetration", run.worst_penetration},
           {"start_energy", run.start_energy},
           {"dofs", run.dofs},
           {"equality_rows", run.equality_rows},
           {"rank", run.rank},
           {"mobility", run.mobility()},
           {"most_contacts", s.most_contacts},
           {"steps", s.counts.steps},
           {"frames", s.counts.frames},
           {"contacts", s.counts.contacts}};
  out["seconds"] = json::array();
  for (const NamedNumber& phase : s.seconds)
    out["seconds"].push_back({{"phase", phase.name}, {"value", phase.value}});
  for (const NamedNumber& e : s.energy) {
    if (s.counts.steps > 0) out["energy"][e.name] = e.value;
  }
  return out;
}

json page_settings(const SimulationOptions& s) {
  return {{"stepper", s.stepper.name},
          {"friction", friction_word(s)},
          {"solver", s.solver.solver},
          {"tolerance", s.solver.tolerance},
          {"step", s.step},
          {"duration", s.duration},
          {"output_step", s.output_step},
          {"threads", s.threads},
          {"adaptive", s.adaptive}};
}

json page_remarks(const ResultView& result, const RunSummary& summary, const PageOptions& options) {
  json out = json::array();
  if (options.mode == "run") {
    for (const Finding& f : summary.verdict.findings) {
      if (f.level != Level::good) out.push_back({{"level", to_string(f.level)}, {"text", f.text}});
    }
  }
  for (const std::string& note : options.remarks)
    out.push_back({{"level", "note"}, {"text", note}});
  if (options.mode == "scene") {
    for (const std::string& warning : result.description().warnings)
      out.push_back({{"level", "remark"}, {"text", warning}});
  }
  return out;
}

/// The plots that the page draws over steps, and which columns are in each.
json page_panels(const SimulationOptions& settings) {
  json out = json::array();
  for (const StepPanel& p : step_panels()) {
    if (p.adaptive && !settings.adaptive) continue;
    json columns = json::array();
    for (const StepColumn& c : step_columns()) {
      if (c.panel == p.name) columns.push_back({{"column", c.name}, {"label", c.label}});
    }
    out.push_back({{"title", p.title},
                   {"note", p.note},
                   {"axis", p.axis},
                   {"log", p.log},
                   {"decades", p.decades},
                   {"factor", p.factor},
                   {"total", p.total},
                   {"tolerance", p.tolerance},
                   {"columns", std::move(columns)}});
  }
  return out;
}

}  // namespace

json PageData::add(const std::vector<float>& values) {
  return append(binary, values, "f32");
}

json PageData::add(const std::vector<double>& values) {
  return append(binary, values, "f64");
}

json PageData::add(const std::vector<int>& values) {
  return append(binary, values, "i32");
}

json page_model(const DrawnModel& model, PageData& data) {
  json out{{"bodies", json::array()},
           {"shapes", json::array()},
           {"joints", json::array()},
           {"meshes", json::array()}};
  for (const DrawnBody& b : model.bodies) {
    out["bodies"].push_back(
        {{"name", b.name}, {"kind", b.kind}, {"mass", b.mass}, {"colour", b.colour}});
  }
  for (const DrawnShape& s : model.shapes) {
    out["shapes"].push_back({{"kind", to_string(s.kind)},
                             {"body", s.body},
                             {"size", numbers3(s.size)},
                             {"position", numbers3(s.pose.position)},
                             {"rotation", numbers4(s.pose.rotation)},
                             {"mesh", s.geometry},
                             {"glyph", s.glyph}});
  }
  for (const DrawnJoint& j : model.joints) {
    out["joints"].push_back({{"name", j.name},
                             {"kind", j.kind},
                             {"body", j.body},
                             {"position", {numbers3(j.position[0]), numbers3(j.position[1])}},
                             {"rotation", {numbers4(j.rotation[0]), numbers4(j.rotation[1])}}});
  }
  for (const TriangleMesh& mesh : model.meshes) {
    std::vector<float> vertices;
    std::vector<int> triangles;
    for (const Vec3& v : mesh.vertices) {
      for (int i = 0; i < 3; ++i) vertices.push_back(static_cast<float>(v[i]));
    }
    for (const auto& t : mesh.triangles) triangles.insert(triangles.end(), t.begin(), t.end());
    out["meshes"].push_back({{"vertices", data.add(vertices)}, {"triangles", data.add(triangles)}});
  }
  return out;
}

json page_steps(const ResultView& result, PageData& data, long most) {
  const long steps = result.counts().steps;
  const auto half = static_cast<std::size_t>(std::max(most / 2, 1L));
  const std::size_t stretch =
      steps <= most ? 1 : (static_cast<std::size_t>(steps) + half - 1) / half;
  const auto shown = [&](const std::vector<double>& values) {
    return stretch == 1 ? std::vector<float>(values.begin(), values.end())
                        : lowest_and_highest(values, stretch);
  };
  std::vector<double> time = result.step_values(step_column("time"), 0, steps);
  if (stretch > 1) {  // both ends of a stretch stand for its lowest and highest
    std::vector<double> ends;
    for (std::size_t first = 0; first < time.size(); first += stretch) {
      ends.push_back(time[first]);
      ends.push_back(time[std::min(first + stretch, time.size()) - 1]);
    }
    time = std::move(ends);
  }
  json columns = json::object();
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    if (c == step_column("time")) continue;
    columns[std::string(step_columns()[c].name)] = data.add(shown(result.step_values(c, 0, steps)));
  }
  return {{"recorded", steps},
          {"stretch", stretch},
          {"time", data.add(time)},
          {"columns", std::move(columns)},
          {"panels", page_panels(result.description().settings)}};
}

PageData page_data(const ResultView& result, const PageOptions& options) {
  PageData data;
  const Description& d = result.description();
  const RunSummary summary = summarise(result);
  const DrawnModel model = drawn_model(result);
  data.json = {{"format", "urto-page"},
               {"version", 1},
               {"mode", options.mode},
               {"title", d.title},
               {"urto", {{"run", d.urto_version}, {"page", version}}}};
  // The scene in the result is a checked one; only its texts for people are taken from it.
  const json text = json::parse(d.scene, nullptr, false);
  const bool readable = text.is_object();
  data.json["description"] = readable ? text.value("description", "") : "";
  data.json["watch"] = readable ? text.value("watch", json::array()) : json::array();
  data.json["summary"] = page_summary(summary);
  if (options.mode == "run") data.json["verdict"] = to_json(summary.verdict);
  data.json["settings"] = page_settings(d.settings);
  data.json["remarks"] = page_remarks(result, summary, options);
  data.json["chapters"] = json::array();
  for (const PageChapter& c : options.chapters)
    data.json["chapters"].push_back({{"name", c.name}, {"from", c.from}, {"to", c.to}});
  data.json["model"] = page_model(model, data);
  add_page_frames(result, model, options, data);
  data.json["flexible"] = json::array();
  data.json["steps"] = page_steps(result, data, options.step_points);
  data.json["verification"] = page_verification(result, model.moving(), data);
  return data;
}

}  // namespace urto
