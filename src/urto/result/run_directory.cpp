#include "urto/result/run_directory.h"

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/result/checkpoint.h"
#include "urto/result/result_file.h"

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

}  // namespace urto
