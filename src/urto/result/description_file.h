// Internal: the part of a result file that does not change while the run goes on, written and read
// back.
#pragma once

#include "urto/file/growing_file.h"
#include "urto/result/description.h"
#include "urto/result/result_file.h"

namespace urto {

void write_description(GrowingFile& file, const Description& description);
/// Names, sizes and indices in the file are checked. Throws InputError.
Description read_description(const ResultReader& file);

}  // namespace urto
