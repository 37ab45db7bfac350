// The non-smooth generalised-α scheme with constraints at positions and velocities (O. Brüls, V.
// Acary and A. Cardona, "Simultaneous enforcement of constraints at position and velocity levels in
// the nonsmooth generalized-α scheme", 2014; recipe 004), with Coulomb friction, rotations and many
// contacts by its supplement. What impacts and contacts do is split off from the smooth motion:
//
//     smooth      M â = f + J_bᵀλ̃,    J_b ṽ + g_t = 0        second order, see alpha_step.h
//     position    M U = J̄ᵀν + ½h J̄_TᵀΛ_T,    g_b = 0,  0 ≤ g(q⁺) ⊥ ν ≥ 0
//     velocity    M W = JᵀΛ,    J_b v⁺ + g_t = 0,  K ∋ Λ ⊥ û ∈ K* behind the gate, else Λ = 0
//     q⁺ = q ⊕ (δ̃ + U),    v⁺ = ṽ + W
//
// so that gaps, joints and their rates hold at once at the end of every step. Three ways to solve:
// one pass (smooth at q̃, then positions, then velocities, each a problem of its own; the default),
// sequential (the same repeated until all equations hold together) and monolithic
// (alpha_equations.h). Second order between impacts, first over them. The impulse of a row is Λ +
// hλ̃.
#pragma once

#include "urto/mechanics/forward_dynamics.h"
#include "urto/stepper/alpha_carried.h"
#include "urto/stepper/alpha_equations.h"
#include "urto/stepper/alpha_index3.h"
#include "urto/stepper/alpha_positions.h"
#include "urto/stepper/cut_stepper.h"
#include "urto/stepper/impulse_kernel.h"
#include "urto/stepper/motion_certificate.h"
#include "urto/stepper/passed_contacts.h"

namespace urto {

class NonsmoothAlphaStepper final : public CutStepper {
 public:
  NonsmoothAlphaStepper(const System& system, const SimulationOptions& options);

  const Interactions& rows() const override { return kernel_.rows; }
  const Vector& impulses() const override { return kernel_.impulses; }
  const StepProblem* problem() const override { return &kernel_.problem; }
  RowSplit split() const override { return {&smooth_out_, &nu_out_}; }

  /// Of the last step, per row of rows(): λ̃ of the joints [N], ν of joints and normals [kg m].
  const Vector& smooth_reactions() const { return smooth_out_; }
  const Vector& position_multipliers() const { return nu_out_; }
  const AlphaStep& last_step() const { return step_; }
  /// An impact, or a contact that opened or closed.
  bool was_event() const { return event_; }
  /// Rows within reach as they were at the start, and which of them each block of rows() is.
  const Interactions& rows_at_start() const { return start_rows_; }
  const std::vector<int>& detected_blocks() const { return gated_; }

  /// Pᶜ of the last step, per row of rows(): the part of its impulse that is in the smooth motion.
  const Vector& carried_impulses() const { return carried_out_; }

  /// How a hard contact or limit would move if it did not push: at the start of the last step and
  /// where its smooth motion led.
  struct ContactPath {
    double gap = 0, rate = 0, free_gap = 0, free_rate = 0;
    double restitution = 0;  ///< of its speed of approach
  };
  void contact_paths(std::vector<ContactPath>& out);

 private:
  std::string attempt(State& state, double h, StepMemory& memory, StepReport& report,
                      bool smallest) override;
  bool recall_step(const State& state, double h, const StepMemory& memory, std::string& trouble);
  void detect(const State& state, double h);
  void weigh(const State& state);
  void prepare_bounds();
  bool correct_smooth(State& at, const BlockMatrix& turn, double& size);
  std::string solve_smooth(StepReport& report);
  void set_gates();
  void select_gated();
  void add_law(int block);
  void pose_velocities();
  void weigh_correction();
  void recall_impulses(const StepMemory& memory);
  void solve_velocities(const StepMemory& memory, StepReport& report);
  void take_velocities();
  std::string one_pass(const StepMemory& memory, StepReport& report);
  std::string sequential(const StepMemory& memory, StepReport& report);
  std::string monolithic(StepReport& report);
  std::string all_equations(const State& state, double h, const StepMemory& memory,
                            StepReport& report);
  std::string index_3(StepReport& report);
  bool modified() const {
    return kernel_.options.stepper.alpha_variant == AlphaVariant::modified_lcp;
  }
  void accept_equations();
  void certify(const State& state, StepReport& report);
  void certify_index_3(const State& state, StepReport& report);
  bool find_events(const StepMemory& memory);
  void spread_events();
  void restart(const State& state, Vector& a, Vector& a_hat, Vector& reactions);
  bool ended(int block) const;
  void end_carried();
  void pose_claim(const Vector& taken_off);
  void finish(State& state, StepMemory& memory, StepReport& report);
  void tangential(const Vector& impulses, Vector& half) const;

  // Named arrays of a step's memory.
  static constexpr std::string_view method_array = "alpha_acceleration";
  static constexpr std::string_view motion_array = "alpha_true_acceleration";
  static constexpr std::string_view reaction_array = "alpha_reactions";
  static constexpr std::string_view event_array = "alpha_event";

  ImpulseKernel kernel_;  ///< velocities
  AlphaStep step_;
  AlphaPositions positions_;
  AlphaEquations equations_;
  AlphaIndex3 index_3_;
  ForwardDynamics dynamics_;
  MotionCertifier certifier_;
  SaddleLu factor_;

  Interactions all_;         ///< within reach, measured where the step is
  Interactions start_rows_;  ///< … at its start, of error-controlled steps
  PassedContacts passed_;
  StepMemory impacts_;   ///< the memory with Λ alone: impulses without hλ̃
  Interactions joints_;  ///< the equalities of all_
  Interactions probed_;
  std::vector<int> joint_blocks_ = {}, joint_row_ = {};  ///< of all_; row of joints_ per row
  std::vector<int> gated_ = {};                          ///< blocks of all_ in kernel_.rows
  std::vector<std::uint8_t> gate_ = {};                  ///< per block
  std::vector<double> start_gap_ = {}, start_rate_ = {}, weight_ = {}, bound_ = {};
  Vector lambda_, nu_, Lambda_;  ///< per row of all_
  Vector half_, new_half_, besides_;
  bool event_ = true;                          ///< the last step was one
  std::vector<std::uint8_t> new_motion_ = {};  ///< per node: its island had an event
  Islands islands_;
  CarriedForces carried_;
  std::vector<int> gated_row_ = {};  ///< per block of kernel_.rows: its first row of all_
  std::vector<std::uint8_t> lasts_ = {};
  Vector carried_out_, smooth_besides_;
  bool exact_ = false;  ///< the equations hold all together
  double goal_ = 0;     ///< … when their residual is at most this
  Certificate position_certificate_;
  double least_damping_ = 0;  ///< [N s/m] in place of none
  MotionPoint before_, after_;
  std::vector<SaddleRow> rules_ = {};
  BlockMatrix matrix_, mass_;
  Vector free_along_;  ///< J ṽ
  Vector row_work_;    ///< per row of all_
  State weighed_;      ///< where weigh_correction asks for forces
  BlockRows turning_, turned_, lower_;
  BlockMatrix free_turn_;
  Matrix node_mass_, node_inverse_;
  Vector node_row_;
  Vector taken_off_;                             ///< −hλ̃ per row
  Vector next_a_, next_a_hat_, next_reactions_;  ///< left to the next step
  Vector joint_lambda_, free_rate_, joint_rate_, reaction_, kept_velocity_, last_impulses_;
  Vector rate_, force_, inertia_, rhs_, solution_, smooth_out_, nu_out_;
  BlockFactor mass_factor_;
};

}  // namespace urto
