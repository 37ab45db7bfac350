#include "urto/analysis/sampled_motion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

// A run, its half and its quarter are kept at once: some 60 MB in all for the largest models. A
// thousand samples are more than a plot can show.
constexpr std::size_t most_numbers = std::size_t{5} << 19, most_samples = 1024, least_samples = 64;

std::size_t sample_limit(const Model& model, int coordinates) {
  const std::size_t numbers = 10 * model.bodies.size() + static_cast<std::size_t>(coordinates) + 4;
  return std::clamp(most_numbers / numbers, least_samples, most_samples);
}

int coordinates_of(const Model& model) {
  int count = 0;
  for (const Joint& joint : model.joints) count += static_cast<int>(coordinates(joint.kind).size());
  return count;
}

template <typename Numbers>
void append(std::vector<double>& to, const Numbers& x) {
  to.insert(to.end(), x.data(), x.data() + x.size());
}

/// Keeps the samples of rising numbers `kept`.
void keep(SampledMotion& motion, const std::vector<std::size_t>& kept) {
  const std::size_t samples = motion.samples();
  for (std::vector<double>* rows :
       {&motion.steps, &motion.position, &motion.rotation, &motion.coordinate, &motion.energy,
        &motion.contact_impulse, &motion.time}) {
    const std::size_t width = rows->size() / samples;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      if (kept[k] == k) continue;
      std::copy_n(rows->begin() + static_cast<std::ptrdiff_t>(kept[k] * width), width,
                  rows->begin() + static_cast<std::ptrdiff_t>(k * width));
    }
    rows->resize(kept.size() * width);
  }
}

/// The diagonal of a box around the dynamic bodies at all samples and their joints, or the width of
/// the widest shape: whichever is more. 1 m where nothing has a size.
double length_of(const Model& model, const State& state, const SampledMotion& motion) {
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  const auto include = [&](const Vec3& x) {
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  };
  for (std::size_t s = 0; s < motion.samples(); ++s) {
    for (const int body : model.slot_body) {
      include(Vec3(motion.position.data() +
                   3 * (s * model.bodies.size() + static_cast<std::size_t>(body))));
    }
  }
  for (const Joint& joint : model.joints) {
    const Marker& a = model.markers[joint.marker_a];
    const BodyPlace at = place(model, state, a.body);
    include(at.x + at.A * a.frame.p);
  }
  double length = (high - low).allFinite() ? (high - low).norm() : 0;
  const std::vector<double> extents = smallest_extents(model);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const bool moves = model.bodies[model.shapes[k].body].slot >= 0;
    if (moves && std::isfinite(extents[k])) length = std::max(length, 2 * extents[k]);
  }
  return length > 0 ? length : 1;
}

}  // namespace

MotionSampler::MotionSampler(const Simulation& run) : run_(run) {
  const Model& model = run.model();
  out_.step = run.options().step;
  out_.bodies = static_cast<int>(model.bodies.size());
  out_.coordinates = coordinates_of(model);
  // Step doubling tells the impulses of its last half only, contact by penalty none at all.
  out_.impulses = !run.options().adaptive && find_stepper(run.options().stepper.name).contacts;
  most_ = sample_limit(model, out_.coordinates);
  impulse_.assign(3 * model.bodies.size(), 0.0);
  path_.assign(model.bodies.size(), 0.0);
  turn_.assign(model.bodies.size(), 0.0);
  out_.jump.assign(model.bodies.size(), {});
  out_.turn_jump.assign(model.bodies.size(), {});
  before_.resize(model.bodies.size());
}

MotionSampler::MotionSampler(const Simulation& run, std::span<const double> times)
    : MotionSampler(run) {
  most_ = std::max<std::size_t>(times.size(), 1) + 1;
}

void MotionSampler::start() {
  const EnergyAudit& energy = run_.energy();
  sums_.most_kinetic = energy.kinetic;
  sums_.least_potential = sums_.most_potential = energy.potential;
  for (const int body : run_.model().slot_body)
    before_[static_cast<std::size_t>(body)] = velocity(run_.model(), run_.state(), body);
  sample();
}

void MotionSampler::sample() {
  const Model& model = run_.model();
  const State& state = run_.state();
  out_.time.push_back(state.t);
  out_.steps.push_back(static_cast<double>(run_.checkpoint().steps));
  for (int k = 0; k < out_.bodies; ++k) {
    append(out_.position, place(model, state, k).x);
    append(out_.rotation, rotation(model, state, k));
  }
  for (int k = 0; k < static_cast<int>(model.joints.size()); ++k) {
    const auto count = static_cast<int>(coordinates(model.joints[k].kind).size());
    for (int c = 0; c < count; ++c)
      out_.coordinate.push_back(coordinate_value(model, state, {k, c}));
  }
  const EnergyAudit& energy = run_.energy();
  out_.energy.insert(out_.energy.end(), {energy.kinetic, energy.potential, energy.total()});
  append(out_.contact_impulse, impulse_);
}

void MotionSampler::halve() {
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < out_.samples(); k += 2) kept.push_back(k);
  keep(out_, kept);
  stride_ *= 2;
}

void MotionSampler::add(bool offered) {
  if (!run_.report().meets_tolerance && out_.missed++ == 0) out_.first_missed = run_.state().t;
  add_impulses();
  add_sums();
  if (!offered || ++offered_ % stride_ != 0) return;
  sample();
  if (out_.samples() > most_) halve();
}

void MotionSampler::add_impulses() {
  out_.nonsmooth = out_.nonsmooth || run_.report().active > 0;
  if (!out_.impulses) return;
  const Interactions& rows = run_.rows();
  const double h = run_.checkpoint().memory.h;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::contact) continue;
    const Contact& c = rows.contacts[static_cast<std::size_t>(rows.origins[i].index)];
    const Vec3 impulse = h * contact_force(rows, i, run_.impulses(), h);
    for (int k = 0; k < 3; ++k) {
      impulse_[3 * static_cast<std::size_t>(c.body_a) + static_cast<std::size_t>(k)] += impulse[k];
      impulse_[3 * static_cast<std::size_t>(c.body_b) + static_cast<std::size_t>(k)] -= impulse[k];
    }
  }
}

Vec3 MotionSampler::centre_of_mass() const {
  const Model& model = run_.model();
  Vec3 sum = Vec3::Zero();
  double mass = 0;
  for (const int body : model.slot_body) {
    sum += model.bodies[body].mass * place(model, run_.state(), body).x;
    mass += model.bodies[body].mass;
  }
  return mass > 0 ? Vec3(sum / mass) : sum;
}

void MotionSampler::add_jumps(int body, const BodyVelocity& v) {
  const auto k = static_cast<std::size_t>(body);
  const auto before = static_cast<double>(run_.checkpoint().steps - 1);
  const double jump = (v.v - before_[k].v).norm(), turn = (v.omega - before_[k].omega).norm();
  if (jump > out_.jump[k].size) out_.jump[k] = {jump, before};
  if (turn > out_.turn_jump[k].size) out_.turn_jump[k] = {turn, before};
  before_[k] = v;
}

void MotionSampler::add_sums() {
  const Model& model = run_.model();
  const double h = run_.report().h;
  for (const int body : model.slot_body) {
    const BodyVelocity v = velocity(model, run_.state(), body);
    add_jumps(body, v);
    path_[static_cast<std::size_t>(body)] += h * v.v.norm();
    turn_[static_cast<std::size_t>(body)] += h * v.omega.norm();
  }
  const EnergyAudit& energy = run_.energy();
  sums_.time += h;
  sums_.kinetic += h * energy.kinetic;
  sums_.potential += h * energy.potential;
  sums_.most_kinetic = std::max(sums_.most_kinetic, energy.kinetic);
  sums_.least_potential = std::min(sums_.least_potential, energy.potential);
  sums_.most_potential = std::max(sums_.most_potential, energy.potential);
  sums_.centre += h * centre_of_mass();
}

SampledMotion MotionSampler::finish() {
  if (out_.time.empty() || out_.time.back() != run_.state().t) sample();
  if (run_.run_state() == RunState::failed) out_.failure = run_.failure();
  out_.length = length_of(run_.model(), run_.state(), out_);
  double mass = 0;
  for (const int body : run_.model().slot_body) mass += run_.model().bodies[body].mass;
  out_.work = std::max({sums_.most_kinetic, sums_.most_potential - sums_.least_potential,
                        mass * run_.model().gravity.norm() * out_.length});
  out_.momentum = std::sqrt(2 * mass * out_.work);
  const double time = sums_.time > 0 ? sums_.time : 1;
  for (std::size_t k = 0; k < path_.size(); ++k) {
    out_.mean_speed = std::max(out_.mean_speed, path_[k] / time);
    out_.mean_turn = std::max(out_.mean_turn, turn_[k] / time);
  }
  const EnergyAudit& energy = run_.energy();
  out_.statistics = {{"mean kinetic energy", "J", sums_.kinetic / time},
                     {"largest kinetic energy", "J", sums_.most_kinetic},
                     {"mean potential energy", "J", sums_.potential / time},
                     {"lowest potential energy", "J", sums_.least_potential},
                     {"highest potential energy", "J", sums_.most_potential},
                     {"energy lost to friction", "J", energy.friction},
                     {"energy lost to impact", "J", energy.impact},
                     {"energy lost to damping", "J", energy.damping},
                     {"deepest penetration", "m", run_.checkpoint().worst_penetration}};
  const Vec3 centre = centre_of_mass();
  for (int k = 0; k < 3; ++k) {
    const char axis = "xyz"[k];
    out_.statistics.push_back(
        {fmt::format("mean centre of mass {}", axis), "m", sums_.centre[k] / time});
    out_.statistics.push_back({fmt::format("last centre of mass {}", axis), "m", centre[k]});
  }
  return std::move(out_);
}

SampledMotion sample_run(const Model& model, const SimulationOptions& options,
                         const SampledRun& request) {
  Simulation run(model, options);
  run.start();
  MotionSampler sampler(run, request.times);
  sampler.start();
  for (const double t : request.times) {
    while (run.state().t < t) {
      if (request.go_on && !request.go_on(run.state().t)) {
        SampledMotion out = sampler.finish();
        out.failure = "interrupted";
        return out;
      }
      if (!run.advance_to(t)) break;
      sampler.add(run.state().t >= t);
    }
    if (run.run_state() == RunState::failed) break;
  }
  return sampler.finish();
}

SampledMotion sample_run(const Model& model, const SimulationOptions& options,
                         const std::function<bool(double time)>& go_on) {
  Simulation run(model, options);
  run.start();
  run.frame_due();  // the start is one
  MotionSampler sampler(run);
  sampler.start();
  while ((!go_on || go_on(run.state().t)) && run.advance()) sampler.add(run.frame_due());
  const bool stopped = run.run_state() == RunState::running;
  SampledMotion out = sampler.finish();
  if (stopped) out.failure = "interrupted";
  return out;
}

SampledMotion thinned(const SampledMotion& motion, std::size_t stride) {
  SampledMotion out = motion;
  std::vector<std::size_t> kept;
  for (std::size_t s = 0; s < motion.samples(); s += stride) kept.push_back(s);
  if (!kept.empty() && kept.back() + 1 != motion.samples()) kept.push_back(motion.samples() - 1);
  keep(out, kept);
  return out;
}

SimulationOptions with_shorter_steps(const SimulationOptions& options, double parts) {
  SimulationOptions out = options;
  out.step /= parts;
  out.min_step /= parts;
  out.max_step /= parts;
  const int order = find_stepper(options.stepper.name).order;
  out.error_tolerance /= std::pow(parts, order + 1);
  return out;
}

}  // namespace urto
