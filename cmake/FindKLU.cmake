# Finds KLU of SuiteSparse and what it is made of (AMD, COLAMD, BTF): target KLU::KLU.
find_path(KLU_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
find_library(KLU_LIBRARY klu)
set(KLU_PARTS "")
foreach(part IN ITEMS btf amd colamd suitesparseconfig)
  find_library(KLU_${part}_LIBRARY ${part})
  list(APPEND KLU_PARTS KLU_${part}_LIBRARY)
  mark_as_advanced(KLU_${part}_LIBRARY)
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KLU REQUIRED_VARS KLU_LIBRARY KLU_INCLUDE_DIR ${KLU_PARTS})
if(KLU_FOUND AND NOT TARGET KLU::KLU)
  add_library(KLU::KLU UNKNOWN IMPORTED)
  set_target_properties(KLU::KLU PROPERTIES
    IMPORTED_LOCATION "${KLU_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${KLU_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${KLU_btf_LIBRARY};${KLU_amd_LIBRARY};${KLU_colamd_LIBRARY};${KLU_suitesparseconfig_LIBRARY}")
endif()
mark_as_advanced(KLU_INCLUDE_DIR KLU_LIBRARY)
