// How tests start the command: by the shell, with the signals as a terminal has them.
#pragma once

#include <csignal>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace urto::samples {

/// Signals that whoever started the tests may have them ignore (a background job SIGINT, nohup
/// SIGHUP, Python SIGPIPE). A child inherits that, and urto leaves ignored what it finds ignored.
inline constexpr int inherited_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};

/// The status of `line` as of std::system, whatever signals this process ignores.
inline int shell(const std::string& line) {
  sigset_t defaults, unblocked;
  sigemptyset(&defaults);
  sigemptyset(&unblocked);
  for (const int signal : inherited_signals) sigaddset(&defaults, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &unblocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const char* const words[] = {"sh", "-c", line.c_str(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawn(&child, "/bin/sh", nullptr, &attributes,
                                 const_cast<char* const*>(words), environ);
  posix_spawnattr_destroy(&attributes);
  int status = -1;
  if (failed != 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

}  // namespace urto::samples
