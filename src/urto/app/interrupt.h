// Ctrl-C: the first asks for an orderly end, the second ends the process at once.
#pragma once

namespace urto::app {

void catch_interrupts();
bool interrupt_requested();

}  // namespace urto::app
