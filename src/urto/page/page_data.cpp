#include "urto/page/page_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

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

constexpr const char* step_columns[] = {"step",
                                        "residual",
                                        "momentum",
                                        "natural_map",
                                        "scaled",
                                        "joint_error",
                                        "penetration",
                                        "contacts",
                                        "active",
                                        "islands",
                                        "sweeps",
                                        "handed_on",
                                        "iterations",
                                        "energy/kinetic",
                                        "energy/potential",
                                        "energy/supplied",
                                        "energy/friction",
                                        "energy/impact",
                                        "energy/damping",
                                        "energy/recovery",
                                        "energy/numerical",
                                        "seconds/rows",
                                        "seconds/assemble",
                                        "seconds/solve",
                                        "seconds/certify",
                                        "seconds/advance"};

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

/// Largest absolute value; not-a-number does not count.
double largest(const ResultReader& r, const std::string& column, long steps) {
  double most = 0;
  for (const double x : r.numbers("/steps/" + column, 0, steps)) {
    most = std::max(most, std::abs(std::isfinite(x) ? x : 0.0));
  }
  return most;
}

json page_summary(const ResultReader& r) {
  json s;
  for (const char* key : {"status", "failure"}) s[key] = r.text(fmt::format("/run/{}", key));
  for (const char* key : {"time", "rejected", "missed", "wall_seconds", "worst_residual",
                          "worst_residual_time", "worst_joint_error", "worst_penetration",
                          "start_energy", "dofs", "equality_rows", "rank", "mobility"}) {
    s[key] = r.number(fmt::format("/run/{}", key));
  }
  const ResultCounts counts = r.counts();
  s["seconds"] = json::object();
  for (const char* phase : {"rows", "assemble", "solve", "certify", "advance"}) {
    const auto t = r.numbers(fmt::format("/steps/seconds/{}", phase), 0, counts.steps);
    s["seconds"][phase] = std::accumulate(t.begin(), t.end(), 0.0);
  }
  s["most_contacts"] = largest(r, "contacts", counts.steps);
  for (const char* name : {"kinetic", "potential", "supplied", "friction", "impact", "damping",
                           "recovery", "numerical"}) {
    if (counts.steps == 0) break;
    s["energy"][name] = r.numbers(fmt::format("/steps/energy/{}", name), counts.steps - 1, 1)[0];
  }
  s["steps"] = counts.steps;
  s["frames"] = counts.frames;
  s["contacts"] = counts.contacts;
  return s;
}

json page_settings(const ResultReader& r) {
  json s;
  for (const char* key : {"stepper", "friction", "solver"}) s[key] = r.text_attribute(key);
  for (const char* key : {"tolerance", "step", "duration", "output_step", "threads", "adaptive"}) {
    s[key] = r.number_attribute(key);
  }
  return s;
}

/// Energy that came from nowhere, beside the energies that were exchanged.
double numerical_share(const ResultReader& r, long steps) {
  double exchanged = 0;
  for (const char* name : {"kinetic", "supplied", "friction", "impact", "damping"}) {
    exchanged = std::max(exchanged, largest(r, fmt::format("energy/{}", name), steps));
  }
  return exchanged > 0 ? largest(r, "energy/numerical", steps) / exchanged : 0;
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

json page_steps(const ResultReader& result, PageData& data, long most) {
  const long steps = result.counts().steps;
  const auto half = static_cast<std::size_t>(std::max(most / 2, 1L));
  const std::size_t stretch =
      steps <= most ? 1 : (static_cast<std::size_t>(steps) + half - 1) / half;
  const auto shown = [&](const std::vector<double>& values) {
    return stretch == 1 ? std::vector<float>(values.begin(), values.end())
                        : lowest_and_highest(values, stretch);
  };
  std::vector<double> time = result.numbers("/steps/time", 0, steps);
  if (stretch > 1) {  // both ends of a stretch stand for its lowest and highest
    std::vector<double> ends;
    for (std::size_t first = 0; first < time.size(); first += stretch) {
      ends.push_back(time[first]);
      ends.push_back(time[std::min(first + stretch, time.size()) - 1]);
    }
    time = std::move(ends);
  }
  json columns = json::object();
  for (const char* name : step_columns) {
    columns[name] = data.add(shown(result.numbers(fmt::format("/steps/{}", name), 0, steps)));
  }
  return {{"recorded", steps},
          {"stretch", stretch},
          {"time", data.add(time)},
          {"columns", std::move(columns)}};
}

json page_remarks(const ResultReader& r, const json& s) {
  json out = json::array();
  const auto say = [&](const char* level, std::string text) {
    out.push_back({{"level", level}, {"text", std::move(text)}});
  };
  const std::string status = s["status"];
  const long steps = s["steps"];
  if (status == "failed") {
    say("failure", fmt::format("The run failed at {}.", s["failure"].get<std::string>()));
  }
  // A run that stopped at its first miss has said so.
  if (const double missed = s["missed"]; missed > (status == "failed" ? 1 : 0)) {
    say("failure",
        fmt::format(
            "{} of {} steps missed the tolerance {:.0e}; the worst residual is {:.1e}, at t "
            "= {:.6g} s.",
            missed, steps, r.number_attribute("tolerance"), s["worst_residual"].get<double>(),
            s["worst_residual_time"].get<double>()));
  }
  const double time = s["time"];
  if (status == "interrupted") {
    say("warning", fmt::format("The run was interrupted at t = {:.6g} of {:.6g} s; urto run "
                               "--resume goes on.",
                               time, r.number_attribute("duration")));
  } else if (status == "running") {
    say("warning", fmt::format("The run had not ended when this page was written, or was killed: "
                               "it shows what was recorded until t = {:.6g} s.",
                               time));
  }
  if (r.has("/run/warnings")) {
    for (const std::string& text : r.texts("/run/warnings")) say("warning", text);
  }
  // The first steps of a motion from rest exchange next to nothing.
  if (const double share = numerical_share(r, steps); steps >= 100 && share > 0.01) {
    say("warning",
        fmt::format("Numerical energy reached {:.0f} % of the energy exchanged: the step may be "
                    "too long.",
                    100 * share));
  }
  return out;
}

PageData page_data(const ResultReader& result, const PageOptions& options) {
  PageData data;
  const bool scene = options.scene_contacts != nullptr;
  const bool analysis = !options.analysis.empty();
  const DrawnModel model = read_drawn_model(result);
  data.json = {{"format", "urto-page"},
               {"version", 1},
               {"mode", analysis ? options.analysis
                        : scene  ? "scene"
                                 : "run"},
               {"title", result.text_attribute("title")},
               {"urto", {{"run", result.text_attribute("urto_version")}, {"page", version}}}};
  // The scene in the result is a checked one; only its texts for people are taken from it.
  const json text = json::parse(result.text("/scene"), nullptr, false);
  const bool readable = text.is_object();
  data.json["description"] = readable ? text.value("description", "") : "";
  data.json["watch"] = readable ? text.value("watch", json::array()) : json::array();
  data.json["summary"] = page_summary(result);
  data.json["settings"] = page_settings(result);
  data.json["remarks"] =
      scene || analysis ? json::array() : page_remarks(result, data.json["summary"]);
  for (const std::string& note : options.remarks)
    data.json["remarks"].push_back({{"level", "note"}, {"text", note}});
  data.json["chapters"] = json::array();
  for (const PageChapter& c : options.chapters)
    data.json["chapters"].push_back({{"name", c.name}, {"from", c.from}, {"to", c.to}});
  if (scene && result.has("/run/warnings")) {
    for (const std::string& warning : result.texts("/run/warnings")) {
      data.json["remarks"].push_back({{"level", "warning"}, {"text", warning}});
    }
  }
  data.json["model"] = page_model(model, data);
  add_page_frames(result, model, options, data);
  data.json["flexible"] = json::array();
  data.json["steps"] = page_steps(result, data, options.step_points);
  return data;
}

}  // namespace urto
