// Internal: HDF5's driver for plain files, except that after a write which failed nothing else
// reaches the file. The library goes on flushing when it cannot write a part: structures that point
// to it follow, and a file on a full disk is damaged far before its end. With this one a full disk
// is what a killed process is, the first part of what was to be written; and that can be read (the
// order of a single writer with many readers).
#pragma once

#include <hdf5.h>

namespace urto {

/// Sets the driver. False if the library has none for plain files; then its own stays.
bool use_stopping_driver(hid_t access);

}  // namespace urto
