#include "urto/app/command.h"
namespace urto::app {
void add_plot_command(CLI::App&, int&) {}
void add_export_command(CLI::App&, int&) {}
}  // namespace urto::app
