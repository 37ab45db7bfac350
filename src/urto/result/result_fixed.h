// Internal: the part of a result file that does not grow: how the run was made, and what takes part in it.
#pragma once

#include <string_view>

#include "urto/file/growing_file.h"
#include "urto/model/model.h"
#include "urto/stepper/options.h"

namespace urto {

void write_fixed_part(GrowingFile& file, const Model& model, const SimulationOptions& options,
                      std::string_view title, std::string_view scene);

}  // namespace urto
