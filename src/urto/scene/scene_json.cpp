// Text into JSON. nlohmann's parser takes the last of two equal keys and any depth of nesting; a
// callback that follows the parser refuses both.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/scene_reader.h"

namespace urto::scene {
namespace {

constexpr int deepest = 64;

/// Follows the parser through the text; `path()` is where it stands.
struct Follower {
  struct Level {
    bool array = false;
    int index = 0;
    std::string key;
    std::set<std::string> keys = {};
  };
  std::string_view name;
  std::vector<Level> levels = {};

  std::string path() const {
    std::string text;
    for (const Level& level : levels) {
      text += level.array ? fmt::format("/{}", level.index) : "/" + level.key;
    }
    return text;
  }

  void end_value() {
    if (!levels.empty() && levels.back().array) ++levels.back().index;
  }

  void open(bool array) {
    if (levels.size() >= static_cast<std::size_t>(deepest)) {
      throw InputError(fmt::format("{}: nested more than {} deep", name, deepest));
    }
    levels.push_back({array, 0, ""});
  }

  void take_key(const std::string& key) {
    Level& level = levels.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      throw InputError(fmt::format("{}: {}: the key '{}' stands here twice", name, path(), key));
    }
  }

  void operator()(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
        open(false);
        break;
      case Event::array_start:
        open(true);
        break;
      case Event::key:
        take_key(parsed.get<std::string>());
        break;
      case Event::value:
        end_value();
        break;
      case Event::object_end:
      case Event::array_end:
        levels.pop_back();
        end_value();
        break;
    }
  }
};

/// What the library says, without its own prefix and position.
std::string syntax_message(const std::string& what) {
  const std::size_t column = what.find("column ");
  const std::size_t start = column == std::string::npos ? what.find("] ") : what.find(": ", column);
  return start == std::string::npos ? what : what.substr(start + 2);
}

/// Without what was read.
std::string without_quotes(const std::string& message) {
  const std::size_t first = message.find("; last read: '"), last = message.rfind('\'');
  if (first == std::string::npos) return message;
  return message.substr(0, first) + message.substr(last + 1);
}

/// Where the last character stands that is neither space nor part of a comment; npos if there is
/// none. Strings may contain what looks like a comment.
std::size_t last_significant(std::string_view text) {
  std::size_t last = std::string_view::npos;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '"') {
      for (++k; k < text.size() && text[k] != '"'; ++k) k += text[k] == '\\' ? 1 : 0;
      last = std::min(k, text.size() - 1);
    } else if (text.substr(k, 2) == "//") {
      k = std::min(text.find('\n', k), text.size());
    } else if (text.substr(k, 2) == "/*") {
      k = std::min(text.find("*/", k + 2), text.size() - 1) + 1;
    } else if (std::string_view(" \t\r\n").find(text[k]) == std::string_view::npos) {
      last = k;
    }
  }
  return last;
}

[[noreturn]] void fail_syntax(std::string_view text, std::string_view name, std::size_t byte,
                              std::string message) {
  std::string_view read = text.substr(0, byte == 0 ? 0 : byte - 1);
  const std::size_t last = last_significant(read);
  const bool closes =
      read.size() < text.size() && (text[read.size()] == '}' || text[read.size()] == ']');
  if (closes && last != std::string_view::npos && read[last] == ',') {
    message = fmt::format("found a comma before '{}', expected another item or no comma",
                          text[read.size()]);
    read = read.substr(0, last);
  }
  std::size_t line = 1, column = 1;
  for (const char c : read) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column;  // counts characters, not bytes
    }
  }
  throw InputError(fmt::format("{}: line {}, column {}: {}", name, line, column, message));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, Quoting quoting) {
  Follower follower{name};
  const auto follow = [&](int, Json::parse_event_t event, const Json& parsed) {
    follower(event, parsed);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), follow, true, true);
  } catch (const Json::parse_error& error) {
    fail_syntax(text, name, error.byte,
                quoting == Quoting::nothing ? without_quotes(syntax_message(error.what()))
                                            : syntax_message(error.what()));
  } catch (const Json::exception& error) {
    throw InputError(
        fmt::format("{}: {}: {}", name, follower.path(),
                    quoting == Quoting::nothing ? "no JSON" : syntax_message(error.what())));
  }
}

}  // namespace urto::scene
