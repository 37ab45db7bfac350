#include "urto/result/start_look.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/file/number_text.h"
#include "urto/result/step_shares.h"
#include "urto/stepper/stepper.h"

namespace urto {
namespace {

/// Of the model's size, or of a radian: shapes placed to touch overlap by so much, and so far is
/// a limit from where it was meant to be.
constexpr double rounding = 1e-9;
constexpr std::size_t most_of_a_kind = 20;

void add(std::vector<std::string> list, const char* of_what, std::vector<std::string>& out) {
  const std::size_t shown = std::min(list.size(), most_of_a_kind);
  const std::size_t left = list.size() - shown;
  std::move(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown),
            std::back_inserter(out));
  if (left > 0) out.push_back(fmt::format("and {} more {}", left, of_what));
}

std::vector<std::string> redundant_rows(const StartReport& report) {
  std::vector<std::string> out;
  for (const RedundantRows& r : report.redundant) {
    const std::string on = r.on.empty() ? "" : fmt::format(" on {}", fmt::join(r.on, ", "));
    out.push_back(fmt::format("{}: {} of its {} depend{}; its reaction is not unique", r.name,
                              r.rows, counted(r.of, "row", "rows"), on));
  }
  return out;
}

void add_assembly(const ModelScales& scales, const StartReport& report,
                  std::vector<std::string>& out) {
  if (report.position_change > rounding * std::min(1.0, scales.size)) {
    out.push_back(
        fmt::format("assembling moved a body by {:.3g} m or rad (the joints were off by {:.3g})",
                    report.position_change, report.position_error));
  }
}

/// A line for each pair of bodies, with its deepest point.
std::vector<std::string> overlaps(const Model& model, const ModelScales& scales,
                                  const Interactions& rows) {
  std::map<std::pair<int, int>, const Contact*> deepest;
  for (const RowOrigin& origin : rows.origins) {
    if (origin.kind != Origin::contact) continue;
    const Contact& c = rows.contacts[static_cast<std::size_t>(origin.index)];
    if (c.gap >= -rounding * scales.size) continue;
    const Contact*& known = deepest[std::minmax(c.body_a, c.body_b)];
    if (known == nullptr || c.gap < known->gap) known = &c;
  }
  std::vector<const Contact*> list;
  for (const auto& [pair, contact] : deepest) list.push_back(contact);
  std::ranges::stable_sort(list, {}, &Contact::gap);
  std::vector<std::string> out;
  for (const Contact* c : list) {
    out.push_back(fmt::format("'{}' and '{}' overlap by {:.3g} m at ({:.4g}, {:.4g}, {:.4g})",
                              model.bodies[c->body_a].name, model.bodies[c->body_b].name, -c->gap,
                              c->point[0], c->point[1], c->point[2]));
  }
  return out;
}

std::vector<std::string> broken_limits(const Model& model, const ModelScales& scales,
                                       const State& state) {
  std::vector<std::string> out;
  for (const Limit& l : model.limits) {
    const Joint& joint = model.joints[l.on.joint];
    const JointCoordinate& coordinate = coordinates(joint.kind)[l.on.coordinate];
    const double slack = rounding * (coordinate.is_angle ? 1 : scales.size);
    const double x = coordinate_value(model, state, l.on);
    if (x >= l.lower - slack && x <= l.upper + slack) continue;
    out.push_back(fmt::format("limit '{}': {}.{} starts at {:.6g}, outside [{:.6g}, {:.6g}]",
                              l.name, joint.name, coordinate.name, x, l.lower, l.upper));
  }
  return out;
}

void add_settings(const SimulationOptions& options, std::vector<std::string>& out) {
  const StepperInfo stepper = find_stepper(options.stepper.name);
  if (stepper.discouraged) {
    out.push_back(fmt::format("the stepper '{}' is here to be compared with others: {}",
                              stepper.name, stepper.summary));
  }
  if (options.duration <= 0) return;  // nothing but the start is asked for
  if (!options.adaptive && options.step > options.duration * (1 + 1e-9)) {
    out.push_back(
        fmt::format("the step of {:.6g} s is longer than the duration: one step of {:.6g} s is "
                    "taken",
                    options.step, options.duration));
  }
  if (options.output_step > options.duration * (1 + 1e-9)) {
    out.push_back(fmt::format(
        "frames every {:.6g} s are farther apart than the duration of {:.6g} s: the first and the "
        "last state are recorded",
        options.output_step, options.duration));
  }
}

}  // namespace

StartLook look_at_start(const Model& model, const SimulationOptions& options,
                        const StartReport& report, const State& state, const Interactions& rows) {
  const ModelScales scales = scales_of(model);
  StartLook out;
  add(redundant_rows(report), "redundant joints", out.warnings);
  add(report.warnings, "warnings of the assembly", out.warnings);
  add_assembly(scales, report, out.warnings);
  add(overlaps(model, scales, rows), "overlapping pairs", out.warnings);
  add(broken_limits(model, scales, state), "broken limits", out.warnings);
  add_settings(options, out.warnings);
  const StepShares shares = shares_of(model, scales, state, rows);
  out.limit = shares.limit.share;
  out.penetration = shares.penetration.share;
  return out;
}

}  // namespace urto
