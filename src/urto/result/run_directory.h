// The directory of a run's files: what may be there, whose it is while the run goes on, and what is
// made in it when the run is over. Shared by the drivers of runs.
#pragma once

#include <functional>
#include <optional>

#include "urto/file/folder_lock.h"
#include "urto/result/result_file.h"
#include "urto/result/run.h"

namespace urto {

/// Throws InputError if the directory is none, or holds files under our names that are not ours.
void check_directory(const RunRequest& request);
/// The directory, which is there from now on, for this run alone, and without what a killed one
/// left.
void take_directory(const RunRequest& request, std::optional<FolderLock>& lock);
/// Takes the earlier run's files away.
void clear_directory(const RunRequest& request);
/// What a run says at its end is read from this file. Throws InputError if it is no longer the one
/// that is written.
void check_in_place(const ResultWriter& writer, const RunRequest& request);
/// Takes the steps of a run and ends its file. False if writing failed or memory has run out: what
/// was written before is kept, and the outcome says why and at what `time` [s].
bool record_run(const std::function<void()>& steps, const std::function<double()>& time,
                ResultWriter& writer, RunOutcome& outcome);
/// Summary, verdict and derived files of a result that is complete and closed.
void finish_directory(const RunRequest& request, RunOutcome& outcome);

}  // namespace urto
