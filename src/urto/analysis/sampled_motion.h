// A motion at some of its times, as plain numbers: what is needed to compare two runs of a scene,
// in memory that does not grow with the length of the run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "urto/stepper/simulation.h"

namespace urto {

/// What a chaotic motion still has in common with its neighbours: numbers of the run as a whole,
/// gathered over all its steps. Means are over time.
struct MotionStatistic {
  std::string name = {}, unit = {};
  double value = 0;
};

/// The largest change of a body's velocity within one step: by an impact, if shorter steps do not
/// make it smaller.
struct VelocityJump {
  double size = 0;   ///< [m/s], [rad/s]
  double steps = 0;  ///< that had been taken when it began
};

struct SampledMotion {
  double step = 0;         ///< [s] the run's own, or the first one when adaptive
  int bodies = 0;          ///< all of the model, the world too
  int coordinates = 0;     ///< of all joints
  bool impulses = true;    ///< false where the steps do not say them: `contact_impulse` is zero
  bool nonsmooth = false;  ///< contacts or limits pushed: no more than first order can be expected
  double length = 0;       ///< [m] size of the model and of its motion together
  double work = 0;         ///< [J] the energy of its motion, or of a fall from its own size
  double momentum = 0;     ///< [N·s] that goes with it
  double mean_speed = 0, mean_turn = 0;  ///< over time, of the fastest body [m/s], [rad/s]

  std::vector<VelocityJump> jump = {}, turn_jump = {};  ///< of the bodies

  // Row by row, one row a sample.
  std::vector<double> time = {};
  std::vector<double> steps = {};            ///< how many had been taken
  std::vector<double> position = {};         ///< bodies × 3
  std::vector<double> rotation = {};         ///< bodies × 4
  std::vector<double> coordinate = {};       ///< coordinates
  std::vector<double> energy = {};           ///< kinetic, potential, both together [J]
  std::vector<double> contact_impulse = {};  ///< bodies × 3: what all contacts of a body gave it
                                             ///< since the start, world axes [N·s]

  std::vector<MotionStatistic> statistics = {};
  std::string failure = {};  ///< why the run ended early; empty: it did not
  long missed = 0;           ///< steps whose certificate missed the tolerance …
  double first_missed = 0;   ///< … and where the first of them ended [s]
  std::size_t samples() const { return time.size(); }
};

/// Samples a run as it goes: `start` once, `add` after every step, `finish` at the end.
///
/// Impulses of contacts are summed over the contacts of a body, because how several of them share a
/// load need not be unique, and over time, because that of one step says how long the step was.
class MotionSampler {
 public:
  /// At the offered times; when there are more than memory allows, every other one is dropped and
  /// from then on every second one taken, and so on.
  explicit MotionSampler(const Simulation& run);
  /// At the given times, which the run must be led to (`Simulation::advance_to`).
  MotionSampler(const Simulation& run, std::span<const double> times);

  void start();
  /// After every accepted step. `offered`: the state may become a sample.
  void add(bool offered);
  /// The last state is always a sample.
  SampledMotion finish();

 private:
  struct Sums {
    double time = 0, kinetic = 0, potential = 0;
    double most_kinetic = 0, least_potential = 0, most_potential = 0;
    Vec3 centre = Vec3::Zero();
  };
  void sample();
  void add_impulses();
  void add_sums();
  void add_jumps(int body, const BodyVelocity& v);
  void halve();
  Vec3 centre_of_mass() const;

  const Simulation& run_;
  SampledMotion out_ = {};
  std::size_t most_ = 0;  ///< samples
  std::size_t stride_ = 1, offered_ = 0;
  std::vector<double> impulse_ = {};           ///< of the bodies so far
  std::vector<double> path_ = {}, turn_ = {};  ///< of the bodies so far [m], [rad]
  std::vector<BodyVelocity> before_ = {};      ///< of the bodies, a step ago
  Sums sums_ = {};
};

/// Runs a model from its start, alone, and samples it at the given times. `go_on` is asked before
/// every step with the time reached; false ends the run with the failure "interrupted".
struct SampledRun {
  std::span<const double> times;
  const std::function<bool(double time)>& go_on;
};
SampledMotion sample_run(const Model& model, const SimulationOptions& options,
                         const SampledRun& request);

/// The run itself once more, sampled every `output_step` as its frames are.
SampledMotion sample_run(const Model& model, const SimulationOptions& options,
                         const std::function<bool(double time)>& go_on);

/// Every stride-th sample, and the last.
SampledMotion thinned(const SampledMotion& motion, std::size_t stride);

/// The same settings with every step 1/parts as long. Steps of adaptive runs follow the tolerance
/// of their local error, which is of the step's power `order` + 1.
SimulationOptions with_shorter_steps(const SimulationOptions& options, double parts);

}  // namespace urto
