// The `urto` command as its users meet it: exit codes, messages, tables and files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/shell.h"
#include "urto/problem/certificate.h"
#include "urto/problem/generate.h"
#include "urto/problem/problem_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using testing::AssertionFailure;
using testing::AssertionSuccess;

struct Output {
  int code = -1;
  std::string out, err;
};

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return AssertionSuccess();
  return AssertionFailure() << "no '" << part << "' in:\n" << text;
}

class Command : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("urto-") + test->name() + "-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write_problem(path("slide.hdf5"), sliding_mass());
    write_problem(path("stack.hdf5"), box_stack({.levels = 2}));
    write_problem(path("chain.hdf5"), chain({.links = 4}));
    std::ofstream(path("small_lcp.dat")) << "2\n0\n2\n2\n2 2\n2 1\n1 2\n-5 -6\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name) const { return folder_ / name; }

  /// Runs `prefix urto arguments` inside the test's folder.
  Output run(const std::string& arguments, const std::string& prefix = "") const {
    const std::string line = "cd '" + folder_.string() + "' && " + prefix + " '" URTO_COMMAND "' " +
                             arguments + " >.out 2>.err </dev/null";
    const int status = samples::shell(line);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(path(".out")),
            contents(path(".err"))};
  }

 private:
  fs::path folder_;
};

TEST_F(Command, ShowsVersionAndHelp) {
  const Output version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(says(version.out, "urto "));
  EXPECT_TRUE(says(version.out, "Eigen"));
  EXPECT_TRUE(says(version.out, "CHOLMOD"));
  EXPECT_TRUE(says(version.out, "KLU"));
  EXPECT_TRUE(says(version.out, "MUMPS"));
  const Output help = run("solve --help");
  EXPECT_EQ(help.code, 0);
  for (const char* option :
       {"--solver", "--tol", "--max-iterations", "--time-limit", "--friction", "--threads",
        "--json", "--history", "--output", "--verbose", "--cvxopt", "--list-solvers"}) {
    EXPECT_TRUE(says(help.out, option));
  }
  EXPECT_EQ(run("").code, 2);
}

TEST_F(Command, SolvesFilesAndPrintsATable) {
  const Output o = run("solve slide.hdf5 stack.hdf5 small_lcp.dat");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  for (const char* text : {"problem", "contacts", "natural map", "slide.hdf5", "stack.hdf5",
                           "small_lcp.dat", "converged", "3 of 3 certified", "exact friction"}) {
    EXPECT_TRUE(says(o.out, text));
  }
  EXPECT_EQ(o.out.find('\033'), std::string::npos) << "colour where there is no terminal";
  const Output quiet = run("solve --quiet slide.hdf5");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(Command, ExitsWith3WhenAToleranceIsMissed) {
  write_problem(path("pack.hdf5"), sphere_packing({.contacts = 200}));
  const Output o = run("solve slide.hdf5 pack.hdf5 --solver sor --max-iterations 2");
  EXPECT_EQ(o.code, 3);
  EXPECT_TRUE(says(o.out, "iteration limit"));
  EXPECT_EQ(run("solve pack.hdf5 --solver sor --max-iterations 2 -q").code, 3);
}

TEST_F(Command, BadFilesGiveOneMessageEachAndTheOthersAreSolved) {
  std::ofstream(path("text.dat")) << "not a problem";
  std::ofstream(path("empty.hdf5")) << "";
  const std::string files = "solve text.dat slide.hdf5 empty.hdf5 missing.hdf5 small_lcp.dat ";
  const Output o = run(files + "-o results --history h.csv");
  EXPECT_EQ(o.code, 2);
  for (const char* name : {"text.dat", "empty.hdf5", "missing.hdf5"})
    EXPECT_TRUE(says(o.err, name));
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 3) << o.err;
  EXPECT_EQ(o.err.rfind("urto: error: ", 0), 0u);
  EXPECT_TRUE(says(o.out, "2 of 2 certified"));
  EXPECT_TRUE(says(o.out, "3 files could not be read"));
  EXPECT_TRUE(fs::exists(path("results/slide.hdf5")));
  EXPECT_TRUE(fs::exists(path("h.csv")));
  const auto j = nlohmann::json::parse(run(files + "--json").out);
  EXPECT_EQ(j["exit_code"], 2);
  ASSERT_EQ(j["results"].size(), 2u);
  ASSERT_EQ(j["unreadable"].size(), 3u);
  EXPECT_EQ(j["unreadable"][0]["file"], "text.dat");
  EXPECT_TRUE(says(j["unreadable"][2]["message"].get<std::string>(), "no such file"));
  const Output none = run("solve missing.hdf5");
  EXPECT_EQ(none.code, 2);
  EXPECT_FALSE(says(none.out, "natural map")) << "a table of nothing";
}

// r = Π_K(−q) for M = I: of (1, −2, 0) onto the cone of coefficient ½ that is (1.6, −0.8, 0).
TEST_F(Command, SecondOrderConesAreSolvedByTheConvexLaw) {
  std::ofstream(path("cone.dat")) << "3\n1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n0 0 1\n"
                                     "-1 2 0\n0 3\n0.5\n";
  const Output o = run("solve cone.dat -o out");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(says(o.out, "1 of 1 certified to 1e-08, convex friction"));
  const ProblemFile solved = read_problem(path("out/cone.hdf5"));
  ASSERT_TRUE(solved.guess.has_value());
  EXPECT_LT((solved.guess->lambda - Eigen::Vector3d(1.6, -0.8, 0)).norm(), 1e-7);
  EXPECT_EQ(run("solve cone.dat --friction convex").code, 0);
  const Output exact = run("solve cone.dat --friction exact");
  EXPECT_EQ(exact.code, 2);
  EXPECT_TRUE(says(exact.err, "second-order cone problem"));
}

TEST_F(Command, AnInfeasibleLcpComesWithItsProof) {
  // w = M z + q ≥ 0 with M = [1 −1; −1 1], q = (−1, −1): w₁ + w₂ = −2.
  std::ofstream(path("none.dat")) << "2\n0\n2\n2\n2\t2\n1 -1\n-1 1\n-1 -1\n";
  const Output o = run("solve none.dat");
  EXPECT_EQ(o.code, 3);
  EXPECT_TRUE(says(o.out, "infeasible"));
  EXPECT_TRUE(says(o.out, "no point satisfies the inequalities"));
  const auto j = nlohmann::json::parse(run("solve none.dat --json").out)["results"][0];
  EXPECT_EQ(j["status"], "infeasible");
  EXPECT_EQ(j["infeasibility_certificate"], (std::vector<double>{1, 1}));
}

TEST_F(Command, BadOptionsExitWith2AndSuggest) {
  const auto check = [&](const std::string& arguments, const std::string& message) {
    const Output o = run(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(o.out, "") << arguments;
    EXPECT_TRUE(says(o.err, "urto: error: ")) << arguments;
    EXPECT_TRUE(says(o.err, message)) << arguments;
  };
  check("solve slide.hdf5 --slover nsgs", "did you mean '--solver'?");
  check("solve slide.hdf5 --solver ngss", "did you mean 'nsgs'?");
  check("solve slide.hdf5 --tol -1", "--tol");
  check("solve slide.hdf5 --tol abc", "--tol");
  check("solve slide.hdf5 --max-iterations 0", "--max-iterations");
  check("solve slide.hdf5 --friction viscous", "exact");
  check("solve slide.hdf5 --threads 0", "--threads");
  check("solve slide.hdf5 --format xml", "xml");
  check("solve slide.hdf5 --history no/such/folder/h.csv", "--history");
  check("solve slide.hdf5 -o slide.hdf5", "-o");
  check("solve slide.hdf5 --cvxopt slide.hdf5", "--cvxopt");
  check("solve slide.hdf5 --verbose --quiet", "--verbose");
  check("solve", "no problem file");
  check("sovle slide.hdf5", "did you mean 'solve'?");
  check("generate box-stak -o x.hdf5", "did you mean 'box-stack'?");
  check("generate", "a kind is needed: sphere-packing");
  check("generate box-stack", "--output");
  check("generate box-stack --levels 0 -o x.hdf5", "levels");
  EXPECT_FALSE(fs::exists(path("x.hdf5")));
}

TEST_F(Command, RefusalIsARowAmongSeveralSolversAndAnErrorAlone) {
  const Output several = run("solve slide.hdf5 --solver ldlt,nsgs");
  EXPECT_EQ(several.code, 0) << several.err;
  EXPECT_TRUE(says(several.out, "refused"));
  EXPECT_TRUE(says(several.out, "converged"));
  EXPECT_TRUE(says(several.out, "slide.hdf5, ldlt: refused: "));
  const Output alone = run("solve slide.hdf5 --solver ldlt");
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(says(alone.err, "urto: error: slide.hdf5: "));
  const Output kind = run("solve small_lcp.dat --solver nsgs");
  EXPECT_EQ(kind.code, 2);
  EXPECT_TRUE(says(kind.err, "complementarity"));
  EXPECT_EQ(run("solve chain.hdf5 --solver ldlt").code, 0);
}

TEST_F(Command, SolvesWithAllSolversOfTheProblemsKind) {
  const Output o = run("solve slide.hdf5 small_lcp.dat --solver all --tol 1e-6");
  EXPECT_NE(o.code, 2) << o.err;
  for (const char* name : {"nsgs", "apgd", "prox", "lemke"}) EXPECT_TRUE(says(o.out, name));
}

TEST_F(Command, InterruptEndsInOrderWithCode130) {
  write_problem(path("pack.hdf5"), sphere_packing({.contacts = 1000}));
  const Output o =
      run("solve slide.hdf5 pack.hdf5 --solver jacobi --tol 1e-15 --max-iterations 2000000000 "
          "--time-limit 60 --history h.csv",
          "timeout --signal=INT --preserve-status 2");
  EXPECT_EQ(o.code, 130);
  EXPECT_TRUE(says(o.err, "interrupted"));
  EXPECT_TRUE(fs::exists(path("h.csv")));
}

// timeout(1) sends its signal to the process and to its group.
TEST_F(Command, ASignalSentTwiceIsOneRequest) {
  write_problem(path("pack.hdf5"), sphere_packing({.contacts = 1000}));
  const std::string endless =
      "solve pack.hdf5 --solver jacobi --tol 1e-15 --max-iterations 2000000000 --time-limit 60";
  const Output twice = run(endless,
                           "sh -c '\"$@\" & sleep 1; kill -TERM $!; sleep 0.02; "
                           "kill -TERM $!; wait $!' sh");
  EXPECT_EQ(twice.code, 143);
  EXPECT_TRUE(says(twice.err, "interrupted"));
}

TEST_F(Command, ListsSolvers) {
  const Output o = run("solve --list-solvers");
  EXPECT_EQ(o.code, 0);
  for (const char* name : {"auto", "nsgs", "ldlt", "lemke", "redundant", "threads"}) {
    EXPECT_TRUE(says(o.out, name));
  }
}

TEST_F(Command, JsonHoldsTheWholeCertificate) {
  const Output o =
      run("solve stack.hdf5 small_lcp.dat --json --friction convex --tol 1e-7 --history h.csv");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("tolerance"), 1e-7);
  ASSERT_EQ(json.at("results").size(), 2u);
  const auto& step = json.at("results")[0];
  EXPECT_EQ(step.at("kind"), "step");
  EXPECT_EQ(step.at("contacts"), 8);
  EXPECT_EQ(step.at("dofs"), 12);
  EXPECT_EQ(step.at("certified"), true);
  const auto& certificate = step.at("certificate");
  EXPECT_EQ(certificate.at("friction"), "convex");
  EXPECT_LE(certificate.at("residual").get<double>(), 1e-7);
  for (const char* field : {"momentum", "natural_map", "natural_map_absolute", "natural_map_scaled",
                            "penetration", "cone_violation", "dissipation", "complementarity",
                            "worst_block", "objective", "duality_gap"}) {
    EXPECT_TRUE(certificate.contains(field)) << field;
  }
  for (const char* phase : {"setup", "solve", "certify", "total"}) {
    EXPECT_TRUE(step.at("seconds").contains(phase)) << phase;
  }
  EXPECT_FALSE(step.at("history").empty());
  EXPECT_EQ(json.at("results")[1].at("kind"), "complementarity");
}

// Recipe 001 checklist 70, 71, 73: every iteration, counters, timers.
TEST_F(Command, VerboseShowsEveryIterationOfTheInteriorPoint) {
  const Output o = run("solve stack.hdf5 --solver ipm --friction convex --verbose");
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* text :
       {"stack.hdf5, ipm: converged", "dual", "joints", "primal", "mu pred.", "sigma", "step λ",
        "eta", "linear", "refined", "path", "linear systems: factorised dense ", "analysed 1,",
        "strengthened 0, missed 0", "time: set-up ", "; of the solve: analysis ",
        "substitution "}) {
    EXPECT_TRUE(says(o.out, text));
  }
  const Output json = run("solve stack.hdf5 --solver ipm --friction convex --verbose --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto result = nlohmann::json::parse(json.out).at("results")[0];
  const int iterations = result.at("iterations");
  const auto& log = result.at("interior_point");
  ASSERT_GT(log.size(), 2u);
  EXPECT_LE(log.size(), static_cast<std::size_t>(iterations));
  for (std::size_t k = 0; k < log.size(); ++k) {
    // A line of the table for each record, and the numbers fit together.
    EXPECT_TRUE(says(o.out, "\n" + std::string(9 - std::to_string(k + 1).size(), ' ') +
                                std::to_string(k + 1) + "  "));
    EXPECT_EQ(log[k].at("iteration"), k + 1);
    EXPECT_EQ(log[k].at("path"), "dense");
    EXPECT_LT(log[k].at("linear_residual").get<double>(), 1e-6);
    EXPECT_LE(log[k].at("primal_step").get<double>(), 1);
  }
  EXPECT_LT(log.back().at("mu").get<double>(), log.front().at("mu").get<double>());
  const auto& linear = result.at("linear");
  EXPECT_EQ(linear.at("factorizations").at("dense").get<int>(),
            static_cast<int>(log.size()) + 1);  // and the start
  EXPECT_GE(linear.at("solves").get<int>(), 2 * static_cast<int>(log.size()));
  EXPECT_EQ(linear.at("analyses"), 1);
  EXPECT_EQ(linear.at("missed"), 0);
  const double inside = linear.at("seconds").at("analysis").get<double>() +
                        linear.at("seconds").at("factorization").get<double>() +
                        linear.at("seconds").at("substitution").get<double>();
  EXPECT_GT(inside, 0);
  EXPECT_LE(inside, result.at("seconds").at("solve").get<double>());
  EXPECT_FALSE(result.at("history").empty());
}

TEST_F(Command, VerboseShowsTheResidualsOfOtherSolvers) {
  const Output o = run("solve stack.hdf5 --solver nsgs,prox --verbose --tol 1e-6");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(says(o.out, "stack.hdf5, nsgs: converged"));
  EXPECT_TRUE(says(o.out, "stack.hdf5, prox: converged"));
  EXPECT_TRUE(says(o.out, "iteration      time  residual"));
  EXPECT_EQ(o.out.find("linear systems"), std::string::npos);
  EXPECT_EQ(run("solve stack.hdf5 --solver nsgs").out.find("time: set-up"), std::string::npos);
}

// Recipe 001 checklist 72. The script's own numbers are checked with our solution: A z = b, and −h
// ≤ slack in its cones with G.
TEST_F(Command, ProblemsAreExportedForCvxopt) {
  ASSERT_EQ(run("generate joint-contact-mix --bodies 2 -o mix.hdf5 -q").code, 0);
  const Output o =
      run("solve mix.hdf5 small_lcp.dat --friction convex --cvxopt scripts -o results");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(fs::exists(path("scripts/small_lcp.py")));
  ASSERT_TRUE(fs::exists(path("scripts/mix.py")));
  ASSERT_TRUE(fs::exists(path("results/mix.csv")));
  if (samples::shell("/usr/bin/python3 -c '' >/dev/null 2>&1") != 0) GTEST_SKIP() << "no Python";
  // A stand-in for CVXOPT that keeps triplets and vectors.
  fs::create_directories(path("scripts/cvxopt"));
  std::ofstream(path("scripts/cvxopt/__init__.py")) << R"(
class solvers: pass
def matrix(values, size, code): return list(values)
def spmatrix(values, rows, columns, size, code): return list(zip(values, rows, columns)), size
)";
  std::ofstream(path("scripts/check.py")) << R"(
import csv, math
from mix import P, q, A, b, G, h, dims
read = lambda name: [float(r['value']) for r in csv.DictReader(open('../results/mix.csv')) if r['vector'] == name]
x, u, r = read('v'), read('u'), read('r')
z = x + r
def times(M, y):
    out = [0.0] * M[1][0]
    for value, row, column in M[0]: out[row] += value * y[column]
    return out
def transposed(M): return [(v, c, r) for v, r, c in M[0]], (M[1][1], M[1][0])
assert max(abs(l - t) for l, t in zip(times(A, z), b)) < 1e-9, 'equations'
s = [t - l for l, t in zip(times(G, z), h)]
tiny = 1e-9
assert min(s[:dims['l']]) > -tiny, 'bounds'
at = dims['l']
for size in dims['q']:
    assert math.hypot(*s[at + 1:at + size]) <= s[at] + tiny, 'cone'
    at += size
assert at == len(s) == len(h)
# The multiplier of the equations is -x, so Pz + q - A'x is what the cones' multipliers balance: u on the rows, nothing on the velocities.
g = [p + c - t for p, c, t in zip(times(P, z), q, times(transposed(A), x))]
assert max(abs(t) for t in g[:len(x)]) < 1e-9, 'velocities'
assert max(abs(t - w) for t, w in zip(g[len(x):], u)) < 1e-9, 'rows'
print('agreed')
)";
  const std::string line =
      "cd '" + path("scripts").string() + "' && /usr/bin/python3 check.py >../.out 2>../.err";
  EXPECT_EQ(samples::shell(line), 0) << contents(path(".err"));
  EXPECT_TRUE(says(contents(path(".out")), "agreed"));
}

TEST_F(Command, HistoryHasARowForEachMeasurement) {
  const Output o = run("solve stack.hdf5 --solver nsgs,apgd --tol 1e-6 --history h.csv");
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  std::istringstream csv(contents(path("h.csv")));
  std::string line;
  ASSERT_TRUE(std::getline(csv, line));
  EXPECT_EQ(line, "problem,solver,iteration,seconds,residual");
  int nsgs = 0, apgd = 0;
  while (std::getline(csv, line)) {
    nsgs += line.rfind("stack.hdf5,nsgs,", 0) == 0 ? 1 : 0;
    apgd += line.rfind("stack.hdf5,apgd,", 0) == 0 ? 1 : 0;
  }
  EXPECT_GT(nsgs, 0);
  EXPECT_GT(apgd, 0);
}

TEST_F(Command, SolutionsAreWrittenAndReadBackAsWarmStarts) {
  const Output o = run("solve stack.hdf5 small_lcp.dat -o results");
  ASSERT_EQ(o.code, 0) << o.err;
  const ProblemFile file = read_problem(path("results/stack.hdf5"));
  ASSERT_TRUE(file.guess.has_value());
  const auto& p = std::get<StepProblem>(file.problem);
  EXPECT_LE(certify(p, file.guess->x, file.guess->lambda, Friction::exact).residual(), 1e-7);
  EXPECT_TRUE(says(contents(path("results/small_lcp.csv")), "z,0,1.33333"));

  const Output warm = run("solve results/stack.hdf5 --warm-start --solver nsgs --json --tol 1e-7");
  ASSERT_EQ(warm.code, 0) << warm.err;
  EXPECT_LE(nlohmann::json::parse(warm.out).at("results")[0].at("iterations").get<int>(), 1);
  EXPECT_TRUE(says(run("solve stack.hdf5 --warm-start").err, "no stored guess"));

  ASSERT_EQ(run("solve stack.hdf5 --solver nsgs,prox -o several").code, 0);
  EXPECT_TRUE(fs::exists(path("several/stack-nsgs.hdf5")));
  EXPECT_TRUE(fs::exists(path("several/stack-prox.hdf5")));
}

TEST_F(Command, WhatFclibCannotHoldIsWrittenAsCsvAndSaid) {
  ASSERT_EQ(run("generate joint-contact-mix --bodies 2 -o mix.hdf5").code, 0);
  const Output o = run("solve mix.hdf5 -o results");
  EXPECT_EQ(o.code, 0) << o.out;
  EXPECT_TRUE(says(o.err, "written as CSV"));
  EXPECT_TRUE(says(contents(path("results/mix.csv")), "r,0,"));
}

TEST_F(Command, GeneratesEveryKind) {
  for (const char* kind :
       {"sphere-packing --contacts 20", "box-stack", "box-wall --width 2 --height 2", "chain",
        "sliding-mass", "joint-contact-mix", "stiff-lattice --nx 2", "random-local --contacts 3",
        "infeasible-gap"}) {
    const Output o = run(std::string("generate ") + kind + " -o made.hdf5");
    EXPECT_EQ(o.code, 0) << kind << o.err;
    EXPECT_TRUE(says(o.out, "contacts"));
    EXPECT_NO_THROW(read_problem(path("made.hdf5"))) << kind;
  }
  ASSERT_EQ(run("generate sliding-mass --format fclib -o f.hdf5 -q").code, 0);
  EXPECT_EQ(read_problem(path("f.hdf5")).format, FileFormat::fclib);
  ASSERT_EQ(run("generate random-local --contacts 2 --format text -o f.dat -q").code, 0);
  EXPECT_EQ(read_problem(path("f.dat")).format, FileFormat::friction_text);
  EXPECT_EQ(run("generate joint-contact-mix --format fclib -o g.hdf5").code, 2);
  EXPECT_FALSE(fs::exists(path("g.hdf5")));
}

}  // namespace
}  // namespace urto
