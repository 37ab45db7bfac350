#include "urto/result/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/hdf5_io.h"
#include "urto/file/whole_file.h"
#include "urto/math/stored_vector.h"
#include "urto/version.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kind = "urto-checkpoint";
/// 3: arrays of the step's memory by their names; 5: drives and defects in the energy account; 6: a
/// checksum.
constexpr std::string_view format = "urto-checkpoint 6";

std::span<const double> values(const Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

std::string fingerprint(std::string_view scene) {
  return fmt::format("{:016x}", text_hash(scene));
}

/// The scalars in one list; `visit` gets each once, in an order that is the file's.
template <typename Stored, typename Visit>
void visit_numbers(Stored& s, Visit visit) {
  auto& p = s.point;
  for (auto* x :
       {&p.state.t, &p.memory.h, &p.worst_residual, &p.worst_residual_time, &p.worst_joint_error,
        &p.worst_penetration, &p.next_output, &p.energy.kinetic, &p.energy.potential,
        &p.energy.start, &p.energy.supplied, &p.energy.friction, &p.energy.impact, &p.energy.drive,
        &p.energy.damping, &p.energy.recovery, &p.energy.defect}) {
    visit(*x);
  }
  for (auto* n : {&p.steps, &p.rejected, &p.missed, &s.recorded.frames, &s.recorded.contacts,
                  &s.recorded.steps}) {
    visit(*n);
  }
}

/// Of numbers, in order: FNV-1a on words, with a finish that spreads every bit.
class Digest {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 1099511628211ULL; }
  void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
  template <typename List>
  void add_list(const List& list) {
    add(static_cast<std::uint64_t>(list.size()));
    for (const auto& x : list) add(x);
  }
  std::uint64_t value() const {
    std::uint64_t z = hash_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t hash_ = 1469598103934665603ULL;
};

/// Arrays have names, not an order.
std::uint64_t digest_of(const NamedArrays& arrays) {
  std::uint64_t sum = arrays.arrays.size();
  for (const NamedArrays::Array& a : arrays.arrays) {
    Digest digest;
    digest.add(text_hash(a.name));
    digest.add_list(a.values);
    sum += digest.value();
  }
  return sum;
}

/// Of everything that a checkpoint holds, not of how it is filed.
std::string checksum(const StoredCheckpoint& s) {
  Digest digest;
  visit_numbers(s, [&](const auto& x) { digest.add(static_cast<double>(x)); });
  digest.add_list(s.point.state.q);
  digest.add_list(s.point.state.v);
  digest.add(digest_of(s.point.state.memory));
  for (const StepMemory::Item& item : s.point.memory.items) {
    digest.add(item.id);
    digest.add(static_cast<std::uint64_t>(item.start));
    digest.add(static_cast<std::uint64_t>(item.dim));
  }
  digest.add_list(s.point.memory.lambda);
  digest.add(digest_of(s.point.memory.arrays));
  return fmt::format("{:016x}", digest.value());
}

int upper_half(std::uint64_t id) {
  return std::bit_cast<int>(static_cast<std::uint32_t>(id >> 32));
}
int lower_half(std::uint64_t id) {
  return std::bit_cast<int>(static_cast<std::uint32_t>(id));
}
std::uint64_t joined(int high, int low) {
  return (static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(high)) << 32) |
         std::bit_cast<std::uint32_t>(low);
}

/// Arrays by name under a group: whoever made them reads them again, and nobody else need know.
void write_arrays(Hdf5File& file, const std::string& group, const NamedArrays& arrays) {
  for (const NamedArrays::Array& a : arrays.arrays)
    file.write(fmt::format("{}/{}", group, a.name), std::span<const double>(a.values));
}

void read_arrays(const Hdf5File& file, const std::string& group, NamedArrays& arrays) {
  for (const std::string& name : file.names(group)) {
    store(file.numbers(fmt::format("{}/{}", group, name)), arrays.at(name));
  }
}

void write_memory(Hdf5File& file, const StepMemory& memory) {
  std::vector<int> high, low, start, dim;
  for (const StepMemory::Item& item : memory.items) {
    high.push_back(upper_half(item.id));
    low.push_back(lower_half(item.id));
    start.push_back(item.start);
    dim.push_back(item.dim);
  }
  file.write("/memory/id_high", high);
  file.write("/memory/id_low", low);
  file.write("/memory/start", start);
  file.write("/memory/dim", dim);
  file.write("/memory/lambda", std::span<const double>(memory.lambda));
  write_arrays(file, "/memory/arrays", memory.arrays);
}

void read_memory(const Hdf5File& file, StepMemory& memory) {
  const std::vector<int> high = file.integers("/memory/id_high");
  const std::vector<int> low = file.integers("/memory/id_low", high.size());
  const std::vector<int> start = file.integers("/memory/start", high.size());
  const std::vector<int> dim = file.integers("/memory/dim", high.size());
  store(file.numbers("/memory/lambda"), memory.lambda);
  read_arrays(file, "/memory/arrays", memory.arrays);
  const auto values = static_cast<int>(memory.lambda.size());
  for (std::size_t k = 0; k < high.size(); ++k) {
    if (start[k] < 0 || dim[k] < 0 || dim[k] > values || start[k] > values - dim[k]) {
      file.fail("/memory/start", fmt::format("{} and {} rows", start[k], dim[k]),
                fmt::format("a place among {} values", values));
    }
    memory.items.push_back({joined(high[k], low[k]), start[k], dim[k]});
  }
}

/// A number of the file as what it stands for.
template <typename Number>
bool take(double found, Number& x) {
  if constexpr (std::is_same_v<Number, double>) {
    x = found;
    return !std::isnan(found);
  } else {
    constexpr double most = 1LL << 53;
    if (!(found >= 0 && found <= most) || found != std::floor(found)) return false;
    x = static_cast<Number>(found);
    return true;
  }
}

/// Infinity may mean something to whoever made an array.
bool are_numbers(const NamedArrays& arrays) {
  return std::ranges::all_of(arrays.arrays, [](const NamedArrays::Array& a) {
    return std::ranges::none_of(a.values, [](double x) { return std::isnan(x); });
  });
}

/// What no step of urto leaves behind.
void check_values(const Hdf5File& file, const Model& model, const Checkpoint& point) {
  const State& state = point.state;
  const auto require = [&](bool good, const char* path, std::string_view found,
                           std::string_view expected) {
    if (!good) file.fail(path, found, expected);
  };
  require(state.t >= 0 && std::isfinite(state.t) && point.memory.h >= 0 &&
              std::isfinite(point.memory.h) && std::isfinite(point.energy.kinetic) &&
              std::isfinite(point.energy.potential) && std::isfinite(point.energy.sum()),
          "/numbers", "a time, step or energy that is none", "those of a run");
  require(state.q.allFinite(), "/q", "a number that is not finite", "positions");
  require(state.v.allFinite(), "/v", "a number that is not finite", "velocities");
  for (int slot = 0; slot < model.slots; ++slot) {
    const double length = state.q.segment<4>(7 * slot + 3).norm();
    require(std::abs(length - 1) < 1e-6, "/q", fmt::format("a quaternion of length {:.6g}", length),
            "unit quaternions");
  }
  require(are_numbers(state.memory), "/state/arrays", "not-a-number", "numbers");
  require(std::ranges::all_of(point.memory.lambda, [](double x) { return std::isfinite(x); }) &&
              are_numbers(point.memory.arrays),
          "/memory", "a number that is none", "multipliers and what a stepper remembers");
}

}  // namespace

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

bool is_checkpoint_file(const fs::path& file) {
  try {
    const Hdf5File in = Hdf5File::open(file);
    return in.has("/format") && in.text("/format").starts_with(kind);
  } catch (const InputError&) {
    return false;
  }
}

void write_checkpoint(const fs::path& file, const StoredCheckpoint& checkpoint,
                      std::string_view scene) {
  write_complete(file, [&](const fs::path& part) {
    Hdf5File out = Hdf5File::create(part, file);
    out.write("/format", format);
    out.write("/version", std::string_view(version));
    out.write("/scene_hash", std::string_view(fingerprint(scene)));
    out.write("/checksum", std::string_view(checksum(checkpoint)));
    std::vector<double> numbers;
    visit_numbers(checkpoint, [&](const auto& x) { numbers.push_back(static_cast<double>(x)); });
    out.write("/numbers", std::span<const double>(numbers));
    out.write("/q", values(checkpoint.point.state.q));
    out.write("/v", values(checkpoint.point.state.v));
    write_arrays(out, "/state/arrays", checkpoint.point.state.memory);
    write_memory(out, checkpoint.point.memory);
    out.close();
    sync_file(part);
  });
}

StoredCheckpoint read_checkpoint(const fs::path& file, const Model& model, std::string_view scene) {
  const Hdf5File in = Hdf5File::open(file);
  const std::string found = in.has("/format") ? in.text("/format") : "";
  if (!found.starts_with(kind)) {
    throw InputError(file.string(), "a file of another kind", "a checkpoint of urto run");
  }
  if (found != format) {
    in.fail("/format", fmt::format("'{}', of another version of urto", found),
            fmt::format("'{}': run the scene again from its start", format));
  }
  if (const std::string made_by = in.text("/version"); made_by != version) {
    in.fail("/version", fmt::format("a checkpoint of urto {}", made_by),
            fmt::format("one of urto {}: run the scene again from its start", version));
  }
  if (in.text("/scene_hash") != fingerprint(scene)) {
    in.fail("/scene_hash", "a checkpoint of another scene",
            "the scene, --set and other options of the interrupted run");
  }
  StoredCheckpoint out;
  std::size_t count = 0;
  visit_numbers(out, [&](auto&) { ++count; });
  const Vector numbers = in.numbers("/numbers", count);
  const double* next = numbers.data();
  visit_numbers(out, [&](auto& x) {
    if (!take(*next++, x)) in.fail("/numbers", "a number that is none", "those of a run");
  });
  State& state = out.point.state;
  state.q = in.numbers("/q", static_cast<std::size_t>(model.nq()));
  state.v = in.numbers("/v", static_cast<std::size_t>(model.nv()));
  read_arrays(in, "/state/arrays", state.memory);
  const auto turns = static_cast<int>(angles(state).size());
  if (turns != model.angle_count) {
    in.fail("/state/arrays/angles", fmt::format("{} numbers", turns),
            fmt::format("{}", model.angle_count));
  }
  read_memory(in, out.point.memory);
  if (in.text("/checksum") != checksum(out)) {
    in.fail("/checksum", "another than that of the numbers: the file was damaged or changed",
            "a checkpoint as it was written: run the scene again from its start");
  }
  check_values(in, model, out.point);
  return out;
}

}  // namespace urto
