#include "connector/observe/quantity_text.h"

#include "tests/support/catch.h"

namespace walrelay::test {

TEST_CASE("sizes are told in the unit that keeps them short") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(68'270'584) == "65.1 MiB");
  CHECK(bytes_text(1024LL * 1024 * 1024 * 130) == "130 GiB");
  CHECK(bytes_text(1024LL * 1024 * 1024 * 1024 * 5000) == "5000 TiB");
  CHECK(bytes_text(-1536) == "-1.5 KiB");
}

TEST_CASE("spans of time are told in their two largest units") {
  CHECK(duration_text(0) == "0.0 s");
  CHECK(duration_text(0.0042) == "0.004 s");
  CHECK(duration_text(9.94) == "9.9 s");
  CHECK(duration_text(42.4) == "42 s");
  CHECK(duration_text(60) == "1 min");
  CHECK(duration_text(125.9) == "2 min 5 s");
  CHECK(duration_text(3600) == "1 h");
  CHECK(duration_text(15'000) == "4 h 10 min");
  CHECK(duration_text(254'128) == "2 d 22 h");
}

}  // namespace walrelay::test
