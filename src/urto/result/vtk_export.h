// Results as a time series of VTK files, which ParaView opens as they are.
#pragma once

#include <filesystem>

#include "urto/result/result_view.h"

namespace urto {

/// Writes into `directory` (made if it is not there): replay.pvd, and for every frame
///   bodies-NNNNNN.vtp    surfaces in world axes; points: Normals, velocity [m/s]; cells: body,
///                        shape (indices)
///   contacts-NNNNNN.vtp  points; force [N], gap [m], body_a, body_b
///   joints-NNNNNN.vtp    points at marker b; force [N], moment [N·m], joint (only if there are
///                        joints)
/// An earlier series in the directory is replaced; one with other files in it is refused. Returns
/// the .pvd. Throws InputError.
std::filesystem::path write_vtk(const ResultView& result, const std::filesystem::path& directory);

}  // namespace urto
