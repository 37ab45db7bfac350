#include "urto/scene/mesh_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/read_file.h"
#include "urto/file/text_tokens.h"

namespace urto {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::size_t most_triangles = std::numeric_limits<int>::max() / 3;

/// Lines, and the words of the current one.
class Lines {
 public:
  Lines(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  /// Goes to the next line; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  /// The next word of the line, "" at its end.
  std::string_view word(std::string_view separators = blanks) {
    const std::size_t start = line_.find_first_not_of(separators);
    if (start == std::string_view::npos) {
      line_ = {};
      return {};
    }
    const std::size_t end = std::min(line_.find_first_of(separators, start), line_.size());
    const std::string_view found = line_.substr(start, end - start);
    line_.remove_prefix(end);
    return found;
  }
  void cut_comment() { line_ = line_.substr(0, line_.find('#')); }

  double number(std::string_view found, std::string_view expected) const {
    double x = 0;
    if (found.empty() || !parse_number(found, x) || !std::isfinite(x)) fail(found, expected);
    return x;
  }
  Vec3 vector(std::string_view expected) {
    Vec3 x;
    for (int i = 0; i < 3; ++i) x[i] = number(word(), expected);
    return x;
  }

  int line_number() const { return number_; }
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    fail_at(number_, found, expected);
  }
  [[noreturn]] void fail_at(int line, std::string_view found, std::string_view expected) const {
    throw InputError(fmt::format("{}:{}", name_, line),
                     found.empty()         ? "the end of the line"
                     : may_be_shown(found) ? fmt::format("'{}'", found)
                                           : "something else",
                     expected);
  }

 private:
  // A scene names its files, and somebody else may have written it: a message shows numbers and the
  // words of the formats, nothing that another kind of file could hold.
  static bool may_be_shown(std::string_view word) {
    constexpr std::string_view words[] = {"nan", "inf", "-inf", "facet", "vertex", "endfacet"};
    return std::ranges::find(words, word) != std::end(words) ||
           (word.size() <= 40 &&
            word.find_first_not_of("0123456789+-.eE/") == std::string_view::npos);
  }

  std::string_view rest_, name_;
  std::string_view line_ = {};
  int number_ = 0;
};

// ---- OBJ

/// "7", "7/1", "7//3", "7/1/3", "-1": the vertex, counted from 0; those that follow in the file are
/// allowed.
std::int64_t read_corner(const Lines& in, std::string_view word, std::size_t vertices) {
  constexpr std::string_view expected = "a corner of a face: v, v/vt, v//vn or v/vt/vn";
  std::int64_t index = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, index);
  if (error != std::errc{} || index == 0 || (end != last && *end != '/')) in.fail(word, expected);
  for (const char* c = end; c != last; ++c) {
    if (*c != '/' && *c != '-' && (*c < '0' || *c > '9')) in.fail(word, expected);
  }
  if (index > 0) return index - 1;
  const std::int64_t from_end = static_cast<std::int64_t>(vertices) + index;
  if (from_end < 0) in.fail(word, fmt::format("one of the {} vertices so far", vertices));
  return from_end;
}

/// Corners not checked yet against the number of vertices, which may follow.
struct Face {
  std::array<std::int64_t, 3> corners;
  int line;
};

void read_face(Lines& in, std::size_t vertices, std::vector<Face>& faces) {
  std::array<std::int64_t, 3> corner{};
  int count = 0;
  for (std::string_view word = in.word(); !word.empty(); word = in.word()) {
    const std::int64_t index = read_corner(in, word, vertices);
    if (count >= 2) {
      corner[2] = index;
      faces.push_back({corner, in.line_number()});
      corner[1] = index;
    } else {
      corner[count] = index;
    }
    ++count;
  }
  if (count < 3) in.fail("", "at least three corners of a face");
}

// ---- STL

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t x = 0;
  for (int i = 3; i >= 0; --i) x = (x << 8U) | static_cast<unsigned char>(bytes[i]);
  return x;
}

constexpr std::size_t header = 84, record = 50;

TriangleMesh parse_binary_stl(std::string_view bytes, std::string_view name) {
  const std::size_t count = bytes.size() < header ? 0 : little_endian(bytes.data() + 80);
  if (bytes.size() != header + record * count || bytes.size() < header) {
    throw InputError(
        name,
        bytes.size() < header ? fmt::format("{} bytes", bytes.size())
                              : fmt::format("{} bytes for {} triangles", bytes.size(), count),
        fmt::format("an STL file: \"solid …\", or {} bytes and {} a triangle", header, record));
  }
  if (count > most_triangles) {
    throw InputError(name, fmt::format("{} triangles", count),
                     fmt::format("at most {}", most_triangles));
  }
  TriangleMesh mesh;
  mesh.vertices.reserve(3 * count);
  mesh.triangles.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    // The first three numbers are the normal, which the corners know better.
    const char* at = bytes.data() + header + record * k + 12;
    const int first = static_cast<int>(mesh.vertices.size());
    for (int v = 0; v < 3; ++v) {
      Vec3 x;
      for (int i = 0; i < 3; ++i, at += 4) x[i] = std::bit_cast<float>(little_endian(at));
      if (!x.allFinite()) {
        throw InputError(fmt::format("{}: triangle {}, corner {}", name, k, v),
                         fmt::format("({}, {}, {})", x[0], x[1], x[2]), "finite coordinates");
      }
      mesh.vertices.push_back(x);
    }
    mesh.triangles.push_back({first, first + 1, first + 2});
  }
  return mesh;
}

TriangleMesh parse_text_stl(std::string_view text, std::string_view name) {
  TriangleMesh mesh;
  Lines in(text, name);
  int corners = -1;  // of the open facet
  while (in.next()) {
    const std::string_view word = in.word();
    if (word.empty() || word == "solid" || word == "endsolid" || word == "outer" ||
        word == "endloop") {
      continue;
    }
    if (word == "facet") {
      if (corners >= 0) in.fail(word, "'endfacet' before the next facet");
      corners = 0;
    } else if (word == "vertex") {
      if (corners < 0) in.fail(word, "'facet' before a vertex");
      if (corners == 3) in.fail(word, "three vertices in a facet");
      mesh.vertices.push_back(in.vector("three finite coordinates"));
      ++corners;
    } else if (word == "endfacet") {
      if (corners != 3) in.fail(word, "three vertices in a facet");
      const int end = static_cast<int>(mesh.vertices.size());
      mesh.triangles.push_back({end - 3, end - 2, end - 1});
      corners = -1;
    } else {
      in.fail(word, "'facet', 'outer loop', 'vertex', 'endloop', 'endfacet' or 'endsolid'");
    }
  }
  if (corners >= 0) in.fail("", "'endfacet': the file ends within a facet");
  return mesh;
}

}  // namespace

TriangleMesh parse_obj(std::string_view text, std::string_view name) {
  TriangleMesh mesh;
  std::vector<Face> faces;
  Lines in(text, name);
  while (in.next()) {
    in.cut_comment();
    const std::string_view word = in.word();
    if (word == "v") {
      // A weight or colours may follow.
      mesh.vertices.push_back(in.vector("three finite coordinates of a vertex"));
    } else if (word == "f") {
      read_face(in, mesh.vertices.size(), faces);
    } else if (!word.empty() &&
               (word.size() > 12 || std::any_of(word.begin(), word.end(), [](char c) {
                  return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z');
                }))) {
      // Names, groups, materials, normals and curves are none of ours, but they begin with a word.
      in.fail(word, "a line of an OBJ file, as 'v x y z' or 'f 1 2 3'");
    }
  }
  for (const Face& face : faces) {
    std::array<int, 3> triangle{};
    for (int i = 0; i < 3; ++i) {
      if (face.corners[i] >= static_cast<std::int64_t>(mesh.vertices.size())) {
        in.fail_at(face.line, std::to_string(face.corners[i] + 1),
                   fmt::format("a vertex from 1 to {}", mesh.vertices.size()));
      }
      triangle[i] = static_cast<int>(face.corners[i]);
    }
    mesh.triangles.push_back(triangle);
  }
  if (mesh.vertices.empty()) throw InputError(name, "no vertices", "lines 'v x y z'");
  return mesh;
}

TriangleMesh parse_stl(std::string_view bytes, std::string_view name) {
  // Binary files may begin with "solid" as well: their size tells them, and zeros that no text has.
  const bool sized =
      bytes.size() >= header && bytes.size() == header + record * little_endian(bytes.data() + 80);
  const std::size_t start = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
  const bool text = !sized && bytes.substr(start).starts_with("solid") &&
                    bytes.find('\0') == std::string_view::npos;
  TriangleMesh mesh = text ? parse_text_stl(bytes, name) : parse_binary_stl(bytes, name);
  if (mesh.triangles.empty()) throw InputError(name, "no triangles", "at least one");
  return mesh;
}

TriangleMesh parse_mesh(std::string_view bytes, const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (ending != ".obj" && ending != ".stl") {
    throw InputError(file.string(), "'" + ending + "'", "a file that ends in .obj or .stl");
  }
  return ending == ".obj" ? parse_obj(bytes, file.string()) : parse_stl(bytes, file.string());
}

TriangleMesh read_mesh_file(const std::filesystem::path& file) {
  return parse_mesh(read_text_file(file), file);
}

NumberTable parse_table(std::string_view text, std::string_view name) {
  constexpr std::string_view separators = " \t\r\v\f,;";
  NumberTable table;
  Lines in(text, name);
  while (in.next()) {
    in.cut_comment();
    int count = 0;
    for (std::string_view word = in.word(separators); !word.empty(); word = in.word(separators)) {
      table.values.push_back(in.number(word, "a finite number"));
      ++count;
    }
    if (count == 0) continue;
    if (table.columns == 0) table.columns = count;
    if (count != table.columns) {
      throw InputError(fmt::format("{}:{}", name, in.line_number()),
                       fmt::format("{} numbers", count),
                       fmt::format("{}, as in the rows above", table.columns));
    }
  }
  if (table.values.empty()) throw InputError(name, "no numbers", "rows of them");
  return table;
}

}  // namespace urto
