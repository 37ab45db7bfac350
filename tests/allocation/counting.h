// Counts every allocation of this program: malloc and all its relatives, so also operator new,
// Eigen and the libraries that we link. The counter is in counting.cpp.
#pragma once

long allocations_so_far();
