# Compiles a target's sources in groups, as cmake/unity_groups.awk packs them; without URTO_UNITY
# every file by itself.
option(URTO_UNITY "Compile several sources as one: faster from scratch, slower after a change of one"
       ${PROJECT_IS_TOP_LEVEL})
set(URTO_UNITY_LINES 1600 CACHE STRING "At most so many lines of sources in one group")
find_program(URTO_AWK awk)
mark_as_advanced(URTO_AWK)

function(urto_compile_in_groups target)
  if(NOT URTO_UNITY OR NOT URTO_AWK)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  file(GLOB_RECURSE headers ${PROJECT_SOURCE_DIR}/src/urto/*.h)
  if(CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/tests")
    file(GLOB_RECURSE more ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
    list(APPEND headers ${more})
  endif()
  execute_process(COMMAND ${URTO_AWK} -v lines=${URTO_UNITY_LINES}
                          -f ${PROJECT_SOURCE_DIR}/cmake/unity_groups.awk
                          is=header ${headers} is=source ${sources}
                  OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line IN LISTS groups)
    string(REPLACE "\t" ";" line "${line}")
    list(GET line 0 group)
    list(GET line 1 file)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
