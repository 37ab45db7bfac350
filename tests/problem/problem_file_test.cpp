// Problem files: what is written is what is read, FCLIB's own library agrees, and bad files are
// named for what they are.
#include "urto/problem/problem_file.h"

#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "problem_samples.h"
#include "support/paths.h"
#include "urto/error.h"
extern "C" {
#include <fclib.h>
}

namespace urto {
namespace {

using namespace samples;

class ProblemFileTest : public testing::Test {
 protected:
  Directory directory_{"urto-problem-file-test"};

  StepProblem read_step(const std::string& file, FileFormat expected) {
    const ProblemFile result = read_problem(directory_ / file);
    EXPECT_EQ(result.format, expected) << to_string(result.format);
    return std::get<StepProblem>(result.problem);
  }
  ComplementarityProblem read_complementarity(const std::string& file, FileFormat expected) {
    const ProblemFile result = read_problem(directory_ / file);
    EXPECT_EQ(result.format, expected) << to_string(result.format);
    return std::get<ComplementarityProblem>(result.problem);
  }
};

const SetProduct cones = product({ConvexSet::cone(0.3), ConvexSet::cone(0.5), ConvexSet::cone(0)});
const SetProduct cones_2d = product({ConvexSet::cone(0.3, 2), ConvexSet::cone(0.5, 2)});
const SetProduct rolling =
    product({ConvexSet::rolling_cone(0.3, 0.01), ConvexSet::rolling_cone(0.7, 0.02)});

TEST_F(ProblemFileTest, OwnFormatIsLosslessForEverySetAndMatrix) {
  Random random(1);
  int number = 0;
  for (const SetKind kind :
       {SetKind::free, SetKind::nonnegative, SetKind::cone, SetKind::rolling_cone, SetKind::box}) {
    SetProduct K;
    for (int i = 0; i < 5; ++i) K.push_back(random_set(random, kind));
    K.push_back(random_set(random, SetKind::free));
    StepProblem compliant = global(random, K, 4);
    compliant.E = band(random, K.rows());
    for (const StepProblem& p :
         {local(random, K), global(random, K, 4), global(random, K, 4, false), compliant}) {
      const std::string file = std::to_string(number++) + ".h5";
      write_problem(directory_ / file, p);
      EXPECT_TRUE(same(read_step(file, FileFormat::urto), p)) << file;
    }
  }
  StepProblem no_contact = global(random, SetProduct{}, 2);
  write_problem(directory_ / "free.h5", no_contact);
  EXPECT_TRUE(same(read_step("free.h5", FileFormat::urto), no_contact));
}

TEST_F(ProblemFileTest, OwnFormatKeepsAComplementarityProblem) {
  Random random(2);
  ComplementarityProblem p = complementarity(random, 7, -infinity, infinity);
  p.lo[2] = 0;
  p.lo[3] = -1;
  p.hi[3] = 1e-300;
  p.M.coeffs() *= 1.0 / 3;
  write_problem(directory_ / "mcp.h5", p);
  EXPECT_TRUE(same(read_complementarity("mcp.h5", FileFormat::urto), p));
}

TEST_F(ProblemFileTest, FclibIsLosslessForCones) {
  Random random(3);
  for (const SetProduct& K : {cones, cones_2d}) {
    for (const StepProblem& p :
         {local(random, K), global(random, K, 3), global(random, K, 3, false)}) {
      write_fclib(directory_ / "p.hdf5", p);
      EXPECT_TRUE(same(read_step("p.hdf5", FileFormat::fclib), p));
    }
  }
  const StepProblem p = global(random, rolling, 3);
  write_fclib(directory_ / "p.hdf5", p);
  EXPECT_TRUE(same(read_step("p.hdf5", FileFormat::fclib), p));
}

TEST_F(ProblemFileTest, FclibPutsEqualitiesLastAndKeepsTheSolution) {
  Random random(4);
  const SetProduct K = product({ConvexSet::free(2), ConvexSet::cone(0.3), ConvexSet::cone(0.4)});
  const SetProduct reordered =
      product({ConvexSet::cone(0.3), ConvexSet::cone(0.4), ConvexSet::free(2)});
  const std::vector<int> order = {2, 3, 4, 5, 6, 7, 0, 1};
  const StepProblem problems[] = {local(random, K), global(random, K, 3)};
  for (const StepProblem& p : problems) {
    StoredSolution solution{random.vector(p.dofs()), random.vector(8), random.vector(8)};
    solution.u.head(2).setZero();
    write_fclib(directory_ / "p.hdf5", p, &solution, "a title");
    const ProblemFile file = read_problem(directory_ / "p.hdf5");
    const auto& q = std::get<StepProblem>(file.problem);
    EXPECT_EQ(q.K, reordered);
    EXPECT_EQ(q.b, Vector(p.b(order)));
    EXPECT_EQ(Matrix(q.E), Matrix(Matrix(p.E)(order, order)));
    EXPECT_EQ(Matrix(to_sparse(q.J)), Matrix(Matrix(to_sparse(p.J))(order, Eigen::all)));
    ASSERT_TRUE(file.guess);
    EXPECT_EQ(file.guess->x, solution.x);
    EXPECT_EQ(file.guess->u, Vector(solution.u(order)));
    EXPECT_EQ(file.guess->lambda, Vector(solution.lambda(order)));
  }
}

// FCLIB's library, both ways.

SparseMatrix from_fclib(const fclib_matrix& A) {
  EXPECT_EQ(A.nz, -1);
  return Eigen::Map<const SparseMatrix>(A.m, A.n, A.p[A.n], A.p, A.i, A.x);
}

TEST_F(ProblemFileTest, FclibReadsWhatWeWrite) {
  Random random(5);
  const SetProduct K = product({ConvexSet::cone(0.3), ConvexSet::cone(0.4), ConvexSet::free(2)});
  const StepProblem p = local(random, K);
  const std::string file = directory_ / "local.hdf5";
  const StoredSolution solution{Vector(), random.vector(8), random.vector(8)};
  write_fclib(file, p, &solution, "two contacts");
  fclib_local* read = fclib_read_local(file.c_str());
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->spacedim, 3);
  EXPECT_STREQ(read->info->title, "two contacts");
  EXPECT_EQ(Matrix(from_fclib(*read->W)), Matrix(p.E).topLeftCorner(6, 6));
  EXPECT_EQ(Matrix(from_fclib(*read->V)), Matrix(p.E).topRightCorner(6, 2));
  EXPECT_EQ(Matrix(from_fclib(*read->R)), Matrix(p.E).bottomRightCorner(2, 2));
  EXPECT_EQ(Vector(Eigen::Map<Vector>(read->q, 6)), p.b.head(6));
  EXPECT_EQ(Vector(Eigen::Map<Vector>(read->s, 2)), p.b.tail(2));
  EXPECT_EQ(read->mu[1], 0.4);
  fclib_solution* stored = fclib_read_solution(file.c_str());
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(Vector(Eigen::Map<Vector>(stored->r, 6)), solution.lambda.head(6));
  EXPECT_EQ(Vector(Eigen::Map<Vector>(stored->l, 2)), solution.lambda.tail(2));
  fclib_delete_solutions(stored, 1);
  fclib_delete_local(read);
  std::free(read);  // the library frees what is in it

  const StepProblem g = global(random, K, 3);
  const std::string global_file = directory_ / "global.hdf5";
  write_fclib(global_file, g);
  fclib_global* read_g = fclib_read_global(global_file.c_str());
  ASSERT_NE(read_g, nullptr);
  const Matrix Jt = Matrix(to_sparse(g.J)).transpose();
  EXPECT_EQ(Matrix(from_fclib(*read_g->M)), Matrix(to_sparse(std::get<BlockMatrix>(g.H))));
  EXPECT_EQ(Matrix(from_fclib(*read_g->H)), Jt.leftCols(6));
  EXPECT_EQ(Matrix(from_fclib(*read_g->G)), Jt.rightCols(2));
  EXPECT_EQ(Vector(Eigen::Map<Vector>(read_g->f, 18)), g.a);
  EXPECT_EQ(Vector(Eigen::Map<Vector>(read_g->w, 6)), g.b.head(6));
  EXPECT_EQ(Vector(Eigen::Map<Vector>(read_g->b, 2)), g.b.tail(2));
  fclib_delete_global(read_g);
  std::free(read_g);
}

/// The arrays of a matrix in one of FCLIB's three storages.
struct FclibMatrix {
  std::vector<int> p, i;
  std::vector<double> x;
  fclib_matrix matrix{};

  FclibMatrix(const SparseMatrix& A, int nz) {
    const int rows = static_cast<int>(A.rows());
    const int columns = static_cast<int>(A.cols());
    const auto visit = [&](const auto& B) {
      p = {0};
      for (int k = 0; k < B.outerSize(); ++k) {
        for (typename std::decay_t<decltype(B)>::InnerIterator it(B, k); it; ++it) {
          i.push_back(static_cast<int>(it.index()));
          x.push_back(it.value());
        }
        p.push_back(static_cast<int>(x.size()));
      }
    };
    if (nz == -2) {
      visit(Eigen::SparseMatrix<double, Eigen::RowMajor>(A));
    } else {
      visit(A);
    }
    const int entries = static_cast<int>(x.size());
    if (nz >= 0) {  // as CSparse has it: p are the columns
      std::vector<int> column;
      for (int c = 0; c < columns; ++c) column.insert(column.end(), p[c + 1] - p[c], c);
      p = column;
    }
    matrix = {.nzmax = entries,
              .m = rows,
              .n = columns,
              .p = p.data(),
              .i = i.data(),
              .x = x.data(),
              .nz = nz >= 0 ? entries : nz,
              .info = nullptr};
  }
};

TEST_F(ProblemFileTest, WeReadWhatFclibWritesInEveryStorage) {
  Random random(6);
  const SetProduct K = product({ConvexSet::cone(0.3), ConvexSet::cone(0.4), ConvexSet::free(2)});
  StepProblem l = local(random, K);
  StepProblem g = global(random, K, 3);
  const Matrix E(l.E);
  const SparseMatrix Jt = to_sparse(g.J).transpose();
  std::vector<double> mu = {0.3, 0.4};
  Vector q = l.b.head(6), s = l.b.tail(2), w = g.b.head(6), b = g.b.tail(2);
  for (const int nz : {-1, -2, 0}) {
    FclibMatrix W(E.topLeftCorner(6, 6).sparseView(), nz),
        V(E.topRightCorner(6, 2).sparseView(), nz), R(E.bottomRightCorner(2, 2).sparseView(), nz);
    fclib_local theirs{.W = &W.matrix,
                       .V = &V.matrix,
                       .R = &R.matrix,
                       .mu = mu.data(),
                       .q = q.data(),
                       .s = s.data(),
                       .spacedim = 3,
                       .info = nullptr};
    const std::string file = directory_ / ("local" + std::to_string(nz) + ".hdf5");
    ASSERT_EQ(fclib_write_local(&theirs, file.c_str()), 1);
    Vector u = random.vector(6), r = random.vector(6), lambda = random.vector(2);
    fclib_solution guess{.v = nullptr, .u = u.data(), .r = r.data(), .l = lambda.data()};
    ASSERT_EQ(fclib_write_guesses(1, &guess, file.c_str()), 1);
    const ProblemFile ours = read_problem(file);
    EXPECT_TRUE(same(std::get<StepProblem>(ours.problem), l)) << nz;
    ASSERT_TRUE(ours.guess);
    EXPECT_EQ(ours.guess->u.head(6), u);
    EXPECT_EQ(ours.guess->lambda.head(6), r);
    EXPECT_EQ(ours.guess->lambda.tail(2), lambda);

    FclibMatrix M(to_sparse(std::get<BlockMatrix>(g.H)), nz), H(Jt.leftCols(6), nz),
        G(Jt.rightCols(2), nz);
    fclib_global global_theirs{.M = &M.matrix,
                               .H = &H.matrix,
                               .G = &G.matrix,
                               .mu = mu.data(),
                               .f = g.a.data(),
                               .b = b.data(),
                               .w = w.data(),
                               .spacedim = 3,
                               .info = nullptr};
    const std::string global_file = directory_ / ("global" + std::to_string(nz) + ".hdf5");
    ASSERT_EQ(fclib_write_global(&global_theirs, global_file.c_str()), 1);
    const ProblemFile read = read_problem(global_file);
    EXPECT_TRUE(same(std::get<StepProblem>(read.problem), g)) << nz;
    EXPECT_FALSE(read.guess);
  }
}

TEST_F(ProblemFileTest, GuessesThatAreNoneAreLeftOut) {
  Random random(7);
  const StepProblem p = local(random, cones);
  const StoredSolution solution{Vector(), random.vector(9), random.vector(9)};
  const std::filesystem::path file = directory_ / "p.hdf5";
  write_fclib(file, p, &solution);
  EXPECT_TRUE(read_problem(file).guess);
  replace_dataset(file, "/solution/r", H5T_NATIVE_DOUBLE, {9}, nullptr);  // as Siconos leaves it
  EXPECT_FALSE(read_problem(file).guess);
  replace_numbers(file, "/solution/r", {1, 2, 3, 4, NAN, 6, 7, 8, 9});
  EXPECT_FALSE(read_problem(file).guess);
}

TEST_F(ProblemFileTest, FclibRefusesWhatItCannotHold) {
  Random random(8);
  const auto refused = [&](const StepProblem& p, const std::string& why) {
    try {
      write_fclib(directory_ / "no.hdf5", p);
      ADD_FAILURE() << "written: " << why;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  };
  refused(local(random, product({ConvexSet::box(-1, 1)})), "set 0: found a box");
  refused(local(random, product({ConvexSet::cone(1), ConvexSet::nonnegative()})),
          "set 1: found a unilateral row without friction");
  refused(local(random, product({ConvexSet::cone(1), ConvexSet::cone(1, 2)})),
          "a cone of dimension 2 after one of dimension 3");
  refused(local(random, rolling), "rolling cones in a local problem");
  refused(global(random, product({ConvexSet::rolling_cone(0.3, 0.01, 0.02)}), 2),
          "set 0: found a rolling cone of dimension 6, with spinning friction");
  refused(global(random, product({ConvexSet::spinning_cone(0.3, 0.02)}), 2),
          "set 0: found a rolling cone of dimension 4, with spinning friction");
  StepProblem compliant = global(random, cones, 2);
  compliant.E = band(random, 9);
  refused(compliant, "compliance");
}

TEST_F(ProblemFileTest, TextIsLosslessForCones) {
  Random random(9);
  SetProduct many;
  for (int i = 0; i < 40; ++i) many.push_back(ConvexSet::cone(0.1 * i));
  for (const SetProduct& K : {cones, cones_2d, rolling}) {
    const bool rolls = K.sets[0].kind == SetKind::rolling_cone;
    const StepProblem p = local(random, K);
    write_text(directory_ / "p.dat", p);
    EXPECT_TRUE(
        same(read_step("p.dat", rolls ? FileFormat::rolling_text : FileFormat::friction_text), p));
    for (const bool blocks : {true, false}) {
      const StepProblem g = global(random, K, 3, blocks);
      write_text(directory_ / "p.dat", g);
      EXPECT_TRUE(same(read_step("p.dat", FileFormat::global_text), g));
    }
  }
  const StepProblem full = local(random, many);  // storage 1
  write_text(directory_ / "p.dat", full);
  EXPECT_TRUE(same(read_step("p.dat", FileFormat::friction_text), full));
  const StepProblem g = global(random, many, 50);  // storage 2
  write_text(directory_ / "p.dat", g);
  EXPECT_TRUE(same(read_step("p.dat", FileFormat::global_text), g));
  EXPECT_THROW(write_text(directory_ / "no.dat", local(random, product({ConvexSet::free(1)}))),
               InputError);
}

TEST_F(ProblemFileTest, BlocksOfTextMayHaveHoles) {
  Random random(10);
  SetProduct many;
  for (int i = 0; i < 20; ++i) many.push_back(ConvexSet::cone(0.5, 2));
  SparseMatrix W = band(random, 40);
  const StepProblem p = local_problem(W, random.vector(40), many);
  write_text(directory_ / "p.dat", p);
  EXPECT_EQ(Matrix(read_step("p.dat", FileFormat::friction_text).E), Matrix(W));
}

TEST_F(ProblemFileTest, TextIsLosslessForComplementarity) {
  Random random(11);
  ComplementarityProblem mixed = complementarity(random, 6, 0, infinity);
  mixed.lo[0] = mixed.lo[3] = mixed.lo[4] = -infinity;
  ComplementarityProblem sparse = complementarity(random, 60, -1, 2);
  sparse.M = band(random, 60);
  sparse.hi[7] = infinity;
  const std::pair<ComplementarityProblem, FileFormat> cases[] = {
      {complementarity(random, 5, 0, infinity), FileFormat::lcp_text},
      {complementarity(random, 1, 0, infinity), FileFormat::lcp_text},
      {mixed, FileFormat::mlcp_text},
      {complementarity(random, 5, -1, 1), FileFormat::relay_text},
      {sparse, FileFormat::relay_text},
  };
  for (const auto& [p, format] : cases) {
    write_text(directory_ / "p.dat", p);
    EXPECT_TRUE(same(read_complementarity("p.dat", format), p)) << to_string(format);
  }
}

TEST_F(ProblemFileTest, SmallTextsByHand) {
  // Column-major: M = [1 3; 2 4].
  write_bytes(directory_ / "lcp.dat", "2\n0\n2\n2\n2 2\n1 2\n3 4\n-1 +.5e1\n\nRemark 4.1\n");
  const ComplementarityProblem lcp = read_complementarity("lcp.dat", FileFormat::lcp_text);
  EXPECT_EQ(Matrix(lcp.M), (Matrix(2, 2) << 1, 3, 2, 4).finished());
  EXPECT_EQ(lcp.q, Vector({{-1, 5}}));
  EXPECT_EQ(lcp.hi, Vector({{infinity, infinity}}));
  // Only A, B, C, D, a, b, which are written by rows: M = [A C; D B].
  write_bytes(directory_ / "mlcp.dat", "0 1 1 2\n10\n1 2 3 4\n5 6\n7\n8\n-1\n-2 -3\n0.5 0.5");
  const ComplementarityProblem mlcp = read_complementarity("mlcp.dat", FileFormat::mlcp_text);
  EXPECT_EQ(Matrix(mlcp.M), (Matrix(3, 3) << 10, 5, 6, 7, 1, 2, 8, 3, 4).finished());
  EXPECT_EQ(mlcp.q, Vector({{-1, -2, -3}}));
  EXPECT_EQ(mlcp.lo, Vector({{-infinity, 0, 0}}));
  // Compressed columns of CSparse, an empty column, and the flag that some files end with.
  write_bytes(
      directory_ / "f.dat",
      "2 1 2 2 2 2\nCSparse Version 3.1.9\n2-by-2, nzmax: 1 nnz: 1, 1-norm: 3\n"
      "    col 0 : locations 0 to 0\n      0 : 3\n    col 1 : locations 1 to 0\n-1 0\n0.5\n1\n");
  const StepProblem friction = read_step("f.dat", FileFormat::friction_text);
  EXPECT_EQ(Matrix(friction.E), (Matrix(2, 2) << 3, 0, 0, 0).finished());
}

// As Siconos' secondOrderConeLinearComplementarityProblem_printInFile writes it: n, cones, M, q,
// the first row of each cone and n, the coefficients.
TEST_F(ProblemFileTest, SecondOrderConesOfSiconosAreReadAsConvexFriction) {
  std::string text = "7\n3\n0\n7\n7\n7\t7\n";
  for (int k = 0; k < 49; ++k) text += k % 8 == 0 ? "2 " : "0 ";
  text += "\n-1 2 0 3 -4 1 1\n0 3 4 7\n0.5 9 0.7\n";
  write_bytes(directory_ / "cones.dat", text);
  const ProblemFile file = read_problem(directory_ / "cones.dat");
  EXPECT_EQ(file.format, FileFormat::soclcp_text);
  EXPECT_EQ(file.friction, Friction::convex);
  const auto& p = std::get<StepProblem>(file.problem);
  EXPECT_EQ(Matrix(p.E), Matrix(2 * Matrix::Identity(7, 7)));
  EXPECT_EQ(p.b, Vector({{-1, 2, 0, 3, -4, 1, 1}}));
  ASSERT_EQ(p.blocks(), 3);
  EXPECT_EQ(p.K.sets[0], ConvexSet::cone(0.5));
  EXPECT_EQ(p.K.sets[1], ConvexSet::nonnegative()) << "a cone of one component has no other";
  EXPECT_EQ(p.K.sets[2], ConvexSet::cone(0.7, 3));
  const auto message = [&](const std::string& rest) {
    write_bytes(directory_ / "bad.dat", text.substr(0, text.find("0 3 4 7")) + rest);
    try {
      read_problem(directory_ / "bad.dat", FileFormat::soclcp_text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("0 3 3 7 1 1 1").find("the first row of the next cone"), std::string::npos);
  EXPECT_NE(message("0 3 4 6 1 1 1").find("the number of rows behind the cones"),
            std::string::npos);
  EXPECT_NE(message("1 3 4 7 1 1 1").find("the first row of the first cone"), std::string::npos);
  EXPECT_NE(message("0 3 4 7 1 1").find("a cone's coefficient"), std::string::npos);
  EXPECT_NE(message("0 3 4 7 1 1 1 2").find("more words after"), std::string::npos);
  EXPECT_NE(message("0 3 4 7 1 1 -1"), "");
}

TEST_F(ProblemFileTest, FormatsHaveNames) {
  for (const char* name : {"auto", "urto", "fclib", "friction", "rolling", "global", "lcp", "mlcp",
                           "relay", "soclcp"}) {
    EXPECT_EQ(to_string(parse_file_format(name)), name);
  }
  EXPECT_THROW(parse_file_format("hdf5"), InputError);
}

TEST_F(ProblemFileTest, NothingIsLeftWhenWritingFails) {
  Random random(12);
  const StepProblem p = local(random, cones);
  for (const std::function<void(const std::filesystem::path&)>& write :
       {std::function<void(const std::filesystem::path&)>(
            [&](const auto& file) { write_problem(file, p); }),
        {[&](const auto& file) { write_fclib(file, p); }},
        {[&](const auto& file) { write_text(file, p); }}}) {
    EXPECT_THROW(write(directory_.path()), InputError);
    EXPECT_THROW(write(directory_ / "missing/p"), InputError);
  }
  StepProblem bad = p;
  bad.b[0] = NAN;
  write_bytes(directory_ / "p.h5", "old");
  EXPECT_THROW(write_problem(directory_ / "p.h5", bad), InputError);
  EXPECT_EQ(read_bytes(directory_ / "p.h5"), "old");
  write_problem(directory_ / "p.h5", p);
  EXPECT_TRUE(same(read_step("p.h5", FileFormat::urto), p));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST(SharedProblems, AllAreRead) {
  std::filesystem::path folder = samples::problems_dir();
  if (const char* given = std::getenv("URTO_PROBLEMS")) folder = given;
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no problems of other codes in " << folder << " (set URTO_PROBLEMS)";
  }
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".dat" && extension != ".hdf5") continue;
    ++count;
    EXPECT_NO_THROW({
      const ProblemFile file = read_problem(entry.path());
      const std::string kind = entry.path().parent_path().filename();
      const auto expect = [&](FileFormat format) {
        EXPECT_EQ(file.format, format) << entry.path() << " read as " << to_string(file.format);
      };
      if (kind == "lcp") expect(FileFormat::lcp_text);
      if (kind == "mlcp") expect(FileFormat::mlcp_text);
      if (kind == "relay") expect(FileFormat::relay_text);
      if (extension == ".hdf5") expect(FileFormat::fclib);
    }) << entry.path();
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace urto
