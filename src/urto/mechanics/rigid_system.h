// The rigid multibody model as a second-order system: assembles mass, forces, tangents and
// interactions from a Model.
#pragma once

#include "urto/mechanics/system.h"

namespace urto {

/// One term of a row: factor × a measure between two markers. Joint rows have one, couplings and
/// screws several.
struct RowTerm {
  int marker_a = 0, marker_b = 0;
  Measure measure = {};
  double factor = 1;
  int angle_slot = -1;  ///< into the state's angles where the measure counts turns
};

class RigidSystem final : public System, public FreeRotation, public ContactTracking {
 public:
  /// The model must be finalized and outlive the system.
  explicit RigidSystem(const Model& model);

  const Model& model() const { return model_; }
  /// Mixed properties of the pairs that occur; a contact's `material` is an index into them.
  const std::vector<Material>& contact_materials() const { return materials_; }

  const Layout& layout() const override { return model_.layout; }
  std::unique_ptr<SystemWorkspace> make_workspace() const override;
  bool may_be_one_sided() const override;
  void force(const State& state, SystemWorkspace& work, Vector& f) const override;
  void assemble(const State& state, const Coefficients& c, Tangent kind, SystemWorkspace& work,
                BlockMatrix& out) const override;
  void detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
              Interactions& rows) const override;
  void measure(const State& state, bool accelerations, SystemWorkspace& work,
               Interactions& rows) const override;
  /// Of joints on kinematic bodies, and of couplings whose target has a corner; motors are asked
  /// for more than that, see EnergyAuditor.
  bool rate_jumps(const State& state, double before, SystemWorkspace& work,
                  const Interactions& rows, std::vector<double>& jumps) const override;
  void add_geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                               double factor, SystemWorkspace& work,
                               BlockMatrix& out) const override;
  void rate_tangent(const State& state, const Interactions& rows, SystemWorkspace& work,
                    BlockRows& out) const override;
  void accept(State& state, SystemWorkspace& /*work*/) const override {
    update_angles(model_, state);
  }
  Energies energies(const State& state, SystemWorkspace& work) const override;
  Powers powers(const State& state, SystemWorkspace& work) const override;
  bool has_powers() const override;
  std::string describe(const Interactions& rows, int block) const override;

  const FreeRotation* free_rotation() const override { return this; }
  void remove_gyroscopic(const State& state, SystemWorkspace& work, Vector& f) const override;
  void turn_freely(double h, SystemWorkspace& work, Vector& v, Vector& increment) const override;
  const ContactTracking* contact_tracking() const override { return this; }
  ContactShift contact_shift(const State& state, const Interactions& rows, int block,
                             const Vec3& point, const Vector& increment, double from,
                             SystemWorkspace& work) const override;

 private:
  struct Scratch;  ///< the workspace: places of the bodies, contact finder, lists of terms
  static Scratch& scratch(SystemWorkspace& work);
  void refresh_places(const State& state, Scratch& s) const;

  RowTerm term(const CoordinateRef& c, double factor = 1) const;
  std::array<RowTerm, 2> screw_terms(int joint) const;
  /// The terms of row `row` of a block (overwritten).
  void row_terms(const RowOrigin& origin, std::uint64_t id, int row,
                 std::vector<RowTerm>& out) const;
  MeasureValue evaluate_term(const RowTerm& t, const State& state, const Scratch& s) const;

  /// Opens a block with an entry for each dynamic body that its terms touch.
  void add_block(const Law& law, RowOrigin origin, std::uint64_t id, Scratch& s,
                 Interactions& rows) const;
  void detect_motors(const DetectionQuery& query, Scratch& s, Interactions& rows) const;
  void detect_limits(const State& state, const DetectionQuery& query, Scratch& s,
                     Interactions& rows) const;
  void detect_contacts(const DetectionQuery& query, Scratch& s, Interactions& rows) const;
  Law contact_law(const Contact& c, const DetectionQuery& query) const;
  double gyration_length(const Contact& c) const;
  void find_ties();
  Mat12 inverse_mass(int force, const State& state, Scratch& s) const;

  /// Adds a term to row `row` of a block: its value to g, its gradient to J, what kinematic bodies
  /// do to g_t.
  void measure_term(const RowTerm& t, const State& state, int block, int row, bool accelerations,
                    const Scratch& s, Interactions& rows) const;
  void measure_block(const State& state, int block, bool accelerations, const Scratch& s,
                     std::vector<RowTerm>& terms, Interactions& rows) const;
  void measure_contact(const State& state, int block, bool accelerations, const Scratch& s,
                       Interactions& rows) const;
  void measure_friction(const State& state, int block, Interactions& rows) const;
  void measure_contact_acceleration(const State& state, int block, const Scratch& s,
                                    Interactions& rows) const;
  /// ∂(Jᵀλ)/∂q of one contact block: [moved by][acting on], zero for bodies that do not move.
  using ContactStiffness = std::array<std::array<Eigen::Matrix<double, 6, 6>, 2>, 2>;
  ContactStiffness contact_stiffness(const State& state, const Interactions& rows, int block,
                                     const double* lambda, const Scratch& s) const;

  const Model& model_;
  std::vector<Material> materials_ = {};
  double longest_pull_ = 0;                   ///< [m] largest cohesion_range of a pair
  bool may_jump_ = false;                     ///< equalities follow something that moves in time
  std::vector<double> inverse_inertia_ = {};  ///< per body, tr(I⁻¹)/3
  /// A joint that holds the bodies of a spring; sorted by force.
  struct Tie {
    int force = 0, joint = 0;
  };
  std::vector<Tie> ties_ = {};
};

}  // namespace urto
