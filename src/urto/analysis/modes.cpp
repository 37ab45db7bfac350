#include "urto/analysis/modes.h"

#include <Spectra/MatOp/SparseSymMatProd.h>
#include <Spectra/SymGEigsShiftSolver.h>
#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/linalg/saddle_lu.h"

namespace urto {
namespace {

double asymmetry_of(const Matrix& K) {
  const double size = K.norm();
  return size > 0 ? (K - K.transpose()).norm() / size : 0;
}

[[noreturn]] void fail_eigen(const Matrix& A) {
  throw InputError(
      "modes", A.allFinite() ? "eigenvalues that do not converge" : "a matrix that is not finite",
      "stiffness, damping and masses of ordinary size");
}

Modes dense_modes(const Linearisation& l, int count) {
  const Matrix N = allowed_motions(l.M, l.J);
  const Matrix K = N.transpose() * (l.K * N);
  Modes out;
  out.asymmetry = asymmetry_of(K);
  if (N.cols() == 0) return out;
  const Checked<Eigen::SelfAdjointEigenSolver<Matrix>> eigen(0.5 * (K + K.transpose()));
  if (!eigen.ok()) fail_eigen(K);
  const int kept =
      count > 0 ? std::min<int>(count, static_cast<int>(N.cols())) : static_cast<int>(N.cols());
  out.squared = eigen->eigenvalues().head(kept);
  out.shapes = N * eigen->eigenvectors().leftCols(kept);
  return out;
}

/// y = x-part of [K − σM, Jᵀ; J, 0]⁻¹ {b; 0}.
class ConstrainedInverse {
 public:
  using Scalar = double;
  explicit ConstrainedInverse(const Linearisation& l) : l_(l) {}
  Eigen::Index rows() const { return l_.M.rows(); }
  Eigen::Index cols() const { return l_.M.rows(); }
  void set_shift(double sigma) {
    const int n = static_cast<int>(l_.M.rows());
    const int m = static_cast<int>(l_.J.rows());
    const SparseMatrix transposed = l_.K.transpose();
    const SparseMatrix H = 0.5 * (l_.K + transposed) - sigma * l_.M;
    lu_.start(n, n + m);
    lu_.add(H, 0, 0);
    lu_.add_rows(l_.J);
    if (!lu_.factorize()) {
      throw InputError("modes", "a stiffness that is singular at the shift",
                       "another number of modes, or a smaller model");
    }
    rhs_.setZero(n + m);
  }
  void perform_op(const double* b, double* y) const {
    const auto n = l_.M.rows();
    rhs_.head(n) = Eigen::Map<const Vector>(b, n);
    lu_.solve(rhs_, solution_);
    Eigen::Map<Vector>(y, n) = solution_.head(n);
  }

 private:
  const Linearisation& l_;
  mutable SaddleLu lu_;
  mutable Vector rhs_, solution_;
};

Modes lanczos_modes(const Linearisation& l, int count) {
  using MassProduct = Spectra::SparseSymMatProd<double>;
  using Solver = Spectra::SymGEigsShiftSolver<ConstrainedInverse, MassProduct,
                                              Spectra::GEigsMode::ShiftInvert>;
  const int n = static_cast<int>(l.M.rows());
  ConstrainedInverse inverse(l);
  MassProduct mass(l.M);
  const int subspace = std::min(n, std::max(2 * count + 10, 30));
  // Near the slowest modes, seen from the side where nothing is.
  const double sigma = -1e-4 * std::abs(l.K.diagonal().sum()) / l.M.diagonal().sum() - 1e-3;
  Solver solver(inverse, mass, count, subspace, sigma);
  // A start on the allowed motions: the rest of the space has eigenvalue zero.
  Vector start(n), inside(n);
  for (int i = 0; i < n; ++i) start[i] = std::sin(1.0 + i);
  inverse.perform_op(start.data(), inside.data());
  solver.init(inside.data());
  const auto found =
      solver.compute(Spectra::SortRule::LargestMagn, 1000, 1e-13, Spectra::SortRule::SmallestAlge);
  if (solver.info() != Spectra::CompInfo::Successful || found < count)
    throw InputError("modes", fmt::format("{} of {} modes converged", found, count), "fewer modes");
  Modes out;
  out.by_lanczos = true;
  out.squared = solver.eigenvalues();
  out.shapes = solver.eigenvectors();
  const SparseMatrix transposed = l.K.transpose();
  out.asymmetry = l.K.norm() > 0 ? SparseMatrix(l.K - transposed).norm() / l.K.norm() : 0;
  return out;
}

}  // namespace

Modes find_modes(const Linearisation& l, const ModeOptions& options) {
  const int n = static_cast<int>(l.M.rows());
  if (n <= options.largest_dense) return dense_modes(l, options.count);
  return lanczos_modes(l, options.count > 0 ? std::min(options.count, n / 3) : 10);
}

std::vector<ComplexMode> find_complex_modes(const Linearisation& l) {
  const StateSpace s = state_space(l);
  std::vector<ComplexMode> out;
  if (s.A.rows() == 0) return out;
  const Checked<Eigen::EigenSolver<Matrix>> eigen(s.A);
  if (!eigen.ok()) fail_eigen(s.A);
  for (int k = 0; k < s.A.rows(); ++k) {
    const std::complex<double> rate = eigen->eigenvalues()[k];
    if (rate.imag() < 0) continue;
    out.push_back({rate, s.C.cast<std::complex<double>>() * eigen->eigenvectors().col(k)});
  }
  std::sort(out.begin(), out.end(), [](const ComplexMode& a, const ComplexMode& b) {
    return std::abs(a.rate) < std::abs(b.rate);
  });
  return out;
}

}  // namespace urto
