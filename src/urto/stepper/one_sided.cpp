#include "urto/stepper/one_sided.h"

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {

std::string one_sided_at_work(SystemAccess& system, const State& state, Interactions& rows) {
  if (!system.may_be_one_sided()) return {};
  system.interactions(state, {}, rows);
  for (int i = 0; i < rows.blocks(); ++i) {
    if (acts_one_sided(rows.laws[i], rows.g[rows.J.row_start[i]]))
      return fmt::format("{} acting at t = {:.9g} s", system.describe(rows, i), state.t);
  }
  return {};
}

void refuse_one_sided(const System& system, const State& state, std::string_view who) {
  SystemAccess access(system);
  Interactions rows;
  const std::string acting = one_sided_at_work(access, state, rows);
  if (!acting.empty()) {
    throw InputError(std::string(who), acting,
                     "no contact, limit or dry friction at work: the stepper 'dvi' treats them");
  }
}

}  // namespace urto
