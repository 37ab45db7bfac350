#include "urto/model/layout.h"

#include "urto/math/rotation.h"

namespace urto {

void Layout::add_flat(int size) {
  q_start.push_back(nq() + size);
  v_start.push_back(nv() + size);
  kinds.push_back(NodeKind::flat);
}

void Layout::add_pose() {
  q_start.push_back(nq() + 7);
  v_start.push_back(nv() + 6);
  kinds.push_back(NodeKind::pose);
}

void add_increment(const Layout& layout, const Configuration& q, const Vector& delta,
                   Configuration& out, ThreadPool* threads) {
  if (out.size() != q.size()) out.resize(q.size());
  share_items(threads, layout.nodes(), 256, [&](int node) {
    const int at = layout.q_start[node], dof = layout.v_start[node];
    if (layout.kinds[node] == NodeKind::flat) {
      out.segment(at, layout.size(node)) =
          q.segment(at, layout.size(node)) + delta.segment(dof, layout.size(node));
      return;
    }
    out.segment<3>(at) = q.segment<3>(at) + delta.segment<3>(dof);
    out.segment<4>(at + 3) =
        normalize(add_rotation(q.segment<4>(at + 3), delta.segment<3>(dof + 3)));
  });
}

void difference(const Layout& layout, const Configuration& to, const Configuration& from,
                Vector& delta) {
  if (delta.size() != layout.nv()) delta.resize(layout.nv());
  for (int node = 0; node < layout.nodes(); ++node) {
    const int at = layout.q_start[node], dof = layout.v_start[node];
    if (layout.kinds[node] == NodeKind::flat) {
      delta.segment(dof, layout.size(node)) =
          to.segment(at, layout.size(node)) - from.segment(at, layout.size(node));
      continue;
    }
    delta.segment<3>(dof) = to.segment<3>(at) - from.segment<3>(at);
    delta.segment<3>(dof + 3) = rotation_difference(to.segment<4>(at + 3), from.segment<4>(at + 3));
  }
}

void increment_tangent(const Layout& layout, const Vector& delta, BlockMatrix& T) {
  static constexpr int none[1] = {0};
  if (layout.is_flat()) {
    T.start_assembly(none, BlockMatrix::Symmetry::general);
    return;
  }
  T.start_assembly(layout.v_start, BlockMatrix::Symmetry::general);
  for (int node = 0; node < layout.nodes(); ++node) {
    auto block = T.block(node);
    block.setIdentity();
    if (layout.kinds[node] == NodeKind::pose)
      block.bottomRightCorner<3, 3>() = right_jacobian(delta.segment<3>(layout.v_start[node] + 3));
  }
}

}  // namespace urto
