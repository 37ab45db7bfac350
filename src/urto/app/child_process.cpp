#include "urto/app/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

#include <fmt/format.h>

#include "urto/error.h"

extern char** environ;

namespace urto::app {
namespace {

namespace fs = std::filesystem;

/// Our own executable, however it was found. Not by the link of a child, which would be its own.
fs::path own_file() {
  std::error_code error;
  fs::path file = fs::read_symlink("/proc/self/exe", error);
  if (error) throw InputError("urto", "no /proc/self/exe: " + error.message(), "a Linux system");
  return file;
}

struct Child {
  std::size_t number = 0;
  fs::path errors;
};

class Spawner {
 public:
  Spawner() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  ~Spawner() { posix_spawn_file_actions_destroy(&actions_); }

  pid_t start(const fs::path& program, const std::vector<std::string>& arguments,
              const fs::path& errors) {
    posix_spawn_file_actions_addopen(&actions_, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    std::vector<std::string> words{"urto"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    const int error =
        posix_spawn(&child, program.c_str(), &actions_, nullptr, argv.data(), environ);
    if (error != 0) {
      throw InputError(program.string(), fmt::format("no new process: {}", std::strerror(error)),
                       "memory and a process");
    }
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_{};
};

ChildResult ended(int status, const fs::path& errors) {
  ChildResult out{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  .error = {}};
  std::ifstream in(errors, std::ios::binary);
  out.error.resize(1024);
  in.read(out.error.data(), static_cast<std::streamsize>(out.error.size()));
  out.error.resize(static_cast<std::size_t>(in.gcount()));
  std::error_code ignored;
  fs::remove(errors, ignored);
  return out;
}

}  // namespace

void run_children(const std::vector<std::vector<std::string>>& arguments, const fs::path& scratch,
                  const ChildPool& pool) {
  const fs::path program = own_file();
  std::map<pid_t, Child> running;
  std::size_t next = 0;
  bool stopping = false;
  while (next < arguments.size() || !running.empty()) {
    while (!stopping && next < arguments.size() &&
           running.size() < static_cast<std::size_t>(pool.at_once)) {
      // Opened anew each time: what a file action holds cannot be changed.
      Spawner spawner;
      const fs::path errors = scratch / fmt::format(".urto-errors-{}", next + 1);
      const pid_t child = spawner.start(program, arguments[next], errors);
      running[child] = {next++, errors};
    }
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child > 0) {
      const auto at = running.find(child);
      if (at == running.end()) continue;
      const Child of = at->second;
      running.erase(at);
      pool.on_end(of.number, ended(status, of.errors));
      continue;
    }
    if (!stopping && pool.stop && pool.stop()) {
      stopping = true;
      next = arguments.size();
      for (const auto& [pid, unused] : running) kill(pid, SIGTERM);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace urto::app
