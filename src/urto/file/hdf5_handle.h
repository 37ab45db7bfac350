// Internal: owners of HDF5's identifiers and of its error printing, for every file that we read or
// write with it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

namespace urto {

/// An HDF5 identifier and the function that gives it back.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): stands for it
  bool valid() const { return id_ >= 0; }
  /// False if the library could not close it, which is where a full disk shows. Says nothing on
  /// stderr.
  bool reset();

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// HDF5 prints its error stack by default; here errors are reported once, by us. Restores what the
/// caller had.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

inline bool Hdf5Handle::reset() {
  if (id_ < 0) return true;
  const QuietHdf5 quiet;
  return close_(std::exchange(id_, -1)) >= 0;
}

/// The innermost reason that the library gives for its last failure.
std::string hdf5_reason();

/// Of what is in a group, in alphabetical order; none if there is no such group.
std::vector<std::string> hdf5_names(hid_t file, const std::string& group);

/// The first part of a path that is a link instead of the thing itself; empty if none is. We write
/// no links: a crafted file has them to lead its reader into other files.
std::string hdf5_link_in(hid_t file, const std::string& path);
/// Whether the values of a dataset are in its own file.
bool hdf5_is_stored_here(hid_t dataset);

}  // namespace urto
