#include "urto/result/run_directory.h"

#include <new>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/memory_limit.h"
#include "urto/result/checkpoint.h"

namespace urto {

namespace fs = std::filesystem;

void check_directory(const RunRequest& request) {
  std::error_code error;
  if (fs::exists(request.directory, error) && !fs::is_directory(request.directory, error)) {
    throw InputError(request.directory.string(), "a file", "a directory for the results");
  }
  const auto check = [](const fs::path& file, const auto& is_ours) {
    if (!fs::exists(file) || is_ours(file)) return;
    throw InputError(file.string(), "a file that urto did not write",
                     "another directory (-o), or none of that name");
  };
  check(result_path(request.directory), is_result_file);
  check(checkpoint_path(request.directory), is_checkpoint_file);
  for (const DerivedFiles& derived : request.derived) {
    if (!derived.wanted) continue;
    for (const std::string& name : derived.names) check(request.directory / name, derived.is_ours);
  }
}

void take_directory(const RunRequest& request, std::optional<FolderLock>& lock) {
  std::error_code error;
  fs::create_directories(request.directory, error);
  if (error || !fs::is_directory(request.directory)) {
    throw InputError(request.directory.string(), error ? error.message() : "no directory",
                     "a directory that can be made or written to");
  }
  if (!lock) lock.emplace(request.directory);
  std::vector<std::string> names{result_path("").string(), checkpoint_path("").string()};
  for (const DerivedFiles& derived : request.derived)
    names.insert(names.end(), derived.names.begin(), derived.names.end());
  remove_leftovers(request.directory, names);
}

void clear_directory(const RunRequest& request) {
  std::error_code error;
  if (!fs::exists(result_path(request.directory))) return;
  fs::remove(checkpoint_path(request.directory), error);
  for (const DerivedFiles& derived : request.derived) {
    for (const std::string& name : derived.names) {
      const fs::path file = request.directory / name;
      if (fs::is_regular_file(file, error) && derived.is_ours(file)) fs::remove(file, error);
    }
  }
}

namespace {

void write_derived(const ResultView& result, const RunRequest& request, RunOutcome& outcome) {
  for (const DerivedFiles& derived : request.derived) {
    if (!derived.wanted) continue;
    try {
      for (const fs::path& file : derived.write(result, request.directory))
        outcome.files.push_back(file);
    } catch (const InputError& error) {
      if (derived.required) throw;
      outcome.unwritten.emplace_back(error.what());
    }
  }
}

}  // namespace

void check_in_place(const ResultWriter& writer, const RunRequest& request) {
  if (writer.is_in_place()) return;
  throw InputError(result_path(request.directory).string(),
                   "not the file that this run writes: it was removed or replaced",
                   "the results of a run to stay where they are until it has ended");
}

bool record_run(const std::function<void()>& steps, const std::function<double()>& time,
                ResultWriter& writer, RunOutcome& outcome) {
  const auto give_up = [&](const std::string& why) {
    outcome.broken = fmt::format("the run ended at t = {:.9g} s: {}", time(), why);
    outcome.summary.verdict = {
        Level::failure, {{.level = Level::failure, .what = "end", .text = outcome.broken + "."}}};
    writer.give_up(outcome.broken);
  };
  try {
    steps();
  } catch (const InputError& error) {
    give_up(error.what());
    return false;
  } catch (const std::bad_alloc&) {
    give_up(out_of_memory());
    return false;
  }
  return true;
}

void finish_directory(const RunRequest& request, RunOutcome& outcome) {
  const fs::path file = result_path(request.directory);
  {
    const ResultReader recorded(file);
    outcome.summary = summarise(recorded);
  }
  write_verdict(file, outcome.summary.verdict);
  const ResultReader result(file);
  outcome.files.push_back(file);
  if (fs::exists(checkpoint_path(request.directory)))
    outcome.files.push_back(checkpoint_path(request.directory));
  write_derived(result, request, outcome);
}

}  // namespace urto
