#include "connector/status_policy.h"

#include "tests/support/catch.h"

namespace walrelay::test {

using namespace std::chrono_literals;

namespace {

constexpr Instant kNow{1h};

StatusPolicy just_sent(std::chrono::milliseconds wal_sender_timeout, Lsn position = Lsn{100}) {
  StatusPolicy policy;
  policy.start(kNow, wal_sender_timeout);
  policy.sent(position, kNow);
  return policy;
}

}  // namespace

TEST_CASE("the first status of a session is due at once") {
  StatusPolicy policy;
  policy.start(kNow, 60s);
  CHECK(policy.due() == kNow);
}

TEST_CASE("status is due every third of wal_sender_timeout, every 10 s at most, whatever the sink does") {
  CHECK(just_sent(6s).due() == kNow + 2s);
  CHECK(just_sent(60s).due() == kNow + 10s);
  CHECK(just_sent(0s).due() == kNow + 10s);
}

TEST_CASE("status is due 200 ms after the confirmed position moved, and not later when it moves again") {
  auto policy = just_sent(60s);
  policy.confirmed(Lsn{100}, kNow + 1s);
  CHECK(policy.due() == kNow + 10s);
  policy.confirmed(Lsn{101}, kNow + 1s);
  policy.confirmed(Lsn{102}, kNow + 1100ms);
  CHECK(policy.due() == kNow + 1200ms);
}

TEST_CASE("a requested reply is due at once") {
  auto policy = just_sent(60s);
  policy.at_once(kNow + 3s);
  CHECK(policy.due() == kNow + 3s);
}

}  // namespace walrelay::test
