// A result in memory: what a file holds, as plain values. Analyses fill one and have its page made.
#pragma once

#include <vector>

#include "urto/result/result_view.h"
#include "urto/result/step_record.h"

namespace urto {

struct Result {
  Description description = {};
  RunStatus status = {};
  std::vector<Frame> frames = {};
  std::vector<StepRecord> steps = {};
  std::optional<Verification> verification = {};
};

/// The view of it; the result must outlive it.
class ResultValues final : public ResultView {
 public:
  explicit ResultValues(const Result& result) : result_(result) {}

  const Description& description() const override { return result_.description; }
  RunStatus status() const override { return result_.status; }
  ResultCounts counts() const override;
  std::vector<double> times(long first, long count) const override;
  std::vector<double> channel(int channel, long first, long count) const override;
  std::vector<std::vector<RecordedContact>> contacts(long first, long count) const override;
  std::vector<double> step_values(std::size_t column, long first, long count) const override;
  std::optional<Verification> verification() const override { return result_.verification; }

 private:
  std::span<const Frame> frames(long first, long count) const;

  const Result& result_;
};

}  // namespace urto
