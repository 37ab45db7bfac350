// How far a run is from the motion that it approximates: the run is done again at half and at a
// quarter of its step, and Richardson's extrapolation says where the three are going. Pure
// functions on sampled motions; docs/verification.md derives and measures them.
//
// With x(h) = x* + C hᵖ the error of the run is, for every p,
//
//     x(h) − x* = (x(h) − x(h/4)) / (1 − 4⁻ᵖ),        p = log₂ |x(h) − x(h/2)| / |x(h/2) − x(h/4)|,
//
// and the observed order p matters little: the factor is 4/3 at first order, 16/15 at second.
//
// A run takes an impact at the end of a step, up to h before or after its moment. Were the steps of
// the three runs nested, one impact in four would be at the same moment in all of them, and its
// error invisible. Where contacts or limits act, k steps between two samples therefore become
// 2k − 1 and 4k − 1 instead of 2k and 4k: the three have no moment in common but the samples'.
//
// Differences are taken as means over time before p is, so that impacts, which each run takes at
// the step it happens to have there, do not decide it; where it is out of range all the same, the
// order that the method has there takes its place.
//
// Motions that depend on everything (a pile that is poured, a die) have no limit that a smaller
// step would approach: the differences do not shrink. Then the runs are compared by their
// statistics, and errors are given up to the time at which they part.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "urto/analysis/sampled_motion.h"

namespace urto {

/// The estimated error of one quantity of a run.
struct QuantityError {
  std::string name = {};  ///< position, rotation, coordinate, energy, contact_impulse
  std::string unit = {};
  int items = 1;  ///< bodies, coordinates; energy: kinetic, potential, both together
  int width = 1;  ///< numbers of an item: its components
  std::vector<double> band = {};  ///< samples × items × width, half the width of an error band
  double order = 0;               ///< observed; not-a-number where the runs agree to rounding
  double worst = 0;             ///< of all items and samples; components together by their norm …
  double worst_time = 0;        ///< … and when [s]
  int worst_item = -1;          ///< … and whose; −1: there is no error
  std::string worst_name = {};  ///< the same for people; `verify_run` knows it
  double mean = 0;              ///< over time, of the item where that is largest
  double last = 0;              ///< at the end, the largest of all items
  double scale = 0;             ///< how much the quantity varied in the run, the item that did most
};

/// The three runs' values of one of their statistics.
struct ComparedStatistic {
  std::string name = {}, unit = {};
  std::array<double, 3> value{};  ///< h, h/2, h/4
  double spread() const;          ///< the largest less the smallest
};

enum class VerificationState : std::uint8_t {
  converges,   ///< errors are estimated
  exact,       ///< the run and its half agree to rounding: there was no need for the quarter
  parts,       ///< the runs part, and smaller steps do not bring them together
  incomplete,  ///< a run with smaller steps failed, missed tolerances, or was interrupted: `reason`
};
std::string_view to_string(VerificationState state);

struct Verification {
  VerificationState state = VerificationState::incomplete;
  std::string reason = {};
  double step = 0;          ///< [s] of the run
  int expected_order = 1;   ///< of the method on this motion
  double until = 0;         ///< [s] errors are those up to here: the end, or where the runs part
  double wall_seconds = 0;  ///< that the other runs took
  std::vector<double> time = {};  ///< [s] of the samples
  std::vector<QuantityError> errors = {};
  std::vector<ComparedStatistic> statistics = {};

  /// Null if the run has no such quantity.
  const QuantityError* find(std::string_view name) const;
};

/// Whether two runs agree so well that a third would show rounding only. Never said of runs with
/// impacts, on whose moments two may agree by chance.
bool agree_to_rounding(const SampledMotion& run, const SampledMotion& half);

/// `quarter` may be missing where the other two agree to rounding. `order` is the stepper's on
/// smooth motions. All must be sampled at the same times; InputError says which are not.
struct RefinedMotions {
  const SampledMotion& run;
  const SampledMotion& half;
  const SampledMotion* quarter = nullptr;
  int order = 1;
};
Verification verify_motions(const RefinedMotions& motions);

/// Which run is under way, and how far it is.
struct VerificationProgress {
  int parts = 2;                  ///< of a step: 2 or 4; 1 where the run itself is done again
  double time = 0, end_time = 0;  ///< [s]
};

/// Runs the model again at smaller steps, at the sample times of `run`, and compares. A run that
/// fails, or that `go_on` stops by returning false, gives an incomplete verification.
Verification verify_run(const Model& model, const SimulationOptions& options,
                        const SampledMotion& run,
                        const std::function<bool(const VerificationProgress&)>& go_on = {});

}  // namespace urto
