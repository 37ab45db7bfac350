// The parts of the `urto` command: each subcommand adds itself to the parser and sets the exit code
// when it has run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace urto::app {

enum ExitCode : int {
  success = 0,
  bad_input = 2,      ///< a file, option or problem that cannot be used; nothing was written
  not_certified = 3,  ///< some solve missed its tolerance, or the verdict of a run is failure
};  // and 128 plus a signal's number for a command that was interrupted (interrupt.h)

void add_solve_command(CLI::App& app, int& exit_code);
void add_generate_command(CLI::App& app, int& exit_code);
void add_convert_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
void add_statics_command(CLI::App& app, int& exit_code);
void add_modes_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_info_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_view_command(CLI::App& app, int& exit_code);
void add_plot_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_sweep_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);

/// "urto: error: …" on stderr.
void print_error(std::string_view message);

/// The result file that a user means by a directory of a run, or by the file itself.
std::filesystem::path result_file_of(const std::filesystem::path& path);

/// " (did you mean 'x'?)", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace urto::app
