// `urto generate KIND -o FILE`: synthetic problems of problem/generate.h as files.
#include <functional>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/problem/problem_file.h"

namespace urto::app {
namespace {

struct Target {
  std::string file;
  std::string format = "urto";
  bool quiet = false;
};

void write(const Target& target, const StepProblem& problem, const std::string& kind) {
  if (target.format == "fclib") {
    write_fclib(target.file, problem, nullptr, kind);
  } else if (target.format == "text") {
    write_text(target.file, problem);
  } else {
    write_problem(target.file, problem);
  }
  if (target.quiet) return;
  fmt::print("{}: {} contacts, {} rows, {} dofs\n", target.file, problem.contacts(), problem.rows(),
             problem.dofs());
}

/// Adds one kind; `options` outlives the parser inside the callback.
template <typename Options>
class Kind {
 public:
  Kind(CLI::App& parent, const std::string& name, const std::string& summary,
       std::function<StepProblem(const Options&)> make)
      : sub_(parent.add_subcommand(name, summary)) {
    auto target = std::make_shared<Target>();
    sub_->add_option("-o,--output", target->file, "The file to write")
        ->type_name("FILE")
        ->required();
    sub_->add_option("--format", target->format, "urto, fclib or text (Siconos)")
        ->type_name("NAME")
        ->check(CLI::IsMember({"urto", "fclib", "text"}))
        ->capture_default_str();
    sub_->add_flag("-q,--quiet", target->quiet, "Print nothing");
    sub_->callback([target, options = options_, make = std::move(make), name] {
      write(*target, make(*options), name);
    });
  }
  template <typename Value>
  Kind& with(const std::string& option, Value Options::*member, const std::string& help) {
    sub_->add_option("--" + option, (*options_).*member, help)->capture_default_str();
    return *this;
  }

 private:
  CLI::App* sub_;
  std::shared_ptr<Options> options_ = std::make_shared<Options>();
};

struct InfeasibleGap {
  double mu = 0;
};

}  // namespace

void add_generate_command(CLI::App& app, int&) {
  CLI::App* generate = app.add_subcommand("generate", "Write a synthetic contact problem");
  generate->require_subcommand(1);
  const std::string step = "time step [s]", mu = "friction coefficient",
                    seed = "of the random numbers";
  Kind<SpherePacking>(*generate, "sphere-packing", "Spheres settled in a box under gravity",
                      sphere_packing)
      .with("contacts", &SpherePacking::contacts, "number of contacts")
      .with("mu", &SpherePacking::mu, mu)
      .with("mass-ratio", &SpherePacking::mass_ratio, "heaviest over lightest sphere")
      .with("step", &SpherePacking::step, step)
      .with("seed", &SpherePacking::seed, seed);
  Kind<BoxStack>(*generate, "box-stack", "Cubes on top of each other, four contacts a level",
                 box_stack)
      .with("levels", &BoxStack::levels, "number of cubes")
      .with("mu", &BoxStack::mu, mu)
      .with("push", &BoxStack::push, "lateral force on the top cube, in units of its weight")
      .with("mass-ratio", &BoxStack::mass_ratio, "top cube over the others")
      .with("step", &BoxStack::step, step);
  Kind<BoxWall>(*generate, "box-wall", "A dry brick wall in running bond", box_wall)
      .with("width", &BoxWall::width, "bricks in a course")
      .with("height", &BoxWall::height, "courses")
      .with("mu", &BoxWall::mu, mu)
      .with("push", &BoxWall::push, "sideways acceleration [g]")
      .with("mass-ratio", &BoxWall::mass_ratio, "density of the top course over the others")
      .with("head-joints", &BoxWall::head_joints,
            "bricks of a course touch end to end (true or false)")
      .with("step", &BoxWall::step, step);
  Kind<Chain>(*generate, "chain", "Rods on spherical joints: a linear problem", chain)
      .with("links", &Chain::links, "number of rods")
      .with("mass-ratio", &Chain::mass_ratio, "last rod over the others")
      .with("step", &Chain::step, step);
  Kind<SlidingMass>(*generate, "sliding-mass", "A point mass that slides on a plane", sliding_mass)
      .with("mass", &SlidingMass::mass, "mass [kg]")
      .with("mu", &SlidingMass::mu, mu)
      .with("velocity", &SlidingMass::velocity, "sliding velocity [m/s]")
      .with("gap", &SlidingMass::gap, "height above the plane [m]")
      .with("step", &SlidingMass::step, step);
  Kind<JointContactMix>(*generate, "joint-contact-mix",
                        "A train of hinged cubes that brakes into a stop", joint_contact_mix)
      .with("bodies", &JointContactMix::bodies, "number of cubes")
      .with("mu", &JointContactMix::mu, mu)
      .with("brake", &JointContactMix::brake, "dry-friction torque of a hinge [N·m]")
      .with("velocity", &JointContactMix::velocity, "towards the stop [m/s]")
      .with("step", &JointContactMix::step, step);
  Kind<StiffLattice>(*generate, "stiff-lattice", "An elastic block that lands on a plane: sparse H",
                     stiff_lattice)
      .with("nx", &StiffLattice::nx, "nodes along x")
      .with("ny", &StiffLattice::ny, "nodes along y")
      .with("nz", &StiffLattice::nz, "nodes along z")
      .with("mass", &StiffLattice::mass, "of a node [kg]")
      .with("stiffness", &StiffLattice::stiffness, "of a spring [N/m]")
      .with("damping", &StiffLattice::damping, "of a spring [N·s/m]")
      .with("mu", &StiffLattice::mu, mu)
      .with("velocity", &StiffLattice::velocity, "along x [m/s]")
      .with("step", &StiffLattice::step, step);
  Kind<RandomLocal>(*generate, "random-local", "A random Delassus matrix of given rank",
                    random_local)
      .with("contacts", &RandomLocal::contacts, "number of contacts")
      .with("rank-deficiency", &RandomLocal::rank_deficiency,
            "share of zero eigenvalues, in [0, 1)")
      .with("mu", &RandomLocal::mu, mu)
      .with("conditioning", &RandomLocal::conditioning, "largest over smallest nonzero eigenvalue")
      .with("seed", &RandomLocal::seed, seed);
  Kind<InfeasibleGap>(*generate, "infeasible-gap", "A mass squeezed between two walls: no solution",
                      [](const InfeasibleGap& o) { return infeasible_gap(o.mu); })
      .with("mu", &InfeasibleGap::mu, mu);
}

}  // namespace urto::app
