#include "decoder/pgoutput_decoder.h"
#include "support/catch.h"
#include "support/count_allocations.h"
#include "support/describe_message.h"
#include "support/sample_messages.h"

namespace walrelay::test {

TEST_CASE("each message of protocol 1 is decoded with every field") {
  PgoutputDecoder decoder;
  for (const auto& sample : sample_messages()) {
    PgoutputMessage out;
    REQUIRE(decoder.decode(sample.bytes, out) == DecodeError{});
    CHECK(describe(out) == sample.text);
  }
}

TEST_CASE("names and values are views into the decoded buffer") {
  const std::string bytes = WireBytes().byte('I').int32(1).byte('N').int16(1).text_value("value");
  PgoutputDecoder decoder;
  PgoutputMessage out;
  REQUIRE(!decoder.decode(bytes, out).failed());
  CHECK(std::get<InsertMessage>(out).row[0].bytes.data() == bytes.data() + bytes.size() - 5);
}

TEST_CASE("a row does not keep columns of the wider row before it") {
  const std::string wide = WireBytes().byte('I').int32(1).byte('N').int16(3).null_value().null_value().null_value();
  const std::string narrow = WireBytes().byte('I').int32(2).byte('N').int16(1).text_value("only");
  PgoutputDecoder decoder;
  PgoutputMessage out;
  REQUIRE(!decoder.decode(wide, out).failed());
  REQUIRE(!decoder.decode(narrow, out).failed());
  CHECK(describe(out) == "insert 2 N(t\"only\")");
}

TEST_CASE("a message after a broken one is decoded as if nothing had happened") {
  PgoutputDecoder decoder;
  PgoutputMessage out;
  const std::string broken = WireBytes().byte('I').int32(1).byte('N').int16(2).null_value().byte('?');
  REQUIRE(decoder.decode(broken, out).failed());
  for (const auto& sample : sample_messages()) {
    REQUIRE(!decoder.decode(sample.bytes, out).failed());
    CHECK(describe(out) == sample.text);
  }
}

TEST_CASE("decoding allocates nothing once the widest row has been seen") {
  const auto samples = sample_messages();
  PgoutputDecoder decoder;
  PgoutputMessage out;
  bool failed = false;
  const auto decode_all = [&] {
    for (const auto& sample : samples) failed |= decoder.decode(sample.bytes, out).failed();
  };
  const auto before_first = allocations();
  decode_all();
  CHECK(allocations() > before_first);  // or the counter counts nothing
  const auto before_second = allocations();
  decode_all();
  CHECK(allocations() == before_second);
  CHECK(!failed);
}

}  // namespace walrelay::test
