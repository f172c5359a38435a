# Helpers for every room: one library a room, one test program a unit, text files embedded as strings.

# stepgauge_room(<name> SOURCES ... LIBS ...): static library stepgauge_<name>, headers seen as "<name>/x.hpp".
function(stepgauge_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(stepgauge_${name} STATIC ${ARG_SOURCES})
  target_include_directories(stepgauge_${name} PUBLIC ${CMAKE_SOURCE_DIR}/harness)
  target_link_libraries(stepgauge_${name} PUBLIC ${ARG_LIBS})
  stepgauge_own_code(stepgauge_${name})
  # Not in the other builds: there a source file shows that it and its header include what they use, and planted errors (tests/mutation)
  # are compiled as single files.
  if(STEPGAUGE_SANITIZE)
    stepgauge_precompiled(stepgauge_${name} stepgauge_contract ${STEPGAUGE_COMMON_HEADERS})
    stepgauge_compiled_together(stepgauge_${name} 8)
  endif()
endfunction()

# What most files of the rooms include, and takes the compiler longest to read. Sources include it all the same.
set(STEPGAUGE_COMMON_HEADERS <algorithm> <filesystem> <fstream> <functional> <map> <optional> <set> <sstream> <string> <vector>
  <fmt/format.h> <nlohmann/json.hpp>)

# stepgauge_precompiled(<target> <owner> <header> ...): compiled once for <owner>, and used by every target with the same compile options.
function(stepgauge_precompiled target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  # GCC 12 forgets that precompiled headers are the system's, and has the same wrong ideas of strings as below (GCC bug 105651).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
endfunction()

# Warnings are errors in our own code with the compilers it is developed with (GCC 12); later ones may warn of more, and GCC 13
# does so of code in Torch's headers (array-bounds), which must not keep a user from building. Sanitizers where asked for.
function(stepgauge_own_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Werror>)
  # GCC 12 takes "text" + std::string for overlapping memory (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(STEPGAUGE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# stepgauge_test(<name> SOURCES ... LIBS ... [LABELS ...]): GoogleTest program test_<name>.
# Every test runs with STEPGAUGE_SOURCE_DIR and STEPGAUGE_BIN_DIR in its environment.
function(stepgauge_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  stepgauge_own_code(test_${name})
  stepgauge_quick_to_compile(test_${name})
  if(STEPGAUGE_SANITIZE) # it is the rooms that are examined, and UBSan takes the compiler as long again
    target_compile_options(test_${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(NOT "torch" IN_LIST ARG_LABELS AND NOT "gpu" IN_LIST ARG_LABELS) # those precompile Torch
    stepgauge_precompiled(test_${name} test_status ${STEPGAUGE_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    if("timing" IN_LIST ARG_LABELS) # says nothing of a sanitized program
      set(left_out ${STEPGAUGE_SANITIZE})
    else()
      list(APPEND ARG_LABELS sanitized) # the sanitized build has it too
      set(left_out FALSE)
      if(NOT STEPGAUGE_UNIT_TESTS_IN_ALL AND NOT STEPGAUGE_SANITIZE)
        set(left_out TRUE)
      endif()
    endif()
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ${left_out})
  endif()
  add_test(NAME ${name} COMMAND test_${name} --gtest_shuffle)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "unit;${ARG_LABELS}"
    ENVIRONMENT "STEPGAUGE_SOURCE_DIR=${CMAKE_SOURCE_DIR};STEPGAUGE_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
endfunction()

# stepgauge_compiled_together(<target> <files>): so many files at once, since templates of libraries take the compiler longer than the
# code that uses them. -DSTEPGAUGE_COMPILED_TOGETHER=OFF: each by itself, as tools for one file want it.
option(STEPGAUGE_COMPILED_TOGETHER "compile several files of a target at once" ON)
function(stepgauge_compiled_together target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STEPGAUGE_COMPILED_TOGETHER} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# For code that is compiled more often than it runs: a third less time in the compiler.
function(stepgauge_quick_to_compile target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# stepgauge_python_lacks(<out> <module> ...): TRUE in <out> where Torch's Python lacks one of the modules.
function(stepgauge_python_lacks out)
  list(JOIN ARGN "', '" modules)
  execute_process(COMMAND ${STEPGAUGE_TORCH_PYTHON} -c
    "import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in ('${modules}',)))"
    RESULT_VARIABLE lacks OUTPUT_QUIET ERROR_QUIET)
  set(${out} ${lacks} PARENT_SCOPE)
endfunction()

# stepgauge_embed(<target> <namespace> <header name> FILES ...): each file becomes a raw string in a generated
# header-only table `inline const std::map<std::string, std::string_view> files` keyed by path below the source root.
function(stepgauge_embed target space header)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/generated/${header})
  set(text "#pragma once\n#include <map>\n#include <string>\n#include <string_view>\nnamespace ${space} {\n")
  string(APPEND text "inline const std::map<std::string, std::string_view>& embedded_files() {\n")
  string(APPEND text "  static const std::map<std::string, std::string_view> files{\n")
  foreach(file ${ARG_FILES})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} body)
    file(RELATIVE_PATH rel ${CMAKE_SOURCE_DIR} ${file})
    string(APPEND text "      {\"${rel}\", R\"__EMBED__(${body})__EMBED__\"},\n")
  endforeach()
  string(APPEND text "  };\n  return files;\n}\n}  // namespace ${space}\n")
  file(GENERATE OUTPUT ${out} CONTENT "${text}")
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()
