// The rigid multibody model as a second-order system: assembles mass, forces, tangents and interactions from a Model.
#pragma once

#include "urto/collision/contact.h"
#include "urto/mechanics/system.h"

namespace urto {

/// One term of a row: factor × a measure between two markers. Joint rows have one, couplings and screws several.
struct RowTerm {
  int marker_a = 0, marker_b = 0;
  Measure measure = {};
  double factor = 1;
  int angle_slot = -1;  ///< into State::angles where the measure counts turns
};

class RigidSystem final : public System {
 public:
  /// The model must be finalized and outlive the system.
  explicit RigidSystem(const Model& model);

  const Model& model() const { return model_; }
  const std::vector<Contact>& contacts() const {
    return contacts_;
  }  ///< of the last `interactions` that asked for them
  const std::vector<Material>& contact_materials() const { return finder_.materials(); }

  int nq() const override { return model_.nq(); }
  int nv() const override { return model_.nv(); }
  void add_increment(const Vector& q, const Vector& delta, Vector& out) const override;
  Vector difference(const Vector& to, const Vector& from) const override;
  void increment_tangent(const Vector& delta, BlockMatrix& T) const override;
  bool may_be_one_sided() const override;
  void mass(const State& state, BlockMatrix& M) const override;
  void force(const State& state, Vector& f) override;
  void turn_freely(const State& state, double h, Vector& v, Vector& f) const override;
  void tangents(const State& state, Tangent kind, ForceTangents& out) override;
  void interactions(const State& state, const InteractionQuery& query, Interactions& out) override;
  void geometric_stiffness(const State& state, const Interactions& rows, const Vector& lambda,
                           ForceTangents& out) override;
  void accept(State& state) const override { update_angles(model_, state); }
  Energies energies(const State& state) override;
  std::array<double, 2> powers(const State& state) override;
  ContactShift contact_shift(const RowOrigin& origin, const Vec3& point, const Vector& increment,
                             double from, double to) const override;
  std::string describe(const RowOrigin& origin) const override;

 private:
  void refresh_places(const State& state);
  RowTerm term(const CoordinateRef& c, double factor = 1) const;
  RowTerm held_term(const Joint& joint, const Measure& measure) const;
  std::array<RowTerm, 2> screw_terms(int joint) const;
  /// The terms of row `row` of a block (overwritten).
  void row_terms(const RowOrigin& origin, std::uint64_t id, int row,
                 std::vector<RowTerm>& out) const;
  MeasureValue evaluate_term(const RowTerm& t, const State& state) const;
  /// Adds a term to row `row` of the last block: its value to g, its gradient to J, what told bodies do to g_t.
  void add_term(const RowTerm& t, const State& state, int row, bool accelerations,
                Interactions& out) const;
  void add_target(const Function& target, const State& state, Interactions& out) const;
  void add_joints(const State& state, const InteractionQuery& query, Interactions& out) const;
  void add_couplings(const State& state, const InteractionQuery& query, Interactions& out) const;
  void add_motors(const State& state, const InteractionQuery& query, Interactions& out) const;
  void add_limits(const State& state, const InteractionQuery& query, Interactions& out) const;
  void add_frictions(const State& state, const InteractionQuery& query, Interactions& out) const;
  Law contact_law(const Contact& c, double envelope) const;
  double gyration_length(const Contact& c) const;
  void add_contacts(const InteractionQuery& query, Interactions& out) const;

  const Model& model_;
  ContactFinder finder_;
  std::vector<Contact> contacts_ = {};
  double longest_pull_ = 0;  ///< [m] largest cohesion_range of a pair
  BlockMatrix mass_;
  std::vector<BodyPlace> places_ = {};  ///< of all bodies at the state last measured
  std::vector<BodyVelocity> velocities_ = {};
  std::vector<RowTerm> terms_ = {};  ///< scratch
};

}  // namespace urto
