// The `urto` command.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/interrupt.h"
#include "urto/error.h"
#include "urto/file/hdf5_io.h"
#include "urto/linalg/blas_threads.h"
#include "urto/linalg/kept_lu.h"
#include "urto/linalg/pivoting_factor.h"
#include "urto/linalg/spd_factor.h"
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
  add_export_command(app, exit_code);
  add_solve_command(app, exit_code);
  add_generate_command(app, exit_code);
  catch_interrupts();
  if (argc <= 1) {
    fmt::print(stderr, "{}", app.help());
    return bad_input;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_error(explain(app, error));
    return bad_input;
  } catch (const urto::InputError& error) {
    print_error(error.what());
    return bad_input;
  }
  if (std::fflush(stdout) != 0) {
    print_error("the output could not be written");
    return bad_input;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  urto::use_one_blas_thread();
  urto::leave_hdf5_at_exit();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "urto: error: %s; this is a defect of urto, please report it\n",
                 error.what());
    return not_certified;
  }
}
