#include "urto/page/page_asset.h"

// The assembler copies the files: no generated sources of megabytes to compile. The build gives the
// paths.
#define URTO_EMBED(symbol, file)                                               \
  asm(".pushsection .rodata\n"                                                 \
      ".global urto_" symbol "_begin\nurto_" symbol "_begin:\n.incbin \"" file \
      "\"\n"                                                                   \
      ".global urto_" symbol "_end\nurto_" symbol "_end:\n.byte 0\n.popsection\n")

URTO_EMBED("page", URTO_PAGE_FILE);
URTO_EMBED("plot", URTO_PLOT_FILE);
URTO_EMBED("plots", URTO_PLOTS_FILE);

extern "C" {
extern const char urto_page_begin[], urto_page_end[], urto_plot_begin[], urto_plot_end[];
extern const char urto_plots_begin[], urto_plots_end[];
}

namespace urto {

std::string_view page_template() {
  return {urto_page_begin, static_cast<std::size_t>(urto_page_end - urto_page_begin)};
}

std::string_view plots_template() {
  return {urto_plots_begin, static_cast<std::size_t>(urto_plots_end - urto_plots_begin)};
}

std::string_view plot_script() {
  return {urto_plot_begin, static_cast<std::size_t>(urto_plot_end - urto_plot_begin)};
}

}  // namespace urto
