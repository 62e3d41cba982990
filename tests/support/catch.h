#pragma once
// Catch2 2 (bookworm) and 3 (trixie) under one include.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
namespace walrelay::test {
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
}  // namespace walrelay::test
#else
#include <catch2/catch.hpp>
namespace walrelay::test {
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
}  // namespace walrelay::test
#endif
