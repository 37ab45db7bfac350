// OBJ, STL and tables of heights: what is read, and the exact message for what cannot be.
#include "urto/scene/mesh_file.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/mesh_samples.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace samples;

std::string obj_message(const std::string& text) {
  return message_of([&] { parse_obj(text, "m.obj"); });
}
std::string stl_message(const std::string& bytes) {
  return message_of([&] { parse_stl(bytes, "m.stl"); });
}
std::string table_message(const std::string& text) {
  return message_of([&] { parse_table(text, "h.csv"); });
}

void put(std::string& bytes, std::uint32_t x) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(x >> (8 * i) & 0xFFU));
}

std::string binary_stl(const TriangleMesh& mesh, std::string header = "made by hand") {
  header.resize(80, ' ');
  std::string bytes = header;
  put(bytes, static_cast<std::uint32_t>(mesh.triangles.size()));
  for (const auto& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) put(bytes, 0);
    for (const int v : t) {
      for (int i = 0; i < 3; ++i) {
        put(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(mesh.vertices[v][i])));
      }
    }
    bytes += std::string(2, '\0');
  }
  return bytes;
}

std::string text_stl(const TriangleMesh& mesh) {
  std::string text = "solid thing\n";
  for (const auto& t : mesh.triangles) {
    text += "  facet normal 0 0 0\n    outer loop\n";
    for (const int v : t) {
      const Vec3& x = mesh.vertices[v];
      text += fmt::format("      vertex {:e} {:e} {:e}\n", x[0], x[1], x[2]);
    }
    text += "    endloop\n  endfacet\n";
  }
  return text + "endsolid thing\n";
}

std::string with_returns(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

constexpr const char* cube_obj = R"(# a cube of 2 m, faces as quads in every form
mtllib cube.mtl
o Cube
v -1 -1 -1
v 1.0 -1 -1
v -1 +1 -1 1.0
v 1 1 -1 0.5 0.5 0.5
vt 0 0
vn 0 0 1
v -1 -1 1e0
v 1 -1 1
v -1 1 1
v 1 1 1 # the last
g sides
usemtl red
s off
f 1 3 4 2
f 5/1 6/1 8/1 7/1
f 1//1 2//1 6//1 5//1
f 3/1/1 7/1/1 8/1/1 4/1/1
f -8 -4 -2 -6
f 2 4 8 6)";

TEST(MeshFile, ObjHasEveryFormOfFace) {
  for (const std::string& text : {std::string(cube_obj), with_returns(cube_obj) + "\r\n"}) {
    const TriangleMesh mesh = parse_obj(text, "cube.obj");
    EXPECT_EQ(mesh.vertices.size(), 8U);
    EXPECT_EQ(mesh.triangles.size(), 12U);
    EXPECT_EQ(mesh.triangles[1], (std::array{0, 3, 1}));
    EXPECT_EQ(mesh.triangles[8], (std::array{0, 4, 6}));
    check_mesh(mesh, "cube", Surface::closed);
    EXPECT_DOUBLE_EQ(signed_volume(mesh), 8);
  }
}

TEST(MeshFile, ObjOfPointsAndFacesBeforeTheirVertices) {
  EXPECT_EQ(parse_obj("v 1 2 3\nv 4 5 6", "m.obj").vertices.size(), 2U);
  EXPECT_EQ(parse_obj("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0", "m.obj").triangles.size(), 1U);
}

TEST(MeshFile, ObjMistakesHaveTheirLine) {
  EXPECT_EQ(obj_message(""), "m.obj: found no vertices, expected lines 'v x y z'");
  EXPECT_EQ(obj_message("v 1 2"),
            "m.obj:1: found the end of the line, expected three finite coordinates of a vertex");
  EXPECT_EQ(obj_message("\nv 1 2 nan\n"),
            "m.obj:2: found 'nan', expected three finite coordinates of a vertex");
  EXPECT_EQ(obj_message("v 1 2 1e999"),
            "m.obj:1: found '1e999', expected three finite coordinates of a vertex");
  EXPECT_EQ(obj_message("v 1 2 3x"),
            "m.obj:1: found something else, expected three finite coordinates of a vertex");
  const std::string three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  EXPECT_EQ(obj_message(three + "f 1 2"),
            "m.obj:4: found the end of the line, expected at least three corners of a face");
  EXPECT_EQ(obj_message(three + "f 1 2 4"), "m.obj:4: found '4', expected a vertex from 1 to 3");
  EXPECT_EQ(obj_message(three + "f 1 2 -4"),
            "m.obj:4: found '-4', expected one of the 3 vertices so far");
  for (const char* bad : {"0", "1.5", "x", "1/x", "99999999999999999999"}) {
    const bool shown = std::string_view(bad).find('x') == std::string_view::npos;
    EXPECT_EQ(obj_message(three + "f 1 2 " + bad),
              fmt::format("m.obj:4: found {}, expected a corner of a face: v, v/vt, v//vn or "
                          "v/vt/vn",
                          shown ? fmt::format("'{}'", bad) : "something else"));
  }
  EXPECT_EQ(
      obj_message("v 0 0 0\n\x01z 3"),
      "m.obj:2: found something else, expected a line of an OBJ file, as 'v x y z' or 'f 1 2 3'");
}

TEST(MeshFile, StlInBothFormsIsTheSameSolid) {
  const TriangleMesh cube = box_mesh({0.5, 1, 1.5}, {1, 0, 0});
  for (const std::string& bytes :
       {binary_stl(cube), binary_stl(cube, "solid is how some binaries begin\n facet"),
        text_stl(cube), with_returns(text_stl(cube)), "\n  " + text_stl(cube),
        text_stl(cube) + text_stl(box_mesh({0, 0, 0})).substr(0, 12)}) {
    const TriangleMesh loose = parse_stl(bytes, "cube.stl");
    EXPECT_EQ(loose.vertices.size(), 36U);
    const TriangleMesh mesh = weld(loose, "cube");
    EXPECT_EQ(mesh.vertices.size(), 8U);
    EXPECT_DOUBLE_EQ(mass_properties(mesh, 1).mass, 6);
  }
}

TEST(MeshFile, StlMistakesAreNamed) {
  const TriangleMesh cube = box_mesh({1, 1, 1});
  const std::string binary = binary_stl(cube);
  const std::string expected = ", expected an STL file: \"solid …\", or 84 bytes and 50 a triangle";
  EXPECT_EQ(stl_message(""), "m.stl: found 0 bytes" + expected);
  EXPECT_EQ(stl_message("garbage"), "m.stl: found 7 bytes" + expected);
  EXPECT_EQ(stl_message(binary.substr(0, 600)),
            "m.stl: found 600 bytes for 12 triangles" + expected);
  EXPECT_EQ(stl_message(binary_stl(cube, std::string("solid\0x", 7)).substr(0, 600)),
            "m.stl: found 600 bytes for 12 triangles" + expected);
  std::string huge = binary;
  for (int i = 80; i < 84; ++i) huge[i] = '\xFF';
  EXPECT_EQ(stl_message(huge), "m.stl: found 684 bytes for 4294967295 triangles" + expected);
  EXPECT_EQ(stl_message(binary_stl({})), "m.stl: found no triangles, expected at least one");
  TriangleMesh bad = cube;
  bad.vertices[3].y() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(stl_message(binary_stl(bad)),
            "m.stl: triangle 0, corner 2: found (1, nan, -1), expected finite coordinates");
  EXPECT_EQ(stl_message("solid x\nendsolid"), "m.stl: found no triangles, expected at least one");
  EXPECT_EQ(stl_message("solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n"),
            "m.stl:4: found the end of the line, expected three finite coordinates");
  EXPECT_EQ(stl_message("solid x\nvertex 0 0 0\n"),
            "m.stl:2: found 'vertex', expected 'facet' before a vertex");
  EXPECT_EQ(stl_message("solid x\nfacet\nvertex 0 0 0\nendfacet"),
            "m.stl:4: found 'endfacet', expected three vertices in a facet");
  EXPECT_EQ(stl_message("solid x\nfacet\nfacet"),
            "m.stl:3: found 'facet', expected 'endfacet' before the next facet");
  EXPECT_EQ(stl_message("solid x\nfacet\nvertex 0 0 0"),
            "m.stl:3: found the end of the line, expected 'endfacet': the file ends within a "
            "facet");
  EXPECT_EQ(stl_message("solid x\nfoo"),
            "m.stl:2: found something else, expected 'facet', 'outer loop', 'vertex', 'endloop', "
            "'endfacet' or 'endsolid'");
}

TEST(MeshFile, TheEndingSaysWhichItIs) {
  EXPECT_EQ(message_of([] { parse_mesh("", "dir/m.ply"); }),
            "dir/m.ply: found '.ply', expected a file that ends in .obj or .stl");
  EXPECT_EQ(parse_mesh("v 0 0 0", "M.OBJ").vertices.size(), 1U);
  EXPECT_EQ(message_of([] { read_mesh_file("/nowhere/m.obj"); }),
            "/nowhere/m.obj: there is no such file");
}

TEST(MeshFile, TablesOfNumbers) {
  for (const char* text :
       {"1,2,3\n4,5,6\n", "# heights\n 1 2 3\n\n4\t5 6", "1; 2; 3\r\n4; 5; +6\r\n"}) {
    const NumberTable table = parse_table(text, "h.csv");
    EXPECT_EQ(table.columns, 3);
    EXPECT_EQ(table.rows(), 2);
    EXPECT_EQ(table.values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(table_message("# none\n"), "h.csv: found no numbers, expected rows of them");
  EXPECT_EQ(table_message("1 2\n3\n"),
            "h.csv:2: found 1 numbers, expected 2, as in the rows above");
  EXPECT_EQ(table_message("1 2\n3 x\n"), "h.csv:2: found something else, expected a finite number");
  EXPECT_EQ(table_message("1 2\n3 inf\n"), "h.csv:2: found 'inf', expected a finite number");
}

TEST(MeshFile, MutatedFilesAreReadOrRefused) {
  const TriangleMesh cube = box_mesh({1, 2, 3});
  const std::string originals[] = {cube_obj, text_stl(cube), binary_stl(cube),
                                   binary_stl(cube, "solid")};
  std::mt19937 random(11);
  const std::string alphabet = "vf/-+.e0123456789 \n\t\r#\\\x00\xFFsolidnan";
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = originals[round % 4];
    for (int change = 0; change < 1 + round % 5; ++change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          bytes.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          bytes.erase(at, 1 + random() % 9);
          break;
        default:
          bytes.resize(at + 1);
          break;
      }
      if (bytes.empty()) bytes = " ";
    }
    try {
      const TriangleMesh mesh =
          round % 4 == 0 ? parse_obj(bytes, "m.obj") : parse_stl(bytes, "m.stl");
      if (!mesh.triangles.empty()) weld(mesh, "m");  // checks indices and coordinates
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("m")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 4000);
}

}  // namespace
}  // namespace urto
