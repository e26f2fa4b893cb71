# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Read by ctest: adds a test for each row of `program`, if this is a run of the configuration "perf".
if(NOT CTEST_CONFIGURATION_TYPE MATCHES "^[Pp]erf$")
  return()
endif()
execute_process(
  COMMAND ${launcher} "${program}" --benchmark_list_tests
  OUTPUT_VARIABLE rows
  ERROR_VARIABLE errors
  RESULT_VARIABLE failed
)
if(failed)
  message(FATAL_ERROR "${program} cannot list its rows (${failed}): ${errors}")
endif()
file(MAKE_DIRECTORY "${results_dir}")
string(REGEX MATCHALL "[^\n]+" rows "${rows}")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "/(iterations|repeats|manual_time|real_time).*$" "" short "${row}")
  string(MAKE_C_IDENTIFIER "${name}_${short}" file)
  add_test(
    "perf.${name}.${short}" ${launcher} "${program}" "--benchmark_filter=^${row}$" --benchmark_repetitions=11
    --benchmark_display_aggregates_only=true --benchmark_out_format=json "--benchmark_out=${results_dir}/${file}.json"
    --ctest_measurements
  )
  # Nothing else runs beside a measurement.
  set_tests_properties("perf.${name}.${short}" PROPERTIES LABELS perf RUN_SERIAL TRUE)
endforeach()
