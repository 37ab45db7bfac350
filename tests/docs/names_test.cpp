// What the book names is there: tests, files, headings, solvers, steppers, folders.
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "docs/book.h"
#include "urto/model/joint.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"
#include "urto/stepper/stepper.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using book::Line;
using book::Page;

// ---- Tests

/// "Suite.Name" of every test in tests/, with the prefix of its instantiation where it has
/// parameters.
std::set<std::string> find_tests() {
  std::set<std::string> out;
  std::map<std::string, std::vector<std::string>> prefixes;
  std::multimap<std::string, std::string> with_parameters;
  const std::regex test(R"(\bTEST(_F|_P)?\(\s*(\w+),\s*(\w+)\s*\))");
  const std::regex instance(R"(\bINSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)\s*,)");
  for (const auto& entry : fs::recursive_directory_iterator(book::root() / "tests")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string text = book::read(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it) {
      if ((*it)[1] == "_P") {
        with_parameters.emplace((*it)[2], (*it)[3]);
      } else {
        out.insert(fmt::format("{}.{}", (*it)[2].str(), (*it)[3].str()));
      }
    }
    for (std::sregex_iterator it(text.begin(), text.end(), instance), end; it != end; ++it)
      prefixes[(*it)[2]].push_back((*it)[1]);
  }
  for (const auto& [suite, name] : with_parameters) {
    for (const std::string& prefix : prefixes[suite])
      out.insert(fmt::format("{}/{}.{}", prefix, suite, name));
  }
  // Those that CMake makes.
  const std::string list = book::read(book::root() / "tests/CMakeLists.txt");
  const std::regex made(R"(add_test\(NAME (\w+\.\w+))");
  for (std::sregex_iterator it(list.begin(), list.end(), made), end; it != end; ++it)
    out.insert((*it)[1]);
  return out;
}

const std::set<std::string>& all_tests() {
  static const std::set<std::string> all = find_tests();
  return all;
}

/// As `ctest -R` finds it: a part of the name will do, and '*' is anything.
bool names_a_test(std::string citation) {
  if (citation.ends_with("/*")) citation.resize(citation.size() - 2);
  std::string pattern;
  for (const char c : citation) {
    if (c == '*') {
      pattern += ".*";
    } else {
      if (std::string_view("./+()").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  const std::regex expression("(^|.*/)" + pattern);
  return std::any_of(all_tests().begin(), all_tests().end(),
                     [&](const std::string& name) { return std::regex_match(name, expression); });
}

/// Whether a span of code is how tests are named: "Suite.Name", "Prefix/Suite.*".
bool looks_like_a_test(const std::string& span) {
  static const std::regex name(R"((\w+/)?[A-Z]\w*\.(\*|[A-Z*])[\w*]*(/\*)?)");
  return std::regex_match(span, name);
}

TEST(Book, TheTestsThatItNamesExist) {
  ASSERT_GT(all_tests().size(), 500U);
  int named = 0;
  for (const Page& page : book::pages()) {
    std::string suite;  // what ".Name" goes on with
    for (const Line& line : page.lines) {
      for (std::string span : book::code_spans(line)) {
        static const std::regex rest(R"(\.(\*|[A-Z])[\w*]*)");
        if (!suite.empty() && std::regex_match(span, rest)) span = suite + span;
        if (!looks_like_a_test(span)) continue;
        suite = span.substr(0, span.find('.'));
        ++named;
        EXPECT_TRUE(names_a_test(span)) << page.place(line) << ": there is no test " << span;
      }
    }
  }
  EXPECT_GT(named, 500);
}

// ---- The sources' checklists

struct Row {
  int number = 0;
  std::string where, test, place;
};

std::vector<Row> checklist(const Page& page) {
  std::vector<Row> out;
  for (const Line& line : page.lines) {
    const std::vector<std::string> c = book::cells(line);
    if (c.size() != 4 || c[0].empty() || c[0].find_first_not_of("0123456789") != std::string::npos)
      continue;
    out.push_back({std::stoi(c[0]), c[2], c[3], page.place(line)});
  }
  return out;
}

TEST(Book, EveryItemOfAChecklistHasATestOrSaysWhyNot) {
  int lists = 0;
  for (const Page& page : book::pages()) {
    if (page.file.parent_path() != "docs/methods") continue;
    ++lists;
    const std::vector<Row> rows = checklist(page);
    ASSERT_GT(rows.size(), 40U) << page.file;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Row& row = rows[k];
      EXPECT_EQ(row.number, static_cast<int>(k) + 1) << row.place;
      EXPECT_FALSE(row.where.empty()) << row.place;
      if (row.test.find('`') != std::string::npos) continue;
      EXPECT_EQ(row.test, "–") << row.place;
      static const std::regex reason(
          "not yet|left out|not taken|optional|only in its|none in code|"
          "equalities only|no special case|not built");
      EXPECT_TRUE(std::regex_search(row.where, reason))
          << row.place << ": no test, and no word why: " << row.where;
    }
  }
  EXPECT_EQ(lists, 5);
}

// ---- Names in the code

/// Every word of the sources, tests and benchmarks.
const std::set<std::string>& all_words() {
  static const std::set<std::string> words = [] {
    // A class of FCL, and datasets whose names are put together.
    std::set<std::string> out{"DynamicAABBTreeCollisionManager", "axes_a", "axes_b", "position_b"};
    for (const char* folder : {"src", "tests", "bench", "viewer/src", "script"}) {
      for (const auto& entry : fs::recursive_directory_iterator(book::root() / folder)) {
        if (!entry.is_regular_file() || entry.path().extension() == ".md") continue;
        out.insert(entry.path().stem().string());
        std::string word;
        for (const char c : book::read(entry.path()) + " ") {
          if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
            word += c;
          } else if (!word.empty()) {
            out.insert(std::move(word));
            word.clear();
          }
        }
      }
    }
    return out;
  }();
  return words;
}

/// Classes, members and functions as prose names them: `DviStepper::step`, `JointProjection`,
/// `add_increment`.
std::vector<std::string> names_in(const std::string& span) {
  static const std::regex code(
      R"((~?[A-Za-z_]\w*::)*([A-Z][a-z0-9]+[A-Z]\w*|[a-z]+(_[a-z0-9]+)+_?|[A-Za-z]\w*)(\(\))?)");
  static const std::regex plain(R"([A-Za-z]+)");
  if (!std::regex_match(span, code)) return {};
  const bool camel = std::regex_search(span, std::regex("[a-z0-9][A-Z]"));
  if (span.find("::") == std::string::npos && std::regex_match(span, plain) && !camel) return {};
  std::vector<std::string> out;
  std::string word;
  for (const char c : span + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  return out;
}

TEST(Book, TheNamesOfTheCodeExist) {
  int named = 0;
  const auto check = [&](const std::string& span, const std::string& place) {
    for (const std::string& name : names_in(span)) {
      ++named;
      EXPECT_TRUE(all_words().contains(name))
          << place << ": there is no " << name << " in " << span;
    }
  };
  for (const Page& page : book::pages()) {
    const bool list = page.file.parent_path() == "docs/methods";
    for (const Line& line : page.lines) {
      const std::vector<std::string> c = book::cells(line);
      if (!list) {
        for (const std::string& span : book::code_spans(line)) check(span, page.place(line));
      } else if (c.size() == 4) {  // the second column speaks of the source's code
        for (const std::string& span : book::code_spans({line.number, c[2]}))
          check(span, page.place(line));
      }
    }
  }
  EXPECT_GT(named, 500);
}

// ---- Files and links

const std::set<std::string>& all_file_names() {
  static const std::set<std::string> names = [] {
    std::set<std::string> out;
    for (const char* folder : {"src", "docs", "tests", "scenes", "script", "bench", "viewer/src",
                               "viewer/test", "cmake"}) {
      for (const auto& entry : fs::recursive_directory_iterator(book::root() / folder))
        out.insert(entry.path().filename().string());
    }
    for (const auto& entry : fs::directory_iterator(book::root()))
      out.insert(entry.path().filename().string());
    return out;
  }();
  return names;
}

bool is_there(const std::string& path) {
  for (const char* start : {"", "src/urto", "docs", "src", "tests", "viewer", "scenes"}) {
    if (fs::exists(book::root() / start / path)) return true;
    if (fs::exists(book::root() / start / (path + ".cpp"))) return true;  // a program, by its name
  }
  return false;
}

/// A path in our tree, as prose names one; "" for every other span.
std::string path_in(const std::string& span) {
  static const std::regex file(
      R"(([\w.-]+/)*[\w.-]+\.(h|cpp|md|py|mjs|js|txt|cmake|awk)|(src|docs|tests|scenes|script|bench|viewer|cmake)/[\w./-]+)");
  return std::regex_match(span, file) ? span : "";
}

TEST(Book, TheFilesThatItNamesExist) {
  int named = 0;
  for (const Page& page : book::pages()) {
    for (const Line& line : page.lines) {
      for (const std::string& span : book::code_spans(line)) {
        const std::string path = path_in(span);
        if (path.empty()) continue;
        ++named;
        const bool bare = path.find('/') == std::string::npos;
        const bool there = bare ? all_file_names().contains(path) : is_there(path);
        EXPECT_TRUE(there) << page.place(line) << ": there is no file " << path;
      }
    }
  }
  EXPECT_GT(named, 300);
}

/// As the address of a heading is made: lower case, punctuation gone, dashes for blanks.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (std::size_t k = 0; k < heading.size(); ++k) {
    const auto c = static_cast<unsigned char>(heading[k]);
    if (c == ' ') {
      out += '-';
    } else if (c >= 0x80 || std::isalnum(c) != 0 || c == '-' || c == '_') {
      out += static_cast<char>(c < 0x80 ? std::tolower(c) : c);
    }
  }
  return out;
}

std::set<std::string> anchors(const fs::path& file) {
  std::set<std::string> out;
  for (const Line& line : book::page(file.string()).lines) {
    if (line.block.empty() && line.text.starts_with('#'))
      out.insert(anchor_of(line.text.substr(line.text.find_first_not_of("# "))));
  }
  return out;
}

TEST(Book, ItsLinksLeadSomewhere) {
  const std::regex link(R"(\]\(([^)\s]+)\))");
  int links = 0;
  for (const Page& page : book::pages()) {
    for (const Line& line : page.lines) {
      if (!line.block.empty()) continue;
      for (std::sregex_iterator it(line.text.begin(), line.text.end(), link), end; it != end;
           ++it) {
        const std::string target = (*it)[1];
        if (target.find("://") != std::string::npos) continue;
        ++links;
        const std::size_t mark = target.find('#');
        const fs::path named = target.substr(0, mark);
        const fs::path file =
            named.empty() ? page.file : (page.file.parent_path() / named).lexically_normal();
        ASSERT_TRUE(fs::exists(book::root() / file)) << page.place(line) << ": " << target;
        if (mark == std::string::npos || file.extension() != ".md") continue;
        EXPECT_TRUE(anchors(file).contains(target.substr(mark + 1)))
            << page.place(line) << ": no heading for " << target;
      }
    }
  }
  EXPECT_GT(links, 200);
}

// ---- Registries

std::set<std::string> first_column(const std::string& file, const std::regex& name) {
  std::set<std::string> out;
  for (const Line& line : book::page(file).lines) {
    const std::vector<std::string> c = book::cells(line);
    std::smatch found;
    if (c.size() > 3 && std::regex_match(c[0], found, name)) out.insert(found[1]);
  }
  return out;
}

TEST(Book, ItsTableOfSolversIsTheRegistry) {
  std::set<std::string> registered;
  for (const SolverInfo& info : solvers()) registered.emplace(info.name);
  EXPECT_EQ(first_column("docs/solvers/README.md", std::regex(R"(\[([\w-]+)\]\([\w-]+\.md\))")),
            registered);
  std::set<std::string> methods;
  for (const auto& info : complementarity_solvers()) methods.emplace(info.name);
  EXPECT_EQ(first_column("docs/solvers/complementarity.md", std::regex(R"(`(\w+)`)")), methods);
}

TEST(Book, ItsTableOfSmoothSteppersIsTheRegistry) {
  std::set<std::string> registered;
  for (const StepperInfo& info : steppers()) {
    if (!info.contacts) registered.emplace(info.name);
  }
  std::set<std::string> written;
  bool table = false;
  for (const Line& line : book::page("docs/steppers/smooth.md").lines) {
    const std::vector<std::string> c = book::cells(line);
    if (c.size() == 4 && c[0] == "name" && c[1] == "order") table = true;
    if (c.empty()) table = false;
    if (table && c[0].starts_with('`')) written.insert(c[0].substr(1, c[0].size() - 2));
  }
  EXPECT_EQ(written, registered);
}

/// Every value of an option that stands in the book, in prose and in blocks.
std::vector<std::pair<std::string, std::string>> values_of(const std::regex& option) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Page& page : book::pages()) {
    for (const Line& line : page.lines) {
      for (std::sregex_iterator it(line.text.begin(), line.text.end(), option), end; it != end;
           ++it)
        out.emplace_back((*it)[1], page.place(line));
    }
  }
  return out;
}

TEST(Book, ItChoosesSolversAndSteppersThatExist) {
  std::set<std::string> solver_names{"all"}, stepper_names;
  for (const SolverInfo& info : solvers()) solver_names.emplace(info.name);
  for (const auto& info : complementarity_solvers()) solver_names.emplace(info.name);
  for (const StepperInfo& info : steppers()) stepper_names.emplace(info.name);
  int chosen = 0;
  // The book's own, which it registers in an example.
  for (const auto& [name, place] : values_of(std::regex(R"(register_solver\(\{"([\w-]+)\")")))
    solver_names.insert(name);
  for (const auto& [names, place] : values_of(std::regex(R"(--solver ([a-z][a-z,-]*))"))) {
    std::stringstream list(names);
    for (std::string name; std::getline(list, name, ','); ++chosen)
      EXPECT_TRUE(name == "name" || solver_names.contains(name)) << place << ": " << name;
  }
  for (const auto& [name, place] : values_of(std::regex(R"(\.solver = "([\w-]+)\")"))) {
    EXPECT_TRUE(name == "name" || solver_names.contains(name)) << place << ": " << name;
    ++chosen;
  }
  for (const auto& [name, place] : values_of(std::regex(R"(--stepper ([\w-]+))"))) {
    EXPECT_TRUE(name == "NAME" || stepper_names.contains(name)) << place << ": " << name;
    ++chosen;
  }
  EXPECT_GT(chosen, 10);
}

/// Words with hyphens of files, as options, kinds, solvers and steppers have them.
std::set<std::string> hyphenated_words(const std::string& text) {
  static const std::regex word("[a-z0-9]+(-[a-z0-9]+)+");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it)
    out.insert(it->str());
  return out;
}

// Kinds, settings, solvers and steppers in prose. Those with a hyphen are told from words of the
// language; one that the sources do not have was renamed or never there.
TEST(Book, TheWordsWithHyphensThatItQuotesAreThoseOfTheProgram) {
  std::set<std::string> known;
  for (const auto& entry : fs::recursive_directory_iterator(book::root() / "src/urto")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".md") continue;
    known.merge(hyphenated_words(book::read(entry.path())));
  }
  static const std::regex word("[a-z0-9]+(-[a-z0-9]+)+"), numbered(".*-[0-9]+");
  int named = 0;
  for (const Page& page : book::pages()) {
    for (const Line& line : page.lines) {
      if (!line.block.empty()) continue;
      for (const std::string& span : book::code_spans(line)) {
        // The number of a name like body-3 was made.
        if (!std::regex_match(span, word) || std::regex_match(span, numbered)) continue;
        ++named;
        EXPECT_TRUE(known.contains(span)) << page.place(line) << ": nothing is called " << span;
      }
    }
  }
  EXPECT_GT(named, 60);
}

TEST(Book, EveryStepperHasAPlaceAmongItsPages) {
  for (const StepperInfo& info : steppers()) {
    const std::string span = fmt::format("`{}`", info.name),
                      text = fmt::format("\"{}\"", info.name);
    const bool found = std::ranges::any_of(book::pages(), [&](const Page& page) {
      return page.file.parent_path() == "docs/steppers" &&
             std::ranges::any_of(page.lines, [&](const Line& line) {
               return line.text.find(span) != std::string::npos ||
                      line.text.find(text) != std::string::npos;
             });
    });
    EXPECT_TRUE(found) << "docs/steppers does not name " << info.name;
  }
}

// ---- What is counted in words

std::string in_words(std::size_t n) {
  static const std::vector<std::string> words = {
      "zero",     "one",     "two",     "three",     "four",     "five",     "six",
      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"};
  return n < words.size() ? words[n] : std::to_string(n);
}

std::string capitalised(std::string word) {
  word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word;
}

TEST(Book, ItCountsRight) {
  const std::string readme = book::read(book::root() / "README.md");
  const auto smooth = std::ranges::count_if(steppers(), [](const auto& s) { return !s.contacts; });
  EXPECT_NE(readme.find(fmt::format("**{} solvers**", in_words(solvers().size()))),
            std::string::npos)
      << "there are " << solvers().size();
  EXPECT_NE(readme.find(fmt::format("systems without contact: {},",
                                    in_words(static_cast<std::size_t>(smooth)))),
            std::string::npos)
      << "there are " << smooth;
  const auto others = std::ranges::count_if(steppers(), [](const auto& s) {
    return s.contacts && !std::string(s.name).starts_with("dvi");
  });
  EXPECT_NE(readme.find(fmt::format("{} more steppers with contacts**",
                                    capitalised(in_words(static_cast<std::size_t>(others))))),
            std::string::npos)
      << "there are " << others;
  const auto kinds = static_cast<std::size_t>(JointKind::free) + 1;
  EXPECT_NE(readme.find(fmt::format("with {} kinds of joint", in_words(kinds))), std::string::npos)
      << "there are " << kinds;
}

// ---- Folders

TEST(Book, ItsFoldersAreThoseOfTheSource) {
  std::vector<std::string> written;
  bool inside = false;
  for (const Line& line : book::page("docs/architecture.md").lines) {
    if (line.text.starts_with("src/urto/")) inside = true;
    if (inside && line.block.empty()) break;
    std::smatch found;
    if (inside && std::regex_search(line.text, found, std::regex(R"(^  (\w+)/ )")))
      written.push_back(found[1]);
    if (line.text.starts_with("viewer/")) break;
  }
  std::vector<std::string> there;
  for (const auto& entry : fs::directory_iterator(book::root() / "src/urto")) {
    if (entry.is_directory()) there.push_back(entry.path().filename().string());
  }
  std::vector<std::string> sorted = written;
  std::sort(sorted.begin(), sorted.end());
  std::sort(there.begin(), there.end());
  EXPECT_EQ(sorted, there);
  const std::string order = book::read(book::root() / "script/folders");
  EXPECT_NE(order.find(fmt::format("order=({})", fmt::join(written, " "))), std::string::npos)
      << "docs/architecture.md: " << fmt::format("{}", fmt::join(written, " "));
}

}  // namespace
}  // namespace urto
