#include "urto/solver/registry.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"

namespace urto {
namespace {

class StatelessMethod final : public Method {
 public:
  explicit StatelessMethod(void (*function)(Run&)) : function_(function) {}
  void solve(Run& run) override { function_(run); }

 private:
  void (*function_)(Run&);
};

constexpr Capabilities projected{.general_h = true,
                                 .cones = true,
                                 .boxes = true,
                                 .exact_friction = true,
                                 .convex_friction = true,
                                 .rolling = true,
                                 .redundant_rows = true};
constexpr Capabilities linear{.general_h = true, .redundant_rows = true};

constexpr Capabilities with_threads(Capabilities c) {
  c.threads = true;
  return c;
}
constexpr Capabilities exact_only(Capabilities c) {
  c.convex_friction = false;
  return c;
}
constexpr Capabilities without_rolling(Capabilities c) {
  c.rolling = false;
  return c;
}

struct Registry {
  std::deque<RegisteredSolver> entries = {};  ///< whose addresses stay
  std::deque<std::string> names = {};         ///< owned, for the views of `infos`
  std::vector<SolverInfo> infos = {};

  void add(const SolverInfo& info, MethodFactory make) {
    const std::string& name = names.emplace_back(info.name);
    const std::string& summary = names.emplace_back(info.summary);
    infos.push_back({name, summary, info.can});
    entries.push_back({infos.back(), std::move(make)});
  }
  const RegisteredSolver* find(std::string_view name) const {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return entry.info.name == name; });
    return found == entries.end() ? nullptr : &*found;
  }
};

// The order of the documentation. "auto" comes first and has no method of its own.
Registry built_in() {
  Registry r;
  r.add({"auto", "picks a solver and escalates until the certificate holds", projected}, {});
  r.add({"jacobi", "projected Jacobi", projected}, make_jacobi);
  r.add({"sor", "projected successive over-relaxation", projected}, make_sor);
  r.add({"ssor", "symmetric projected SOR", projected}, make_symmetric_sor);
  r.add({"sor-colour", "SOR by graph colouring, multi-threaded, deterministic",
         with_threads(projected)},
        stateless(coloured_sor));
  r.add({"nsgs", "Gauss–Seidel, local Newton (Alart–Curnier) with fallbacks", projected},
        make_nsgs_alart_curnier);
  r.add({"nsgs-quartic", "Gauss–Seidel, local closed form (quartic)", exact_only(projected)},
        make_nsgs_quartic);
  r.add({"nsgs-projection", "Gauss–Seidel, local projection fixed point", projected},
        make_nsgs_projection);
  r.add({"spg", "spectral projected gradient, preconditioned, with fallback", projected}, make_spg);
  r.add({"apgd", "accelerated projected gradient with restart", projected}, make_apgd);
  r.add({"admm", "alternating directions, adaptive penalty, cached factor", projected}, make_admm);
  r.add({"prox", "proximal point with semi-smooth Newton", projected}, make_prox);
  r.add({"ipm", "interior point, predictor and corrector, Nesterov–Todd scaling",
         without_rolling(projected)},
        make_ipm);
  r.add({"minres", "minimal residual on the saddle point (joints only)", linear}, make_minres);
  r.add({"cg", "conjugate gradients on the Delassus system (joints only)", linear}, make_cg);
  r.add({"ldlt", "sparse direct LDLᵀ of the saddle point (joints only)", linear}, make_ldlt);
  return r;
}

Registry& registry() {
  static Registry all = built_in();
  return all;
}

std::string solvers_that(bool Capabilities::*can) {
  std::vector<std::string_view> names;
  for (const SolverInfo& info : solvers()) {
    if (info.can.*can) names.push_back(info.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

MethodFactory stateless(void (*function)(Run&)) {
  return [function] { return std::make_unique<StatelessMethod>(function); };
}

void register_solver(const SolverInfo& info, MethodFactory make) {
  if (info.name.empty() || !make)
    throw InputError("register_solver: a solver needs a name and a method");
  if (registry().find(info.name) != nullptr) {
    throw InputError("register_solver", fmt::format("'{}', which there is", info.name),
                     "a name that no solver has");
  }
  registry().add(info, std::move(make));
}

std::span<const SolverInfo> solvers() {
  return registry().infos;
}

const RegisteredSolver& find_solver(std::string_view name) {
  if (const RegisteredSolver* found = registry().find(name)) return *found;
  std::vector<std::string_view> names;
  for (const SolverInfo& info : solvers()) names.push_back(info.name);
  throw InputError("solver", fmt::format("'{}'", name),
                   fmt::format("one of {}", fmt::join(names, ", ")));
}

void check_capabilities(const SolverInfo& info, const StepProblem& p, Friction friction) {
  const auto refuse = [&](const char* what, bool Capabilities::*can) {
    throw InputError(fmt::format("solver '{}' cannot treat {}; these can: {}", info.name, what,
                                 solvers_that(can)));
  };
  bool unilateral = false;
  bool boxes = false;
  bool rolling = false;
  bool cones = false;
  for (const ConvexSet& set : p.K.sets) {
    cones = cones || set.has_friction();
    unilateral = unilateral || set.has_friction() || set.kind == SetKind::nonnegative;
    boxes = boxes || set.kind == SetKind::box;
    rolling = rolling || set.kind == SetKind::rolling_cone;
  }
  if (unilateral && !info.can.cones)
    refuse("contacts (friction or unilateral rows)", &Capabilities::cones);
  if (boxes && !info.can.boxes) refuse("two-sided bounds", &Capabilities::boxes);
  if (rolling && !info.can.rolling) refuse("rolling or spinning friction", &Capabilities::rolling);
  if (cones && friction == Friction::exact && !info.can.exact_friction)
    refuse("exact Coulomb friction", &Capabilities::exact_friction);
  if (cones && friction == Friction::convex && !info.can.convex_friction)
    refuse("convex friction", &Capabilities::convex_friction);
  if (!info.can.general_h && block_diagonal_mass(p) == nullptr && p.dofs() > 0)
    refuse("a general matrix H", &Capabilities::general_h);
}

void check_options(const SolveOptions& o) {
  const auto check = [](bool good, const char* name, double found, const char* expected) {
    if (!good) throw InputError(fmt::format("option {}", name), fmt::format("{}", found), expected);
  };
  check(o.tolerance > 0 && std::isfinite(o.tolerance), "tolerance", o.tolerance,
        "a positive number");
  check(o.max_iterations >= 0, "max_iterations", o.max_iterations, "zero or more");
  check(o.time_limit > 0, "time_limit", o.time_limit, "a positive number of seconds");
  check(o.threads >= 1 && o.threads <= 1024, "threads", o.threads, "1 to 1024");
  check(o.relaxation > 0 && o.relaxation < 2, "relaxation", o.relaxation, "a number in (0, 2)");
  check(o.jacobi_relaxation > 0 && o.jacobi_relaxation < 2, "jacobi_relaxation",
        o.jacobi_relaxation, "a number in (0, 2)");
  check(o.sharpness > 0 && o.sharpness <= 1, "sharpness", o.sharpness, "a number in (0, 1]");
  check(o.search_memory >= 1 && o.search_memory <= 1000, "search_memory", o.search_memory,
        "1 to 1000");
  const InteriorPointOptions& ipm = o.interior_point;
  check(ipm.residual_tolerance > 0, "residual_tolerance", ipm.residual_tolerance,
        "a positive number");
  check(ipm.mu_tolerance > 0, "mu_tolerance", ipm.mu_tolerance, "a positive number");
}

}  // namespace urto
