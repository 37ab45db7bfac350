// The grid of a sweep.
#include "urto/result/sweep.h"

#include <gtest/gtest.h>

#include "support/message_of.h"
#include "urto/error.h"

namespace urto {
namespace {

using Values = std::vector<std::string>;

TEST(SweepAxis, RunsThroughRangesPowersAndLists) {
  EXPECT_EQ(parse_sweep_axis("mu=0.1:0.1:0.5").values, (Values{"0.1", "0.2", "0.3", "0.4", "0.5"}));
  EXPECT_EQ(parse_sweep_axis("x=1:-0.5:0").values, (Values{"1", "0.5", "0"}));
  EXPECT_EQ(parse_sweep_axis("x=0:2:5").values, (Values{"0", "2", "4"}));
  EXPECT_EQ(parse_sweep_axis("h=1e-4:*10:1e-2").values, (Values{"0.0001", "0.001", "0.01"}));
  EXPECT_EQ(parse_sweep_axis("h=8:*0.5:1").values, (Values{"8", "4", "2", "1"}));
  EXPECT_EQ(parse_sweep_axis("simulation.stepper=dvi,hht").values, (Values{"dvi", "hht"}));
  EXPECT_EQ(parse_sweep_axis("bodies.a.position=[0,0,1],[0,0,2]").values,
            (Values{"[0,0,1]", "[0,0,2]"}));
  EXPECT_EQ(parse_sweep_axis("x==max(1,2),=min(1,2)").values, (Values{"=max(1,2)", "=min(1,2)"}));
  EXPECT_EQ(parse_sweep_axis("title=\"a,b\"").values, (Values{"\"a,b\""}));
  // Colons of something else are no range.
  EXPECT_EQ(parse_sweep_axis("mesh=a:b:c").values, (Values{"a:b:c"}));
  EXPECT_EQ(parse_sweep_axis("mu=0.1:0.1:0.3").numbers(), (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_TRUE(parse_sweep_axis("s=dvi,1").numbers().empty());
}

TEST(SweepAxis, RefusesWhatLeadsNowhere) {
  for (const char* bad : {"mu", "=1", "x=1:0:2", "x=1:1:0", "x=1:*1:2", "x=1:*2:-4", "x=0:*2:4",
                          "x=1:*-2:4", "x=1,,2", "x=1,1", "x=0:1e-9:1", "x=1:*1.0000001:9"})
    EXPECT_THROW(parse_sweep_axis(bad), InputError) << bad;
  EXPECT_EQ(samples::message_of([] { parse_sweep_axis("mu=1:-1:3"); }),
            "--set mu=1:-1:3: found a step of -1 from 1 to 3, expected one that leads there");
}

TEST(SweepCases, AreEveryCombinationWithNamesOfTheirOwn) {
  const std::vector<SweepAxis> axes{parse_sweep_axis("mu=0.1,0.2"), parse_sweep_axis("g=9.81"),
                                    parse_sweep_axis("f=a/b,a:b,c")};
  const std::vector<SweepCase> cases = sweep_cases(axes);
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_EQ(cases[0].overrides, (Values{"mu=0.1", "g=9.81", "f=a/b"}));
  EXPECT_EQ(cases[0].name, "mu=0.1,f=a-b");
  EXPECT_EQ(cases[1].overrides, (Values{"mu=0.1", "g=9.81", "f=a:b"}));
  EXPECT_EQ(cases[1].name, "run-2") << "the name of the first is taken";
  EXPECT_EQ(cases[5].place, (std::vector<std::size_t>{1, 0, 2}));
  EXPECT_EQ(sweep_cases(std::vector{parse_sweep_axis("g=1")})[0].name, "run");
  EXPECT_EQ(sweep_cases({}).size(), 1U);
}

TEST(SweepCases, RefuseASettingTwiceAndTooManyRuns) {
  const std::vector<SweepAxis> twice{parse_sweep_axis("g=1"), parse_sweep_axis("g=2")};
  EXPECT_THROW(sweep_cases(twice), InputError);
  const std::vector<SweepAxis> many{parse_sweep_axis("a=1:1:1000"), parse_sweep_axis("b=1:1:1000")};
  EXPECT_THROW(sweep_cases(many), InputError);
}

}  // namespace
}  // namespace urto
