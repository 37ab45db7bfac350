// The directory of a run's files: what may be there, whose it is while the run goes on, and what is
// made in it when the run is over. Shared by the drivers of runs.
#pragma once

#include <optional>

#include "urto/file/folder_lock.h"
#include "urto/result/run.h"

namespace urto {

/// Throws InputError if the directory is none, or holds files under our names that are not ours.
void check_directory(const RunRequest& request);
/// The directory, which is there from now on, for this run alone, and without what a killed one
/// left.
void take_directory(const RunRequest& request, std::optional<FolderLock>& lock);
/// Takes the earlier run's files away.
void clear_directory(const RunRequest& request);
void write_derived(const ResultView& result, const RunRequest& request, RunOutcome& outcome);

}  // namespace urto
