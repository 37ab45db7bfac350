// A seeded fuzz of results and checkpoints. Bytes: every mutation of a result is read or refused
// with InputError, by everything that reads results, without a hang. Values: checkpoints whose
// numbers are changed before they are written, so that their checksum holds, are refused, or a run
// goes on from them for some steps. No other exception, no crash (under the sanitizers: no access
// beyond an array). The same on every run.
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>

#include "../result/result_samples.h"
#include "fuzz/rounds.h"
#include "urto/error.h"
#include "urto/result/checkpoint.h"
#include "urto/result/run.h"
#include "urto/result/summary.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937;

class ResultFuzz : public samples::FolderTest {};

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t pick(Random& random, std::size_t count) {
  return random() % count;
}

/// Half of the changes are where the structure of the file is.
std::string mutated(std::string bytes, Random& random) {
  const std::size_t changes = 1 + pick(random, 8);
  for (std::size_t k = 0; k < changes && !bytes.empty(); ++k) {
    const std::size_t range =
        pick(random, 2) == 0 ? bytes.size() : std::min<std::size_t>(6000, bytes.size());
    const std::size_t at = pick(random, range);
    switch (pick(random, 6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(random, 8)));
        break;
      case 2:
        for (std::size_t j = at; j < std::min(at + 8, bytes.size()); ++j) bytes[j] = '\xff';
        break;
      case 3:
        for (std::size_t j = at; j < std::min(at + 4, bytes.size()); ++j) bytes[j] = '\0';
        break;
      case 4:
        bytes.erase(at, 1 + pick(random, 4));
        break;
      default:
        if (pick(random, 4) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

/// As `urto info` and `urto report` do.
void read_all(const fs::path& file) {
  const ResultReader result(file);
  summarise(result);
  const ResultCounts counts = result.counts();
  for (int c = 0; c < static_cast<int>(result.description().channels.size()); ++c)
    result.channel(c, 0, counts.frames);
  result.contacts(0, counts.frames);
  result.verification();
}

TEST_F(ResultFuzz, ADamagedResultIsReadOrRefused) {
  samples::write_run(path("busy.h5"), samples::busy_scene, {"simulation.duration=0.3"});
  samples::write_run(path("hanging.h5"), samples::hanging_scene);
  const std::string good[] = {bytes_of(path("busy.h5")), bytes_of(path("hanging.h5"))};
  Random random(20241119);
  int read = 0, refused = 0;
  for (int k = 0; k < fuzz_rounds(400); ++k) {
    std::ofstream(path("r.h5"), std::ios::binary) << mutated(good[pick(random, 2)], random);
    try {
      read_all(path("r.h5"));
      ++read;
    } catch (const InputError& error) {
      EXPECT_LE(std::string(error.what()).size(), 1000u);
      ++refused;
    }
    is_result_file(path("r.h5"));
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(ResultFuzz, ADamagedCheckpointIsRefused) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  for (int k = 0; k < 300; ++k) run.advance();
  write_checkpoint(path("good.h5"), {run.checkpoint(), {}}, "scene");
  const std::string good = bytes_of(path("good.h5"));
  const StoredCheckpoint known = read_checkpoint(path("good.h5"), scene.model, "scene");
  Random random(7041);
  for (int k = 0; k < fuzz_rounds(400); ++k) {
    std::ofstream(path("c.h5"), std::ios::binary) << mutated(good, random);
    try {
      const StoredCheckpoint found = read_checkpoint(path("c.h5"), scene.model, "scene");
      // What is accepted has not a bit of another state.
      EXPECT_EQ(found.point.state.q, known.point.state.q);
      EXPECT_EQ(found.point.state.v, known.point.state.v);
      EXPECT_EQ(found.point.memory.lambda, known.point.memory.lambda);
    } catch (const InputError&) {
    }
    is_checkpoint_file(path("c.h5"));
  }
}

double odd(Random& random, double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0,    -0.0, -1,       1e308,     -1e308, 5e-324, 1e9,
                           -1e9, NAN,  infinity, -infinity, 0.5,    -x,     x * (1 + 1e-9)};
  return values[pick(random, std::size(values))];
}

void change(urto::Checkpoint& p, Random& random) {
  const auto one_of = [&](auto& list) {
    if (list.size() == 0) return;
    auto& x = list[static_cast<Eigen::Index>(pick(random, static_cast<std::size_t>(list.size())))];
    x = odd(random, x);
  };
  const auto one_of_arrays = [&](NamedArrays& arrays) {
    if (arrays.arrays.empty()) return;
    NamedArrays::Array& a = arrays.arrays[pick(random, arrays.arrays.size())];
    switch (pick(random, 4)) {
      case 0:
        a.values.resize(pick(random, 2 * a.values.size() + 2));
        break;
      case 1:
        a.name += "x";
        break;
      default:
        one_of(a.values);
    }
  };
  switch (pick(random, 9)) {
    case 0:
      one_of(p.state.q);
      break;
    case 1:
      one_of(p.state.v);
      break;
    case 2:
      one_of_arrays(p.state.memory);
      break;
    case 3:
      one_of_arrays(p.memory.arrays);
      break;
    case 4:
      one_of(p.memory.lambda);
      break;
    case 5:
      p.memory.lambda.resize(pick(random, 2 * p.memory.lambda.size() + 2));
      break;
    case 6:
      if (p.memory.items.empty()) break;
      {
        StepMemory::Item& item = p.memory.items[pick(random, p.memory.items.size())];
        item.start = static_cast<int>(random() % 40) - 5;
        item.dim = static_cast<int>(random() % 9) - 1;
        if (pick(random, 3) == 0) item.id = random();
      }
      break;
    case 7:
      p.memory.h = odd(random, p.memory.h);
      break;
    default:
      p.state.t = odd(random, p.state.t);
      p.steps = static_cast<long>(random()) - 5;
      p.next_output = odd(random, p.next_output);
  }
}

TEST_F(ResultFuzz, ACraftedCheckpointIsRefusedOrGoneOnFrom) {
  struct Base {
    Scene scene;
    urto::Checkpoint point;
  };
  std::vector<Base> bases;
  for (const std::string stepper :
       {"dvi", "generalised-alpha", "implicit-euler", "rk4", "leapfrog"}) {
    const bool contacts = stepper == "dvi";
    bases.push_back({parse_scene(contacts ? samples::busy_scene : samples::hanging_scene, "test",
                                 {{"simulation.stepper=" + stepper}}),
                     {}});
    Simulation run(bases.back().scene.model, bases.back().scene.options);
    run.start();
    for (int k = 0; k < (contacts ? 400 : 50); ++k) ASSERT_TRUE(run.advance());
    bases.back().point = run.checkpoint();
  }
  Random random(99);
  int refused = 0, went_on = 0;
  for (int k = 0; k < fuzz_rounds(600); ++k) {
    const Base& base = bases[pick(random, bases.size())];
    urto::Checkpoint point = base.point;
    for (std::size_t j = 0, n = 1 + pick(random, 3); j < n; ++j) change(point, random);
    write_checkpoint(path("c.h5"), {point, {}}, "scene");
    try {
      const StoredCheckpoint stored = read_checkpoint(path("c.h5"), base.scene.model, "scene");
      Simulation run(base.scene.model, base.scene.options);
      run.resume(stored.point);
      for (int j = 0; j < 3 && run.advance(); ++j) {
      }
      ++went_on;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(went_on, 0);
}

}  // namespace
}  // namespace urto
