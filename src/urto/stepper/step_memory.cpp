#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/collision/contact_id.h"
#include "urto/math/rotation.h"
#include "urto/math/stored_vector.h"
#include "urto/stepper/stepper.h"

namespace urto {

namespace {

bool before(const StepMemory::Item& a, const StepMemory::Item& b) {
  return a.id < b.id;
}

// Where contacts were: the points of both shapes, each in its shape's frame, and the normal. In the
// order of the items, of which contacts are the last ones.
constexpr std::string_view anchor_array = "contact_anchors";
struct Anchor {
  Vec3 a, b, normal;
};
constexpr int anchor_numbers = 9;

void remember_anchors(const Interactions& rows, StepMemory& memory) {
  if (rows.contacts.empty() && memory.arrays.find(anchor_array) == nullptr) return;
  std::vector<double>& out = memory.arrays.at(anchor_array);
  out.clear();
  // Contacts come in the order of their ids, as the items do.
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::contact) continue;
    const Contact& c = rows.contacts[rows.origins[i].index];
    for (const Vec3* v : {&c.anchor.a, &c.anchor.b, &c.normal})
      out.insert(out.end(), v->begin(), v->end());
  }
}

// How far apart two contacts of a pair are: on the shape on which they are nearer, for one of two
// may slide or turn under the contact.
double distance(const Anchor& p, const Anchor& q) {
  return std::min((p.a - q.a).squaredNorm(), (p.b - q.b).squaredNorm());
}

// The contacts of one pair of shapes: row blocks from `first` on, and items of the memory.
struct Pair {
  int first = 0, last = 0;
  std::size_t item = 0, items_end = 0;
};

class PassedOn {
 public:
  PassedOn(const StepMemory& memory, const Interactions& rows, double scale, Vector& lambda)
      : memory_(memory), rows_(rows), scale_(scale), lambda_(lambda) {
    const std::vector<double>* anchors = memory.arrays.find(anchor_array);
    if (anchors == nullptr) return;
    const std::size_t contacts = anchors->size() / anchor_numbers;
    if (contacts > memory.items.size()) return;
    anchors_ = anchors->data();
    first_item_ = memory.items.size() - contacts;
  }

  void all() {
    if (anchors_ == nullptr) return;
    Pair pair{.item = first_item_};
    for (int i = 0; i < rows_.blocks(); i = std::max(i + 1, pair.last)) {
      pair.last = i;
      if (rows_.origins[i].kind != Origin::contact) continue;
      const std::uint64_t name = contact_pair(rows_.ids[i]);
      pair.first = i;
      while (pair.last < rows_.blocks() && rows_.origins[pair.last].kind == Origin::contact &&
             contact_pair(rows_.ids[pair.last]) == name)
        ++pair.last;
      const auto& items = memory_.items;
      while (pair.item < items.size() && contact_pair(items[pair.item].id) < name) ++pair.item;
      pair.items_end = pair.item;
      while (pair.items_end < items.size() && contact_pair(items[pair.items_end].id) == name)
        ++pair.items_end;
      pass(pair);
      pair.item = pair.items_end;
    }
  }

 private:
  Anchor anchor(std::size_t item) const {
    const double* at = anchors_ + anchor_numbers * (item - first_item_);
    return {Vec3(at[0], at[1], at[2]), Vec3(at[3], at[4], at[5]), Vec3(at[6], at[7], at[8])};
  }

  // Both lists are in the order of their names.
  void pass(const Pair& pair) {
    int known = pair.first;
    for (std::size_t item = pair.item; item < pair.items_end; ++item) {
      while (known < pair.last && rows_.ids[known] < memory_.items[item].id) ++known;
      const bool still_there = known < pair.last && rows_.ids[known] == memory_.items[item].id;
      if (!still_there && memory_.lambda[memory_.items[item].start] != 0) give(pair, item);
    }
  }

  void give(const Pair& pair, std::size_t item) {
    constexpr double one_direction = 0.9;  // cosine
    const Anchor was = anchor(item);
    const int dim = memory_.items[item].dim;
    int nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int i = pair.first; i < pair.last; ++i) {
      const Contact& c = rows_.contacts[rows_.origins[i].index];
      const double d = distance(was, {c.anchor.a, c.anchor.b, c.normal});
      if (!(d < least) || rows_.laws[i].dim != dim || c.normal.dot(was.normal) < one_direction)
        continue;
      nearest = i;
      least = d;
    }
    if (nearest < 0) return;
    const double* given = memory_.lambda.data() + memory_.items[item].start;
    double* out = lambda_.data() + rows_.J.row_start[nearest];
    for (int r = 0; r < dim; ++r) {
      if (dim < 3 || r >= 3) out[r] += scale_ * given[r];
    }
    if (dim < 3) return;
    const Vec3 force = contact_frame(was.normal) * Vec3(given[0], given[1], given[2]);
    const Vec3& n = rows_.contacts[rows_.origins[nearest].index].normal;
    const Vec3 turned = scale_ * (contact_frame(n).transpose() * force);
    for (int r = 0; r < 3; ++r) out[r] += turned[r];
  }

  const StepMemory& memory_;
  const Interactions& rows_;
  double scale_;
  Vector& lambda_;
  const double* anchors_ = nullptr;
  std::size_t first_item_ = 0;
};

}  // namespace

void remember(const Interactions& rows, const Vector& lambda, double h, StepMemory& memory) {
  memory.h = h;
  memory.items.resize(rows.blocks());
  for (int i = 0; i < rows.blocks(); ++i)
    memory.items[i] = {rows.ids[i], rows.J.row_start[i], rows.J.height(i)};
  if (!std::is_sorted(memory.items.begin(), memory.items.end(), before))
    std::sort(memory.items.begin(), memory.items.end(), before);
  store(lambda, memory.lambda);
  remember_anchors(rows, memory);
}

// Rows mostly come in the order of their ids: where one was found, the next follows.
const StepMemory::Item* StepMemory::find(std::uint64_t id, int dim, std::size_t& next) const {
  auto at = items.begin() + static_cast<std::ptrdiff_t>(std::min(next, items.size()));
  if (at == items.end() || at->id != id)
    at = std::lower_bound(items.begin(), items.end(), Item{.id = id}, before);
  if (at == items.end() || at->id != id) return nullptr;
  next = static_cast<std::size_t>(at - items.begin()) + 1;
  return at->dim == dim ? &*at : nullptr;
}

void recall(const StepMemory& memory, const Interactions& rows, double h, Vector& lambda) {
  lambda.setZero(rows.rows());
  const double scale = memory.h > 0 ? h / memory.h : 0;
  std::size_t next = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    const StepMemory::Item* item = memory.find(rows.ids[i], rows.J.height(i), next);
    if (item == nullptr) continue;
    for (int r = 0; r < item->dim; ++r)
      lambda[rows.J.row_start[i] + r] = scale * memory.lambda[item->start + r];
  }
  // Corners that lie on each other are named by the rounding that cut them, and another time
  // otherwise though nothing moves: what is gone passes its force to the nearest contact of its
  // pair.
  PassedOn(memory, rows, scale, lambda).all();
}

StepReport joined(const StepReport& a, const StepReport& b) {
  StepReport r = b;
  r.t = a.t;
  r.h = a.h + b.h;
  if (!(a.certificate.residual() <= b.certificate.residual())) r.certificate = a.certificate;
  if (a.solve.status != Status::converged) r.solve = a.solve;
  r.meets_tolerance = a.meets_tolerance && b.meets_tolerance;
  r.joint_error = std::max(a.joint_error, b.joint_error);
  r.penetration = std::max(a.penetration, b.penetration);
  r.early_rebound = std::max(a.early_rebound, b.early_rebound);
  r.stored_before = a.stored_before;
  r.audited = a.audited && b.audited;
  r.newton_iterations += a.newton_iterations;
  r.factorizations += a.factorizations;
  r.cuts += a.cuts;
  r.energy += a.energy;
  r.timings += a.timings;
  return r;
}

}  // namespace urto
