// Results as values: what no simulation made is written, read back, tabulated and summed up like
// any other.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/result/csv_export.h"
#include "urto/result/gltf_export.h"
#include "urto/result/summary.h"
#include "urto/result/vtk_export.h"

namespace urto {
namespace {

class ResultOfValues : public samples::FolderTest {};

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) out.push_back(cell);
  return out;
}

/// Everything that a view offers is the same, bit by bit.
void expect_same_views(const ResultView& a, const ResultView& b) {
  const ResultCounts counts = a.counts();
  ASSERT_EQ(counts.frames, b.counts().frames);
  ASSERT_EQ(counts.steps, b.counts().steps);
  EXPECT_EQ(counts.contacts, b.counts().contacts);
  EXPECT_EQ(a.times(0, counts.frames), b.times(0, counts.frames));
  for (const Channel& c : a.description().channels) {
    const int one = find_channel(a.description(), c.name);
    const int other = find_channel(b.description(), c.name);
    ASSERT_EQ(one < 0, other < 0) << c.name;
    if (one < 0) continue;
    EXPECT_TRUE(
        samples::same_bits(a.channel(one, 0, counts.frames), b.channel(other, 0, counts.frames)))
        << c.name;
    const Channel& found = b.description().channels[static_cast<std::size_t>(other)];
    EXPECT_EQ(c.group, found.group);
    EXPECT_EQ(c.unit, found.unit);
    EXPECT_EQ(c.label, found.label);
  }
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    EXPECT_EQ(a.step_values(c, 0, counts.steps), b.step_values(c, 0, counts.steps))
        << step_columns()[c].name;
  }
  const auto ca = a.contacts(0, counts.frames), cb = b.contacts(0, counts.frames);
  for (std::size_t f = 0; f < ca.size(); ++f) {
    ASSERT_EQ(ca[f].size(), cb[f].size());
    for (std::size_t k = 0; k < ca[f].size(); ++k) {
      EXPECT_EQ(ca[f][k].body_a, cb[f][k].body_a);
      EXPECT_EQ(ca[f][k].force, cb[f][k].force);
      EXPECT_EQ(ca[f][k].gap, cb[f][k].gap);
    }
  }
}

TEST_F(ResultOfValues, ComesBackFromItsFile) {
  const Result result = samples::invented_result();
  write_result(path("r.h5"), result);
  const ResultReader back(path("r.h5"));
  expect_same_views(ResultValues(result), back);
  const Description& d = back.description();
  EXPECT_EQ(d.title, "Invented");
  EXPECT_EQ(d.settings.solver.tolerance, 1e-8);
  ASSERT_EQ(d.bodies.size(), 2u);
  EXPECT_EQ(d.bodies[1].name, "ball");
  EXPECT_EQ(d.shapes[0].size, Vec3(0.1, 0, 0));
  EXPECT_EQ(d.joints[0].body, (std::array{0, 1}));
  EXPECT_EQ(d.coordinates[0].name, "angle");
  EXPECT_EQ(d.count("sensors"), 2u) << "a group that only this result has";
  EXPECT_EQ(d.count("limits"), 0u);
  EXPECT_EQ(back.status().status, "finished");
  EXPECT_EQ(back.status().time, 1.25);
}

TEST_F(ResultOfValues, OfARunIsWhatTheRunRecorded) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  Result result{.description = describe(scene)};
  result.frames.push_back(record_frame(run));
  const ModelScales scales = scales_of(scene.model);
  while (run.advance()) {
    result.steps.push_back(record_step(run, scales));
    if (run.frame_due()) result.frames.push_back(record_frame(run));
  }
  result.status = record_status(run);
  write_result(path("r.h5"), result);
  expect_same_views(ResultValues(result), ResultReader(path("r.h5")));
  EXPECT_GT(ResultValues(result).counts().contacts, 0);
}

TEST_F(ResultOfValues, GivesTables) {
  const Result result = samples::invented_result();
  EXPECT_EQ(write_csv(ResultValues(result), path("")).size(), 3u);
  EXPECT_EQ(lines_of(path("states.csv")).size(), 1u + 3) << "one body moves";
  EXPECT_EQ(lines_of(path("coordinates.csv"))[1], "0,4,5");
  EXPECT_EQ(lines_of(path("steps.csv")).size(), 1u + 5);
}

TEST_F(ResultOfValues, IsExported) {
  const Result result = samples::invented_result();
  write_vtk(ResultValues(result), path("series"));
  write_gltf(ResultValues(result), path("run.glb"));
  EXPECT_TRUE(std::filesystem::exists(path("series/contacts-000002.vtp")));
  EXPECT_TRUE(std::filesystem::exists(path("run.glb")));
}

TEST_F(ResultOfValues, IsSummedUp) {
  const Result result = samples::invented_result();
  const RunSummary s = summarise(ResultValues(result));
  EXPECT_EQ(s.counts.steps, 5);
  EXPECT_EQ(s.counts.contacts, 2);
  EXPECT_EQ(s.most_contacts, 4);
  EXPECT_EQ(s.energy_of("kinetic"), 12);
  EXPECT_EQ(s.energy_of("friction"), 2);
  EXPECT_NEAR(s.total_seconds(), 5e-3, 1e-15);
  EXPECT_TRUE(s.finished());
  std::string text;
  for (const SummaryLine& line : summary_lines(s)) text += line.name + ": " + line.value + "\n";
  for (const char* part : {"status: finished at t = 1.25 s", "steps: 5, 3 frames",
                           "13.5 J at the end", "lost to friction 2", "solve 1 ms", "verdict: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

TEST_F(ResultOfValues, RefusesFramesOfAnotherShape) {
  Result result = samples::invented_result();
  ResultWriter writer = ResultWriter::create(path("r.h5"), result.description);
  Frame short_one = result.frames[0];
  short_one.channels.pop_back();
  EXPECT_THROW(writer.add_frame(short_one), InputError);
  Frame narrow = result.frames[0];
  narrow.channels[0].pop_back();
  EXPECT_THROW(writer.add_frame(narrow), InputError);
  result.frames[1] = narrow;
  EXPECT_THROW(ResultValues(result).channel(0, 0, 3), InputError);
  EXPECT_THROW(ResultValues(result).times(2, 2), InputError);
}

// ---- Step columns: one table for all

TEST_F(ResultOfValues, EveryStepColumnIsInTheFileAndInTheTable) {
  const Result result = samples::invented_result();
  write_result(path("r.h5"), result);
  write_csv(ResultValues(result), path(""));
  const ResultReader file(path("r.h5"));
  const std::vector<std::string> lines = lines_of(path("steps.csv"));
  const std::vector<std::string> names = cells_of(lines[0]), last = cells_of(lines.back());
  ASSERT_EQ(names.size(), step_columns().size());
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    const StepColumn& column = step_columns()[c];
    const std::string path = "/steps/" + std::string(column.name);
    const double value = column.value(result.steps.back());
    ASSERT_TRUE(file.has(path)) << path;
    EXPECT_EQ(file.numbers(path).back(), value) << path;
    EXPECT_EQ(file.text_attribute("unit", path), column.unit);
    EXPECT_EQ(file.text_attribute("meaning", path), column.meaning);
    EXPECT_EQ(std::stod(last[c]), value) << names[c];
  }
}

TEST(StepColumns, HaveNamesOfTheirOwnAndPanelsThatExist) {
  EXPECT_EQ(step_columns()[0].name, "time");
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    const StepColumn& column = step_columns()[c];
    EXPECT_EQ(step_column(column.name), c) << column.name << " twice";
    EXPECT_FALSE(column.unit.empty() || column.meaning.empty()) << column.name;
    EXPECT_TRUE(column.panel.empty() || std::ranges::find(step_panels(), column.panel,
                                                          &StepPanel::name) != step_panels().end())
        << column.panel;
  }
  for (const StepPanel& panel : step_panels()) {
    EXPECT_NE(std::ranges::find(step_columns(), panel.name, &StepColumn::panel),
              step_columns().end())
        << panel.name << " draws nothing";
  }
}

// A column that is newer than a file reads as unknown, not as an error.
TEST_F(ResultOfValues, ColumnsThatAFileDoesNotHaveAreUnknown) {
  write_result(path("r.h5"), samples::invented_result());
  const hid_t id = H5Fopen(path("r.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Ldelete(id, "/steps/sweeps", H5P_DEFAULT), 0);
  H5Fclose(id);
  const ResultReader old(path("r.h5"));
  for (const double x : old.step_values(step_column("sweeps"), 0, 5)) EXPECT_TRUE(std::isnan(x));
  write_csv(old, path(""));
  EXPECT_EQ(summarise(old).counts.steps, 5);
}

}  // namespace
}  // namespace urto
