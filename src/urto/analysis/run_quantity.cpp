#include "urto/analysis/run_quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/file/spelling.h"

namespace urto {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<std::string_view, 10> of_bodies = {"x",  "y",     "z",  "vx", "vy",
                                                        "vz", "speed", "wx", "wy", "wz"};

struct WholeQuantity {
  std::string_view name, unit;
  QuantityKind kind;
  bool decades = false;
};

constexpr WholeQuantity of_runs[] = {
    {"energy", "J", QuantityKind::energy},
    {"kinetic", "J", QuantityKind::kinetic},
    {"gap", "m", QuantityKind::gap},
    {"normal-force", "N", QuantityKind::normal_force},
    {"normal-impulse", "N s", QuantityKind::normal_impulse},
    {"normal-nu", "kg m", QuantityKind::normal_position},
    {"joint-error", "m, rad", QuantityKind::joint_error, true},
    {"joint-rate", "m/s, rad/s", QuantityKind::joint_rate, true},
    {"step", "s", QuantityKind::step, true},
    {"local-error", "m, rad", QuantityKind::local_error, true},
};

struct RowQuantity {
  std::string_view name, unit;
  QuantityKind kind;
};

constexpr RowQuantity of_joint_rows[] = {
    {"force", "N, N m", QuantityKind::row_force},
    {"impulse", "N s, N m s", QuantityKind::row_impulse},
    {"smooth", "N, N m", QuantityKind::row_smooth},
    {"nu", "kg m, kg m²", QuantityKind::row_position},
};

bool is_one_sided(const Law& law) {
  return law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
}

bool pushes(const Interactions& rows, int block) {
  return is_one_sided(rows.laws[block]) &&
         (rows.origins[block].kind == Origin::contact || rows.origins[block].kind == Origin::limit);
}

int index_of(const auto& items, std::string_view name) {
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (items[k].name == name) return static_cast<int>(k);
  }
  return -1;
}

bool find_of_body(int body, std::string_view what, RunQuantity& out) {
  const auto at = std::ranges::find(of_bodies, what);
  if (body < 0 || at == of_bodies.end()) return false;
  out.kind = QuantityKind::body;
  out.item = body;
  out.part = static_cast<int>(at - of_bodies.begin());
  out.unit = out.part < 3 ? "m" : out.part < 7 ? "m/s" : "rad/s";
  return true;
}

bool find_of_row(std::string_view what, RunQuantity& out) {
  for (const RowQuantity& row : of_joint_rows) {
    if (!what.starts_with(row.name) || what.size() < row.name.size() + 2 ||
        what[row.name.size()] != '-')
      continue;
    const std::string_view number = what.substr(row.name.size() + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), out.part);
    if (error != std::errc{} || end != number.data() + number.size() || out.part < 1 ||
        out.part > max_block)
      return false;
    --out.part;
    out.kind = row.kind;
    out.unit = row.unit;
    return true;
  }
  return false;
}

bool find_of_joint(const Model& model, int joint, std::string_view what, RunQuantity& out) {
  if (joint < 0) return false;
  out.item = joint;
  if (find_of_row(what, out)) return true;
  constexpr std::string_view rate = "-rate";
  const bool is_rate = what.ends_with(rate);
  if (is_rate) what.remove_suffix(rate.size());
  const JointKind kind = model.joints[joint].kind;
  out.part = find_coordinate(kind, what);
  if (out.part < 0) return false;
  out.kind = is_rate ? QuantityKind::coordinate_rate : QuantityKind::coordinate;
  out.unit = coordinates(kind)[out.part].is_angle ? "rad" : "m";
  if (is_rate) out.unit += "/s";
  return true;
}

[[noreturn]] void refuse(const Model& model, const std::string& name) {
  std::vector<std::string_view> whole;
  for (const WholeQuantity& q : of_runs) whole.push_back(q.name);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) {
    throw InputError(
        "quantity", "'" + name + "'",
        fmt::format("NAME.QUANTITY of a body or joint, or one of: {}", fmt::join(whole, ", ")));
  }
  const std::string thing = name.substr(0, dot);
  const int body = index_of(model.bodies, thing), joint = index_of(model.joints, thing);
  if (body < 0 && joint < 0) {
    std::vector<std::string_view> names;
    for (const Body& b : model.bodies) names.push_back(b.name);
    for (const Joint& j : model.joints) names.push_back(j.name);
    const std::string_view near = nearest_word(thing, names);
    throw InputError("quantity", fmt::format("'{}' of '{}'", name.substr(dot + 1), thing),
                     near.empty() ? "the name of a body or joint of the scene"
                                  : fmt::format("a body or joint such as '{}'", near));
  }
  std::vector<std::string> of_it;
  if (body >= 0) of_it.assign(of_bodies.begin(), of_bodies.end());
  if (joint >= 0) {
    for (const JointCoordinate& c : coordinates(model.joints[joint].kind)) {
      of_it.emplace_back(c.name);
      of_it.push_back(std::string(c.name) + "-rate");
    }
    for (const RowQuantity& row : of_joint_rows) of_it.push_back(std::string(row.name) + "-1");
  }
  throw InputError(fmt::format("quantity of '{}'", thing), "'" + name.substr(dot + 1) + "'",
                   fmt::format("one of: {}", fmt::join(of_it, ", ")));
}

}  // namespace

RunQuantity find_quantity(const Model& model, const std::string& name) {
  RunQuantity out{.name = name};
  for (const WholeQuantity& q : of_runs) {
    if (q.name != name) continue;
    out.unit = q.unit;
    out.kind = q.kind;
    out.decades = q.decades;
    return out;
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) refuse(model, name);
  const std::string_view thing = std::string_view(name).substr(0, dot);
  const std::string_view what = std::string_view(name).substr(dot + 1);
  if (find_of_body(index_of(model.bodies, thing), what, out)) return out;
  if (find_of_joint(model, index_of(model.joints, thing), what, out)) return out;
  refuse(model, name);
}

QuantityProbe::QuantityProbe(const Simulation& run, std::vector<RunQuantity> quantities,
                             double reach)
    : run_(run), quantities_(std::move(quantities)), system_(run.system()), reach_(reach) {
  looks_ = std::ranges::any_of(quantities_, [](const RunQuantity& q) {
    return q.kind == QuantityKind::gap || q.kind == QuantityKind::joint_error ||
           q.kind == QuantityKind::joint_rate;
  });
  values_.resize(quantities_.size());
}

// The stepper's rows are those of the start of its step.
void QuantityProbe::look() {
  system_.interactions(run_.state(),
                       {.envelope = reach_, .velocity_equalities = true, .normal_rows_only = true},
                       rows_);
  rate_.resize(rows_.rows());
  multiply(rows_.J, run_.state().v, rate_);
  gap_ = unknown;
  joint_error_ = joint_rate_ = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const int first = rows_.J.row_start[i];
    if (pushes(rows_, i)) gap_ = std::isnan(gap_) ? rows_.g[first] : std::min(gap_, rows_.g[first]);
    if (!holds_position(rows_.laws[i])) continue;
    for (int r = first; r < first + rows_.laws[i].dim; ++r) {
      joint_error_ = std::max(joint_error_, std::abs(rows_.g[r]));
      joint_rate_ = std::max(joint_rate_, std::abs(rate_[r] + rows_.g_t[r]));
    }
  }
}

const std::vector<double>& QuantityProbe::measure(double h) {
  if (looks_) look();
  for (std::size_t k = 0; k < quantities_.size(); ++k) values_[k] = value(quantities_[k], h);
  return values_;
}

double QuantityProbe::of_body(const RunQuantity& q) const {
  if (q.part < 3) return place(run_.model(), run_.state(), q.item).x[q.part];
  const BodyVelocity v = velocity(run_.model(), run_.state(), q.item);
  if (q.part < 6) return v.v[q.part - 3];
  return q.part == 6 ? v.v.norm() : v.omega[q.part - 7];
}

double QuantityProbe::of_row(const RunQuantity& q, double h) const {
  const Interactions& rows = run_.rows();
  const RowSplit split = run_.split();
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::joint || rows.origins[i].index != q.item) continue;
    if (q.part >= rows.laws[i].dim) return unknown;
    const int r = rows.J.row_start[i] + q.part;
    const double impulse = run_.impulses()[r];
    if (q.kind == QuantityKind::row_force) return impulse / h;
    if (split.smooth_forces == nullptr)
      return q.kind == QuantityKind::row_impulse ? impulse : unknown;
    if (q.kind == QuantityKind::row_smooth) return (*split.smooth_forces)[r];
    if (q.kind == QuantityKind::row_impulse) return impulse - h * (*split.smooth_forces)[r];
    return (*split.position_multipliers)[r];
  }
  return unknown;
}

double QuantityProbe::of_rows(const RunQuantity& q, double h) const {
  const Interactions& rows = run_.rows();
  const RowSplit split = run_.split();
  const bool positions = q.kind == QuantityKind::normal_position;
  if (positions && split.position_multipliers == nullptr) return unknown;
  double sum = 0, most = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!pushes(rows, i)) continue;
    const int first = rows.J.row_start[i];
    sum += run_.impulses()[first];
    if (positions) most = std::max(most, (*split.position_multipliers)[first]);
  }
  if (positions) return most;
  return q.kind == QuantityKind::normal_force ? sum / h : sum;
}

double QuantityProbe::value(const RunQuantity& q, double h) const {
  const Model& model = run_.model();
  switch (q.kind) {
    case QuantityKind::body:
      return of_body(q);
    case QuantityKind::coordinate:
      return coordinate_value(model, run_.state(), {q.item, q.part});
    case QuantityKind::coordinate_rate:
      return coordinate_rate(model, run_.state(), {q.item, q.part});
    case QuantityKind::energy:
      return run_.energy().total();
    case QuantityKind::kinetic:
      return run_.energy().kinetic;
    case QuantityKind::gap:
      return gap_;
    case QuantityKind::joint_error:
      return joint_error_;
    case QuantityKind::joint_rate:
      return joint_rate_;
    default:
      break;
  }
  if (!(h > 0)) return unknown;
  switch (q.kind) {
    case QuantityKind::step:
      return h;
    case QuantityKind::local_error:
      return run_.report().local_error;
    case QuantityKind::normal_force:
    case QuantityKind::normal_impulse:
    case QuantityKind::normal_position:
      return of_rows(q, h);
    default:
      return of_row(q, h);
  }
}

}  // namespace urto
