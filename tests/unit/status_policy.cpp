#include "connector/status_policy.h"

#include "tests/support/catch.h"

namespace walrelay::test {

using namespace std::chrono_literals;

namespace {

constexpr Instant kBegin{1h};

StatusPolicy just_sent(std::chrono::milliseconds wal_sender_timeout, Lsn position = Lsn{100}) {
  StatusPolicy policy;
  policy.start(kBegin, wal_sender_timeout);
  policy.sent(position, kBegin);
  return policy;
}

}  // namespace

TEST_CASE("the first status of a session is due at once") {
  StatusPolicy policy;
  policy.start(kBegin, 60s);
  CHECK(policy.due() == kBegin);
}

TEST_CASE("status is due every third of wal_sender_timeout, every 10 s at most, whatever the sink does") {
  CHECK(just_sent(6s).due() == kBegin + 2s);
  CHECK(just_sent(60s).due() == kBegin + 10s);
  CHECK(just_sent(0s).due() == kBegin + 10s);
}

TEST_CASE("status is due 200 ms after the confirmed position moved, and not later when it moves again") {
  auto policy = just_sent(60s);
  policy.confirmed(Lsn{100}, kBegin + 1s);
  CHECK(policy.due() == kBegin + 10s);
  policy.confirmed(Lsn{101}, kBegin + 1s);
  policy.confirmed(Lsn{102}, kBegin + 1100ms);
  CHECK(policy.due() == kBegin + 1200ms);
}

TEST_CASE("a requested reply is due at once") {
  auto policy = just_sent(60s);
  policy.at_once(kBegin + 3s);
  CHECK(policy.due() == kBegin + 3s);
}

}  // namespace walrelay::test
