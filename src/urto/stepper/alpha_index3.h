// Generalised-α at positions alone, index 3, with contacts as an active set and without a law of
// impact: what the source compares its scheme with (recipe 004 §2.8, (51)–(52)).
//
//     M â = f + Jᵀλ,   g_b = 0,   0 ≤ g ⊥ λ ≥ 0,   U = W = 0
//
// Nothing says what an impact does: velocities after it are what the scheme's formulas make of a
// position that must not penetrate, and energy grows. Contacts without friction only.
#pragma once

#include <string>
#include <vector>

#include "urto/linalg/saddle_lu.h"
#include "urto/stepper/alpha_step.h"
#include "urto/stepper/options.h"

namespace urto {

class AlphaIndex3 {
 public:
  explicit AlphaIndex3(SystemAccess& system) : system_(system) {}

  /// The rows that it does not know, in words; empty: it knows all.
  static std::string unknown(const Interactions& rows);

  struct Request {
    const Vector& besides;              ///< forces that the system does not know
    const std::vector<double>& weight;  ///< [kg] of each row, in the active set
    double goal = 0;                    ///< relative residual to stop at
    int iterations = 0;                 ///< at most
  };
  /// Finds a⁺ of the step and λ per row; empty, or why not. `rows` are left at the end.
  std::string solve(AlphaStep& step, Interactions& rows, Vector& lambda, const Request& request);
  int iterations() const { return iterations_; }

 private:
  void residual(const AlphaStep& step, const Interactions& rows, const Vector& lambda,
                const Request& request);
  bool correct(AlphaStep& step, const Interactions& rows, Vector& lambda);

  SystemAccess& system_;
  int iterations_ = 0;
  double relative_ = 0;
  std::vector<std::uint8_t> active_ = {};  ///< per block
  std::vector<SaddleRow> rules_ = {};
  BlockMatrix mass_, matrix_;
  BlockRows turning_, lower_, turned_;
  SaddleLu factor_;
  Vector force_, inertia_, reaction_, rate_, rhs_, solution_;
};

}  // namespace urto
