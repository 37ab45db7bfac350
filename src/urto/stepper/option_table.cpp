#include "urto/stepper/option_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/stepper/stepper.h"

namespace urto {
namespace {

// ---- The words of enumerations, in their order

constexpr std::string_view friction_words[] = {"exact", "convex"};
constexpr std::string_view implicit_forces_words[] = {"automatic", "none", "semidefinite", "exact"};

constexpr std::string_view moreau_variant_words[] = {"implicit", "nearly-implicit",
                                                     "nearly-implicit-start", "semi-explicit"};
constexpr std::string_view activation_words[] = {"automatic", "start", "half",
                                                 "end",       "free",  "closed"};
constexpr std::string_view alpha_algorithm_words[] = {"one-pass", "sequential", "monolithic"};
constexpr std::string_view alpha_variant_words[] = {"both", "modified-lcp", "index-3"};
constexpr std::string_view carried_contacts_words[] = {"none", "lasting", "sliding"};
constexpr std::string_view restitution_bound_words[] = {"approach", "source"};
constexpr std::string_view friction_bound_words[] = {"circle", "polygon"};
constexpr std::string_view restitution_law_words[] = {"poisson", "newton"};
constexpr std::string_view restitution_friction_words[] = {"extra", "total"};
constexpr std::string_view impact_order_words[] = {"simultaneous", "sequential"};
constexpr std::string_view active_contacts_words[] = {"touching", "predicted"};
constexpr std::string_view drift_control_words[] = {"projection", "right-hand-side", "none"};

constexpr std::span<const std::string_view> words_of(Friction) {
  return friction_words;
}
constexpr std::span<const std::string_view> words_of(ImplicitForces) {
  return implicit_forces_words;
}
constexpr std::span<const std::string_view> words_of(MoreauVariant) {
  return moreau_variant_words;
}
constexpr std::span<const std::string_view> words_of(Activation) {
  return activation_words;
}
constexpr std::span<const std::string_view> words_of(AlphaAlgorithm) {
  return alpha_algorithm_words;
}
constexpr std::span<const std::string_view> words_of(AlphaVariant) {
  return alpha_variant_words;
}
constexpr std::span<const std::string_view> words_of(CarriedContacts) {
  return carried_contacts_words;
}
constexpr std::span<const std::string_view> words_of(RestitutionBound) {
  return restitution_bound_words;
}
constexpr std::span<const std::string_view> words_of(FrictionBound) {
  return friction_bound_words;
}
constexpr std::span<const std::string_view> words_of(RestitutionLaw) {
  return restitution_law_words;
}
constexpr std::span<const std::string_view> words_of(RestitutionFriction) {
  return restitution_friction_words;
}
constexpr std::span<const std::string_view> words_of(ImpactOrder) {
  return impact_order_words;
}
constexpr std::span<const std::string_view> words_of(ActiveContacts) {
  return active_contacts_words;
}
constexpr std::span<const std::string_view> words_of(DriftControl) {
  return drift_control_words;
}

// ---- From a pointer to a member to the member itself, wherever in the options its owner is

template <typename Owner>
auto& part(auto& options) {
  if constexpr (std::is_same_v<Owner, SimulationOptions>) {
    return options;
  } else if constexpr (std::is_same_v<Owner, StepperOptions>) {
    return options.stepper;
  } else if constexpr (std::is_same_v<Owner, PenaltyLaw>) {
    return options.stepper.penalty;
  } else {
    static_assert(std::is_same_v<Owner, SolveOptions>);
    return options.solver;
  }
}

template <auto member>
struct MemberTraits;
template <typename Type, typename Owner, Type Owner::*member>
struct MemberTraits<member> {
  using Value = Type;
  static auto& at(auto& options) { return part<Owner>(options).*member; }
};

template <auto member>
OptionValue get(const SimulationOptions& options) {
  const auto& x = MemberTraits<member>::at(options);
  if constexpr (std::is_enum_v<typename MemberTraits<member>::Value>) {
    return std::string(words_of(x)[static_cast<std::size_t>(x)]);
  } else {
    return x;
  }
}

template <auto member>
void set(SimulationOptions& options, const OptionValue& value) {
  using Value = typename MemberTraits<member>::Value;
  auto& x = MemberTraits<member>::at(options);
  if constexpr (std::is_enum_v<Value>) {
    const auto words = words_of(x);
    const auto found = std::find(words.begin(), words.end(), std::get<std::string>(value));
    x = static_cast<Value>(found - words.begin());
  } else {
    x = std::get<Value>(value);
  }
}

template <auto member>
std::vector<std::string> words_of_member() {
  const auto words = words_of(typename MemberTraits<member>::Value{});
  return {words.begin(), words.end()};
}

std::vector<std::string> stepper_names() {
  std::vector<std::string> names;
  for (const StepperInfo& info : steppers()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const SolverInfo& info : solvers()) names.emplace_back(info.name);
  return names;
}

// ---- A line of the table

using Text = std::string_view;

template <auto member>
constexpr OptionInfo option(Text key, OptionKind kind, Text scope, Text meaning) {
  return {.key = key,
          .kind = kind,
          .scope = scope,
          .meaning = meaning,
          .get = get<member>,
          .set = set<member>};
}

template <auto member>
constexpr OptionInfo number(Text key, Text unit, const OptionRange& range, Text scope,
                            Text meaning) {
  OptionInfo info = option<member>(key, OptionKind::number, scope, meaning);
  info.unit = unit;
  info.range = range;
  return info;
}

template <auto member>
constexpr OptionInfo integer(Text key, const OptionRange& range, Text scope, Text meaning) {
  OptionInfo info = option<member>(key, OptionKind::integer, scope, meaning);
  info.range = range;
  return info;
}

template <auto member>
constexpr OptionInfo flag(Text key, Text scope, Text meaning) {
  return option<member>(key, OptionKind::flag, scope, meaning);
}

template <auto member>
constexpr OptionInfo word(Text key, Text noun, Text scope, Text meaning) {
  OptionInfo info = option<member>(key, OptionKind::word, scope, meaning);
  info.noun = noun;
  info.choices = words_of_member<member>;
  return info;
}

template <auto member>
constexpr OptionInfo name(Text key, std::vector<std::string> (*choices)(), Text scope,
                          Text meaning) {
  OptionInfo info = option<member>(key, OptionKind::name, scope, meaning);
  info.noun = key;
  info.choices = choices;
  return info;
}

// ---- Ranges

constexpr OptionRange positive(Text words = "a positive number") {
  return {.low = 0, .above = true, .words = words};
}
constexpr OptionRange zero_or_more(Text words) {
  return {.low = 0, .words = words};
}
constexpr OptionRange or_infinite(OptionRange range) {
  range.infinite = true;
  return range;
}
constexpr OptionRange seconds = positive("a positive number of seconds");
constexpr OptionRange zero_or_more_seconds = zero_or_more("zero or more seconds");
constexpr OptionRange fraction{.low = 0, .high = 1, .words = "a number from 0 to 1"};
constexpr OptionRange inside_0_1{
    .low = 0, .high = 1, .above = true, .below = true, .words = "a number between 0 and 1"};
constexpr OptionRange inside_0_2{
    .low = 0, .high = 2, .above = true, .below = true, .words = "a number between 0 and 2"};
constexpr OptionRange above_0_up_to_1{
    .low = 0, .high = 1, .above = true, .words = "a number above 0, up to 1"};

// ---- Scopes

constexpr Text run = {}, adaptive = "adaptive steps", dvi = "dvi", smooth = "smooth steppers";
constexpr Text newton = "implicit smooth steppers, dvi-newton, moreau-jean, nonsmooth-alpha";
constexpr Text implicit = "implicit smooth steppers", is_explicit = "explicit smooth steppers";
constexpr Text contact = "steppers with contacts", moreau = "moreau-jean";
constexpr Text rebounding = "dvi, moreau-jean, nonsmooth-alpha, trapezoidal-lcp";
constexpr Text trapezoidal = "trapezoidal-lcp",
               poisson = "trapezoidal-lcp, restitution_law poisson";
constexpr Text alpha = "nonsmooth-alpha", second_order = "moreau-jean, nonsmooth-alpha";
constexpr Text projecting = "dvi, moreau-jean, explicit smooth steppers",
               penalty = "penalty contact";
constexpr Text fixed_point = "fixed-point solvers";

constexpr OptionInfo table[] = {
    number<&SimulationOptions::duration>("duration", "s", zero_or_more_seconds, run,
                                         "Simulated time."),
    number<&SimulationOptions::step>("step", "s", seconds, run,
                                     "Step size; the first one when adaptive."),
    flag<&SimulationOptions::adaptive>(
        "adaptive", run,
        "Choose the step by its error: by step doubling, of nonsmooth-alpha by its own estimate."),
    number<&SimulationOptions::error_tolerance>(
        "error_tolerance", "", positive(), adaptive,
        "Local error of a step, lengths in m and angles in rad."),
    number<&SimulationOptions::min_step>("min_step", "s", seconds, adaptive, "Smallest step."),
    number<&SimulationOptions::max_step>("max_step", "s", seconds, adaptive, "Largest step."),
    flag<&SimulationOptions::extrapolate>(
        "extrapolate", "adaptive steps of dvi",
        "Where the motion is smooth go on with the extrapolated result, of second order."),
    number<&SimulationOptions::output_step>(
        "output_step", "s", zero_or_more_seconds, run,
        "Between recorded frames; a step or less records every step; 0 "
        "chooses about 60 frames a second, from 200 to 3000 in "
        "all, fewer where they would take more than 160 MB."),
    number<&SimulationOptions::checkpoint_interval>(
        "checkpoint_interval", "s", zero_or_more_seconds, run,
        "Simulated time between checkpoints; 0: only at the end and on interruption."),
    number<&SimulationOptions::contact_envelope>(
        "contact_envelope", "m", zero_or_more("zero or more metres"), run,
        "Pairs closer than this, plus what they can travel in a step, become contacts; 0 chooses a "
        "fortieth of the smallest width of a colliding shape (terrain not counted)."),
    flag<&SimulationOptions::assemble>("assemble", run, "Move the given start onto the joints."),
    flag<&SimulationOptions::islands>("islands", contact,
                                      "false solves all bodies as one problem."),
    integer<&SimulationOptions::threads>(
        "threads", {.low = 1, .high = 1024}, contact,
        "Threads for detection, rows, islands and certificates: the same answer for any number."),
    flag<&SimulationOptions::stop_on_failure>(
        "stop_on_failure", run, "End the run at the first step that misses its tolerance."),
    flag<&SimulationOptions::verify>(
        "verify", run,
        "Run again at half and a quarter of the step, and say how far the motion is from its "
        "limit."),

    name<&StepperOptions::name>("stepper", stepper_names, run, "The time stepper."),
    word<&StepperOptions::friction>(
        "friction", "a friction law", contact,
        "exact: Coulomb's law; convex: its relaxation, which lifts fast-sliding bodies a little."),
    word<&StepperOptions::implicit_forces>(
        "implicit_forces", "a treatment of forces", dvi,
        "How springs and dampers enter a step: each spring as its frequency asks for (automatic), "
        "only on the right-hand side (none), with their positive semi-definite tangents, or with "
        "their exact ones."),
    number<&StepperOptions::recovery_speed>(
        "recovery_speed", "m/s", or_infinite(zero_or_more("zero or more (m/s)")), dvi,
        "The fastest a penetration is pushed out, and a broken limit of what slides; infinity: "
        "within one step."),
    number<&StepperOptions::recovery_rate>(
        "recovery_rate", "rad/s", or_infinite(zero_or_more("zero or more (rad/s)")), dvi,
        "The fastest a broken limit of what turns is brought back; infinity: within one step."),
    flag<&StepperOptions::stabilise>(
        "stabilise", dvi,
        "false: position errors are left as they are, joints drift. For comparisons."),
    flag<&StepperOptions::skip_tangential>(
        "skip_tangential", dvi, "Contacts as if no material had friction. For comparisons."),
    flag<&StepperOptions::restitution>("restitution", rebounding,
                                       "false: every impact is inelastic."),
    flag<&StepperOptions::project_joints>("project_joints", projecting,
                                          "Move the bodies back onto the joints after each step."),
    number<&StepperOptions::projection_tolerance>(
        "projection_tolerance", "m, rad", positive(), run,
        "Joint error at which moving bodies onto the joints ends, at the start and in steps."),

    number<&StepperOptions::newmark_gamma>(
        "newmark_gamma", "", {.low = 0.5, .high = 1, .words = "a number from 1/2 to 1"}, "newmark",
        "γ; second order at 1/2 only."),
    number<&StepperOptions::newmark_beta>("newmark_beta", "", above_0_up_to_1, "newmark", "β."),
    number<&StepperOptions::hht_alpha>(
        "hht_alpha", "", {.low = -1.0 / 3, .high = 0, .words = "a number from -1/3 to 0"}, "hht",
        "α; more negative damps more."),
    number<&StepperOptions::spectral_radius>(
        "spectral_radius", "", fraction, "generalised-alpha, moreau-jean, nonsmooth-alpha",
        "ρ∞: what a step leaves of infinitely fast oscillations; θ = 1/(1 + ρ∞) of moreau-jean."),
    number<&StepperOptions::newton_tolerance>(
        "newton_tolerance", "", inside_0_1, implicit,
        "Newton's iteration ends when the correction still to come is below this part of the "
        "largest acceleration."),
    integer<&StepperOptions::newton_iterations>(
        "newton_iterations", {.low = 1, .high = 10'000}, newton,
        "Newton's iterations before the step is cut, or (dvi-newton) misses its tolerance."),
    flag<&StepperOptions::geometric_stiffness>(
        "geometric_stiffness", implicit,
        "The geometric terms of joints, and of a mass that depends on the configuration, in "
        "Newton's matrix: fewer iterations, dearer ones."),
    flag<&StepperOptions::mean_mass>(
        "mean_mass", "implicit-euler, trapezoidal, newmark",
        "The mean of the mass at both ends of a step, instead of that at its end. Rigid bodies "
        "have a constant one."),
    flag<&StepperOptions::reuse_factor>(
        "reuse_factor", implicit, "Keep Newton's matrix within a step while it contracts fast."),
    flag<&StepperOptions::velocity_constraints>(
        "velocity_constraints", implicit,
        "Hold velocities on the joints too (index 2 of Gear, Gupta and Leimkuhler)."),
    number<&StepperOptions::baumgarte>(
        "baumgarte", "1/s", zero_or_more("zero or more (1/s)"), is_explicit,
        "Pulls the joints' errors to zero at this rate; 0 lets them drift."),

    word<&StepperOptions::moreau_variant>(
        "moreau_variant", "a variant", moreau,
        "Forces at the θ-point of the step (implicit), as the mean of both ends with the rows of "
        "its end (nearly-implicit) or start (nearly-implicit-start), or of the start "
        "(semi-explicit: no iteration)."),
    word<&StepperOptions::activation>(
        "activation", "a prediction", second_order,
        "The prediction that closes a contact before its velocity obeys the law: the start of the "
        "step, half a step or a step further at its velocity, where the forces alone lead, or "
        "(nonsmooth-alpha) closed by the position correction; automatic: a step further, closed of "
        "nonsmooth-alpha."),
    word<&StepperOptions::restitution_bound>(
        "restitution_bound", "a bound", second_order,
        "After an impact u ≥ -e u⁻ of what approached (approach), or whatever u⁻ was (source)."),

    word<&StepperOptions::alpha_algorithm>(
        "alpha_algorithm", "an algorithm", alpha,
        "Smooth motion, positions and velocities once each in a row (one-pass), again until all "
        "equations hold together (sequential), or all by one Newton iteration (monolithic)."),
    word<&StepperOptions::alpha_variant>(
        "alpha_variant", "a variant", alpha,
        "For comparisons: gaps and joints at positions and velocities (both), positions with nu - "
        "h "
        "Lambda in place of nu (modified-lcp, one Newton iteration on all equations), or "
        "positions alone without a law of impact (index-3)."),
    word<&StepperOptions::carried_contacts>(
        "carried_contacts", "a kind of contacts", alpha,
        "Contacts whose force goes into the next step's smooth motion, which makes them of second "
        "order where rows turn: none, all that last (lasting), those with the friction of what "
        "slides as a law (sliding). Of alpha_algorithm one-pass and activation closed."),
    flag<&StepperOptions::restart>(
        "restart", alpha, "Consistent accelerations after impacts and changes of contacts."),
    flag<&StepperOptions::friction_displacement>(
        "friction_displacement", alpha,
        "Friction moves bodies by half of its impulse within its step; without it they creep."),
    number<&StepperOptions::activation_mass>(
        "activation_mass", "", above_0_up_to_1, alpha,
        "Part of a contact's effective mass that weighs its gap against its multiplier in the "
        "active sets."),

    word<&StepperOptions::friction_bound>(
        "friction_bound", "a bound", "dvi, moreau-jean, trapezoidal-lcp",
        "What bounds the friction of exact contacts: the circle of Coulomb's law, or a polygon "
        "inside it."),
    integer<&StepperOptions::friction_edges>("friction_edges", {.low = 3, .high = 256},
                                             "friction_bound polygon", "Corners of the polygon."),
    word<&StepperOptions::restitution_law>(
        "restitution_law", "a law of restitution", trapezoidal,
        "An impact gives back e times the impulse of its compression (poisson), or e times the "
        "speed of approach (newton)."),
    word<&StepperOptions::restitution_friction>(
        "restitution_friction", "a bound", poisson,
        "What bounds friction while an impact gives back: the normal impulse beyond e times that "
        "of compression (extra), or all of it (total)."),
    word<&StepperOptions::impact_order>(
        "impact_order", "an order", trapezoidal,
        "All contacts that touch take part in an impact (simultaneous), or the one that "
        "approaches fastest by itself, then the next (sequential)."),
    word<&StepperOptions::active_contacts>(
        "active_contacts", "a rule", trapezoidal,
        "Velocities obey contacts that touch and do not part (touching), or also those that a "
        "step would close (predicted: reflects them, for comparisons)."),
    word<&StepperOptions::drift_control>(
        "drift_control", "a treatment of position errors", trapezoidal,
        "Move positions and velocities back onto joints and contacts after each step "
        "(projection), half of the error in the rows of the next step (right-hand-side), or "
        "nothing (none)."),
    flag<&StepperOptions::midpoint_rows>(
        "midpoint_rows", trapezoidal,
        "Normals half a step ahead: second order on curved surfaces; false: at the start of the "
        "step, for comparisons."),
    flag<&StepperOptions::end_at_impacts>(
        "end_at_impacts", trapezoidal,
        "A step ends where an impact was, and the next one starts there: the grid is left."),
    number<&StepperOptions::contact_tolerance>("contact_tolerance", "m",
                                               positive("a positive number of metres"), trapezoidal,
                                               "A contact or limit that is closer touches."),

    flag<&StepperOptions::penalty_contact>("penalty_contact", smooth,
                                           "Contacts as stiff springs instead of refusing them."),
    number<&PenaltyLaw::stiffness>("penalty_stiffness", "N/m^exponent", positive(), penalty,
                                   "k of the force k δⁿ of a penetration δ."),
    number<&PenaltyLaw::exponent>("penalty_exponent", "",
                                  {.low = 1, .high = 3, .words = "a number from 1 to 3"}, penalty,
                                  "n of that force: 1.5 is Hertz's law of spheres."),
    number<&PenaltyLaw::damping>("penalty_damping", "s/m", zero_or_more("zero or more (s/m)"),
                                 penalty, "d of Hunt and Crossley's factor 1 + d δ̇."),
    number<&PenaltyLaw::slip>(
        "penalty_slip", "m/s", positive("a positive number (m/s)"), penalty,
        "Slip at which the smoothed friction has about two thirds of its bound."),
    number<&PenaltyLaw::tangential_stiffness>(
        "penalty_tangential_stiffness", "N/m", zero_or_more("zero or more (N/m)"), penalty,
        "k of the spring of friction, which remembers where a contact stuck and slips at Coulomb's "
        "bound; 0 takes the smoothed friction of penalty_slip instead."),
    number<&PenaltyLaw::tangential_damping>("penalty_tangential_damping", "N·s/m",
                                            zero_or_more("zero or more (N·s/m)"), penalty,
                                            "Damper beside the spring of friction."),

    name<&SolveOptions::solver>(
        "solver", solver_names, contact,
        "The solver of the step problem; urto solve --list-solvers shows what each can do."),
    number<&SolveOptions::tolerance>("tolerance", "", positive(), run,
                                     "Every certificate must be at most this."),
    integer<&SolveOptions::max_iterations>("max_iterations", {.low = 1, .high = 2e9}, contact,
                                           "Iterations of the solver in a step."),
    number<&SolveOptions::time_limit>("time_limit", "s", or_infinite(seconds), contact,
                                      "Wall time of the solver in a step."),
    number<&SolveOptions::relaxation>("relaxation", "", inside_0_2, fixed_point,
                                      "ω of sor and its kin."),
    number<&SolveOptions::jacobi_relaxation>(
        "jacobi_relaxation", "", inside_0_2, fixed_point,
        "ω of jacobi: 0.2 to 0.5 converge on stacks, 1 does not."),
    number<&SolveOptions::sharpness>(
        "sharpness", "", above_0_up_to_1, fixed_point,
        "λ: 1 takes the projected value, less averages it with the old one."),
    flag<&SolveOptions::precondition>(
        "precondition", "spg, apgd",
        "Scale every block of rows by its mean inverse inertia; false: for comparisons."),
    integer<&SolveOptions::search_memory>(
        "search_memory", {.low = 1, .high = 1000}, "spg",
        "The objective must fall below the largest of so many values; 1: at every iteration."),
    flag<&SolveOptions::momentum>("momentum", fixed_point,
                                  "Start the sweeps of nsgs ahead of where the last two lead: "
                                  "about a quarter of the sweeps."),
};

}  // namespace

bool contains(const OptionRange& range, double x) {
  if (std::isinf(x)) return range.infinite && x == range.high;
  const auto rounding = [](double bound) {
    return std::isfinite(bound) ? 1e-12 * std::abs(bound) : 0;
  };
  const bool high_enough = range.above ? x > range.low : x >= range.low - rounding(range.low);
  const bool low_enough = range.below ? x < range.high : x <= range.high + rounding(range.high);
  return high_enough && low_enough;
}

std::string to_text(const OptionValue& value) {
  return std::visit([](const auto& x) { return fmt::format("{}", x); }, value);
}

std::span<const OptionInfo> simulation_options() {
  return table;
}

std::span<const std::string_view> simulation_option_keys() {
  static constexpr auto keys = [] {
    std::array<std::string_view, std::size(table)> all;
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = table[k].key;
    return all;
  }();
  return keys;
}

std::string expectation(const OptionInfo& option) {
  switch (option.kind) {
    case OptionKind::number:
      return std::string(option.range.words);
    case OptionKind::integer:
      return fmt::format("a whole number from {:.0f} to {:.0f}", option.range.low,
                         option.range.high);
    case OptionKind::flag:
      return "true or false";
    case OptionKind::word:
    case OptionKind::name:
      break;
  }
  return fmt::format("one of: {}", fmt::join(option.choices(), ", "));
}

OptionValue default_of(const OptionInfo& option) {
  return option.get(SimulationOptions{});
}

bool accepts(const OptionInfo& option, const OptionValue& value) {
  if (const auto* x = std::get_if<double>(&value)) return contains(option.range, *x);
  if (const auto* x = std::get_if<int>(&value)) return contains(option.range, *x);
  if (std::holds_alternative<bool>(value)) return true;
  const std::vector<std::string> choices = option.choices();
  return std::find(choices.begin(), choices.end(), std::get<std::string>(value)) != choices.end();
}

}  // namespace urto
