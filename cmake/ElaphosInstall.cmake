# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

# A shared Elaphos::io knows its HDF5 itself.
set(ELAPHOS_LINKS_HDF5 FALSE)
if(ELAPHOS_USE_HDF5)
  get_target_property(elaphos_io_type elaphos_io TYPE)
  if(elaphos_io_type STREQUAL "STATIC_LIBRARY")
    set(ELAPHOS_LINKS_HDF5 TRUE)
  endif()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Elaphos")
configure_package_config_file(
  cmake/ElaphosConfig.cmake.in "${PROJECT_BINARY_DIR}/ElaphosConfig.cmake" INSTALL_DESTINATION "${package_dir}"
)
# Before 1.0 a minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ElaphosConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

install(TARGETS elaphos EXPORT ElaphosTargets FILE_SET HEADERS)
if(TARGET elaphos_io)
  install(TARGETS elaphos_io EXPORT ElaphosTargets FILE_SET HEADERS)
endif()
install(EXPORT ElaphosTargets NAMESPACE Elaphos:: DESTINATION "${package_dir}")
install(
  FILES "${PROJECT_BINARY_DIR}/ElaphosConfig.cmake" "${PROJECT_BINARY_DIR}/ElaphosConfigVersion.cmake"
  DESTINATION "${package_dir}"
)
