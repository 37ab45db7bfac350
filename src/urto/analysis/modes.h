// Small oscillations about a configuration at rest: (K − ω²M) x = Jᵀμ, J x = 0.
//
// Small systems: a basis of the motions that the joints allow, then dense eigenvalues. Large ones:
// Lanczos with shift and inverse (Spectra) on the saddle point [K − σM, Jᵀ; J, 0], whose solutions
// obey the joints by themselves; σ < 0, so that motions without stiffness do no harm.
#pragma once

#include <complex>
#include <vector>

#include "urto/analysis/linearise.h"

namespace urto {

struct ModeOptions {
  int count = 0;            ///< the slowest so many; 0: all (large systems: ten)
  int largest_dense = 600;  ///< velocities
};

struct Modes {
  Vector squared;  ///< ω², rising; negative: the configuration is unstable that way [1/s²]
  Matrix shapes;   ///< increments of the configuration, a column a mode, XᵀM X = 1
  double asymmetry = 0;  ///< ‖K − Kᵀ‖/‖K‖ on the allowed motions: zero for forces with a potential
                         ///< at an equilibrium
  bool by_lanczos = false;
};
/// Throws InputError if Lanczos does not converge.
Modes find_modes(const Linearisation& l, const ModeOptions& options = {});

struct ComplexMode {
  std::complex<double> rate = {};  ///< s of x = X exp(s t)
  Eigen::VectorXcd shape = {};
  double frequency() const { return std::abs(rate); }  ///< undamped [rad/s]
  double damping_ratio() const { return rate == 0.0 ? 0 : -rate.real() / std::abs(rate); }
};
/// With damping: all, those of a pair by its upper half, slowest first. Dense.
std::vector<ComplexMode> find_complex_modes(const Linearisation& l);

}  // namespace urto
