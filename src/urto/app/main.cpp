// The `urto` command.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <sys/resource.h>
#include <system_error>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/error.h"
#include "urto/file/hdf5_io.h"
#include "urto/linalg/blas_threads.h"
#include "urto/linalg/kept_lu.h"
#include "urto/linalg/pivoting_factor.h"
#include "urto/linalg/spd_factor.h"
#include "urto/memory_limit.h"
#include "urto/version.h"

namespace {

using namespace urto::app;

std::string version_text() {
  return fmt::format("urto {}\nEigen {}.{}.{}\nCHOLMOD {}\nKLU {}\nMUMPS {}", urto::version,
                     EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION,
                     urto::SpdFactor::has_cholmod() ? "yes" : "no (Eigen's Cholesky instead)",
                     urto::KeptLu::has_klu() ? "yes" : "no (Eigen's sparse LU instead)",
                     urto::PivotingFactor::is_available() ? "yes" : "no");
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The command line's innermost subcommand: where a misspelt option or name belongs.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& place = innermost(app);
  std::vector<std::string> names;
  for (const CLI::App* sub : place.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  const char* what = &place == &app ? "command" : "kind";
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) {
    if (names.empty()) return error.what();
    return fmt::format("{}: a {} is needed: {}", place.get_name(), what, fmt::join(names, ", "));
  }
  const std::string& word = extras.front();
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option {}{}", name, suggestion(name, option_names(place)));
  }
  if (names.empty()) return fmt::format("unexpected argument '{}'", word);
  return fmt::format("unknown {} '{}'{}; there are: {}", what, word, suggestion(word, names),
                     fmt::join(names, ", "));
}

/// "4G", "512 MB", "2000000000" in bytes; K, M, G and T are powers of 1024.
std::uint64_t parse_size(const std::string& text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  std::string unit(end, last);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit.ends_with("IB")) unit.resize(unit.size() - 2);
  if (unit.ends_with("B")) unit.resize(unit.size() - 1);
  constexpr std::string_view units = "KMGT";
  const std::size_t place = unit.empty() ? 0 : units.find(unit) + 1;
  constexpr double least = 64 << 20;
  const double bytes = number * std::pow(1024.0, static_cast<double>(place));
  if (error != std::errc{} || unit.size() > 1 || (!unit.empty() && place == 0) ||
      !(bytes >= least && bytes <= 1e18)) {
    throw urto::InputError("--memory-limit", "'" + text + "'",
                           "a size of at least 64M: 800M, 4G, or a number of bytes");
  }
  return static_cast<std::uint64_t>(bytes);
}

/// What was not foreseen ends in a failed allocation instead of a machine that swaps. More than the
/// limit itself, because not all that is asked for is used (stacks of threads).
void stop_allocation_at(std::uint64_t limit) {
#if !defined(URTO_SANITIZED)
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(limit) / 4 * 5;
  data.rlim_cur = data.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, data.rlim_max);
  setrlimit(RLIMIT_DATA, &data);
#else
  static_cast<void>(limit);
#endif
}

int fail_output() {
  print_error("the output could not be written");
  return bad_input;
}

void limit_memory(std::uint64_t bytes) {
  urto::set_memory_limit(bytes);
  stop_allocation_at(bytes);
}

void add_memory_limit(CLI::App& app) {
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    sub->add_option_function<std::string>(
           "--memory-limit", [](const std::string& text) { limit_memory(parse_size(text)); },
           "What would need more is refused (default: three quarters of the memory)")
        ->type_name("SIZE");
    add_memory_limit(*sub);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Non-smooth multibody dynamics with certified steps.", "urto"};
  app.set_version_flag("--version", version_text(), "Show the version and what it was built with");
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  app.footer("Each command has its own --help.");
  int exit_code = success;
  add_run_command(app, exit_code);
  add_statics_command(app, exit_code);
  add_modes_command(app, exit_code);
  add_check_command(app, exit_code);
  add_info_command(app, exit_code);
  add_report_command(app, exit_code);
  add_view_command(app, exit_code);
  add_plot_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_sweep_command(app, exit_code);
  add_export_command(app, exit_code);
  add_solve_command(app, exit_code);
  add_generate_command(app, exit_code);
  add_convert_command(app, exit_code);
  add_memory_limit(app);
  if (argc <= 1) {
    fmt::print(stderr, "{}", app.help());
    return bad_input;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      std::cout.flush();
      return std::cout ? success : fail_output();
    }
    print_error(explain(app, error));
    return bad_input;
  } catch (const urto::InputError& error) {
    print_error(error.what());
    return bad_input;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail_output();
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  urto::leave_hdf5_at_exit();
  // A file that may not grow (ulimit -f) is an error of writing, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  stop_allocation_at(urto::memory_limit());
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    print_error(urto::out_of_memory());
    return bad_input;
  } catch (const std::system_error& error) {
    // Of fmt: stdout is a full disk, or a pipe that nobody reads.
    print_error(fmt::format("the output could not be written: {}", error.code().message()));
    return bad_input;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "urto: error: %s; this is a defect of urto, please report it\n",
                 error.what());
    return not_certified;
  }
}
