#include "urto/linalg/pivoting_factor.h"

#include <stdexcept>

#ifdef URTO_HAVE_MUMPS
#include <dmumps_c.h>
#include <mutex>
#include <vector>
#endif

#include "urto/linalg/sparse_factors.h"

namespace urto {

#ifdef URTO_HAVE_MUMPS

namespace {

constexpr int world_communicator = -987654;  // MUMPS's own number for it
constexpr int workspace_tries = 5;           // recipe 001 §2.7.13
constexpr int large = 5000;                  // rows from which a better ordering pays
// A pivot below this part of the scaled matrix is rounding: a duplicated joint leaves 1e-16.
constexpr double null_pivot = 1e-15;

enum Job { begin = -1, end = -2, analysis = 1, factorization = 2, substitution = 3 };

// MUMPS keeps state in variables of Fortran modules, whichever instance works: two calls at the
// same time, even on two matrices, disturb each other. So threads take turns here, and only here.
std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct PivotingFactor::Impl {
  DMUMPS_STRUC_C data = {};
  std::vector<MUMPS_INT> row = {}, column = {};
  std::vector<double> values = {};
  bool analysed = false, usable = false;
  int retries = 0;

  // Numbered as in MUMPS's manual.
  MUMPS_INT& control(int number) { return data.icntl[number - 1]; }
  int info(int number) const { return data.infog[number - 1]; }
  bool run(Job job) {
    data.job = job;
    dmumps_c(&data);
    return info(1) >= 0;
  }
};

PivotingFactor::PivotingFactor(Symmetry symmetry, int workspace) : impl_(std::make_unique<Impl>()) {
  const std::lock_guard guard(lock());
  DMUMPS_STRUC_C& data = impl_->data;
  data.comm_fortran = world_communicator;
  data.par = 1;
  data.sym = symmetry == Symmetry::symmetric ? 2 : 0;
  impl_->run(Job::begin);
  for (int stream = 1; stream <= 3; ++stream) impl_->control(stream) = -1;  // no output
  impl_->control(4) = 0;
  impl_->control(10) = 0;  // refinement is the caller's, on the system without the shift
  impl_->control(11) = 2;  // error analysis: the backward error
  impl_->control(14) = workspace;
  impl_->control(16) = 1;  // threads
  data.cntl[2] = null_pivot;
}

PivotingFactor::~PivotingFactor() {
  const std::lock_guard guard(lock());
  impl_->data.irn = impl_->data.jcn = nullptr;  // ours, not MUMPS's
  impl_->data.a = impl_->data.rhs = nullptr;
  impl_->run(Job::end);
}

bool PivotingFactor::is_available() {
  return true;
}

bool PivotingFactor::analyze(const SparseMatrix& A) {
  Impl& m = *impl_;
  m.row.clear();
  m.column.clear();
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      m.row.push_back(static_cast<MUMPS_INT>(it.row() + 1));
      m.column.push_back(c + 1);
    }
  }
  m.values.assign(A.valuePtr(), A.valuePtr() + A.nonZeros());
  m.data.n = static_cast<MUMPS_INT>(A.rows());
  m.data.nnz = A.nonZeros();
  m.data.irn = m.row.data();
  m.data.jcn = m.column.data();
  m.data.a = m.values.data();
  constexpr int minimum_degree = 0;
  constexpr int scotch = 3;
  m.control(7) = A.rows() < large ? minimum_degree : scotch;
  const std::lock_guard guard(lock());
  m.usable = false;
  m.analysed = m.run(Job::analysis);
  return m.analysed;
}

bool PivotingFactor::factorize(const SparseMatrix& A, NullPivots nulls, double threshold) {
  constexpr int small_integers = -8;
  constexpr int small_reals = -9;
  Impl& m = *impl_;
  m.usable = false;
  if (!m.analysed || m.values.size() != static_cast<std::size_t>(A.nonZeros())) return false;
  std::copy(A.valuePtr(), A.valuePtr() + A.nonZeros(), m.values.begin());
  m.data.cntl[0] = threshold;
  m.control(24) = nulls == NullPivots::taken ? 1 : 0;
  const std::lock_guard guard(lock());
  for (int attempt = 0; attempt < workspace_tries; ++attempt) {
    m.usable = m.run(Job::factorization);
    if (m.usable) return true;
    if (m.info(1) != small_integers && m.info(1) != small_reals) return false;
    m.control(14) = m.control(14) * 3 / 2 + 50;
    ++m.retries;
  }
  return false;
}

bool PivotingFactor::solve(const Vector& rhs, Vector& x) {
  if (!impl_->usable) {
    x.setConstant(rhs.size(), not_solved);
    return false;
  }
  x = rhs;
  const std::lock_guard guard(lock());
  impl_->data.rhs = x.data();
  const bool done = impl_->run(Job::substitution);
  impl_->data.rhs = nullptr;
  if (!done) x.setConstant(not_solved);
  return done && x.allFinite();
}

int PivotingFactor::workspace_retries() const {
  return impl_->retries;
}

int PivotingFactor::negative_pivots() const {
  return impl_->info(12);
}

int PivotingFactor::null_pivots() const {
  return impl_->info(28);
}

double PivotingFactor::backward_error() const {
  return impl_->data.rinfog[6] + impl_->data.rinfog[7];
}

#else

struct PivotingFactor::Impl {};

PivotingFactor::PivotingFactor(Symmetry, int) {
  throw std::logic_error("PivotingFactor: built without MUMPS");
}
PivotingFactor::~PivotingFactor() = default;
bool PivotingFactor::is_available() {
  return false;
}
bool PivotingFactor::analyze(const SparseMatrix&) {
  return false;
}
bool PivotingFactor::factorize(const SparseMatrix&, NullPivots, double) {
  return false;
}
bool PivotingFactor::solve(const Vector&, Vector&) {
  return false;
}
int PivotingFactor::workspace_retries() const {
  return 0;
}
int PivotingFactor::negative_pivots() const {
  return 0;
}
int PivotingFactor::null_pivots() const {
  return 0;
}
double PivotingFactor::backward_error() const {
  return 0;
}

#endif

}  // namespace urto
