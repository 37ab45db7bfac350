// Where this checkout and its build lie. Told by one generated source and not by definitions for
// every test, so that what another checkout compiled is the same and ccache has it.
#pragma once

#include <filesystem>
#include <string>

namespace urto::samples {

/// The checkout itself, its bundled scenes, and the files of the tests.
const std::filesystem::path& source_dir();
std::filesystem::path scenes_dir();
std::filesystem::path data_dir();

/// Contact problems of other codes: beside the checkout, or nowhere.
const std::filesystem::path& problems_dir();

/// The command `urto` of this build.
const std::string& command_file();

}  // namespace urto::samples
