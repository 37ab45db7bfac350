// Surfaces and grids of heights from files: Wavefront OBJ, STL (text and binary), and tables of
// numbers.
//
// The reader is our own: two formats of a few lines each, and messages with file and line, do not
// pay for a library of fifty formats (Assimp).
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "urto/model/shape.h"

namespace urto {

/// By the ending, .obj or .stl. Polygons are cut into fans, so they should be convex. Vertices are
/// as in the file: STL repeats them for every triangle (see `weld`). An OBJ file may have vertices
/// only: points for a hull. Throws InputError: "file:line: found …, expected …".
TriangleMesh read_mesh_file(const std::filesystem::path& file);

/// The same from memory; `file` and `name` stand in messages.
TriangleMesh parse_mesh(std::string_view bytes, const std::filesystem::path& file);
TriangleMesh parse_obj(std::string_view text, std::string_view name);
TriangleMesh parse_stl(std::string_view bytes, std::string_view name);

/// Rows of numbers, separated by spaces, tabs, commas or semicolons; '#' begins a comment. All rows
/// have the same length.
struct NumberTable {
  int columns = 0;
  std::vector<double> values = {};  ///< row by row

  int rows() const { return columns == 0 ? 0 : static_cast<int>(values.size()) / columns; }
};
NumberTable parse_table(std::string_view text, std::string_view name);

}  // namespace urto
