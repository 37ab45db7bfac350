#include "urto/app/interrupt.h"

#include <csignal>

namespace urto::app {
namespace {

volatile std::sig_atomic_t requested = 0;  // the signal

void on_interrupt(int signal) {
  requested = signal;
  std::signal(signal, SIG_DFL);
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
