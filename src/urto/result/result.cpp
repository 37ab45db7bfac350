#include "urto/result/result.h"

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/result/step_columns.h"

namespace urto {
namespace {

template <typename Items>
auto part(const Items& items, const char* what, long first, long count) {
  const long most = static_cast<long>(items.size());
  if (first < 0 || count < 0 || first > most || count > most - first) {
    throw InputError(what, fmt::format("{} rows", most),
                     fmt::format("rows {} to {}", first, first + count));
  }
  return std::span(items).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

}  // namespace

std::span<const Frame> ResultValues::frames(long first, long count) const {
  return part(result_.frames, "frames", first, count);
}

ResultCounts ResultValues::counts() const {
  ResultCounts out{.frames = static_cast<long>(result_.frames.size()),
                   .steps = static_cast<long>(result_.steps.size())};
  for (const Frame& frame : result_.frames)
    out.contacts += static_cast<long>(frame.contacts.size());
  return out;
}

std::vector<double> ResultValues::times(long first, long count) const {
  std::vector<double> out;
  for (const Frame& frame : frames(first, count)) out.push_back(frame.time);
  return out;
}

std::vector<double> ResultValues::channel(int channel, long first, long count) const {
  const Channel& c = result_.description.channels.at(static_cast<std::size_t>(channel));
  std::vector<double> out;
  for (const Frame& frame : frames(first, count)) {
    const std::vector<double>& row = frame.channels.at(static_cast<std::size_t>(channel));
    if (row.size() != result_.description.size(c)) {
      throw InputError(c.name, fmt::format("{} numbers in a frame", row.size()),
                       fmt::format("{}", result_.description.size(c)));
    }
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::vector<std::vector<RecordedContact>> ResultValues::contacts(long first, long count) const {
  std::vector<std::vector<RecordedContact>> out;
  for (const Frame& frame : frames(first, count)) out.push_back(frame.contacts);
  return out;
}

std::vector<double> ResultValues::step_values(std::size_t column, long first, long count) const {
  std::vector<double> out;
  for (const StepRecord& step : part(result_.steps, "steps", first, count))
    out.push_back(step_columns()[column].value(step));
  return out;
}

}  // namespace urto
