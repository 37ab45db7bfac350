// Internal: the readers behind read_problem, one for each family of formats.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "urto/file/hdf5_io.h"
#include "urto/file/whole_file.h"
#include "urto/problem/problem_file.h"

namespace urto {

ProblemFile read_fclib(const Hdf5File& file);
ProblemFile read_urto(const Hdf5File& file);
/// `name` is the file's, for messages; `text` its contents.
ProblemFile read_text(const std::string& name, std::string_view text, FileFormat format);

/// max |A|, zero without entries (Eigen's norm refuses a matrix without rows).
inline double largest_entry(const SparseMatrix& A) {
  return A.nonZeros() == 0 ? 0 : A.coeffs().abs().maxCoeff();
}

}  // namespace urto
