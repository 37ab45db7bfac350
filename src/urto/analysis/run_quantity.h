// Numbers of a run by name, as they are after every step: what comparisons of runs draw.
//
//     ball.z  arm.vx  arm.speed  arm.wy      of a body: centre of mass (world), turning (body axes)
//     hinge.angle  hinge.angle-rate          of a joint's coordinates
//     hinge.force-1                          of a joint's first row: its impulse over the step / h
//     hinge.impulse-1  .smooth-1  .nu-1      … and how a scheme that splits it does so: Λ, λ̃, ν
//     energy  kinetic                        of all bodies
//     gap  normal-force  normal-impulse      of contacts and limits: the smallest, and the sums
//     normal-nu                              … the largest multiplier of a position correction
//     joint-error  joint-rate                the largest |g| and |J v + g_t| of what must hold
//     step  local-error                      of the step itself
#pragma once

#include <string>
#include <vector>

#include "urto/stepper/simulation.h"

namespace urto {

enum class QuantityKind : std::uint8_t {
  body,
  coordinate,
  coordinate_rate,
  row_force,
  row_impulse,
  row_smooth,
  row_position,
  energy,
  kinetic,
  gap,
  normal_force,
  normal_impulse,
  normal_position,
  joint_error,
  joint_rate,
  step,
  local_error,
};

struct RunQuantity {
  std::string name = {}, unit = {};
  QuantityKind kind = QuantityKind::energy;
  int item = -1;         ///< body or joint
  int part = 0;          ///< component, coordinate or row
  bool decades = false;  ///< better seen on a logarithmic axis
};

/// Throws InputError that says what there is.
RunQuantity find_quantity(const Model& model, const std::string& name);

/// Measures quantities of one run; what is not there is not-a-number.
class QuantityProbe {
 public:
  /// `reach`: gaps up to so much are seen [m].
  QuantityProbe(const Simulation& run, std::vector<RunQuantity> quantities, double reach);
  /// Of the run's state now, one a quantity; `h`: the last step's length, 0 at the start.
  const std::vector<double>& measure(double h);

 private:
  void look();
  double of_rows(const RunQuantity& q, double h) const;
  double of_row(const RunQuantity& q, double h) const;
  double of_body(const RunQuantity& q) const;
  double value(const RunQuantity& q, double h) const;

  const Simulation& run_;
  std::vector<RunQuantity> quantities_;
  SystemAccess system_;
  double reach_;
  bool looks_ = false;  ///< some quantity needs the rows at the state that was reached
  Interactions rows_;
  Vector rate_;
  double gap_ = 0, joint_error_ = 0, joint_rate_ = 0;
  std::vector<double> values_ = {};
};

}  // namespace urto
