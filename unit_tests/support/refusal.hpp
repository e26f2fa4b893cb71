// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_REFUSAL_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_REFUSAL_HPP

#include <elaphos/errors.hpp>

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string>
#include <vector>

namespace test {

/// Runs `attempt`, which must throw `InvalidArgument` with all the words in its message.
inline void expect_refusal(const std::function<void()>& attempt, const std::vector<std::string>& words) {
  CAPTURE(words);
  try {
    attempt();
    FAIL_CHECK("accepted");
  } catch (const elaphos::InvalidArgument& error) {
    const std::string text = error.what();
    for (const std::string& word : words) {
      CAPTURE(text, word);
      CHECK(text.find(word) != std::string::npos);
    }
  }
}

}  // namespace test

#endif
