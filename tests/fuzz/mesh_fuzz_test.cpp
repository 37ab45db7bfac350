// A seeded fuzz of files beside scenes: every mutation of an OBJ, STL, number or URDF file is
// read, and then makes a scene that loads, or is refused with InputError; a message shows nothing
// but numbers and words of the formats. The same on every run.
#include <algorithm>
#include <fstream>
#include <random>

#include "../scene/scene_samples.h"
#include "fuzz/rounds.h"
#include "support/message_of.h"
#include "support/paths.h"
#include "urto/scene/mesh_file.h"
#include "urto/scene/urdf.h"

namespace urto {
namespace {

using namespace samples;
using Random = std::mt19937;

std::size_t pick(Random& random, std::size_t count) {
  return random() % count;
}

constexpr const char* cube =
    "# cube\no cube\nv -1 -1 -1\nv 1 -1 -1\nv -1 1 -1\nv 1 1 -1\nv -1 -1 1\nv 1 -1 1\nv -1 1 1\n"
    "v 1 1 1\nvn 0 0 1\ns off\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
constexpr const char* facets =
    "solid c\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    "endfacet\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\n"
    "endfacet\nendsolid c\n";
constexpr const char* heights = "# heights\n0 0.1, 0.2; 0.1\n0.1 0.3 0.1 0\n0 0 0 0.1\n";

std::string binary_facets() {
  std::string out(80, ' ');
  const std::uint32_t count = 4;
  out.append(reinterpret_cast<const char*>(&count), 4);
  for (std::uint32_t k = 0; k < count; ++k) {
    float x[12] = {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, static_cast<float>(k)};
    out.append(reinterpret_cast<const char*>(x), sizeof x);
    out.append(2, '\0');
  }
  return out;
}

std::string mutated(std::string text, Random& random) {
  const std::string words[] = {"0",
                               "-1",
                               "1e308",
                               "nan",
                               "inf",
                               "2147483648",
                               "99999999999999999999",
                               "",
                               "1//",
                               "1/2/3/4",
                               "-9223372036854775808",
                               "1e200",
                               "8",
                               "secret",
                               "1e-320"};
  for (std::size_t k = 0, n = 1 + pick(random, 4); k < n && !text.empty(); ++k) {
    const std::size_t at = pick(random, text.size());
    switch (pick(random, 5)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + pick(random, 3));
        break;
      case 2: {  // another word
        const std::size_t from = text.find_first_of("0123456789-", at);
        if (from == std::string::npos) break;
        const std::size_t to =
            std::min(text.find_first_not_of("0123456789-+.eE/", from), text.size());
        text.replace(from, to - from, words[pick(random, std::size(words))]);
        break;
      }
      case 3: {  // a line twice, or not at all
        const std::size_t from = text.rfind('\n', at) + 1,
                          to = std::min(text.find('\n', at), text.size() - 1) + 1;
        if (to <= from) break;
        const std::string line = text.substr(from, to - from);
        pick(random, 2) == 0 ? text.erase(from, line.size()) : text.insert(from, line);
        break;
      }
      default:
        if (pick(random, 3) == 0) text.resize(at);
    }
  }
  return text;
}

using MeshFuzz = SceneFiles;

TEST_F(MeshFuzz, EveryMutationIsReadOrRefused) {
  const std::pair<const char*, std::string> files[] = {
      {"m.obj", cube}, {"m.stl", facets}, {"b.stl", binary_facets()}, {"h.csv", heights}};
  Random random(1848);
  int read = 0, refused = 0;
  for (int k = 0; k < fuzz_rounds(1500); ++k) {
    const auto& [name, good] = files[pick(random, std::size(files))];
    write(name, mutated(good, random));
    const bool table = std::string_view(name).ends_with("csv");
    const char* kind = table ? "height-field" : pick(random, 2) == 0 ? "mesh" : "hull";
    const std::string text =
        with_body(fmt::format(R"("kind": "fixed", "shapes": [{{"kind": "{}", "file": "{}"{}}}])",
                              kind, name, table ? R"(, "spacing": 0.5)" : ""));
    const std::string said = message(write("s.json", text));
    ++(said.empty() ? read : refused);
    EXPECT_LE(said.size(), 1000u);
    EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

using UrdfFuzz = SceneFiles;

TEST_F(UrdfFuzz, EveryMutationIsConvertedOrRefused) {
  std::ifstream in(samples::scenes_dir() / "robots/arm.urdf");
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  Random random(77013);
  int read = 0, refused = 0;
  for (int k = 0; k < fuzz_rounds(200); ++k) {
    const std::filesystem::path file = write("r.urdf", mutated(good, random));
    const std::string said = samples::message_of([&] {
      const ConvertedScene scene = urdf_scene(file, {.ground = true}, file.parent_path());
      parse_scene(scene.json, "r.json");
    });
    ++(said == "no error" ? read : refused);
    EXPECT_LE(said.size(), 1000u);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace urto
