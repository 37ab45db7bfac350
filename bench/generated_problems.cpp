// Friction problems made from physics, eight families, as FCLIB files: for comparisons on problems
// that nobody has tuned to. Sizes and parameters follow from the seed.
//
// usage: generated_problems FOLDER [--count 25] [--seed 1] [--largest 1000]
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/problem/generate.h"
#include "urto/problem/problem_file.h"

namespace {

using namespace urto;

// From a 64-bit generator whose numbers the standard fixes; its distributions it does not.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}
  double between(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  /// Log-uniform.
  double scale(double lo, double hi) { return lo * std::pow(hi / lo, between(0, 1)); }
  int size(double lo, double hi) { return static_cast<int>(scale(lo, hi)); }
  std::uint64_t seed() { return generator_() >> 32; }

 private:
  std::mt19937_64 generator_;
};

struct Family {
  const char* name;
  std::function<StepProblem(Draw&, double largest)> make;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {"packing",
       [](Draw& d, double largest) {
         return sphere_packing({.contacts = d.size(6, largest),
                                .mu = d.between(0.1, 0.9),
                                .step = d.scale(1e-3, 1e-2),
                                .seed = d.seed()});
       }},
      {"mixed-packing",
       [](Draw& d, double largest) {
         return sphere_packing({.contacts = d.size(6, largest),
                                .mu = d.between(0.1, 0.9),
                                .mass_ratio = d.scale(3, 300),
                                .step = d.scale(1e-3, 1e-2),
                                .seed = d.seed()});
       }},
      {"stack",
       [](Draw& d, double largest) {
         const double mu = d.between(0.2, 0.9);
         return box_stack({.levels = d.size(1, std::min(30.0, largest / 4)),
                           .mu = mu,
                           .push = d.between(0, 0.9) * mu,
                           .step = d.scale(1e-3, 1e-2)});
       }},
      {"heavy-top",
       [](Draw& d, double largest) {
         return box_stack({.levels = d.size(2, std::min(20.0, largest / 4)),
                           .mu = d.between(0.2, 0.9),
                           .push = d.between(0, 0.1),
                           .mass_ratio = d.scale(2, 1000),
                           .step = d.scale(1e-3, 1e-2)});
       }},
      {"wall",
       [](Draw& d, double largest) {
         const int side = d.size(2, std::sqrt(largest / 7));
         return box_wall({.width = side,
                          .height = side,
                          .mu = d.between(0.3, 0.9),
                          .step = d.scale(1e-3, 1e-2)});
       }},
      {"pushed-wall",
       [](Draw& d, double largest) {
         const int side = d.size(2, std::sqrt(largest / 7));
         return box_wall({.width = side,
                          .height = side,
                          .mu = d.between(0.3, 0.9),
                          .push = d.between(0.05, 1),
                          .step = d.scale(1e-3, 1e-2)});
       }},
      {"random",
       [](Draw& d, double largest) {
         return random_local({.contacts = d.size(1, std::min(120.0, largest)),
                              .rank_deficiency = d.between(0, 0.5),
                              .mu = d.between(0, 1),
                              .conditioning = d.scale(3, 1e4),
                              .seed = d.seed()});
       }},
      {"lattice",
       [](Draw& d, double) {
         return stiff_lattice({.nx = d.size(2, 9),
                               .ny = d.size(2, 9),
                               .nz = d.size(2, 5),
                               .stiffness = d.scale(1e3, 1e6),
                               .mu = d.between(0.1, 0.9),
                               .velocity = d.between(-2, 2),
                               .step = d.scale(1e-3, 1e-2)});
       }},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path folder;
  int count = 25;
  std::uint64_t seed = 1;
  double largest = 1000;
  CLI::App app{"Friction problems of eight families as FCLIB files"};
  app.add_option("folder", folder, "where they are written; made if it is not there")->required();
  app.add_option("--count", count, "of each family");
  app.add_option("--seed", seed, "of sizes, parameters and problems");
  app.add_option("--largest", largest, "contacts")->check(CLI::Range(30, 100000));
  CLI11_PARSE(app, argc, argv);
  try {
    std::filesystem::create_directories(folder);
    Draw draw(seed);
    for (const Family& family : families()) {
      for (int k = 0; k < count; ++k) {
        const StepProblem problem = family.make(draw, largest);
        write_fclib(folder / fmt::format("{}-{:03}.hdf5", family.name, k), problem, nullptr,
                    family.name);
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "generated_problems: {}\n", error.what());
    return 2;
  }
  return 0;
}
