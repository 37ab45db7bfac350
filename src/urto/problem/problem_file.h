// Problems as files: our own lossless format, FCLIB's HDF5 and the text formats of Siconos.
//
// Reading detects the format (the HDF5 signature, else the one text layout that the whole file
// fits) and checks everything: whatever read_problem returns has passed validate(). Writing goes to
// a temporary file beside the target, which is renamed when it is complete, so a target is never
// half-written.
//
// Our own format ("urto") is HDF5, one group /urto, numbers as 32-bit integers (int) and IEEE
// doubles (real):
//
//   version           int     1
//   kind              string  "step" or "complementarity"
//
//   a step problem:
//   H/kind            string  "blocks" or "sparse"
//   H/start           int     blocks: first row of each block, and the number of rows at the end
//   H/values          real    blocks: the blocks one after the other, each dense and column-major
//   H, E              sparse matrices, see below (H when its kind is "sparse")
//   J/columns         int     number of columns
//   J/row_start       int     first row of each row block, and the number of rows at the end
//   J/entry_start     int     first entry of each row block, and the number of entries at the end
//   J/entry_column    int     of each entry: its first column,
//   J/entry_width     int       its number of columns,
//   J/entry_offset    int       and where its values start (row-major) in
//   J/values          real
//   a, b              real
//   sets/kind         int     0 free, 1 nonnegative, 2 cone, 3 rolling cone, 4 box
//   sets/dim          int
//   sets/mu, sets/mu_rolling, sets/lo, sets/hi      real; bounds may be infinite
//   sets/mu_spinning  real    may be missing: none
//
//   a complementarity problem:
//   M                 sparse matrix
//   q, lo, hi         real; bounds may be infinite
//
//   a sparse matrix is a group (compressed columns):
//   rows, columns     int
//   column_start      int     columns + 1
//   row               int     increasing inside each column
//   values            real
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "urto/problem/complementarity.h"
#include "urto/problem/step_problem.h"

namespace urto {

using Problem = std::variant<StepProblem, ComplementarityProblem>;

/// A solution or a guess that came with a problem: only a place to start from, never trusted.
struct StoredSolution {
  Vector x;       ///< FCLIB's v; empty when the file has none
  Vector u;       ///< in the order of the problem's rows; zero on FCLIB's equality rows
  Vector lambda;  ///< FCLIB's r, followed by its l
};

enum class FileFormat : std::uint8_t {
  automatic,
  urto,           ///< our own HDF5, see above
  fclib,          ///< FCLIB's HDF5: local, global and global rolling problems
  friction_text,  ///< Siconos: dimension 2 or 3, contacts, W, q, μ
  rolling_text,   ///< Siconos: dimension 5, contacts, W, q, μ, μ_r
  global_text,    ///< Siconos: dimension 2, 3 or 5, contacts, M, H, q, b, μ (and μ_r)
  lcp_text,       ///< Siconos: n, M, q, then remarks
  mlcp_text,    ///< Siconos: two flags, n equalities, m inequalities, blocks, M, q, and/or A, B, C,
                ///< D, a, b
  relay_text,   ///< Siconos: n, M, q, lower bounds, upper bounds
  soclcp_text,  ///< Siconos: n, cones, M, q, first row of each cone and n, the cones' coefficients
};

/// The name that the command's --format option takes: auto, urto, fclib, friction, rolling, global,
/// lcp, mlcp, relay, soclcp.
std::string_view to_string(FileFormat format);
/// The format with this name; throws InputError listing the names there are.
FileFormat parse_file_format(std::string_view name);

// NOLINTNEXTLINE(bugprone-exception-escape): as for StepProblem.
struct ProblemFile {
  Problem problem;
  FileFormat format = FileFormat::automatic;  ///< the one that was found
  /// The law that the problem is stated with, where the format says so: a second-order cone problem
  /// is the convex one. Empty: whichever is asked for.
  std::optional<Friction> friction = {};
  /// FCLIB's solution, else its first guess; left out if it has numbers that are not finite.
  std::optional<StoredSolution> guess = {};
};

/// Reads and validates a problem. Throws InputError with the file, the place in it, what was found
/// and what was expected.
ProblemFile read_problem(const std::filesystem::path& file,
                         FileFormat format = FileFormat::automatic);

/// Writes our own format: reading gives equal data back.
void write_problem(const std::filesystem::path& file, const Problem& problem);

/// Writes FCLIB's local form (a problem without dofs) or global form. Friction rows come first,
/// then free rows as FCLIB's equalities (V, R, s or G, b); reading gives the rows in that order.
/// Throws InputError for what FCLIB cannot hold: boxes, unilateral rows, cones of several
/// dimensions, compliance of a global problem, rolling cones of a local one, spinning friction.
void write_fclib(const std::filesystem::path& file, const StepProblem& problem,
                 const StoredSolution* solution = nullptr, std::string_view title = "");

/// Writes the friction, rolling or global layout of Siconos; only friction cones of one dimension
/// fit into it.
void write_text(const std::filesystem::path& file, const StepProblem& problem);
/// Writes the LCP, MLCP or relay layout of Siconos, the first that the bounds fit.
void write_text(const std::filesystem::path& file, const ComplementarityProblem& problem);

}  // namespace urto
