#include "connector/progress_record.h"

#include "tests/support/catch.h"
#include "tests/support/progress_records.h"

namespace walrelay::test {
namespace {

std::optional<ProgressRecord> chosen(const std::vector<ProgressRecord>& records) {
  std::vector<std::string> texts;
  for (const auto& record : records) texts.push_back(to_json(record));
  return choose_progress(texts);
}

}  // namespace

TEST_CASE("a progress record comes back as it was written") {
  auto record = record_at(0x16'0000'0010, CommitMark{Lsn{0x16'0000'0008}, 4'000'000'000, -5});
  record.database = "a \"quoted\" näme";
  CHECK(to_json(record) ==
        R"({"slot":"walrelay","generation":1,"system_identifier":"77","timeline":1,"database":"a \"quoted\" näme",)"
        R"("position":"16/10","commit":{"end_lsn":"16/8","xid":4000000000,"time":-5}})");
  CHECK(parse_progress(to_json(record)) == record);
  record.commit.reset();
  CHECK(parse_progress(to_json(record)) == record);
}

TEST_CASE("what is not a whole progress record is none") {
  const auto text = to_json(record_at(16, CommitMark{Lsn{8}, 1, 1}));
  const auto broken = GENERATE("", "{}", "[]", "null", "text", R"({"slot":"walrelay"})");
  CHECK_FALSE(parse_progress(broken));
  for (const auto* field : {"slot", "generation", "system_identifier", "timeline", "database", "position", "xid"}) {
    std::string without = text;
    without.replace(without.find(field), 1, "_");
    CAPTURE(without);
    CHECK_FALSE(parse_progress(without));
  }
  std::string cut = text;
  cut.replace(cut.find("0/10"), 4, "0x10");
  CHECK_FALSE(parse_progress(cut));
}

TEST_CASE("of several records the last one counts, unless it is an older position of a process that was suspended") {
  CHECK(chosen({record_at(100), record_at(200)}) == record_at(200));
  CHECK(chosen({record_at(100), record_at(200), record_at(150)}) == record_at(200));
  auto renewed = record_at(50);
  renewed.generation = 2;
  CHECK(chosen({record_at(200), renewed, record_at(150)}) == renewed);
  auto promoted = record_at(180);
  promoted.timeline = 2;
  CHECK(chosen({record_at(200), promoted, record_at(190)}) == promoted);
  auto copy = record_at(10);
  copy.system_identifier = "78";
  CHECK(chosen({record_at(200), copy}) == copy);
}

TEST_CASE("a last record that cannot be read is not passed over for one before it") {
  const std::vector<std::string> texts = {to_json(record_at(100)), "{}"};
  CHECK_FALSE(choose_progress(texts));
}

}  // namespace walrelay::test
