// What attacks on the command have found (script/attack, tests/fuzz/attack), each as small as it
// could be made: crashes, files without an end, sizes beyond all bounds. The limits of scenes are
// in tests/scene, those of damaged files in tests/result, tests/problem and tests/fuzz.
#include <array>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "support/urto_command.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

using samples::Output;
using samples::says;

class Attack : public samples::FolderTest {
 protected:
  Output run(const std::string& arguments) const {
    return samples::run_command(path(""), arguments, "exec timeout -s KILL 100");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
};

// A singular matrix in the certificate of a step (bushings as stiff as welds on grains of a
// milligram; stiffness of 1e100; a damper of 1e103 m) ended in a segmentation fault, a double free
// or a wrong length of an array.
TEST_F(Attack, MatricesThatCannotBeFactorisedAreNoCrash) {
  write("grains.json", R"({"urto": 1, "bodies": [
    {"name": "a", "mass": 1e-6, "inertia": [1e-12, 1e-12, 1e-12]},
    {"name": "b", "mass": 1e-6, "inertia": [1e-12, 1e-12, 1e-12], "position": [0.001, 0, 0]}],
    "forces": [{"kind": "bushing", "bodies": ["a", "b"], "position": [0.0005, 0, 0],
                "stiffness": [1e8, 1e8, 1e8, 1e8, 1e8, 1e8]}],
    "simulation": {"duration": 0.1, "step": 1e-2}})");
  write("bushing.json", R"({"urto": 1, "bodies": [
    {"name": "a", "mass": 1, "inertia": [1, 1, 1]}, {"name": "b", "mass": 1, "inertia": [1, 1, 1]}],
    "forces": [{"kind": "bushing", "bodies": ["a", "b"], "position": [1.5, 0, 0],
                "stiffness": [100, 100, 100.5, 1e+100, 1, 1]}]})");
  write("damper.json", R"({"urto": 1, "bodies": [
    {"name": "a", "mass": 1, "inertia": [1, 1, 1]}, {"name": "b", "mass": 1, "inertia": [1, 1, 1]}],
    "forces": [{"kind": "spring", "bodies": ["a", "b"], "points": [[1, 0, 0], [2, 1e+103, 0]],
                "damping": [[0, 0], [1, 1]]},
               {"kind": "load", "body": "b", "point": [2, 0, 0.1],
                "force": [{"harmonic": {}}, 0, 0], "torque": [0, 0, 1]}]})");
  // The interior point wrote to address 0.
  write("far.json", R"({"urto": 1, "materials": {"steel": {"friction": 0}}, "bodies": [
    {"name": "one", "position": [0.201, 0, 0], "mass": 1, "shapes": [{"kind": "sphere", "radius": 0.1}]},
    {"position": [0.402, 0, 0], "mass": 1,
     "shapes": [{"kind": "sphere", "radius": 0.1, "material": "steel"}]},
    {"position": [0.603, 0, 0], "mass": 1, "shapes": [{"kind": "sphere", "radius": 0.1}]},
    {"name": "four", "position": [0.804, 0, 0], "mass": 1,
     "shapes": [{"kind": "sphere", "radius": 0.1, "material": "steel"}]}],
    "joints": [
      {"kind": "revolute", "bodies": ["world", "one"], "position": [0.201, 1e+100, 0.5],
       "axis": [0, 1, 0]},
      {"kind": "revolute", "bodies": ["world", "four"], "position": [0.804, 0, 0.5],
       "axis": [0, 1, 0]}],
    "simulation": {"step": 0.0002, "duration": 0.02}})");
  // No residual was a number, so that nothing was kept of any attempt, and the next one began
  // there.
  write("long.json", R"({"urto": 1, "materials": {"default": {"restitution": 0.6}}, "bodies": [
    {"name": "ground", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "rod", "position": [2.5, 0, 0.3], "density": 1000, "shapes": [
      {"kind": "capsule", "radius": 0.05, "length": 1e+100,
       "rotation": {"axis": [0, 1, 0], "degrees": 90}}]},
    {"name": "tip", "position": [2.9, 0, 0.12], "density": 1000,
     "shapes": [{"kind": "sphere", "radius": 0.1}]}],
    "joints": [
      {"kind": "revolute", "bodies": ["world", "rod"], "position": [2, 0, 0.3], "axis": [0, 1, 0],
       "limits": {"angle": {"lower": -0.5, "upper": 0.5, "restitution": 0.3}},
       "friction": {"angle": 0.01}}],
    "simulation": {"stepper": "nonsmooth-alpha", "duration": 0.05, "step": 0.0025,
                   "alpha_algorithm": "sequential"}})");
  for (const char* scene : {"grains", "bushing", "damper", "far", "long"}) {
    const Output o = run(fmt::format("run {}.json -o {} --no-report --no-progress", scene, scene));
    RecordProperty(scene, o.code);
    EXPECT_TRUE(o.code == 0 || o.code == 2 || o.code == 3) << scene << ": " << o.code;
    // What ran to its end and is not believed says so; what did not says why.
    if (o.code != 0) {
      EXPECT_TRUE(says(o.out + o.err, o.code == 2 ? "urto: error: " : "failure"));
    }
    for (const char* command : {"check", "view", "statics", "modes"}) {
      const Output other = run(fmt::format("{} {}.json{}", command, scene,
                                           command == std::string("view") ? " -o v.html" : ""));
      EXPECT_TRUE(other.code == 0 || other.code == 2 || other.code == 3)
          << command << " " << scene << ": " << other.code << other.err;
      if (other.code != 0) {
        EXPECT_TRUE(says(other.err, "urto: error: "));
      }
    }
  }
}

// Every command that reads: it waited for ever, or filled the memory.
TEST_F(Attack, WhatHasNoEndIsNoFile) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  fs::create_directory(path("out"));
  fs::create_symlink("/dev/zero", path("out/result.h5"));
  for (const std::string file : {"/dev/zero", "/dev/urandom", "pipe"}) {
    for (const char* command :
         {"check {}", "run {} -o a", "view {} -o a.html", "statics {}", "modes {}", "info {}",
          "report {} -o a.html", "compare {} -o b", "plot {} --what energy -o a.csv",
          "export {} --gltf a.glb", "solve {}"}) {
      const std::string line = fmt::format(fmt::runtime(command), file);
      const Output o = run(line);
      EXPECT_EQ(o.code, 2) << line;
      EXPECT_TRUE(says(o.err, "a device or a pipe")) << line;
    }
  }
  for (const char* line : {"info out", "report out", "run --resume -o out"}) {
    const Output o = run(line);
    EXPECT_EQ(o.code, 2) << line;
    EXPECT_TRUE(says(o.err, "urto: error: ")) << line;
  }
}

TEST_F(Attack, SizesBeyondAllBoundsAreRefusedBeforeAnythingIsMade) {
  for (const char* kind :
       {"sphere-packing --contacts 2000000000", "box-wall --width 2000000000 --height 2000000000",
        "box-wall --width 3000 --height 3000", "box-stack --levels 2000000000",
        "chain --links 2000000000", "joint-contact-mix --bodies 2000000000",
        "stiff-lattice --nx 100000 --ny 100000 --nz 100000", "random-local --contacts 100000"}) {
    const Output o = run(fmt::format("generate {} -o p.hdf5 --memory-limit 1G", kind));
    EXPECT_EQ(o.code, 2) << kind;
    EXPECT_TRUE(says(o.err, "found ")) << kind;
    EXPECT_TRUE(o.err.find("10 million") != std::string::npos ||
                o.err.find("(--memory-limit)") != std::string::npos)
        << kind << ": " << o.err;
    EXPECT_FALSE(fs::exists(path("p.hdf5")));
  }
}

}  // namespace
}  // namespace urto
