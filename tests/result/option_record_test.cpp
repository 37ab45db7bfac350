// A result file has every setting of the run.
#include "result_samples.h"
#include "stepper/option_samples.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using namespace samples;

/// A file with what the options say and a run without steps.
void write_empty_run(const fs::path& file, const SimulationOptions& options) {
  const Scene scene = parse_scene(hanging_scene, "test");
  Description description = describe(scene);
  description.settings = options;
  ResultWriter writer = ResultWriter::create(file, description);
  writer.finish({});
}

/// Flags count as 0 and 1.
double number_of(const OptionValue& value) {
  if (const auto* x = std::get_if<double>(&value)) return *x;
  if (const auto* x = std::get_if<int>(&value)) return *x;
  return std::get<bool>(value) ? 1 : 0;
}

TEST(OptionRecord, EverySettingIsAnAttribute) {
  const fs::path file =
      fs::temp_directory_path() / ("urto-option-record-" + std::to_string(::getpid()) + ".h5");
  SimulationOptions options;
  for (const OptionInfo& option : simulation_options()) option.set(options, another_value(option));
  write_empty_run(file, options);
  const ResultReader result(file);
  for (const OptionInfo& option : simulation_options()) {
    SCOPED_TRACE(option.key);
    const std::string key(option.key);
    const OptionValue value = option.get(options);
    if (const auto* text = std::get_if<std::string>(&value)) {
      EXPECT_EQ(result.text_attribute(key), *text);
    } else {
      EXPECT_EQ(result.number_attribute(key), number_of(value));
    }
  }
  fs::remove(file);
}

}  // namespace
}  // namespace urto
