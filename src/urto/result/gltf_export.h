// Results as an animated glTF 2.0 scene in one binary file (.glb), for renderers.
#pragma once

#include <filesystem>

#include "urto/result/result_view.h"

namespace urto {

/// A node for every body with its shapes, moved by linear samplers of translation and rotation at
/// the recorded frames. glTF has y up: the root node turns our z there. Replaces `file`. Throws
/// InputError.
void write_gltf(const ResultView& result, const std::filesystem::path& file);

}  // namespace urto
