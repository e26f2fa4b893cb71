# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# elaphos_add_perf_test(NAME): NAME.cpp becomes perf_test_NAME. `ctest` makes a dry run of it, `ctest -C perf -L perf`
# measures: each of its rows is a test of its own, with 11 repetitions and a file in perf_results/.
#
# Rows are listed when ctest runs, not when it builds, and through CMAKE_TEST_LAUNCHER (also before CMake 3.29, which
# knows it by itself): a login node may lack the device and even the driver's libraries.

set(ELAPHOS_PERF_RESULTS_DIR "${CMAKE_BINARY_DIR}/perf_results" CACHE PATH "Where measurements are written")
set(elaphos_perf_test_module_dir "${CMAKE_CURRENT_LIST_DIR}")

function(elaphos_add_perf_test name)
  add_executable(perf_test_${name} ${name}.cpp)
  target_link_libraries(perf_test_${name} PRIVATE perf_test_main)

  add_test(NAME perf_dry_run.${name} COMMAND perf_test_${name} --benchmark_dry_run)
  set_tests_properties(perf_dry_run.${name} PROPERTIES LABELS dry_run ENVIRONMENT OMP_PROC_BIND=false)

  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(multi_config)
    message(STATUS "perf_tests: with several configurations in one tree, run perf_test_${name} by hand")
    return()
  endif()
  get_target_property(launcher perf_test_${name} TEST_LAUNCHER)
  if(NOT launcher)
    set(launcher "${CMAKE_TEST_LAUNCHER}")
  endif()
  set(list "${CMAKE_CURRENT_BINARY_DIR}/perf_test_${name}_rows.cmake")
  file(
    GENERATE
    OUTPUT "${list}"
    CONTENT
      "set(name \"${name}\")
set(launcher \"${launcher}\")
set(program \"$<TARGET_FILE:perf_test_${name}>\")
set(results_dir \"${ELAPHOS_PERF_RESULTS_DIR}\")
include(\"${elaphos_perf_test_module_dir}/ElaphosListPerfRows.cmake\")
"
  )
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${list}")
endfunction()
