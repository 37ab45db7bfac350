#include "urto/collision/box_box.h"

#include <algorithm>
#include <cmath>

namespace urto {

Nearest box_axes(const ConvexPair& pair, double reach) {
  const Vec3 &ha = pair.a.size, &hb = pair.b.size, &t = pair.t;
  const Mat3& R = pair.R;
  const Mat3 absolute = R.cwiseAbs();
  // An edge crossing must beat the faces by more than rounding: faces make the better manifold.
  const double size = pair.a.extent + pair.b.extent;
  const double edge_bias = 1e-10 * size, face_bias = 1e-12 * size;
  Nearest best;
  best.distance = -1e300;

  const Vec3 faces_a = t.cwiseAbs() - ha - absolute * hb;
  int k = 0;
  best.distance = faces_a.maxCoeff(&k);
  best.normal = (t[k] > 0 ? -1 : 1) * Vec3::Unit(k);
  if (best.distance > reach) return best;

  const Vec3 in_b = R.transpose() * t;
  const Vec3 faces_b = in_b.cwiseAbs() - hb - absolute.transpose() * ha;
  const double distance = faces_b.maxCoeff(&k);
  if (distance > best.distance + face_bias) {
    best.distance = distance;
    best.normal = (in_b[k] > 0 ? -1 : 1) * R.col(k);
    if (best.distance > reach) return best;
  }

  // e_i × R e_j: its length is the sine between the edges; nearly parallel ones add nothing to the
  // faces.
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double sine = std::hypot(R(i1, j), R(i2, j));
      if (sine < 1e-6) continue;
      const double along = t[i2] * R(i1, j) - t[i1] * R(i2, j);
      const double radii = ha[i1] * absolute(i2, j) + ha[i2] * absolute(i1, j) +
                           hb[j1] * absolute(i, j2) + hb[j2] * absolute(i, j1);
      const double d = (std::abs(along) - radii) / sine;
      if (d > best.distance + edge_bias) {
        Vec3 n = Vec3::Zero();
        n[i1] = -R(i2, j) / sine;
        n[i2] = R(i1, j) / sine;
        best.distance = d;
        best.normal = along > 0 ? Vec3(-n) : n;
        if (best.distance > reach) return best;
      }
    }
  }
  return best;
}

}  // namespace urto
