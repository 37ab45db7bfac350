#include "urto/stepper/one_sided.h"

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {

void refuse_one_sided(System& system, const State& state, std::string_view who,
                      Interactions& rows) {
  if (!system.may_be_one_sided()) return;
  system.interactions(state, {}, rows);
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (law.kind == LawKind::equality) continue;
    if (law.kind != LawKind::box && rows.g[rows.J.row_start[i]] > 0) continue;
    throw InputError(
        std::string(who),
        fmt::format("{} acting at t = {:.9g} s", system.describe(rows.origins[i]), state.t),
        "no contact, limit or dry friction at work: the stepper 'dvi' treats them");
  }
}

}  // namespace urto
