// Ctrl-C, and the signals by which a system asks a process to end: the first asks for an orderly
// end, one that comes later (not the same request, sent twice) ends the process at once.
#pragma once

namespace urto::app {

/// For a command that asks `interrupt_requested` now and then; others end at once, as by default.
void catch_interrupts();
/// Ends that: from now on a signal ends the process at once again.
void release_interrupts();
bool interrupt_requested();
/// 128 and the number of the signal, as shells have it: 130 for Ctrl-C, 143 for SIGTERM, 129 for
/// SIGHUP.
int interrupted_code();

}  // namespace urto::app
