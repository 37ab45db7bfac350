// What the book says that the command does: its subcommands and options, and its quoted output.
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sys/wait.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/shell.h"
#include "docs/book.h"
#include "result/result_samples.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using book::Line;
using book::Page;

struct Output {
  int code = -1;
  std::string out;
};

class BookCommand : public samples::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fs::create_directory_symlink(book::root() / "scenes", path("scenes"));
  }
  Output run(const std::string& arguments) const {
    const std::string line = "cd '" + path("").string() + "' && '" URTO_COMMAND "' " + arguments +
                             " >.out 2>.err </dev/null";
    const int status = samples::shell(line);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, book::read(path(".out"))};
  }
};

// ---- Options

struct Use {
  std::string subcommand, place;
  std::vector<std::string> options;
};

/// "urto run a.json --step 1e-3" in a console block or between backticks.
std::vector<Use> uses() {
  std::vector<Use> out;
  const std::regex words(R"((--?[A-Za-z][\w-]*)|\S+)");
  const auto add = [&](std::string text, const std::string& place) {
    text = text.substr(0, text.find(" # "));
    std::sregex_iterator it(text.begin(), text.end(), words), end;
    if (it == end || it->str() != "urto" || ++it == end) return;
    Use use{it->str(), place, {}};
    if (!std::regex_match(use.subcommand, std::regex("[a-z]+"))) return;
    for (++it; it != end; ++it) {
      if ((*it)[1].matched) use.options.push_back(it->str());
    }
    out.push_back(std::move(use));
  };
  for (const Page& page : book::pages()) {
    for (const Line& line : page.lines) {
      if (line.block == "console" && line.text.starts_with("$ ")) {
        add(line.text.substr(2), page.place(line));
      }
      for (const std::string& span : book::code_spans(line)) add(span, page.place(line));
    }
  }
  return out;
}

TEST_F(BookCommand, HasEveryOptionThatTheBookUses) {
  std::map<std::string, std::string> help;
  const std::vector<Use> all = uses();
  EXPECT_GT(all.size(), 60U);
  std::set<std::string> seen;
  for (const Use& use : all) {
    if (!help.contains(use.subcommand)) {
      const Output o = run(use.subcommand + " --help");
      EXPECT_EQ(o.code, 0) << use.place << ": there is no 'urto " << use.subcommand << "'";
      help[use.subcommand] = o.out;
      // The options of what it generates are those of its kinds.
      if (use.subcommand == "generate") {
        std::istringstream lines(o.out);
        const std::regex kind(R"(^  ([a-z]+(-[a-z]+)+) .*)");
        for (std::string line; std::getline(lines, line);) {
          std::smatch found;
          if (std::regex_match(line, found, kind))
            help[use.subcommand] += run("generate " + found[1].str() + " --help").out;
        }
      }
    }
    seen.insert(use.subcommand);
    for (const std::string& option : use.options) {
      const std::regex whole("(^|[\\s,])" + option + "($|[\\s,=])");
      EXPECT_TRUE(std::regex_search(help[use.subcommand], whole))
          << use.place << ": 'urto " << use.subcommand << "' has no " << option;
    }
  }
  for (const char* name : {"run", "check", "view", "info", "report", "plot", "compare", "export",
                           "statics", "modes", "solve", "generate"}) {
    EXPECT_TRUE(seen.contains(name)) << "the book does not show 'urto " << name << "'";
  }
}

// ---- Quoted output

/// Numbers, times and rules are masked: they depend on the machine and on the length of the run.
std::string skeleton(std::string line) {
  static const std::vector<std::pair<std::regex, std::string>> masks = {
      {std::regex(R"([-+]?\d[\d.]*(e[-+]?\d+)?)"), "#"},
      {std::regex(R"(# (s|ms|µs|ns)\b)"), "#"},
      {std::regex("(─)+"), "─"},
      {std::regex(R"(\s+)"), " "},
      {std::regex(R"(^ | $)"), ""},
      // Of one or of many.
      {std::regex(R"(\b(body|bodies|joint|joints|row|rows|frame|frames)\b)"), "things"}};
  for (const auto& [mask, with] : masks) line = std::regex_replace(line, mask, with);
  return line;
}

std::set<std::string> skeletons(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(skeleton(line));
  return out;
}

/// What stands in a block after a command, up to the next one.
std::vector<std::pair<std::string, const Line*>> quoted(const std::string& file,
                                                        const std::string& command) {
  std::vector<std::pair<std::string, const Line*>> out;
  bool inside = false;
  for (const Line& line : book::page(file).lines) {
    if (line.block == "console" && line.text.starts_with("$ ")) {
      inside = line.text == "$ " + command;
      continue;
    }
    if (line.block != "console") inside = false;
    if (inside && line.text != "…" && !line.text.empty()) out.emplace_back(line.text, &line);
  }
  return out;
}

/// Every quoted line is one of those printed, but for its numbers.
void expect_quoted(const std::string& file, const std::string& command, const Output& printed,
                   std::size_t lines) {
  const auto quotation = quoted(file, command);
  EXPECT_GE(quotation.size(), lines) << file << ": $ " << command;
  const std::set<std::string> said = skeletons(printed.out);
  for (const auto& [text, line] : quotation) {
    EXPECT_TRUE(said.contains(skeleton(text)))
        << file << ":" << line->number << " quotes\n  " << text << "\nwhich is not in\n"
        << printed.out;
  }
}

TEST_F(BookCommand, PrintsWhatTheReadmeQuotesOfARun) {
  // A shorter run of fewer marbles says the same, with other numbers.
  const Output o = run("run scenes/marbles.json --set N=20 --duration 0.6");
  ASSERT_EQ(o.code, 0);
  expect_quoted("README.md", "urto run scenes/marbles.json", o, 12);
}

TEST_F(BookCommand, PrintsWhatTheBookQuotesOfAProblem) {
  const std::string generate = "generate box-wall --width 8 --height 6 -o wall.hdf5";
  expect_quoted("docs/start.md", "urto " + generate, run(generate), 1);
  const std::string solve = "solve wall.hdf5 --solver auto,nsgs,apgd --max-iterations 2000";
  const Output o = run(solve);
  EXPECT_EQ(o.code, 3) << "as the book says";
  expect_quoted("docs/start.md", "urto " + solve, o, 5);
}

TEST_F(BookCommand, PrintsWhatTheBookQuotesOfTheInteriorPoint) {
  const std::string generate = "generate box-stack -o stack.hdf5";
  expect_quoted("docs/solvers/ipm.md", "urto " + generate, run(generate), 1);
  const std::string solve = "solve stack.hdf5 --solver ipm --friction convex --verbose";
  expect_quoted("docs/solvers/ipm.md", "urto " + solve, run(solve), 5);
}

TEST_F(BookCommand, PrintsWhatTheBookQuotesOfAVerifiedRun) {
  const Output o = run("run scenes/double-pendulum.json --verify --no-report");
  ASSERT_EQ(o.code, 0);
  expect_quoted("docs/verification.md", "urto run scenes/double-pendulum.json --verify", o, 2);
}

TEST_F(BookCommand, PrintsWhatTheBookQuotesOfStatics) {
  const std::string statics = "statics scenes/pendulum.json";
  const Output o = run(statics);
  ASSERT_EQ(o.code, 0);
  expect_quoted("docs/analysis.md", "urto " + statics, o, 8);
}

// ---- Every block of commands is checked by one of the above, or has no output.

TEST_F(BookCommand, QuotesNoOutputThatNobodyChecks) {
  const std::set<std::string> checked = {"README.md", "docs/start.md", "docs/solvers/ipm.md",
                                         "docs/verification.md", "docs/analysis.md"};
  for (const book::Block& block : book::blocks("console")) {
    for (const Line* line : block.lines) {
      if (line->text.starts_with("$ ")) continue;
      EXPECT_TRUE(checked.contains(block.page->file.string()))
          << block.page->place(*line) << " quotes output: add it to this file";
    }
  }
}

}  // namespace
}  // namespace urto
