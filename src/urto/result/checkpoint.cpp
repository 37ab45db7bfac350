#include "urto/result/checkpoint.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/hdf5_io.h"
#include "urto/file/whole_file.h"
#include "urto/version.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kind = "urto-checkpoint";
/// 3: arrays of the step's memory by their names; 5: drives and defects in the energy account.
constexpr std::string_view format = "urto-checkpoint 5";

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
    const Vector found = file.numbers(fmt::format("{}/{}", group, name));
    arrays.at(name).assign(found.data(), found.data() + found.size());
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
  const Vector lambda = file.numbers("/memory/lambda");
  memory.lambda.assign(lambda.data(), lambda.data() + lambda.size());
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
    std::vector<double> numbers;
    visit_numbers(checkpoint, [&](const auto& x) { numbers.push_back(static_cast<double>(x)); });
    out.write("/numbers", std::span<const double>(numbers));
    out.write("/q", values(checkpoint.point.state.q));
    out.write("/v", values(checkpoint.point.state.v));
    write_arrays(out, "/state/arrays", checkpoint.point.state.memory);
    write_memory(out, checkpoint.point.memory);
    out.close();
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
  visit_numbers(out, [&](auto& x) { x = static_cast<std::decay_t<decltype(x)>>(*next++); });
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
  return out;
}

}  // namespace urto
