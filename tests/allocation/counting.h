// Counts every allocation of this program; the counter is in allocation_test.cpp.
#pragma once

long allocations_so_far();
