// A seeded fuzz of the problem files: every mutation of a valid file either loads as a valid
// problem or throws InputError. No other exception, no crash, no hang, no allocation above a
// gigabyte (sanitizers watch in CI; without them a limit does).
//
// The mutations are the same on every run. Bytes of HDF5 files are mutated (bit flips, fields set
// to extreme values, truncations, splices) only in files of our own writers, whose structures have
// checksums. libhdf5 1.10.8 itself crashes on damaged structures of the older format without
// checksums, which FCLIB writes (a few in ten thousand such mutations; local heaps of groups,
// H5HL_protect): those files are truncated, and their datasets are mutated through the library,
// which gets to the checks of ours.
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "../problem/problem_samples.h"
#include "fuzz/rounds.h"
#include "urto/error.h"
#include "urto/problem/problem_file.h"

extern "C" {
#include <fclib.h>
}

#ifdef URTO_ADDRESS_SANITIZER
// An allocation above the limit gives a null pointer: libhdf5 reports it, ours become
// std::bad_alloc, which fails the test.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:allocator_may_return_null=1";
}
// libhdf5 loses memory when it gives up on a damaged file; that no identifier of ours stays open is
// checked below.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}
#endif

namespace urto {
namespace {

using namespace samples;

class ProblemFileFuzz : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    getrlimit(RLIMIT_AS, &usual_limit_);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = usual_limit_;
    limit.rlim_cur = std::min(
        limit.rlim_max, pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 30));
    setrlimit(RLIMIT_AS, &limit);
#endif
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  static void TearDownTestSuite() {
    setrlimit(RLIMIT_AS, &usual_limit_);
  }
  static inline rlimit usual_limit_{};

  Directory directory_{"urto-problem-file-fuzz"};
  const std::filesystem::path mutant_ = directory_ / "mutant";
  Random random_{20240607};
  int loaded_ = 0, refused_ = 0;

  void check(const std::string& what, FileFormat format = FileFormat::automatic) {
    try {
      const ProblemFile file = read_problem(mutant_, format);
      std::visit([](const auto& problem) { validate(problem, "mutant"); }, file.problem);
      ++loaded_;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(mutant_.string() + ": ")) << message;
      EXPECT_NE(message.find(": found "), std::string::npos) << message;
      EXPECT_NE(message.find(", expected "), std::string::npos) << message;
      ++refused_;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": not an InputError: " << error.what();
    }
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0) << what;
  }

  /// A fuzz that never gets in, or never fails, tests nothing.
  void expect_both_outcomes() const {
    EXPECT_GT(loaded_, 10);
    EXPECT_GT(refused_, 10);
    RecordProperty("loaded", loaded_);
    RecordProperty("refused", refused_);
  }

  std::string mutated_bytes(std::string bytes, const std::string& other) {
    const auto position = [&] { return random_.below(static_cast<std::uint32_t>(bytes.size())); };
    const std::uint32_t rounds = 1 + random_.below(3);
    for (std::uint32_t k = 0; k < rounds && !bytes.empty(); ++k) {
      const std::uint32_t at = position();
      switch (random_.below(8)) {
        case 0:
        case 1:
        case 2:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_.below(8)));
          break;
        case 3:
          bytes[at] = static_cast<char>(random_.below(256));
          break;
        case 4: {
          constexpr char extremes[] = {'\0', '\1', '\x7f', '\x80', '\xff'};
          const char value = extremes[random_.below(5)];
          const std::size_t width = std::size_t{1} << random_.below(4);
          for (std::size_t b = 0; b < width && at + b < bytes.size(); ++b) bytes[at + b] = value;
          break;
        }
        case 5:
          bytes.resize(at);
          break;
        case 6:
          bytes = bytes.substr(0, at) +
                  other.substr(random_.below(static_cast<std::uint32_t>(other.size())));
          break;
        default:
          bytes.insert(at, bytes.substr(position(), random_.below(64)));
          break;
      }
    }
    return bytes;
  }
};

std::vector<std::string> write_text_samples(const Directory& directory) {
  Random random(1);
  const SetProduct cones = product({ConvexSet::cone(0.3), ConvexSet::cone(0.5)});
  SetProduct many;
  for (int i = 0; i < 11; ++i) many.push_back(ConvexSet::cone(0.5));
  SetProduct rolling;
  for (int i = 0; i < 2; ++i) rolling.push_back(ConvexSet::rolling_cone(0.5, 0.1));
  ComplementarityProblem mixed = complementarity(random, 4, 0, infinity);
  mixed.lo[0] = mixed.lo[2] = -infinity;

  std::vector<std::string> texts;
  const auto add = [&](const auto& problem) {
    write_text(directory / "sample", problem);
    texts.push_back(read_bytes(directory / "sample"));
  };
  add(local(random, cones));
  add(local_problem(band(random, 33), random.vector(33), many));  // blocks
  add(local(random, rolling));
  add(global(random, cones, 2));
  add(global(random, cones, 6, false));  // sparse
  add(complementarity(random, 3, 0, infinity));
  add(complementarity(random, 3, -1, 1));
  add(mixed);
  texts.push_back("1 1 1 1\n0 1 2\n0 1\n0\n2\n2\n2 2\n1 2\n3 4\n5 6\n1\n4\n3\n2\n5\n6\n0.5 0.5\n");
  texts.push_back(
      "2 1 2 2 2 2\nCSparse Version 3.1.9\n2-by-2, nzmax: 2 nnz: 2, 1-norm: 3\n    col 0 : "
      "locations 0 "
      "to 0\n      0 : 3\n    col 1 : locations 1 to 1\n      1 : 2\n-1 0\n0.5\n1\n");
  return texts;
}

TEST_F(ProblemFileFuzz, TextBytes) {
  const std::vector<std::string> texts = write_text_samples(directory_);
  for (int round = 0; round < fuzz_rounds(150); ++round) {
    for (const std::string& text : texts) {
      const std::string& other = texts[random_.below(static_cast<std::uint32_t>(texts.size()))];
      write_bytes(mutant_, mutated_bytes(text, other));
      check("text, round " + std::to_string(round));
    }
  }
  expect_both_outcomes();
}

TEST_F(ProblemFileFuzz, TextWords) {
  const std::vector<std::string> texts = write_text_samples(directory_);
  const std::vector<std::string> words = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "-1",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "4294967296",
                                          "1000000000",
                                          "nan",
                                          "-inf",
                                          "inf",
                                          "1e308",
                                          "1e999",
                                          "1e-999",
                                          "0x10",
                                          "1.5",
                                          "-0.0",
                                          "100000",
                                          "9223372036854775807",
                                          "18446744073709551616",
                                          ":"};
  const std::vector<FileFormat> formats = {FileFormat::friction_text, FileFormat::rolling_text,
                                           FileFormat::global_text,   FileFormat::lcp_text,
                                           FileFormat::mlcp_text,     FileFormat::relay_text};
  for (std::size_t t = 0; t < texts.size(); ++t) {
    for (int round = 0; round < fuzz_rounds(150); ++round) {
      std::vector<std::pair<std::size_t, std::size_t>> spans;  // of the words
      const std::string& text = texts[t];
      for (std::size_t at = 0; (at = text.find_first_not_of(" \t\n", at)) != std::string::npos;) {
        const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
        spans.emplace_back(at, end - at);
        at = end;
      }
      // The sizes stand at the front: half of the mutations go there.
      const auto all = static_cast<std::uint32_t>(spans.size());
      const auto& [at, length] =
          spans[random_.below(round % 2 == 0 ? all : std::min<std::uint32_t>(all, 16))];
      const std::string& word = words[random_.below(static_cast<std::uint32_t>(words.size()))];
      write_bytes(mutant_, text.substr(0, at) + word + text.substr(at + length));
      check("text " + std::to_string(t) + ", '" + word + "' at byte " + std::to_string(at),
            round % 3 == 0 ? formats[random_.below(6)] : FileFormat::automatic);
    }
  }
  expect_both_outcomes();
}

std::vector<std::string> write_hdf5_samples(const Directory& directory) {
  Random random(2);
  const SetProduct K = product({ConvexSet::cone(0.3), ConvexSet::cone(0.5), ConvexSet::free(2)});
  SetProduct rolling;
  rolling.push_back(ConvexSet::rolling_cone(0.5, 0.1));
  StepProblem compliant =
      global(random, product({ConvexSet::box(-1, 1), ConvexSet::cone(0.4, 2)}), 3, false);
  compliant.E = band(random, 3);
  const StepProblem g = global(random, K, 2);
  const StoredSolution solution{random.vector(12), random.vector(8), random.vector(8)};

  std::vector<std::string> files;
  const auto keep = [&] { files.push_back(read_bytes(directory / "sample")); };
  write_problem(directory / "sample", g);
  keep();
  write_problem(directory / "sample", compliant);
  keep();
  write_problem(directory / "sample", complementarity(random, 4, -1, infinity));
  keep();
  write_fclib(directory / "sample", local(random, K));
  keep();
  write_fclib(directory / "sample", g, &solution);
  keep();
  write_fclib(directory / "sample", global(random, rolling, 2));
  keep();
  return files;
}

TEST_F(ProblemFileFuzz, Hdf5Bytes) {
  const std::vector<std::string> files = write_hdf5_samples(directory_);
  for (int round = 0; round < fuzz_rounds(150); ++round) {
    for (const std::string& bytes : files) {
      const std::string& other = files[random_.below(static_cast<std::uint32_t>(files.size()))];
      write_bytes(mutant_, mutated_bytes(bytes, other));
      check("HDF5 bytes, round " + std::to_string(round));
    }
  }
  expect_both_outcomes();
}

/// A file in the older HDF5 format, from FCLIB's own library.
std::string write_old_format_sample(const Directory& directory) {
  Random random(3);
  Matrix W = random.spd(3);
  std::vector<int> start = {0, 3, 6, 9}, row = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  std::vector<double> mu = {0.5}, q = {1, 2, 3};
  fclib_matrix matrix{.nzmax = 9,
                      .m = 3,
                      .n = 3,
                      .p = start.data(),
                      .i = row.data(),
                      .x = W.data(),
                      .nz = -1,
                      .info = nullptr};
  fclib_local problem{.W = &matrix,
                      .V = nullptr,
                      .R = nullptr,
                      .mu = mu.data(),
                      .q = q.data(),
                      .s = nullptr,
                      .spacedim = 3,
                      .info = nullptr};
  const std::string file = directory / "old";
  EXPECT_EQ(fclib_write_local(&problem, file.c_str()), 1);
  return read_bytes(file);
}

TEST_F(ProblemFileFuzz, Hdf5Truncations) {
  std::vector<std::string> files = write_hdf5_samples(directory_);
  files.push_back(write_old_format_sample(directory_));
  for (const std::string& bytes : files) {
    for (int round = 0; round < fuzz_rounds(40); ++round) {
      write_bytes(mutant_,
                  bytes.substr(0, random_.below(static_cast<std::uint32_t>(bytes.size()))));
      check("truncated HDF5, round " + std::to_string(round));
    }
  }
  EXPECT_EQ(loaded_, 0);
}

std::vector<std::string> dataset_names(const std::filesystem::path& file) {
  std::vector<std::string> names;
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5Ovisit(
      id, H5_INDEX_NAME, H5_ITER_INC,
      [](hid_t, const char* name, const H5O_info_t* info, void* data) -> herr_t {
        if (info->type == H5O_TYPE_DATASET) {
          static_cast<std::vector<std::string>*>(data)->emplace_back(std::string("/") + name);
        }
        return 0;
      },
      &names);
  H5Fclose(id);
  return names;
}

void create_group(const std::filesystem::path& file, const std::string& name) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(id, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(id);
}

struct Dataset {
  H5T_class_t type;
  std::vector<int> integers;
  std::vector<double> numbers;
};

Dataset read_dataset(const std::filesystem::path& file, const std::string& name) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(id, name.c_str(), H5P_DEFAULT);
  const hid_t type = H5Dget_type(set);
  const hid_t space = H5Dget_space(set);
  Dataset out{H5Tget_class(type), {}, {}};
  const auto size = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  if (out.type == H5T_INTEGER) {
    out.integers.resize(size);
    H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.integers.data());
  } else if (out.type == H5T_FLOAT) {
    out.numbers.resize(size);
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.numbers.data());
  }
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(set);
  H5Fclose(id);
  return out;
}

TEST_F(ProblemFileFuzz, Hdf5Datasets) {
  std::vector<std::string> files = write_hdf5_samples(directory_);
  files.push_back(write_old_format_sample(directory_));
  constexpr int largest = std::numeric_limits<int>::max();
  const std::vector<int> extreme_integers = {0,  1,  2,  3,  5,       6,       7,
                                             12, -1, -2, -3, 1 << 20, largest, -largest - 1};
  const std::vector<double> extreme_numbers = {0,     -1,     NAN,    infinity, -infinity,
                                               1e308, -1e308, 5e-324, 1e20};
  const auto pick = [&](const auto& list) {
    return list[random_.below(static_cast<std::uint32_t>(list.size()))];
  };
  const auto change = [&](auto& values, const auto& extremes) {
    switch (random_.below(6)) {
      case 0:
        if (!values.empty()) values.pop_back();
        break;
      case 1:
        values.push_back(pick(extremes));
        break;
      case 2:
        values.clear();
        break;
      default:
        for (std::uint32_t k = 0; k <= random_.below(2) && !values.empty(); ++k) {
          values[random_.below(static_cast<std::uint32_t>(values.size()))] = pick(extremes);
        }
        break;
    }
  };
  for (const std::string& bytes : files) {
    write_bytes(mutant_, bytes);
    const std::vector<std::string> names = dataset_names(mutant_);
    ASSERT_FALSE(names.empty());
    for (int round = 0; round < fuzz_rounds(250); ++round) {
      write_bytes(mutant_, bytes);
      const std::string name = pick(names);
      Dataset data = read_dataset(mutant_, name);
      const hsize_t declared = hsize_t{1} << random_.below(60);
      switch (random_.below(12)) {
        case 0:
          remove_object(mutant_, name);
          break;
        case 1:  // the other type
          data.integers.clear();
          for (const double number : data.numbers)
            data.integers.push_back(std::abs(number) < 1e9 ? static_cast<int>(number) : 7);
          replace_integers(mutant_, name, data.integers);
          break;
        case 2:  // declared, and not stored
          replace_dataset(mutant_, name,
                          data.type == H5T_INTEGER ? H5T_NATIVE_INT : H5T_NATIVE_DOUBLE, {declared},
                          nullptr);
          break;
        case 3:  // a group
          remove_object(mutant_, name);
          create_group(mutant_, name);
          break;
        default:
          if (data.type == H5T_INTEGER) {
            change(data.integers, extreme_integers);
            replace_integers(mutant_, name, data.integers);
          } else if (data.type == H5T_FLOAT) {
            change(data.numbers, extreme_numbers);
            replace_numbers(mutant_, name, data.numbers);
          }
          break;
      }
      check(name + ", round " + std::to_string(round));
    }
  }
  expect_both_outcomes();
}

}  // namespace
}  // namespace urto
