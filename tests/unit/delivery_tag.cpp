#include "connector/delivery_tag.h"

#include "tests/support/catch.h"

namespace walrelay::test {

TEST_CASE("a delivery tag comes back as it went, also where the ordinal has outgrown its bits") {
  const auto first =
      GENERATE(std::uint64_t{0}, std::uint64_t{7}, (std::uint64_t{1} << 39U) - 2, std::uint64_t{3} << 41U);
  const auto ahead = GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100'000});
  const auto kind = GENERATE(DeliveryTag::Kind::event, DeliveryTag::Kind::dead_letter, DeliveryTag::Kind::progress);
  const DeliveryTag sent{
      .kind = kind, .epoch = DeliveryTag::kEpochMax, .outbox = DeliveryTag::kOutboxesMax - 1, .ordinal = first + ahead};
  const DeliveryTag back = DeliveryTag::unpack(sent.pack(), first);
  CHECK(back.kind == sent.kind);
  CHECK(back.epoch == sent.epoch);
  CHECK(back.outbox == sent.outbox);
  CHECK(back.ordinal == sent.ordinal);
}

}  // namespace walrelay::test
