#include "urto/result/step_columns.h"

#include <algorithm>
#include <cassert>

#include "urto/result/step_record.h"

namespace urto {
namespace {

using Step = StepRecord;

constexpr bool integer = true;

constexpr StepColumn columns[] = {
    {"time", "s", "", "", "end of the step", [](const Step& s) { return s.time; }},
    {"step", "s", "step", "step", "length of the step", [](const Step& s) { return s.report.h; }},
    {"residual", "–", "certificate", "worst", "worst of momentum, natural map and scaled",
     [](const Step& s) { return s.report.certificate.residual(); }},
    {"momentum", "–", "certificate", "momentum", "certificate: balance of momentum",
     [](const Step& s) { return s.report.certificate.momentum; }},
    {"natural_map", "–", "certificate", "natural map", "certificate: natural map",
     [](const Step& s) { return s.report.certificate.natural_map; }},
    {"scaled", "–", "certificate", "scaled", "certificate: scaled natural map",
     [](const Step& s) { return s.report.certificate.natural_map_scaled; }},
    {"joint_error", "m, rad", "joint_error", "joint error",
     "largest error of a rigid joint at the end of the step",
     [](const Step& s) { return s.report.joint_error; }},
    {"penetration", "m", "penetration", "penetration",
     "deepest rigid contact at the start of the step",
     [](const Step& s) { return s.report.penetration; }},
    {"joint_share", "–", "shares", "joint error",
     "largest error of a rigid joint at the end of the step beside the size of what it joins, or "
     "a radian",
     [](const Step& s) { return s.shares.joint.share; }},
    {"worst_joint", "–", "", "", "the joint that has it; -1: none, or a coupling",
     [](const Step& s) { return 1.0 * s.shares.joint.index; }, integer},
    {"limit_share", "–", "shares", "limit passed",
     "largest passing of a rigid limit at the end of the step, in the same units",
     [](const Step& s) { return s.shares.limit.share; }},
    {"worst_limit", "–", "", "", "the limit that is passed; -1: none",
     [](const Step& s) { return 1.0 * s.shares.limit.index; }, integer},
    {"penetration_share", "–", "shares", "penetration",
     "deepest rigid contact at the start of the step beside the width of the smaller shape",
     [](const Step& s) { return s.shares.penetration.share; }},
    {"deepest_a", "–", "", "", "the bodies in that contact; -1: none",
     [](const Step& s) { return 1.0 * s.shares.penetration.index; }, integer},
    {"deepest_b", "–", "", "", "and the other one",
     [](const Step& s) { return 1.0 * s.shares.against; }, integer},
    {"reach", "–", "", "",
     "largest distance of a moving body from the middle of the start, in sizes of the model",
     [](const Step& s) { return s.shares.reach.share; }},
    {"farthest", "–", "", "", "the body that has gone farthest",
     [](const Step& s) { return 1.0 * s.shares.reach.index; }, integer},
    {"local_error", "m, rad", "local_error", "local error",
     "estimated error of the step, of those that choose their length",
     [](const Step& s) { return s.report.local_error; }},
    {"cuts", "–", "", "", "how often the step was halved because it could not be taken whole",
     [](const Step& s) { return 1.0 * s.report.cuts; }, integer},
    {"contacts", "–", "contacts", "within reach", "contacts and limits within reach",
     [](const Step& s) { return 1.0 * s.report.contacts; }, integer},
    {"active", "–", "contacts", "active", "of those, with an impulse",
     [](const Step& s) { return 1.0 * s.report.active; }, integer},
    {"islands", "–", "iterations", "islands", "islands with at least one row",
     [](const Step& s) { return 1.0 * s.report.solve.islands; }, integer},
    {"sweeps", "–", "iterations", "sweeps", "sweeps of the island that needed most",
     [](const Step& s) { return 1.0 * s.report.solve.sweeps; }, integer},
    {"handed_on", "–", "iterations", "islands handed on", "islands given to the named solver",
     [](const Step& s) { return 1.0 * s.report.solve.handed_on; }, integer},
    {"iterations", "–", "iterations", "iterations",
     "iterations of the named solver, of all islands",
     [](const Step& s) { return 1.0 * s.report.solve.iterations; }, integer},
    {"meets_tolerance", "–", "", "", "1 if the step met its tolerance",
     [](const Step& s) { return s.report.meets_tolerance ? 1.0 : 0.0; }, integer},
    {"energy/kinetic", "J", "energy", "kinetic", "at the end of the step",
     [](const Step& s) { return s.energy.kinetic; }},
    {"energy/potential", "J", "energy", "potential", "at the end of the step",
     [](const Step& s) { return s.energy.potential; }},
    {"energy/supplied", "J", "balance", "supplied",
     "by loads, motors and kinematic bodies since the start",
     [](const Step& s) { return s.energy.supplied; }},
    {"energy/friction", "J", "balance", "friction", "dissipated by friction since the start",
     [](const Step& s) { return s.energy.friction; }},
    {"energy/impact", "J", "balance", "impact", "dissipated by impacts since the start",
     [](const Step& s) { return s.energy.impact; }},
    {"energy/drive", "J", "balance", "drive",
     "dissipated in motors that slip behind their speed, since the start",
     [](const Step& s) { return s.energy.drive; }},
    {"energy/damping", "J", "balance", "damping", "dissipated by dampers since the start",
     [](const Step& s) { return s.energy.damping; }},
    {"energy/recovery", "J", "balance", "recovery",
     "given by pushing overlapping bodies apart, since the start",
     [](const Step& s) { return s.energy.recovery; }},
    {"energy/numerical", "J", "balance", "numerical",
     "given by the scheme's own defects since the start",
     [](const Step& s) { return s.energy.numerical(); }},
    {"energy/unexplained", "J", "balance", "unexplained",
     "what the accounts leave over since the start: rounding",
     [](const Step& s) { return s.energy.unexplained(); }},
    {"seconds/rows", "s", "timings", "rows", "wall time of detection and measurement",
     [](const Step& s) { return s.report.timings.rows; }},
    {"seconds/assemble", "s", "timings", "assemble", "wall time of assembly",
     [](const Step& s) { return s.report.timings.assemble; }},
    {"seconds/solve", "s", "timings", "solve", "wall time of the solve",
     [](const Step& s) { return s.report.timings.solve; }},
    {"seconds/certify", "s", "timings", "certify", "wall time of the certificate",
     [](const Step& s) { return s.report.timings.certify; }},
    {"seconds/advance", "s", "timings", "advance", "wall time of the update",
     [](const Step& s) { return s.report.timings.advance; }},
};

constexpr StepPanel panels[] = {
    {.name = "energy",
     .title = "Energy",
     .note = "of all bodies",
     .axis = "energy [J]",
     .total = true},
    {.name = "balance",
     .title = "Energy balance",
     .note = "where it went since the start",
     .axis = "energy [J]"},
    {.name = "certificate",
     .title = "Certificates",
     .note = "of every step, by code the solver does not share",
     .axis = "residual [–]",
     .log = true,
     .tolerance = true},
    {.name = "contacts",
     .title = "Contacts",
     .note = "contacts and limits within reach, and those that push",
     .axis = "number"},
    {.name = "iterations",
     .title = "Iterations",
     .note = "how the steps were solved",
     .axis = "number"},
    {.name = "timings",
     .title = "Time by phase",
     .note = "wall time of every step",
     .axis = "time per step [ms]",
     .log = true,
     .factor = 1e3},
    {.name = "penetration",
     .title = "Penetration",
     .note = "deepest overlap at the start of every step",
     .axis = "depth [m]",
     .log = true,
     .decades = 9},
    {.name = "joint_error",
     .title = "Joint error",
     .note = "worst violation at the end of every step",
     .axis = "error [m, rad]",
     .log = true,
     .decades = 9},
    {.name = "shares",
     .title = "Errors beside sizes",
     .note = "of joints, limits and contacts; 1 is the size of the part, or a radian",
     .axis = "error / size [–]",
     .log = true,
     .decades = 9},
    {.name = "step",
     .title = "Step length",
     .note = "of every accepted step",
     .axis = "step [s]",
     .log = true,
     .adaptive = true},
    {.name = "local_error",
     .title = "Local error",
     .note = "estimated, of every accepted step",
     .axis = "error [m, rad]",
     .log = true,
     .adaptive = true},
};

}  // namespace

std::span<const StepColumn> step_columns() {
  return columns;
}

std::size_t step_column(std::string_view name) {
  const auto* at = std::ranges::find(columns, name, &StepColumn::name);
  assert(at != std::end(columns));
  return static_cast<std::size_t>(at - std::begin(columns));
}

std::span<const StepPanel> step_panels() {
  return panels;
}

}  // namespace urto
