// Internal: the readers behind read_problem, one for each family of formats, and the way files are
// written.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "urto/file/hdf5_io.h"
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

/// Has `write` write a temporary file beside `target`, then renames it. Whatever goes wrong, the
/// temporary file is removed and a target that was there before is untouched.
void write_complete(const std::filesystem::path& target,
                    const std::function<void(const std::filesystem::path& temporary)>& write);

}  // namespace urto
