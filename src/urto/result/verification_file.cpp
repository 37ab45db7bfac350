// The group /verification of a result: docs/results.md is the layout.
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/growing_file.h"
#include "urto/result/result_file.h"

namespace urto {
namespace {

constexpr std::string_view group = "/verification";

std::string at(std::string_view name) {
  return fmt::format("{}/{}", group, name);
}

/// Calls visit(name, number) for the numbers of a quantity's error.
template <typename Error, typename Visit>
void visit_numbers(Error& e, Visit visit) {
  visit("items", e.items);
  visit("width", e.width);
  visit("order", e.order);
  visit("worst", e.worst);
  visit("worst_time", e.worst_time);
  visit("worst_item", e.worst_item);
  visit("mean", e.mean);
  visit("last", e.last);
  visit("scale", e.scale);
}

/// … and for those of the whole.
template <typename Whole, typename Visit>
void visit_whole(Whole& v, Visit visit) {
  visit("step", v.step);
  visit("expected_order", v.expected_order);
  visit("until", v.until);
  visit("wall_seconds", v.wall_seconds);
}

void write_error(GrowingFile& file, const QuantityError& e, std::size_t samples) {
  const std::string place = at(e.name);
  GrowingFile::Dims dims{samples, static_cast<hsize_t>(e.items)};
  if (e.width > 1) dims.push_back(static_cast<hsize_t>(e.width));
  file.write(place + "/band", H5T_NATIVE_DOUBLE, dims, e.band.data());
  file.write_text(place + "/unit", e.unit);
  file.write_text(place + "/worst_name", e.worst_name);
  visit_numbers(e, [&](const char* name, auto x) {
    const auto value = static_cast<double>(x);
    file.write(fmt::format("{}/{}", place, name), H5T_NATIVE_DOUBLE, {}, &value);
  });
}

QuantityError read_error(const ResultReader& file, const std::string& name, std::size_t samples) {
  const std::string place = at(name);
  QuantityError e{.name = name, .unit = file.text(place + "/unit")};
  visit_numbers(e, [&](const char* number, auto& x) {
    x = static_cast<std::decay_t<decltype(x)>>(file.number(fmt::format("{}/{}", place, number)));
  });
  e.worst_name = file.text(place + "/worst_name");
  e.band = file.numbers(place + "/band");
  const bool sizes = e.items > 0 && e.width > 0 && e.width <= 3;
  if (!sizes || e.band.size() != samples * static_cast<std::size_t>(e.items) *
                                     static_cast<std::size_t>(e.width)) {
    throw InputError(
        place + "/band", fmt::format("{} numbers", e.band.size()),
        fmt::format("{} samples of {} items of {} numbers", samples, e.items, e.width));
  }
  return e;
}

void write_statistics(GrowingFile& file, const std::vector<ComparedStatistic>& statistics) {
  if (statistics.empty()) return;
  std::vector<std::string> names, units;
  std::vector<double> values;
  for (const ComparedStatistic& s : statistics) {
    names.push_back(s.name);
    units.push_back(s.unit);
    values.insert(values.end(), s.value.begin(), s.value.end());
  }
  file.write(at("statistics/name"), names);
  file.write(at("statistics/unit"), units);
  file.write(at("statistics/value"), H5T_NATIVE_DOUBLE, {names.size(), 3}, values.data());
}

std::vector<ComparedStatistic> read_statistics(const ResultReader& file) {
  std::vector<ComparedStatistic> out;
  if (!file.has(at("statistics"))) return out;
  const auto names = file.texts(at("statistics/name"));
  const auto units = file.texts(at("statistics/unit"));
  const auto values = file.numbers(at("statistics/value"));
  if (units.size() != names.size() || values.size() != 3 * names.size()) {
    throw InputError(at("statistics"), "lists of other lengths",
                     fmt::format("{} units and three times as many values", names.size()));
  }
  for (std::size_t k = 0; k < names.size(); ++k)
    out.push_back({names[k], units[k], {values[3 * k], values[3 * k + 1], values[3 * k + 2]}});
  return out;
}

VerificationState state_of(const std::string& word) {
  for (int k = 0; k <= static_cast<int>(VerificationState::incomplete); ++k) {
    const auto state = static_cast<VerificationState>(k);
    if (to_string(state) == word) return state;
  }
  throw InputError(at("state"), fmt::format("'{}'", word), "converges, exact, parts or incomplete");
}

}  // namespace

void write_verification(const std::filesystem::path& path, const Verification& v) {
  GrowingFile file = GrowingFile::reopen(path);
  file.remove(std::string(group));
  file.write_text(at("state"), to_string(v.state));
  file.write_text(at("reason"), v.reason);
  visit_whole(v, [&](const char* name, auto x) {
    const auto value = static_cast<double>(x);
    file.write(at(name), H5T_NATIVE_DOUBLE, {}, &value);
  });
  file.write(at("time"), H5T_NATIVE_DOUBLE, {v.time.size()}, v.time.data());
  for (const QuantityError& e : v.errors) write_error(file, e, v.time.size());
  write_statistics(file, v.statistics);
  file.close();
}

std::optional<Verification> ResultReader::verification() const {
  if (!has(at("state"))) return std::nullopt;
  Verification v{.state = state_of(text(at("state"))), .reason = text(at("reason"))};
  visit_whole(v, [&](const char* name, auto& x) {
    x = static_cast<std::decay_t<decltype(x)>>(number(at(name)));
  });
  v.time = numbers(at("time"));
  for (const char* name : {"position", "rotation", "coordinate", "energy", "contact_impulse"}) {
    if (has(at(name))) v.errors.push_back(read_error(*this, name, v.time.size()));
  }
  v.statistics = read_statistics(*this);
  return v;
}

}  // namespace urto
