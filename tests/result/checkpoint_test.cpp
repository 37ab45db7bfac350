#include "urto/result/checkpoint.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/mechanics/penalty_system.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

class Checkpoint : public samples::FolderTest {};

bool same_bits(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) return false;
  return a.size() == 0 ||
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

void advance(Simulation& run, int steps) {
  for (int k = 0; k < steps; ++k) ASSERT_TRUE(run.advance());
}

/// The same names with the same numbers, in any order.
void expect_same_arrays(const NamedArrays& a, const NamedArrays& b) {
  EXPECT_EQ(a.arrays.size(), b.arrays.size());
  for (const NamedArrays::Array& one : a.arrays) {
    const std::vector<double>* other = b.find(one.name);
    ASSERT_NE(other, nullptr) << one.name;
    EXPECT_EQ(one.values, *other) << one.name;
  }
}

void expect_same(const urto::Checkpoint& a, const urto::Checkpoint& b) {
  EXPECT_EQ(a.state.t, b.state.t);
  EXPECT_TRUE(same_bits(a.state.q, b.state.q));
  EXPECT_TRUE(same_bits(a.state.v, b.state.v));
  expect_same_arrays(a.state.memory, b.state.memory);
  EXPECT_EQ(a.memory.lambda, b.memory.lambda);
  EXPECT_EQ(a.memory.h, b.memory.h);
  expect_same_arrays(a.memory.arrays, b.memory.arrays);
  ASSERT_EQ(a.memory.items.size(), b.memory.items.size());
  for (std::size_t k = 0; k < a.memory.items.size(); ++k) {
    EXPECT_EQ(a.memory.items[k].id, b.memory.items[k].id);
    EXPECT_EQ(a.memory.items[k].start, b.memory.items[k].start);
    EXPECT_EQ(a.memory.items[k].dim, b.memory.items[k].dim);
  }
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.rejected, b.rejected);
  EXPECT_EQ(a.missed, b.missed);
  EXPECT_EQ(a.next_output, b.next_output);
  EXPECT_EQ(a.energy.numerical(), b.energy.numerical());
  EXPECT_EQ(a.worst_residual, b.worst_residual);
  EXPECT_EQ(a.worst_residual_time, b.worst_residual_time);
}

/// Pauses a run at `pause` steps, and compares going on with going on from the file.
void expect_same_future(const Scene& scene, int pause, const fs::path& file) {
  Simulation first(scene.model, scene.options);
  first.start();
  advance(first, pause);
  write_checkpoint(file, {first.checkpoint(), {}}, scene.normalized_json);
  Simulation second(scene.model, scene.options);
  second.resume(read_checkpoint(file, scene.model, scene.normalized_json).point);
  advance(first, 60);
  advance(second, 60);
  expect_same(first.checkpoint(), second.checkpoint());
}

TEST_F(Checkpoint, ResumedRunsHaveTheSameBits) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  // In flight, where the ball meets the floor, and after.
  for (const int pause : {0, 50, 202, 230}) expect_same_future(scene, pause, path("c.h5"));
}

TEST_F(Checkpoint, ResumedAdaptiveRunsHaveTheSameBits) {
  const std::vector<std::string> set{"simulation.adaptive=true", "simulation.duration=5"};
  const Scene scene = parse_scene(samples::busy_scene, "test", set);
  for (int pause = 10; pause < 200; pause += 10) expect_same_future(scene, pause, path("c.h5"));
}

TEST_F(Checkpoint, ResumedRunsOfSmoothSteppersHaveTheSameBits) {
  for (const char* stepper : {"generalised-alpha", "munthe-kaas", "linear-implicit-euler"}) {
    const std::vector<std::string> set{std::string("simulation.stepper=") + stepper,
                                       "bodies.bob.velocity=[1, 0, 0]"};
    const Scene scene = parse_scene(samples::hanging_scene, "test", set);
    for (const int pause : {0, 1, 20}) expect_same_future(scene, pause, path("c.h5"));
  }
}

// The ball falls on the floor at 0.2 s and slides: its spring of friction is part of the state.
TEST_F(Checkpoint, SpringsOfFrictionAreKept) {
  const std::vector<std::string> set{"simulation.stepper=hht", "simulation.penalty_contact=true",
                                     "simulation.penalty_tangential_stiffness=2e4",
                                     "simulation.penalty_damping=2", "simulation.step=5e-4"};
  const Scene scene = parse_scene(samples::busy_scene, "test", set);
  Simulation run(scene.model, scene.options);
  run.start();
  int pause = 0;
  FrictionMemory friction;
  while (friction.springs.empty() && run.advance()) {
    ++pause;
    recall_friction(run.state(), friction);
  }
  ASSERT_FALSE(friction.springs.empty());
  for (const int more : {0, 1, 3}) expect_same_future(scene, pause + more, path("c.h5"));
}

TEST_F(Checkpoint, KeepsEveryBit) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  advance(run, 3);
  StoredCheckpoint odd{run.checkpoint(), {.frames = 12, .contacts = 34, .steps = 3'000'000'000}};
  odd.point.state.q[0] = -0.0;
  odd.point.state.v[1] = std::numeric_limits<double>::denorm_min();
  odd.point.state.v[2] = 0.1 + 0.2;
  odd.point.memory.items.push_back({0xfedcba9876543210ULL, 0, 1});
  odd.point.memory.arrays.at("of somebody's stepper") = {
      -0.0, std::numeric_limits<double>::infinity(), 0.1 + 0.2};
  FrictionMemory friction{.t = 0.3, .q = odd.point.state.q};
  friction.springs.push_back({0xfedcba9876543210ULL, {1e-6, -2e-6, 0}, {0, 0, 1}, {0.1, 0.2, 0.3}});
  remember_friction(friction, odd.point.state);
  write_checkpoint(path("c.h5"), odd, "scene");
  const StoredCheckpoint back = read_checkpoint(path("c.h5"), scene.model, "scene");
  expect_same(odd.point, back.point);
  FrictionMemory recalled;
  recall_friction(back.point.state, recalled);
  ASSERT_EQ(recalled.springs.size(), 1U);
  EXPECT_EQ(recalled.springs[0].id, 0xfedcba9876543210ULL);
  EXPECT_EQ(recalled.springs[0].stretch, Vec3(1e-6, -2e-6, 0));
  EXPECT_EQ(recalled.t, 0.3);
  EXPECT_EQ(back.recorded.frames, 12);
  EXPECT_EQ(back.recorded.contacts, 34);
  EXPECT_EQ(back.recorded.steps, 3'000'000'000);
}

TEST_F(Checkpoint, RefusesOtherScenesAndModels) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  const Scene other = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  write_checkpoint(path("c.h5"), {run.checkpoint(), {}}, scene.normalized_json);
  EXPECT_TRUE(is_checkpoint_file(path("c.h5")));
  try {
    read_checkpoint(path("c.h5"), scene.model, other.normalized_json);
    FAIL() << "accepted another scene";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("another scene"), std::string::npos) << error.what();
  }
  EXPECT_THROW(read_checkpoint(path("c.h5"), other.model, scene.normalized_json), InputError);
  EXPECT_THROW(read_checkpoint(path("missing.h5"), scene.model, ""), InputError);
}

TEST_F(Checkpoint, IsCompleteOrAbsent) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  const StoredCheckpoint point{run.checkpoint(), {}};
  EXPECT_THROW(write_checkpoint(path("nowhere/c.h5"), point, ""), InputError);
  fs::create_directories(path("c.h5/occupied"));
  EXPECT_THROW(write_checkpoint(path("c.h5"), point, ""), InputError);
  write_checkpoint(path("d.h5"), point, "");
  write_checkpoint(path("d.h5"), point, "");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("")), {}), 2) << "no part is left over";
}

/// Rewrites one text of the file.
void set_text(const fs::path& file, const char* name, std::string text) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(id, name, H5P_DEFAULT);
  const hid_t type = H5Dget_type(dataset);
  text.resize(H5Tget_size(type), '\0');
  H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data());
  H5Tclose(type);
  H5Dclose(dataset);
  H5Fclose(id);
}

TEST_F(Checkpoint, OfAnotherFormatSaysWhatToDo) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  write_checkpoint(path("c.h5"), {run.checkpoint(), {}}, "scene");
  set_text(path("c.h5"), "/format", "urto-checkpoint 2");
  EXPECT_TRUE(is_checkpoint_file(path("c.h5"))) << "urto wrote it and may replace it";
  try {
    read_checkpoint(path("c.h5"), scene.model, "scene");
    FAIL() << "accepted another format";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("urto-checkpoint 2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("run the scene again"), std::string::npos);
  }
  set_text(path("c.h5"), "/format", "fclib");
  EXPECT_FALSE(is_checkpoint_file(path("c.h5")));
  EXPECT_THROW(read_checkpoint(path("c.h5"), scene.model, "scene"), InputError);
}

// A stepper finds what it left by name.
TEST_F(Checkpoint, ArraysOfTheMemoryAreKeptByName) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  advance(run, 3);
  StoredCheckpoint point{run.checkpoint(), {}};
  point.point.memory.arrays.at("acceleration") = {1, 2, 3};
  point.point.memory.arrays.at("power") = {4, 5};
  write_checkpoint(path("c.h5"), point, "scene");
  const StepMemory memory = read_checkpoint(path("c.h5"), scene.model, "scene").point.memory;
  EXPECT_EQ(*memory.arrays.find("acceleration"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(*memory.arrays.find("power"), (std::vector<double>{4, 5}));
  EXPECT_EQ(memory.lambda, point.point.memory.lambda);
  const hid_t id = H5Fopen(path("c.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, "/memory/arrays/power", H5P_DEFAULT);
  H5Fclose(id);
  EXPECT_THROW(read_checkpoint(path("c.h5"), scene.model, "scene"), InputError);
}

/// Where the bytes of a number stand in a file.
std::streamoff place_of(const fs::path& file, double x) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&x), sizeof x));
  EXPECT_NE(at, std::string::npos);
  return static_cast<std::streamoff>(at);
}

// One flipped bit of a position, anywhere in the number, was a run with another motion and exit 0.
TEST_F(Checkpoint, AFlippedBitOfANumberIsNoticed) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  advance(run, 400);
  const StoredCheckpoint point{run.checkpoint(), {}};
  for (const double x : {point.point.state.q[0], point.point.state.v[2], point.point.state.t,
                         point.point.memory.lambda.at(0)}) {
    for (int bit = 0; bit < 64; bit += 9) {
      write_checkpoint(path("c.h5"), point, "scene");
      const std::streamoff at = place_of(path("c.h5"), x);
      std::fstream file(path("c.h5"), std::ios::binary | std::ios::in | std::ios::out);
      file.seekg(at + bit / 8);
      const int byte = file.get() ^ (1 << bit % 8);
      file.seekp(at + bit / 8);
      file.put(static_cast<char>(byte));
      file.close();
      try {
        read_checkpoint(path("c.h5"), scene.model, "scene");
        ADD_FAILURE() << "bit " << bit << " of " << x;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("/"), std::string::npos);
      }
    }
  }
}

// A checksum tells damage, not what a crafted file says: these are written as they are.
TEST_F(Checkpoint, NumbersThatAreNoStateAreRefused) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  advance(run, 400);
  const StoredCheckpoint good{run.checkpoint(), {}};
  write_checkpoint(path("c.h5"), good, "scene");
  EXPECT_NO_THROW(read_checkpoint(path("c.h5"), scene.model, "scene"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const char*, std::function<void(urto::Checkpoint&)>>> changes = {
      {"position", [&](auto& p) { p.state.q[1] = nan; }},
      {"velocity", [&](auto& p) { p.state.v[1] = infinity; }},
      {"quaternion", [&](auto& p) { p.state.q[3] += 0.5; }},
      {"no quaternion", [&](auto& p) { p.state.q.template segment<4>(3).setZero(); }},
      {"time", [&](auto& p) { p.state.t = nan; }},
      {"time before the start", [&](auto& p) { p.state.t = -1; }},
      {"energy", [&](auto& p) { p.energy.supplied = infinity; }},
      {"step", [&](auto& p) { p.memory.h = -1; }},
      {"steps", [&](auto& p) { p.steps = -5; }},
      {"output", [&](auto& p) { p.next_output = nan; }},
      {"multiplier", [&](auto& p) { p.memory.lambda.at(0) = nan; }},
      {"array", [&](auto& p) { p.memory.arrays.at("joint work").assign(2, nan); }},
      {"turns", [&](auto& p) { p.state.memory.at("angles").push_back(0); }},
      {"a row beyond its list", [&](auto& p) { p.memory.items.at(0).start = 1'000'000; }},
      {"a row of no size", [&](auto& p) { p.memory.items.at(0).dim = -3; }}};
  for (const auto& [what, change] : changes) {
    StoredCheckpoint bad = good;
    change(bad.point);
    write_checkpoint(path("c.h5"), bad, "scene");
    EXPECT_THROW(read_checkpoint(path("c.h5"), scene.model, "scene"), InputError) << what;
  }
}

// The checksum is of what is there, not of where.
TEST_F(Checkpoint, LinksAreNotFollowed) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  write_checkpoint(path("c.h5"), {run.checkpoint(), {}}, "scene");
  write_checkpoint(path("other.h5"), {run.checkpoint(), {}}, "scene");
  const hid_t id = H5Fopen(path("c.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, "/q", H5P_DEFAULT);
  H5Lcreate_external(path("other.h5").c_str(), "/q", id, "/q", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(id);
  try {
    read_checkpoint(path("c.h5"), scene.model, "scene");
    FAIL() << "read another file";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("/q: found a link"), std::string::npos)
        << error.what();
  }
}

TEST_F(Checkpoint, DamageIsReported) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  advance(run, 3);
  write_checkpoint(path("c.h5"), {run.checkpoint(), {}}, "scene");
  const auto size = fs::file_size(path("c.h5"));
  for (const double share : {0.0, 0.3, 0.9}) {
    fs::copy_file(path("c.h5"), path("cut.h5"), fs::copy_options::overwrite_existing);
    fs::resize_file(path("cut.h5"), static_cast<std::uintmax_t>(share * static_cast<double>(size)));
    EXPECT_THROW(read_checkpoint(path("cut.h5"), scene.model, "scene"), InputError) << share;
    EXPECT_FALSE(is_checkpoint_file(path("cut.h5")));
  }
}

}  // namespace
}  // namespace urto
