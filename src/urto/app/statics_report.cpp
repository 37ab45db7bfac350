#include "urto/app/statics_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/app/natural_order.h"
#include "urto/app/table.h"
#include "urto/file/number_text.h"
#include "urto/page/analysis_page.h"
#include "urto/result/description.h"
#include "urto/result/model_scales.h"

namespace urto::app {
namespace {

using Json = nlohmann::ordered_json;

/// What is smaller than this share of what it stands beside is rounding.
constexpr double rounding = 1e-8;

/// The numbers of one item in a channel of the frame.
std::span<const double> item(const Frame& frame, std::string_view channel, std::size_t k) {
  const std::span<const Channel> all = model_channels();
  const auto at = std::ranges::find(all, channel, &Channel::name);
  const auto width = static_cast<std::size_t>(at->width);
  const std::vector<double>& numbers = frame.channels[static_cast<std::size_t>(at - all.begin())];
  return std::span(numbers).subspan(k * width, width);
}

template <typename Items, typename Name>
std::vector<int> in_natural_order(const Items& items, Name name) {
  std::vector<int> order(std::size(items));
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  std::ranges::stable_sort(
      order, [&](int a, int b) { return natural_less(name(items[a]), name(items[b])); });
  return order;
}

/// Numbers of one kind, as text: what is noise beside `size` is zero.
struct Digits {
  double size = 0;
  std::string operator()(double x) const {
    if (std::isnan(x)) return "–";
    return fmt::format("{:.6g}", std::abs(x) <= rounding * size ? 0.0 : x);
  }
};

/// How large the forces and the moments are that stand in one report.
struct Sizes {
  double length = 1, force = 0, moment = 0;
};

void grow(double& size, double x) {
  if (std::isfinite(x)) size = std::max(size, std::abs(x));
}

Sizes sizes_of(const RestReport& r) {
  const Model& m = r.at.scene.model;
  Sizes out{.length = std::max(scales_of(m).size, 1e-3)};
  for (std::size_t k = 0; k < m.joints.size(); ++k) {
    const std::span<const double> wrench = item(r.rest, "joint_reaction", k);
    for (int i = 0; i < 3; ++i) grow(out.force, wrench[i]);
    for (int i = 3; i < 6; ++i) grow(out.moment, wrench[i]);
  }
  for (const RecordedContact& c : r.rest.contacts) grow(out.force, c.force.norm());
  for (const char* channel : {"motor_force", "limit_force", "friction_force", "coupling_force"}) {
    const std::span<const Channel> all = model_channels();
    const auto at = std::ranges::find(all, channel, &Channel::name) - all.begin();
    for (const double x : r.rest.channels[static_cast<std::size_t>(at)]) grow(out.force, x);
  }
  // A moment that is rounding beside the lever arms of the forces is none.
  out.moment = std::max(out.moment, out.force * out.length);
  return out;
}

struct Moved {
  std::vector<int> order;  ///< slots
  Vector by;               ///< increments of all bodies
};

Moved moved(const RestReport& r) {
  const Model& m = r.at.scene.model;
  return {in_natural_order(m.slot_body,
                           [&](int body) -> std::string_view { return m.bodies[body].name; }),
          difference(m, r.at.state.q, r.at.start.q)};
}

std::vector<Table::Column> columns(std::string first, int width,
                                   std::initializer_list<const char*> numbers) {
  std::vector<Table::Column> out{{std::move(first), width, Align::left}};
  for (const char* title : numbers) out.push_back({title, 11});
  return out;
}

template <typename Items>
int widest(const Items& items) {
  int width = 8;
  for (const auto& x : items) width = std::max(width, display_width(x.name));
  return width;
}

void print_bodies(const RestReport& r, const Sizes& sizes) {
  const Model& m = r.at.scene.model;
  const Moved by = moved(r);
  fmt::print("\nBodies: centre of mass, and how far from the start; world axes\n\n");
  const Table table(
      columns("body", widest(m.bodies),
              {"x [m]", "y [m]", "z [m]", "by x [m]", "by y [m]", "by z [m]", "turned [rad]"}),
      stdout_wants_colour());
  table.print_header();
  const Digits length{sizes.length}, angle{1};
  for (const int slot : by.order) {
    std::vector<std::string> cells{m.bodies[m.slot_body[slot]].name};
    const auto x = r.at.state.q.segment<3>(m.layout.q_start[slot]);
    const auto d = by.by.segment<6>(m.layout.v_start[slot]);
    for (int i = 0; i < 3; ++i) cells.push_back(length(x[i]));
    for (int i = 0; i < 3; ++i) cells.push_back(length(d[i]));
    cells.push_back(angle(d.tail<3>().norm()));
    table.print_row(cells);
  }
}

void print_joints(const RestReport& r, const Sizes& sizes) {
  const Model& m = r.at.scene.model;
  if (m.joints.empty()) return;
  fmt::print(
      "\nJoints: what each does to its second body; world axes, moments about its place there\n\n");
  const Table table(columns("joint", widest(m.joints),
                            {"Fx [N]", "Fy [N]", "Fz [N]", "Mx [N·m]", "My [N·m]", "Mz [N·m]"}),
                    stdout_wants_colour());
  table.print_header();
  const Digits force{sizes.force}, moment{sizes.moment};
  const auto name = [](const Joint& j) -> std::string_view { return j.name; };
  for (const int k : in_natural_order(m.joints, name)) {
    std::vector<std::string> cells{m.joints[k].name};
    const std::span<const double> wrench = item(r.rest, "joint_reaction", k);
    for (int i = 0; i < 6; ++i) cells.push_back((i < 3 ? force : moment)(wrench[i]));
    table.print_row(cells);
  }
}

/// A force along one coordinate, of a motor, limit, friction or coupling.
struct Along {
  std::string name, what;
  double force = 0;
};

template <typename Items, typename Coordinate>
void add_along(const RestReport& r, const Items& items, const char* kind, const char* channel,
               Coordinate coordinate, std::vector<Along>& out) {
  const Model& m = r.at.scene.model;
  const auto name = [](const auto& x) -> std::string_view { return x.name; };
  for (const int k : in_natural_order(items, name)) {
    const CoordinateRef on = coordinate(items[k]);
    const Joint& joint = m.joints[on.joint];
    const JointCoordinate& c = coordinates(joint.kind)[on.coordinate];
    out.push_back({fmt::format("{} '{}'", kind, items[k].name),
                   fmt::format("{}.{} [{}]", joint.name, c.name, c.is_angle ? "N·m" : "N"),
                   item(r.rest, channel, k)[0]});
  }
}

std::vector<Along> forces_along(const RestReport& r) {
  const Model& m = r.at.scene.model;
  std::vector<Along> out;
  const auto on = [](const auto& x) { return x.on; };
  add_along(r, m.motors, "motor", "motor_force", on, out);
  add_along(r, m.limits, "limit", "limit_force", on, out);
  add_along(r, m.frictions, "friction", "friction_force", on, out);
  add_along(
      r, m.couplings, "coupling", "coupling_force",
      [](const Coupling& c) { return c.coordinates.front(); }, out);
  return out;
}

void print_along(const RestReport& r, const Sizes& sizes) {
  const std::vector<Along> list = forces_along(r);
  if (list.empty()) return;
  fmt::print("\nAlong joint coordinates\n\n");
  int names = 8, coordinates = 10;
  for (const Along& a : list) {
    names = std::max(names, display_width(a.name));
    coordinates = std::max(coordinates, display_width(a.what));
  }
  const Table table(
      {{"item", names, Align::left}, {"coordinate", coordinates, Align::left}, {"force", 11}},
      stdout_wants_colour());
  table.print_header();
  const Digits force{sizes.force};
  for (const Along& a : list) table.print_row({a.name, a.what, force(a.force)});
}

std::string names_of(const Model& m, const RecordedContact& c) {
  return fmt::format("{}, {}", m.bodies[c.body_a].name, m.bodies[c.body_b].name);
}

double tangential(const RecordedContact& c) {
  return (c.force - c.force.dot(c.normal) * c.normal).norm();
}

std::vector<int> contacts_in_order(const RestReport& r) {
  const Model& m = r.at.scene.model;
  std::vector<std::string> names;
  for (const RecordedContact& c : r.rest.contacts) names.push_back(names_of(m, c));
  return in_natural_order(names, [](const std::string& s) -> std::string_view { return s; });
}

void print_contacts(const RestReport& r, const Sizes& sizes) {
  const Model& m = r.at.scene.model;
  if (r.rest.contacts.empty()) return;
  fmt::print("\nContacts: where, in world axes, and the force on the first body\n\n");
  int width = 8;
  for (const RecordedContact& c : r.rest.contacts)
    width = std::max(width, display_width(names_of(m, c)));
  const Table table(
      columns("bodies", width,
              {"x [m]", "y [m]", "z [m]", "normal [N]", "along [N]", "Fx [N]", "Fy [N]", "Fz [N]"}),
      stdout_wants_colour());
  table.print_header();
  const Digits length{sizes.length}, force{sizes.force};
  for (const int k : contacts_in_order(r)) {
    const RecordedContact& c = r.rest.contacts[static_cast<std::size_t>(k)];
    std::vector<std::string> cells{names_of(m, c)};
    for (int i = 0; i < 3; ++i) cells.push_back(length(c.point[i]));
    cells.push_back(force(c.force.dot(c.normal)));
    cells.push_back(force(tangential(c)));
    for (int i = 0; i < 3; ++i) cells.push_back(force(c.force[i]));
    table.print_row(cells);
  }
}

template <typename Numbers>
std::vector<double> list(const Numbers& x) {
  return {x.data(), x.data() + x.size()};
}

Json bodies_json(const RestReport& r) {
  const Model& m = r.at.scene.model;
  Json out = Json::object();
  const Moved by = moved(r);
  for (const int slot : by.order) {
    const double* q = r.at.state.q.data() + m.layout.q_start[slot];
    const double* d = by.by.data() + m.layout.v_start[slot];
    out[m.bodies[m.slot_body[slot]].name] = {{"position", std::vector<double>(q, q + 3)},
                                             {"rotation", std::vector<double>(q + 3, q + 7)},
                                             {"moved", std::vector<double>(d, d + 6)}};
  }
  return out;
}

/// The multipliers row by row, by the item that gives them; contacts that press, points of one pair
/// numbered.
Json reactions_json(const RestReport& r) {
  const StaticsReport& report = r.at.report;
  const Interactions& rows = report.rows;
  const RigidSystem system(r.at.scene.model);
  std::vector<std::pair<std::string, std::vector<double>>> all;
  for (int i = 0; i < rows.blocks(); ++i) {
    const double* first = report.lambda.data() + rows.J.row_start[i];
    if (rows.origins[i].kind == Origin::contact && first[0] == 0) continue;
    const std::string name = report.names.empty() ? system.describe(rows, i) : report.names[i];
    const auto taken = std::ranges::count_if(all, [&](const auto& known) {
      return known.first == name || known.first.starts_with(name + " #");
    });
    all.emplace_back(taken == 0 ? name : fmt::format("{} #{}", name, taken + 1),
                     std::vector<double>(first, first + rows.laws[i].dim));
  }
  Json out = Json::object();
  const auto name = [](const auto& x) -> std::string_view { return x.first; };
  for (const int k : in_natural_order(all, name)) out[all[k].first] = all[k].second;
  return out;
}

Json joints_json(const RestReport& r) {
  const Model& m = r.at.scene.model;
  Json out = Json::object();
  const auto name = [](const Joint& j) -> std::string_view { return j.name; };
  for (const int k : in_natural_order(m.joints, name)) {
    const std::span<const double> w = item(r.rest, "joint_reaction", k);
    out[m.joints[k].name] = {{"force", list(w.first(3))}, {"moment", list(w.last(3))}};
  }
  return out;
}

Json contacts_json(const RestReport& r) {
  const Model& m = r.at.scene.model;
  Json out = Json::array();
  for (const int k : contacts_in_order(r)) {
    const RecordedContact& c = r.rest.contacts[static_cast<std::size_t>(k)];
    out.push_back({{"bodies", {m.bodies[c.body_a].name, m.bodies[c.body_b].name}},
                   {"point", list(c.point)},
                   {"normal", list(c.normal)},
                   {"force", list(c.force)},
                   {"pressed", c.force.dot(c.normal)},
                   {"along", tangential(c)}});
  }
  return out;
}

void add_search(const StaticsReport& r, Json& out) {
  out["converged"] = r.converged;
  out["iterations"] = r.iterations;
  out["residual"] = r.residual;
  out["joint_error"] = r.joint_error;
  out["lowest_omega_squared"] = r.lowest;
  if (!r.with_contact) return;
  out["contact"] = {{"gap_error", r.gap_error},
                    {"cone_error", r.cone_error},
                    {"slide", r.slide},
                    {"freedom", r.freedom},
                    {"unique", r.unique ? Json(*r.unique) : Json()}};
}

}  // namespace

RestReport report_rest(const SceneEquilibrium& at, bool linear) {
  State rest = at.state;
  rest.v.setZero();
  return {at, rest_frame(at.scene.model, rest, at.report), linear};
}

std::string conclusion(const RestReport& report) {
  if (report.linear) return "the answer of the scene linearised at its start";
  const StaticsReport& r = report.at.report;
  std::string out =
      fmt::format("{} in {}: forces to {:.1e}, joints to {:.1e} m or rad",
                  r.converged ? "equilibrium" : "no equilibrium",
                  counted(r.iterations, "iteration", "iterations"), r.residual, r.joint_error);
  if (r.with_contact)
    out += fmt::format(", gaps to {:.1e} m, cones to {:.1e}", r.gap_error, r.cone_error);
  if (std::isfinite(r.lowest) && r.converged) {
    out += r.lowest < -1e-6 ? "; unstable" : r.lowest > 1e-6 ? "; stable" : "";
  }
  return out;
}

std::vector<std::string> remarks(const RestReport& report) {
  std::vector<std::string> out;
  const StaticsReport& r = report.at.report;
  const Model& m = report.at.scene.model;
  if (!report.linear && !r.converged) out.push_back(r.message);
  for (const std::string& remark : report.at.remarks) out.push_back(remark);
  for (const Motor& motor : m.motors) {
    if (motor.mode != MotorMode::speed) continue;
    const Joint& joint = m.joints[motor.on.joint];
    out.push_back(
        fmt::format("motor '{}' is at rest and holds {}.{} where it stands{}", motor.name,
                    joint.name, coordinates(joint.kind)[motor.on.coordinate].name,
                    std::isfinite(motor.max_force) ? ", with at most its largest force" : ""));
  }
  if (r.slide > 1e-9) out.push_back(fmt::format("contacts slid by up to {:.3g} m", r.slide));
  if (r.freedom > 0 && !r.unique.value_or(false)) {
    out.push_back(fmt::format("these forces are {}one choice of many ({})",
                              r.unique.has_value() ? "" : "perhaps ",
                              counted(r.freedom, "freedom", "freedoms")));
  }
  return out;
}

void print(const RestReport& report) {
  const bool good = report.linear || report.at.report.converged;
  const Table verdict({{"", 0, Align::left}}, stdout_wants_colour());
  verdict.print_row({conclusion(report)}, good ? Tone::good : Tone::bad);
  for (const std::string& remark : remarks(report)) fmt::print("  {}\n", remark);
  if (!good) fmt::print("\nWhere the search ended:\n");
  const Sizes sizes = sizes_of(report);
  print_bodies(report, sizes);
  print_joints(report, sizes);
  print_along(report, sizes);
  print_contacts(report, sizes);
}

Json to_json(const RestReport& report) {
  Json out{{"verdict", conclusion(report)}, {"remarks", remarks(report)}};
  if (!report.linear) add_search(report.at.report, out);
  out["bodies"] = bodies_json(report);
  out["joints"] = joints_json(report);
  out["along"] = Json::object();
  for (const Along& a : forces_along(report)) out["along"][a.name] = a.force;
  out["contacts"] = contacts_json(report);
  out["reactions"] = reactions_json(report);
  return out;
}

}  // namespace urto::app
