// Internal: files that are part of the program, as they are in the repository.
#pragma once

#include <string_view>

namespace urto {

std::string_view page_template();   ///< viewer/dist/page.html, built by script/viewer
std::string_view plot_script();     ///< page/plot.py
std::string_view plots_template();  ///< page/plots.html

}  // namespace urto
