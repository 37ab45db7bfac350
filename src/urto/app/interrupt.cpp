#include "urto/app/interrupt.h"

#include <csignal>
#include <ctime>

namespace urto::app {
namespace {

// One request may come as two signals: timeout(1) and some shells send theirs to the process and
// to its group. What comes within this time of the first is the same request.
constexpr double same_request = 0.3;  // s

volatile std::sig_atomic_t requested = 0;  // the signal
timespec requested_at{};

/// The first signal asks for an end in order; a later one ends at once.
void on_interrupt(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (requested == 0) {
    requested_at = now;
    requested = signal;
    return;
  }
  const double since = static_cast<double>(now.tv_sec - requested_at.tv_sec) +
                       1e-9 * static_cast<double>(now.tv_nsec - requested_at.tv_nsec);
  if (since <= same_request) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What the caller has us ignore (nohup) stays ignored.
    if (std::signal(signal, on_interrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

void release_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

bool interrupt_requested() {
  return requested != 0;
}

int interrupted_code() {
  return 128 + (requested != 0 ? static_cast<int>(requested) : SIGINT);
}

}  // namespace urto::app
