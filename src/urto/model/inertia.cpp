#include "urto/model/inertia.h"

#include <limits>

#include <Eigen/Eigenvalues>

#include "urto/linalg/checked.h"

namespace urto {

Vec3 principal_moments(const Mat3& inertia) {
  const Checked<Eigen::SelfAdjointEigenSolver<Mat3>> eigen(inertia, Eigen::EigenvaluesOnly);
  return eigen.ok() ? eigen->eigenvalues()
                    : Vec3(Vec3::Constant(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace urto
