// Checkpoints: all that a run needs to go on with the same bits, in one small file.
//
// A checkpoint belongs to one scene and one version of urto: the last bits of a step depend on
// both, and a checkpoint of anything else is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "urto/result/result_view.h"
#include "urto/stepper/simulation.h"

namespace urto {

struct StoredCheckpoint {
  Checkpoint point;
  ResultCounts recorded;  ///< rows in the result when the checkpoint was taken
};

/// Complete, on the disk, or absent: written beside its place, then renamed. `scene` is the
/// normalised text.
void write_checkpoint(const std::filesystem::path& file, const StoredCheckpoint& checkpoint,
                      std::string_view scene);

/// Throws InputError if the file cannot be read, does not fit the model or is not of this scene and
/// this version; if one bit of it has changed since it was written, or its numbers are no state.
StoredCheckpoint read_checkpoint(const std::filesystem::path& file, const Model& model,
                                 std::string_view scene);

/// True if `file` was written by write_checkpoint (of any version).
bool is_checkpoint_file(const std::filesystem::path& file);

/// FNV-1a, for telling scenes apart (not for secrets).
std::uint64_t text_hash(std::string_view text);

}  // namespace urto
