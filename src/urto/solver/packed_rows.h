// Row blocks packed for sweeps: once a solve, where H and E are block-diagonal. Velocities are
// scaled to y with x = C y and H⁻¹ = C Cᵀ, so that the rows G = J C serve u = G y + b and y += Gᵀδ
// alike; a body is a line of eight numbers (more where a node is larger). Contacts with Coulomb's
// law between bodies of up to six degrees of freedom go through sweep_kernel.h, all else block by
// block. Forces are kept here, too, in tangents of the contact's own: `load` and `store`.
#pragma once

#include "urto/solver/row_access.h"
#include "urto/solver/sweep_kernel.h"

namespace urto {

class PackedRows {
 public:
  /// Consecutive blocks of one kind.
  struct Run {
    enum class Kind : std::uint8_t { pairs, singles, others };
    Kind kind = Kind::others;
    int first = 0, count = 0;
    int record = 0;  ///< of `first` among contacts
  };

  /// `contacts`: contacts with friction go through the kernel. False if this view cannot be packed.
  bool set(const RowView& view, bool contacts);

  /// λ and its velocities.
  void load(const Vector& lambda);
  /// λ and x, velocities being those of λ.
  void store(Vector& x, Vector& lambda) const;
  /// Velocities anew from λ: changes collect rounding.
  void refresh();

  const std::vector<Run>& runs() const { return runs_; }
  /// One pass over contacts of a run; `step` −1: backwards.
  void sweep(const Run& run, int step);
  /// u of consecutive blocks of a run, `stride` numbers each; at most `at_once`.
  static constexpr int at_once = 32;
  void velocities(const Run& run, int from, int count, double* u) const;
  int stride(const Run& run) const { return run.kind == Run::Kind::others ? 8 : 4; }

  // Block by block, for `others` (any kind: in the tangents of the record).
  double* force(int p) { return forces_.data() + at_[p]; }
  const double* force(int p) const { return forces_.data() + at_[p]; }
  void velocity(int p, double* u) const;
  void changed(int p, const double* delta);
  /// A velocity or force of a block in the tangents of the problem.
  void turn_back(int p, const double* own, double* given) const;

  /// What extrapolations change: forces (zeros between blocks) and velocities.
  std::vector<double>& forces() { return forces_; }
  std::vector<BodyLine>& bodies() { return y_; }

 private:
  struct Other {
    int entry = 0, entries = 0;
  };
  struct Entry {
    int at = 0;  ///< of the first of its `width` numbers among all of y
    int width = 0;
    int values = 0;  ///< height × width, row-major
  };

  bool lay_out();
  void factorize_masses();
  bool pack_block(int p, bool contacts);
  bool pack_contact(int p);
  void pack_other(int p);
  void scaled_rows(const BlockRows::Entry& entry, int height, const double* turn,
                   double* out) const;
  void turn(int p, const double* given, double* own) const;
  void change_contact(const PackedContact& c, const double* delta);
  int line_of(const BlockRows::Entry& entry) const;

  RowView view_;
  std::vector<Run> runs_ = {};
  std::vector<int> at_ = {};      ///< per block, of its first force
  std::vector<int> record_ = {};  ///< per block: a contact, or ~ an other
  std::vector<PackedContact> contacts_ = {};
  std::vector<std::array<double, 2>> turns_ = {};  ///< per contact: cosine and sine
  std::vector<Other> others_ = {};
  std::vector<Entry> entries_ = {};
  std::vector<double> values_ = {};  ///< of others
  std::vector<double> forces_ = {};
  std::vector<BodyLine> y_ = {}, free_ = {};  ///< and without forces: Cᵀ a
  std::vector<int> line_ = {};                ///< per node of H
  std::vector<int> factor_ = {};              ///< per node: of C in `factors_`
  std::vector<double> factors_ = {};          ///< lower triangular, column-major
};

}  // namespace urto
