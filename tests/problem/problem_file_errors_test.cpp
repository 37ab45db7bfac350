// Every kind of bad problem file gives one InputError with the file, the place in it, what was
// found and what was expected.
#include <functional>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "problem_samples.h"
#include "urto/error.h"
#include "urto/memory_limit.h"
#include "urto/problem/problem_file.h"

namespace urto {
namespace {

using namespace samples;

class BadProblemFileTest : public testing::Test {
 protected:
  Directory directory_{"urto-bad-problem-file-test"};
  const std::filesystem::path file_ = directory_ / "p";

  void TearDown() override { EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0); }

  /// Reading fails, and the message is the file's name, `place`, what was found and what was
  /// expected.
  void expect_error(const std::string& place, const std::string& found, const std::string& expected,
                    FileFormat format = FileFormat::automatic) {
    expect_error_of(file_, place, found, expected, format);
  }
  void expect_error_of(const std::filesystem::path& file, const std::string& place,
                       const std::string& found, const std::string& expected,
                       FileFormat format = FileFormat::automatic) {
    SCOPED_TRACE(place + " | " + found + " | " + expected);
    try {
      read_problem(file, format);
      ADD_FAILURE() << "read without error";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(file.string() + ": ")) << message;
      EXPECT_NE(message.find(place), std::string::npos) << message;
      const std::size_t at = message.find("found " + found);
      EXPECT_NE(at, std::string::npos) << message;
      EXPECT_NE(message.find("expected ", at), std::string::npos) << message;
      EXPECT_NE(message.find(expected, message.find("expected ", at)), std::string::npos)
          << message;
    }
  }

  void expect_text_error(const std::string& text, FileFormat format, const std::string& place,
                         const std::string& found, const std::string& expected) {
    write_bytes(file_, text);
    expect_error(place, found, expected, format);
  }

  /// A local FCLIB file of three contacts, after `edit`.
  void expect_fclib_error(const std::function<void()>& edit, const std::string& place,
                          const std::string& found, const std::string& expected) {
    Random random(1);
    const SetProduct K =
        product({ConvexSet::cone(0.3), ConvexSet::cone(0.5), ConvexSet::cone(0.7)});
    const StoredSolution solution{Vector(), random.vector(9), random.vector(9)};
    write_fclib(file_, local(random, K), &solution);
    edit();
    expect_error(place, found, expected);
  }

  void expect_urto_error(const std::function<void()>& edit, const std::string& place,
                         const std::string& found, const std::string& expected,
                         bool blocks = true) {
    Random random(2);
    StepProblem p = global(random, product({ConvexSet::cone(0.3), ConvexSet::box(-1, 1)}),
                           blocks ? 2 : 3, blocks);
    p.E = band(random, 4);
    write_problem(file_, p);
    edit();
    expect_error(place, found, expected);
  }
};

TEST_F(BadProblemFileTest, NoFileAtAll) {
  expect_error_of(directory_ / "missing", "", "no such file", "a problem file");
  expect_error_of(directory_.path(), "", "a directory", "a problem file");
  write_bytes(file_, "");
  expect_error("", "an empty file", "a problem file");
  write_bytes(file_, std::string("\0\1\2\3 \xff", 6));
  expect_error("token 1 (line 1)", "neither HDF5 nor text of a known layout", "--format");
}

TEST_F(BadProblemFileTest, TheWrongFormatIsForced) {
  write_bytes(file_, "1 0 1 1 1 1 2 3");
  expect_error("", "a file without the signature of HDF5", "fclib", FileFormat::fclib);
  expect_error("token 1 (line 1)", "'1'", "the dimension", FileFormat::friction_text);
  Random random(3);
  write_fclib(file_, local(random, product({ConvexSet::cone(0.3)})));
  expect_error("", "an HDF5 file", "lcp", FileFormat::lcp_text);
  expect_error("/urto/version", "nothing", "integers", FileFormat::urto);
}

TEST_F(BadProblemFileTest, TruncatedFiles) {
  Random random(4);
  const StepProblem p = local(random, product({ConvexSet::cone(0.3), ConvexSet::cone(0.5)}));
  write_fclib(file_, p);
  const std::string hdf5 = read_bytes(file_);
  write_text(file_, p);
  const std::string text = read_bytes(file_);
  write_bytes(file_, hdf5.substr(0, hdf5.size() - 100));
  expect_error("", "a file that the HDF5 library cannot open (truncated file", "complete");
  write_bytes(file_, text.substr(0, text.rfind("0.5")));
  expect_error("token 51 (line 14)",
               "neither HDF5 nor text of a known layout (the closest is friction", "--format");
  expect_error("token 51 (line 14)", "the end of the file", "mu", FileFormat::friction_text);
}

TEST_F(BadProblemFileTest, FclibWithoutAProblemOrWithTwo) {
  expect_fclib_error([&] { remove_object(file_, "/fclib_local"); }, "/", "no problem",
                     "fclib_local");
  expect_fclib_error([&] { replace_integers(file_, "/fclib_global", {1}); }, "/",
                     "both /fclib_local and /fclib_global", "one problem");
}

TEST_F(BadProblemFileTest, FclibDatasets) {
  const auto without = [&](const std::string& path) {
    return [=, this] { remove_object(file_, path); };
  };
  expect_fclib_error(without("/fclib_local/W"), "/fclib_local/W/m", "nothing", "integers");
  expect_fclib_error(without("/fclib_local/vectors/q"), "/fclib_local/vectors/q", "nothing",
                     "real numbers");
  expect_fclib_error([&] { replace_numbers(file_, "/fclib_local/W/m", {9}); }, "/fclib_local/W/m",
                     "real numbers", "integers");
  expect_fclib_error(
      [&] {
        replace_integers(file_, "/fclib_local/vectors/mu", {1, 1, 1});
      },
      "/fclib_local/vectors/mu", "integers", "real numbers");
  const std::int64_t huge = std::int64_t{1} << 40;
  expect_fclib_error(
      [&] { replace_dataset(file_, "/fclib_local/W/m", H5T_NATIVE_INT64, {1}, &huge); },
      "/fclib_local/W/m", "1099511627776 as value 0", "32-bit");
  const std::vector<double> square(9, 1.0);
  expect_fclib_error(
      [&] {
        replace_dataset(file_, "/fclib_local/vectors/q", H5T_NATIVE_DOUBLE, {3, 3}, square.data());
      },
      "/fclib_local/vectors/q", "a dataset of 2 dimensions", "a list");
  const auto declare = [&](hsize_t size) {
    return [=, this] {
      replace_dataset(file_, "/fclib_local/vectors/q", H5T_NATIVE_DOUBLE, {size}, nullptr);
    };
  };
  expect_fclib_error(declare(9), "/fclib_local/vectors/q", "9 values declared but 0 bytes stored",
                     "completely");
  expect_fclib_error(declare(hsize_t{1} << 50), "/fclib_local/vectors/q",
                     "1125899906842624 values declared but 0 bytes stored", "completely");
  expect_fclib_error(
      [&] {
        remove_object(file_, "/fclib_local/vectors/q");
        const hid_t id = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        H5Lcreate_external("/etc/other", "/q", id, "/fclib_local/vectors/q", H5P_DEFAULT,
                           H5P_DEFAULT);
        H5Fclose(id);
      },
      "/fclib_local/vectors/q", "a link to another file", "data in this file");
}

TEST_F(BadProblemFileTest, FclibSizesAndIndices) {
  const auto integers = [&](const std::string& path, const std::vector<int>& values) {
    return [=, this] { replace_integers(file_, path, values); };
  };
  const auto numbers = [&](const std::string& path, const std::vector<double>& values) {
    return [=, this] { replace_numbers(file_, path, values); };
  };
  const std::string W = "/fclib_local/W";
  expect_fclib_error(integers("/fclib_local/spacedim", {4}), "/fclib_local/spacedim", "4",
                     "2 or 3");
  expect_fclib_error(integers("/fclib_local/spacedim", {2}), "/fclib_local/vectors/mu",
                     "3 friction coefficients of contacts with 2 rows", "9 rows");
  expect_fclib_error(integers("/fclib_local/spacedim", {3, 3}), "/fclib_local/spacedim", "2 values",
                     "1");
  expect_fclib_error(numbers("/fclib_local/vectors/q", {1, 2, 3}), "/fclib_local/vectors/mu",
                     "3 friction", "3 rows as in vectors/q");
  expect_fclib_error(integers(W + "/m", {-9}), W, "a -9 × 9 matrix", "9 × 9");
  expect_fclib_error(integers(W + "/n", {2147483647}), W, "a 9 × 2147483647 matrix", "9 × 9");
  expect_fclib_error(integers(W + "/nz", {-3}), W + "/nz", "-3", "-1 (compressed columns)");
  expect_fclib_error(integers(W + "/nz", {2147483647}), W + "/p", "10 values", "2147483647");
  expect_fclib_error(integers(W + "/p", {0, 9}), W + "/p", "2 values", "10");
  expect_fclib_error(integers(W + "/p", {1, 9, 18, 27, 36, 45, 54, 63, 72, 81}), W + "/p",
                     "1 as value 0", "0");
  expect_fclib_error(integers(W + "/p", {0, 9, 18, 27, 26, 45, 54, 63, 72, 81}), W + "/p",
                     "26 after 27 at value 4", "do not decrease");
  expect_fclib_error(integers(W + "/p", {0, 9, 18, 27, 36, 45, 54, 63, 72, 1000000000}), W + "/i",
                     "81 values", "at least 1000000000");
  std::vector<int> index(81, 0);
  index[80] = 9;
  expect_fclib_error(integers(W + "/i", index), W + "/i", "index 9 as value 80", "0 to 8");
  index[80] = -1;
  expect_fclib_error(integers(W + "/i", index), W + "/i", "index -1 as value 80", "0 to 8");
  expect_fclib_error(numbers(W + "/x", {1, 2}), W + "/x", "2 values", "at least 81");
  expect_fclib_error(numbers("/solution/u", {1, 2}), "/solution/u", "2 values", "9");
}

TEST_F(BadProblemFileTest, FclibValues) {
  const auto numbers = [&](const std::string& path, const std::vector<double>& values) {
    return [=, this] { replace_numbers(file_, path, values); };
  };
  expect_fclib_error(numbers("/fclib_local/vectors/q", {0, 0, 0, 0, NAN, 0, 0, 0, 0}), "b, value 4",
                     "nan", "finite");
  expect_fclib_error(numbers("/fclib_local/vectors/mu", {0.1, -0.1, 0.1}),
                     "set 1, friction coefficient", "-0.1", "not negative");
  std::vector<double> x(81, 1.0);
  x[1] = 7;
  expect_fclib_error(numbers("/fclib_local/W/x", x), "W", "an asymmetry of 0.857", "symmetric");
  x[1] = infinity;
  expect_fclib_error(numbers("/fclib_local/W/x", x), "E, row 1, column 0", "inf", "finite");
}

// Three megabytes of zeros, packed a thousandfold, took 3 GiB.
TEST_F(BadProblemFileTest, AFewBytesThatUnfoldToGigabytes) {
  const auto unfold = [this](hsize_t values) {
    return [=, this] {
      remove_object(file_, "/fclib_local/vectors/mu");
      const hid_t id = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      const hsize_t chunk = hsize_t{1} << 21;
      H5Pset_chunk(creation, 1, &chunk);
      H5Pset_deflate(creation, 9);
      H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
      const hid_t space = H5Screate_simple(1, &values, nullptr);
      H5Dclose(H5Dcreate2(id, "/fclib_local/vectors/mu", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                          creation, H5P_DEFAULT));
      H5Sclose(space);
      H5Pclose(creation);
      H5Fclose(id);
    };
  };
  expect_fclib_error(unfold(64 << 20), "/fclib_local/vectors/mu", "67108864 values in a file of ",
                     "packed at most 100 to 1, beyond 256 MiB");
  const std::uint64_t before = memory_limit();
  set_memory_limit(std::uint64_t{64} << 20);
  expect_fclib_error(unfold(16 << 20), "/fclib_local/vectors/mu",
                     "16777216 values, which needs about 128 MiB of memory", "(--memory-limit)");
  set_memory_limit(before);
}

TEST_F(BadProblemFileTest, OwnFormat) {
  const auto integers = [&](const std::string& path, const std::vector<int>& values) {
    return [=, this] { replace_integers(file_, path, values); };
  };
  expect_urto_error(integers("/urto/version", {2}), "/urto/version", "2", "1");
  expect_urto_error(integers("/urto/kind", {2}), "/urto/kind", "something else", "text");
  expect_urto_error(integers("/urto/sets/kind", {2, 5}), "/urto/sets/kind", "5 as value 1",
                    "0 to 4");
  expect_urto_error(integers("/urto/sets/dim", {3, 0}), "/urto/sets/dim", "0 as value 1", "1 to 6");
  expect_urto_error(integers("/urto/sets/dim", {3, 2}), "/urto/b", "4 values", "5");
  expect_urto_error(integers("/urto/H/start", {0, 6, 7}), "/urto/H/start", "7 as the last value",
                    "12");
  expect_urto_error(integers("/urto/H/start", {0, 13, 12}), "/urto/H/start", "12 after 13",
                    "do not decrease");
  expect_urto_error(integers("/urto/H/start", {0, 12}), "/urto/H/values", "72 values", "144");
  expect_urto_error(integers("/urto/J/columns", {6}), "/urto/J/columns", "6", "12");
  expect_urto_error(integers("/urto/J/row_start", {0, 4, 4}), "J, row block 0, height", "4",
                    "3 as its set");
  expect_urto_error(integers("/urto/J/entry_start", {0, 2, 5}), "/urto/J/entry_start",
                    "5 as the last value", "4");
  expect_urto_error(integers("/urto/J/entry_column", {0, 7, 0, 6}), "/urto/J/entry_column",
                    "entry 1 with 6 columns from 7 on", "columns below 12");
  expect_urto_error(integers("/urto/J/entry_offset", {0, 2147483647, 0, 0}), "/urto/J/entry_offset",
                    "2147483647 as value 1", "inside");
  expect_urto_error(integers("/urto/E/rows", {-1}), "/urto/E", "a -1 × 4 matrix", "4 × 4");
  expect_urto_error(integers("/urto/E/row", {0, 1, 1, 0, 2, 1, 2, 3, 2, 3}), "/urto/E/row",
                    "0 as value 3", "increasing");
  expect_urto_error([&] { remove_object(file_, "/urto/H/row"); }, "/urto/H/row", "nothing",
                    "integers", false);
  expect_urto_error(
      [&] {
        replace_numbers(file_, "/urto/sets/lo", {0, NAN});
      },
      "set 1, bounds", "[nan, 1]", "lower ≤ upper");
}

TEST_F(BadProblemFileTest, TextNumbers) {
  const FileFormat friction = FileFormat::friction_text;
  expect_text_error("4 1 0", friction, "token 1 (line 1)", "'4'",
                    "the dimension, an integer from 2");
  expect_text_error("2\n-1\n0", friction, "token 2 (line 2)", "'-1'", "the number of contacts");
  expect_text_error("2\n1.5\n0", friction, "token 2 (line 2)", "'1.5'", "integer");
  expect_text_error("2\n99999999999999999999\n0", friction, "token 2 (line 2)",
                    "'99999999999999999999'", "integer");
  expect_text_error("2\n1\n3\n2", friction, "token 3 (line 3)", "'3'", "0 (dense), 1 (blocks)");
  expect_text_error("2 1000000000 0 2000000000 2000000000", friction, "token 5 (line 1)",
                    "a size that asks for 2000000000 numbers of W", "rest of the file can hold");
  expect_text_error("2 1 0 20 20 20 20 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6", friction,
                    "token 7 (line 1)", "a size that asks for 400 numbers of W", "can hold");
  expect_text_error("2 1 0 2 2 2 2 1 0 0 nan 1 1 0.5", friction, "token 11 (line 1)", "'nan'",
                    "a finite number of W");
  expect_text_error("2 1 0 2 2 2 2 1 0 0 -1e999 1 1 0.5", friction, "token 11", "'-1e999'",
                    "a finite number");
  expect_text_error("2 1 0 2 2 2 2 1 0 0 1 1 1", friction, "token 14 (line 1)",
                    "the end of the file", "mu");
  expect_text_error("2 1 0 2 2 2 2 1 0 0 1 1 1 0.5 1 1", friction, "token 16 (line 1)",
                    "more numbers", "the end of the file");
  expect_text_error("2 1 0 4 4 4 4 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 1 1 0.5", friction, "token 23",
                    "W with 4 rows and 4 columns", "2 and 2");
  expect_text_error("2 1 0 2 2 2 3 1 0 0 1 1 1 0.5", friction, "token 7", "3 columns of W", "2");
  expect_text_error("2 1 0 2 2 2 2 1 0 0 1 1 1 -1", FileFormat::automatic, "set 0, friction", "-1",
                    "not negative");
}

TEST_F(BadProblemFileTest, TextBlocksAndSparse) {
  const FileFormat lcp = FileFormat::lcp_text;
  // n, storage, rows, columns, blocks, block rows and columns, their ends, counts, pointers,
  // columns, block, q
  expect_text_error("2 1 2 2 1 1 1 3 2 2 1 0 1 0 0 1 0 0 1 1 1", lcp, "token 8", "'3'", "row ends");
  expect_text_error("2 1 2 2 1 1 1 1 2 2 1 0 1 0 0 1 0 0 1 1 1", lcp, "token 8",
                    "1 as the last of the row ends", "2");
  expect_text_error("2 1 2 2 1 1 1 2 2 2 7 0 1 0 0 1 0 0 1 1 1", lcp, "token 11", "'7'",
                    "the number of column indices");
  expect_text_error("2 1 2 2 1 1 1 2 2 2 1 0 0 0 0 1 0 0 1 1 1", lcp, "token 13",
                    "0 as the last row pointer", "1");
  expect_text_error("2 1 2 2 1 1 1 2 2 2 1 0 1 1 0 1 0 0 1 1 1", lcp, "token 14", "'1'",
                    "block columns of M");
  expect_text_error("2 1 2 2 1 1 1 2 2 2 1 0 1 0 1 1 0 0 1 1 1", lcp, "token 15", "'1'",
                    "the number of a block");
  const std::string head = "1 2 1 1 1\nCSparse x\ntriplet: 1-by-1, nzmax: 1 nnz: ";
  expect_text_error(head + "1\n0 1 : 3\n1", lcp, "token 15 (line 4)", "'1'", "a column of M");
  expect_text_error(head + "1e+06\n0 0 : 3\n1", lcp, "token 13 (line 3)", "'1e+06'", "in full");
  expect_text_error(head + "-5\n0 0 : 3\n1", lcp, "token 13 (line 3)", "'-5'", "entries");
  expect_text_error(head + "500000\n0 0 : 3\n1", lcp, "token 13", "a size that asks for 1500000",
                    "can hold");
  expect_text_error("1 2 1 1 3\nCSparse", lcp, "token 5 (line 1)", "'3'", "1 (triplets) or 2");
  expect_text_error("1 2 1 1 2\nCSparse\n1-by-2, nzmax: 1 nnz: 1, 1-norm: 1", lcp,
                    "token 7 (line 3)", "'1-by-2,' for M", "'1-by-1,'");
}

TEST_F(BadProblemFileTest, TextComplementarity) {
  expect_text_error("1 0 1 1 1 1 2 3 4", FileFormat::relay_text, "token 10", "the end of the file",
                    "the upper bounds");
  expect_text_error("1 0 1 1 1 1 2 3 5 4", FileFormat::relay_text, "bounds of row 0", "[5, 4]",
                    "lower ≤ upper");
  expect_text_error("1 0 1 1 1 1 2 3 nan 4", FileFormat::relay_text, "token 9", "'nan'", "bounds");
  expect_text_error("0 0 1 1", FileFormat::mlcp_text, "token 2", "neither form", "flags");
  expect_text_error("1 0 1 1 0 2 1 0 2 2 2 2 1 2 3 4 5 6", FileFormat::mlcp_text, "token 7",
                    "blocks with 0 equalities", "1");
  expect_text_error("1 0 1 1 0 1 1 1", FileFormat::mlcp_text, "token 7", "'1'", "the next block");
  expect_text_error("1 1 1 1 0 1 2 0 1 0 2 2 2 2 1 2 3 4 5 6 1 4 2 3 5 6", FileFormat::mlcp_text,
                    "token 26", "A, B, C, D, a, b that are not the blocks of M and q",
                    "the same problem");
  write_bytes(file_, "1 1 1 1 0 1 2 0 1 0 2 2 2 2 1 2 3 4 5 6 1 4 3 2 5 6");
  EXPECT_NO_THROW(read_problem(file_));
  write_bytes(file_, "1 0 1 1 1 1 2 3 4 remark");  // neither lcp nor relay, unless told so
  expect_error("the closest is", "neither HDF5 nor text of a known layout", "--format");
  EXPECT_NO_THROW(read_problem(file_, FileFormat::lcp_text));
}

}  // namespace
}  // namespace urto
