#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>

namespace urto {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using Vec3 = Eigen::Vector3d;
using Vec4 = Eigen::Vector4d;
using Mat3 = Eigen::Matrix3d;
using SparseMatrix = Eigen::SparseMatrix<double>;  // compressed columns

}  // namespace urto
