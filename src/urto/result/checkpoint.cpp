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
/// 3: arrays of the step's memory by their names.
constexpr std::string_view format = "urto-checkpoint 3";

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
       {&p.state.t, &p.memory.h, &p.next_step, &p.smooth_step, &p.worst_residual,
        &p.worst_residual_time, &p.worst_joint_error, &p.worst_penetration, &p.next_output,
        &p.energy.kinetic, &p.energy.potential, &p.energy.start, &p.energy.supplied,
        &p.energy.friction, &p.energy.impact, &p.energy.damping, &p.energy.recovery}) {
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

void write_friction(Hdf5File& file, const FrictionMemory& friction) {
  std::vector<int> high, low;
  std::vector<double> springs;
  for (const FrictionMemory::Spring& s : friction.springs) {
    high.push_back(upper_half(s.id));
    low.push_back(lower_half(s.id));
    springs.insert(springs.end(), s.stretch.begin(), s.stretch.end());
    springs.insert(springs.end(), s.normal.begin(), s.normal.end());
    springs.insert(springs.end(), s.point.begin(), s.point.end());
  }
  std::vector<double> place(friction.q.begin(), friction.q.end());
  place.push_back(friction.t);
  file.write("/friction/id_high", high);
  file.write("/friction/id_low", low);
  file.write("/friction/springs", std::span<const double>(springs));
  file.write("/friction/place", std::span<const double>(place));
}

void read_friction(const Hdf5File& file, int nq, FrictionMemory& friction) {
  const std::vector<int> high = file.integers("/friction/id_high");
  const std::vector<int> low = file.integers("/friction/id_low", high.size());
  const Vector springs = file.numbers("/friction/springs", 9 * high.size());
  const Vector place = file.numbers("/friction/place");
  if (place.size() != 1 && place.size() != nq + 1)
    file.fail("/friction/place", fmt::format("{} numbers", place.size()),
              fmt::format("1 or {}", nq + 1));
  friction.q = place.head(place.size() - 1);
  friction.t = place[place.size() - 1];
  for (std::size_t k = 0; k < high.size(); ++k) {
    const auto at = static_cast<Eigen::Index>(9 * k);
    friction.springs.push_back({joined(high[k], low[k]), springs.segment<3>(at),
                                springs.segment<3>(at + 3), springs.segment<3>(at + 6)});
  }
}

/// Calls visit(name, numbers) for the arrays that a step leaves to the next. They are kept by name.
template <typename Memory, typename Visit>
void visit_arrays(Memory& memory, Visit visit) {
  visit("lambda", memory.lambda);
  visit("acceleration", memory.acceleration);
  visit("true_acceleration", memory.true_acceleration);
  visit("power", memory.power);
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
  visit_arrays(memory, [&](std::string_view name, const auto& numbers) {
    file.write(fmt::format("/memory/arrays/{}", name), std::span<const double>(numbers));
  });
}

/// The arrays that are in the file, by their names: a stepper keeps those that it needs.
void read_arrays(const Hdf5File& file, StepMemory& memory) {
  const std::vector<std::string> names = file.names("/memory/arrays");
  visit_arrays(memory, [&](std::string_view name, auto& numbers) {
    if (std::ranges::find(names, name) == names.end()) return;
    const std::string path = fmt::format("/memory/arrays/{}", name);
    const Vector found = file.numbers(path);
    const auto size = static_cast<std::size_t>(found.size());
    if constexpr (requires { numbers.resize(size); }) numbers.resize(size);
    if (numbers.size() != size)
      file.fail(path, fmt::format("{} numbers", size), fmt::format("{}", numbers.size()));
    std::ranges::copy(found, numbers.begin());
  });
}

void read_memory(const Hdf5File& file, StepMemory& memory) {
  const std::vector<int> high = file.integers("/memory/id_high");
  const std::vector<int> low = file.integers("/memory/id_low", high.size());
  const std::vector<int> start = file.integers("/memory/start", high.size());
  const std::vector<int> dim = file.integers("/memory/dim", high.size());
  read_arrays(file, memory);
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
    out.write("/angles", std::span<const double>(checkpoint.point.state.angles));
    write_friction(out, checkpoint.point.state.friction);
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
  const Vector angles = in.numbers("/angles", static_cast<std::size_t>(model.angle_count));
  state.angles.assign(angles.data(), angles.data() + angles.size());
  read_friction(in, model.nq(), state.friction);
  read_memory(in, out.point.memory);
  return out;
}

}  // namespace urto
