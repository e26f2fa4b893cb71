# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Each dependency is what find_package finds; else, with ELAPHOS_FETCH_DEPENDENCIES, a pinned release. To take it from
# elsewhere (a mirror, a file), set ELAPHOS_<NAME>_URL and ELAPHOS_<NAME>_SHA256.
#
# A macro where a package's own CMake code has to set variables for the rest of the project.
include(FetchContent)

set(ELAPHOS_KOKKOS_VERSIONS 4.5...<6)
set(ELAPHOS_HDF5_VERSION 1.10.3)

function(elaphos_pin name url sha256)
  set(ELAPHOS_${name}_URL ${url} CACHE STRING "Where ${name} is downloaded from")
  set(ELAPHOS_${name}_SHA256 ${sha256} CACHE STRING "What that download must hash to")
  mark_as_advanced(ELAPHOS_${name}_URL ELAPHOS_${name}_SHA256)
endfunction()

elaphos_pin(
  KOKKOS https://github.com/kokkos/kokkos/releases/download/5.1.1/kokkos-5.1.1.tar.gz
  8bdbee0f0ac383436743ad8a9e3e928705b34b31a25a92dc5179c52a3aa98519
)
elaphos_pin(
  FMT https://github.com/fmtlib/fmt/releases/download/12.1.0/fmt-12.1.0.zip
  695fd197fa5aff8fc67b5f2bbc110490a875cdf7a41686ac8512fb480fa8ada7
)
elaphos_pin(
  NLOHMANN_JSON https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
)
elaphos_pin(
  CATCH2 https://github.com/catchorg/Catch2/archive/refs/tags/v3.8.0.tar.gz
  1ab2de20460d4641553addfdfe6acd4109d871d5531f8f519a52ea4926303087
)
elaphos_pin(
  CLI11 https://github.com/CLIUtils/CLI11/archive/v2.6.0.tar.gz
  8c11bc049090a66cb71c3e90350cddaa792b2a45e0a7841799900b95ca38b101
)
elaphos_pin(
  BENCHMARK https://github.com/google/benchmark/archive/refs/tags/v1.9.4.tar.gz
  b334658edd35efcf06a99d9be21e4e93e092bd5f95074c1673d5c8705d95c104
)

# Not left to FetchContent, which tries a server that does not answer for minutes.
function(elaphos_download name result)
  string(TOUPPER ${name} NAME)
  set(url "${ELAPHOS_${NAME}_URL}")
  set(sha256 "${ELAPHOS_${NAME}_SHA256}")
  cmake_path(GET url FILENAME file)
  set(archive "${PROJECT_BINARY_DIR}/downloads/${sha256}/${file}")
  if(NOT EXISTS "${archive}")
    file(DOWNLOAD "${url}" "${archive}.part" INACTIVITY_TIMEOUT 10 TIMEOUT 120 TLS_VERIFY ON STATUS status)
    list(POP_FRONT status code text)
    if(code)
      message(FATAL_ERROR "${name}: could not download ${url}: ${text}")
    endif()
    file(SHA256 "${archive}.part" found)
    if(NOT found STREQUAL sha256)
      message(FATAL_ERROR "${name}: ${url} has SHA256 ${found}, expected ${sha256}")
    endif()
    file(RENAME "${archive}.part" "${archive}")
  endif()
  set(${result} "${archive}" PARENT_SCOPE)
endfunction()

set(elaphos_kokkos_backends SERIAL OPENMP THREADS CUDA HIP SYCL)

# Kokkos by itself would use one core.
function(elaphos_choose_backend)
  foreach(backend IN LISTS elaphos_kokkos_backends)
    if(DEFINED CACHE{Kokkos_ENABLE_${backend}})
      return()
    endif()
  endforeach()
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    set(Kokkos_ENABLE_OPENMP ON CACHE BOOL "The downloaded Kokkos uses all cores")
  endif()
endfunction()

# elaphos_dependency(NAME VERSIONS TARGET [INSTALL]): TARGET exists afterwards. With INSTALL, a downloaded package is
# installed together with Elaphos, whose users need it.
macro(elaphos_dependency name versions target)
  cmake_parse_arguments(ELAPHOS_DEPENDENCY "INSTALL" "" "" ${ARGN})
  if(NOT TARGET ${target})
    find_package(${name} ${versions} CONFIG QUIET)
  endif()
  if(${name}_FOUND)
    message(STATUS "${name} ${${name}_VERSION}: installed in ${${name}_DIR}")
  elseif(TARGET ${target})
    message(STATUS "${name}: provided by the surrounding project")
  elseif(ELAPHOS_FETCH_DEPENDENCIES)
    elaphos_download(${name} elaphos_archive)
    if("${name}" STREQUAL "Kokkos")
      elaphos_choose_backend()
    endif()
    string(TOUPPER ${name} elaphos_upper)
    set(elaphos_fetch_options DOWNLOAD_EXTRACT_TIMESTAMP OFF)
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.28 AND NOT ELAPHOS_DEPENDENCY_INSTALL)
      list(APPEND elaphos_fetch_options EXCLUDE_FROM_ALL)
    endif()
    FetchContent_Declare(
      ${name}
      URL "${elaphos_archive}"
      URL_HASH SHA256=${ELAPHOS_${elaphos_upper}_SHA256}
      ${elaphos_fetch_options}
    )
    # Its headers give no warnings. FetchContent_Declare(SYSTEM) does the same, except in CMake 3.25.
    set_property(DIRECTORY PROPERTY SYSTEM ON)
    FetchContent_MakeAvailable(${name})
    set_property(DIRECTORY PROPERTY SYSTEM OFF)
    message(STATUS "${name}: downloaded from ${ELAPHOS_${elaphos_upper}_URL}")
  else()
    set(elaphos_considered "")
    if(${name}_CONSIDERED_VERSIONS)
      set(elaphos_considered " (only ${${name}_CONSIDERED_VERSIONS})")
    endif()
    message(
      FATAL_ERROR
        "${name} ${versions} is not installed where CMake looks${elaphos_considered}. Install it and set ${name}_ROOT or "
        "CMAKE_PREFIX_PATH, or download it with -D ELAPHOS_FETCH_DEPENDENCIES=ON, or let scripts/quickstart set up "
        "everything."
    )
  endif()
endmacro()

elaphos_dependency(Kokkos ${ELAPHOS_KOKKOS_VERSIONS} Kokkos::kokkos INSTALL)
# A preset, or a user, that asks for a backend must not get a Kokkos without it.
foreach(backend IN LISTS elaphos_kokkos_backends)
  if("$CACHE{Kokkos_ENABLE_${backend}}" AND Kokkos_FOUND AND NOT backend IN_LIST Kokkos_DEVICES)
    message(FATAL_ERROR "Kokkos_ENABLE_${backend} is asked for, but the Kokkos in ${Kokkos_DIR} has: ${Kokkos_DEVICES}")
  endif()
endforeach()

set(FMT_INSTALL OFF)
elaphos_dependency(fmt 10 fmt::fmt-header-only)

if(ELAPHOS_ENABLE_IO)
  elaphos_dependency(nlohmann_json 3.10 nlohmann_json::nlohmann_json)
endif()

# The system's own or none: never downloaded.
set(ELAPHOS_USE_HDF5 FALSE)
if(ELAPHOS_ENABLE_IO AND ELAPHOS_ENABLE_HDF5)
  # HDF5's own version file accepts its own minor version alone, so the version is not left to find_package.
  if(NOT TARGET hdf5::hdf5)
    find_package(HDF5 QUIET COMPONENTS C)
  endif()
  if(HDF5_FOUND AND HDF5_VERSION VERSION_GREATER_EQUAL ELAPHOS_HDF5_VERSION)
    set(ELAPHOS_USE_HDF5 TRUE)
    message(STATUS "HDF5 ${HDF5_VERSION}: installed in ${HDF5_INCLUDE_DIRS}")
  elseif(TARGET hdf5::hdf5 AND NOT HDF5_FOUND)
    set(ELAPHOS_USE_HDF5 TRUE)
    message(STATUS "HDF5: provided by the surrounding project")
  elseif(ELAPHOS_ENABLE_HDF5 STREQUAL "AUTO")
    message(STATUS "HDF5 ${ELAPHOS_HDF5_VERSION}: not found, Elaphos::io is built without it")
  else()
    message(
      FATAL_ERROR
        "HDF5 ${ELAPHOS_HDF5_VERSION} is not installed where CMake looks. Install its C library (Debian: libhdf5-dev) "
        "and, unless it is the system's, set HDF5_ROOT, or leave it out with -D ELAPHOS_ENABLE_HDF5=OFF."
    )
  endif()
endif()

if(ELAPHOS_ENABLE_TESTS)
  elaphos_dependency(Catch2 3 Catch2::Catch2)
  if(Catch2_SOURCE_DIR)
    list(APPEND CMAKE_MODULE_PATH "${Catch2_SOURCE_DIR}/extras")
  endif()
endif()
if(ELAPHOS_ENABLE_PERF_TESTS)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  elaphos_dependency(benchmark 1.8 benchmark::benchmark)
endif()
if(ELAPHOS_ENABLE_EXAMPLES)
  elaphos_dependency(CLI11 2 CLI11::CLI11)
endif()
