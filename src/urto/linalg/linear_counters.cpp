#include "urto/linalg/linear_counters.h"

#include <algorithm>
#include <numeric>

namespace urto {

std::string_view to_string(LinearPath path) {
  switch (path) {
    case LinearPath::dense:
      return "dense";
    case LinearPath::condensed:
      return "condensed";
    case LinearPath::local:
      return "local";
    case LinearPath::augmented:
      return "augmented";
    case LinearPath::pivoting:
      return "pivoting";
  }
  return "unknown";
}

int LinearCounters::all_factorizations() const {
  return std::accumulate(factorizations.begin(), factorizations.end(), 0);
}

LinearCounters& LinearCounters::operator+=(const LinearCounters& other) {
  for (int k = 0; k < linear_paths; ++k) factorizations[k] += other.factorizations[k];
  analyses += other.analyses;
  reused += other.reused;
  solves += other.solves;
  refinements += other.refinements;
  strengthened += other.strengthened;
  missed += other.missed;
  null_pivots = std::max(null_pivots, other.null_pivots);
  backward_error = std::max(backward_error, other.backward_error);
  analysis_seconds += other.analysis_seconds;
  factorization_seconds += other.factorization_seconds;
  solve_seconds += other.solve_seconds;
  return *this;
}

}  // namespace urto
