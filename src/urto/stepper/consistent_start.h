// A consistent start: positions on the joints, velocities along them, and what the constraints
// amount to.
//
// Rank is found row by row in the order of the model (Gram–Schmidt twice, in the mass metric): a
// row that depends on the rows before it is redundant, and the later joint is the one named. A
// redundant row whose error cannot be removed contradicts the rows it depends on; both sides are
// named.
#pragma once

#include <string>
#include <vector>

#include "urto/mechanics/system.h"
#include "urto/stepper/options.h"

namespace urto {

struct RedundantRows {
  std::string name = {};             ///< of the joint, coupling or motor
  int rows = 0;                      ///< how many of its rows depend on earlier ones
  int of = 0;                        ///< how many it has
  std::vector<std::string> on = {};  ///< the items they depend on
};

struct StartReport {
  int dofs = 0;  ///< velocities before constraints
  int rows = 0;  ///< equality rows
  int rank = 0;
  int mobility() const { return dofs - rank; }
  std::vector<RedundantRows> redundant = {};
  double position_error = 0;   ///< largest joint error as given [m, rad]
  double position_change = 0;  ///< largest move that assembling made [m, rad]
  double velocity_change = 0;  ///< largest change of a velocity [m/s, rad/s]
  std::vector<std::string> warnings = {};
};

/// Projects `state` (when options.assemble) and reports. Throws InputError if constraints
/// contradict each other, naming them, or if the positions cannot be assembled.
StartReport consistent_start(const System& system, const SimulationOptions& options, State& state);

}  // namespace urto
