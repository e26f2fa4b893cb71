# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# elaphos_add_git_commit_header(TARGET) gives TARGET a private header <git_commit.hpp> that defines ELAPHOS_GIT_COMMIT.
# It is looked up at each build, since a commit need not lead to a new configuration. Run as a script, this file
# writes that header.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  if(NOT COMMIT)
    set(COMMIT unknown)
    find_program(GIT git)
    if(GIT AND EXISTS "${SOURCE_DIR}/.git")
      execute_process(
        COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=*
        WORKING_DIRECTORY "${SOURCE_DIR}"
        OUTPUT_VARIABLE described
        OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE failed
        ERROR_QUIET
      )
      if(NOT failed)
        set(COMMIT "${described}")
      endif()
    endif()
  endif()
  # Leaves the file alone when nothing changed, so that nothing is built again.
  file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#pragma once\n#define ELAPHOS_GIT_COMMIT \"@COMMIT@\"\n" @ONLY)
  return()
endif()

set(ELAPHOS_GIT_COMMIT "" CACHE STRING "The commit that is built, where git cannot tell (empty: ask git)")

function(elaphos_add_git_commit_header target)
  set(private_dir "${PROJECT_BINARY_DIR}/private")
  add_custom_target(
    ${target}_git_commit
    COMMAND
      ${CMAKE_COMMAND} -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}" -D "HEADER=${private_dir}/git_commit.hpp" -D
      "COMMIT=${ELAPHOS_GIT_COMMIT}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    BYPRODUCTS "${private_dir}/git_commit.hpp"
    COMMENT "Looking up the commit"
    VERBATIM
  )
  add_dependencies(${target} ${target}_git_commit)
  target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${private_dir}>")
endfunction()
