// Drawing with matplotlib: the numbers go to a script of ours in a file, the picture comes back in
// another.
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/page/page_asset.h"
#include "urto/page/plot_figure.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json to_json(std::span<const PlotPanel> panels, const std::string& title) {
  json out{{"title", title}, {"panels", json::array()}};
  for (const PlotPanel& panel : panels) {
    json series = json::array();
    for (const PlotSeries& s : panel.series) {
      series.push_back(
          {{"name", s.name}, {"values", s.values}, {"along", s.along}, {"colour", s.colour}});
    }
    out["panels"].push_back({{"title", panel.title},
                             {"label", panel.label},
                             {"log", panel.log},
                             {"level", panel.level},
                             {"time", panel.time},
                             {"along", panel.along},
                             {"log_along", panel.log_along},
                             {"marks", panel.marks},
                             {"series", std::move(series)}});
  }
  return out;
}

/// Runs a program to its end with its complaints in a file; its exit code, −1 if it could not be
/// started.
int run(std::vector<std::string> words, const fs::path& complaints) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, complaints.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

void draw_plot(std::span<const PlotPanel> panels, const std::string& title, const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending != ".png" && ending != ".svg" && ending != ".pdf") {
    throw InputError(file.string(), "'" + ending + "'", "a name that ends in .png, .svg or .pdf");
  }
  const char* chosen = std::getenv("URTO_PYTHON");  // NOLINT(concurrency-mt-unsafe)
  const std::string python = chosen != nullptr ? chosen : "/usr/bin/python3";
  // Only the picture is kept.
  PartFile numbers(file), picture(file), complaints(file);
  std::ofstream out(numbers.path());
  out << to_json(panels, title).dump(-1, ' ', false, json::error_handler_t::replace);
  out.close();
  if (!out) {
    throw InputError(file.string(), "a file that cannot be written",
                     "a directory that can be written to, with space on the disk");
  }
  const int code = run({python, "-c", std::string(plot_script()), numbers.path().string(),
                        picture.path().string(), ending.substr(1)},
                       complaints.path());
  if (code != 0 || !fs::exists(picture.path())) {
    const std::string why = last_line(complaints.path());
    throw InputError(file.string(),
                     why.empty() ? fmt::format("no picture from {}", python)
                                 : fmt::format("no picture from {} ({})", python, why),
                     "matplotlib (Debian: python3-matplotlib; URTO_PYTHON names another "
                     "interpreter), or --csv, which needs neither");
  }
  picture.keep();
}

}  // namespace urto
