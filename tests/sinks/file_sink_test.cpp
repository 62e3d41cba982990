// FileSink: a line is acknowledged when it is safe, never earlier, and never makes the loop wait for a reader.

#include "sinks/file_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "sinks/sink_error.h"
#include "tests/support/catch.h"
#include "tests/support/sink_driver.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {
namespace {

OutboxEvent event_of(std::string_view value) {
  OutboxEvent event;
  event.topic = "t";
  event.value = value;
  event.timestamp_ms = 1;
  return event;
}

std::string line_of(std::string_view value) {
  std::string line;
  EventLineWriter().append(line, event_of(value));
  return line;
}

// stdout replaced by a pipe while this lives.
class StdoutPipe {
 public:
  StdoutPipe() : saved_(::dup(STDOUT_FILENO)) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    reader_ = FileDescriptor(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  }
  ~StdoutPipe() { restore(); }
  StdoutPipe(const StdoutPipe&) = delete;
  StdoutPipe& operator=(const StdoutPipe&) = delete;

  void restore() { ::dup2(saved_.get(), STDOUT_FILENO); }
  void close_reader() { reader_ = FileDescriptor(); }

  std::string read_all() {
    std::string all;
    std::array<char, 4096> block{};
    for (ssize_t count = 0; (count = ::read(reader_.get(), block.data(), block.size())) > 0;) {
      all.append(block.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  FileDescriptor saved_;
  FileDescriptor reader_;
};

}  // namespace

TEST_CASE("a file's events are acknowledged by collect, with their lines written") {
  TempDir dir;
  const auto path = dir.file("events.jsonl");
  FileSink sink(LineFile::open(path), {}, {});
  REQUIRE(sink.submit(event_of("1"), 10) == SubmitStatus::accepted);
  REQUIRE(sink.submit(event_of("2"), 11) == SubmitStatus::accepted);
  CHECK(sink.in_flight_events() == 2);
  CHECK(sink.in_flight_bytes() == 2);
  pollfd waiting{sink.descriptor(), POLLIN, 0};
  CHECK(::poll(&waiting, 1, 0) == 1);
  const auto deliveries = sink.collect(100);
  REQUIRE(deliveries.size() == 2);
  CHECK(deliveries[0].tag == 10);
  CHECK(deliveries[1].tag == 11);
  CHECK(deliveries[1].status == DeliveryStatus::persisted);
  CHECK(read_file(path) == line_of("1") + line_of("2"));
  CHECK(sink.in_flight_bytes() == 0);
  CHECK(::poll(&waiting, 1, 0) == 0);
}

TEST_CASE("collect of a file gives no more than asked for and stays readable while there is more") {
  TempDir dir;
  FileSink sink(LineFile::open(dir.file("events.jsonl")), {}, {});
  for (Tag tag = 0; tag < 3; ++tag) REQUIRE(sink.submit(event_of("1"), tag) == SubmitStatus::accepted);
  pollfd waiting{sink.descriptor(), POLLIN, 0};
  for (Tag tag = 0; tag < 3; ++tag) {
    REQUIRE(::poll(&waiting, 1, 0) == 1);
    REQUIRE(sink.collect(1).size() == 1);
  }
  CHECK(::poll(&waiting, 1, 0) == 0);
}

TEST_CASE("a file is appended to, and a torn last line is cut off first") {
  TempDir dir;
  const auto path = dir.file("events.jsonl");
  const std::string torn = line_of("\"torn\"");
  const auto kept = GENERATE(std::size_t{1}, std::size_t{11}, std::size_t{40});
  write_file(path, line_of("1") + torn.substr(0, kept));
  std::vector<std::string> lines;
  FileSink sink(LineFile::open(path), {}, [&](SinkLogLevel, std::string_view text) { lines.emplace_back(text); });
  REQUIRE(sink.submit(event_of("2"), 1) == SubmitStatus::accepted);
  REQUIRE(sink.collect(1).size() == 1);
  CHECK(read_file(path) == line_of("1") + line_of("2"));
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], ContainsSubstring("torn"));
}

TEST_CASE("a last line that is not of walrelay is left alone") {
  TempDir dir;
  const auto path = dir.file("notes.txt");
  write_file(path, "dear diary");
  FileSink sink(LineFile::open(path), {}, {});
  CHECK(sink.submit(event_of("2"), 1) == SubmitStatus::full);
  REQUIRE(sink.fatal_reason());
  CHECK_THAT(*sink.fatal_reason(), ContainsSubstring(path));
  CHECK(read_file(path) == "dear diary");
}

TEST_CASE("a file that another sink writes to is refused") {
  TempDir dir;
  const auto path = dir.file("events.jsonl");
  FileSink active(LineFile::open(path), {}, {});
  REQUIRE(active.submit(event_of("1"), 1) == SubmitStatus::accepted);
  FileSink standby(LineFile::open(path), {}, {});
  CHECK_FALSE(standby.fatal_reason().has_value());
  CHECK(standby.submit(event_of("2"), 1) == SubmitStatus::full);
  REQUIRE(standby.fatal_reason());
  CHECK_THAT(*standby.fatal_reason(), ContainsSubstring("another process"));
}

TEST_CASE("a full disk ends the sink and acknowledges nothing") {
  FileSink sink(LineFile::open("/dev/full"), {}, {});
  REQUIRE(sink.submit(event_of("1"), 7) == SubmitStatus::accepted);
  const auto deliveries = sink.collect(10);
  REQUIRE(deliveries.size() == 1);
  CHECK(deliveries[0].tag == 7);
  CHECK(deliveries[0].status == DeliveryStatus::in_doubt);
  REQUIRE(sink.fatal_reason());
  CHECK_THAT(*sink.fatal_reason(), ContainsSubstring("/dev/full") && ContainsSubstring("No space left"));
  CHECK(sink.submit(event_of("2"), 8) == SubmitStatus::full);
}

TEST_CASE("a file that cannot be opened is an error with its name") {
  TempDir dir;
  CHECK_THROWS_WITH(LineFile::open(dir.file("no/such/dir/x")),
                    ContainsSubstring("no/such/dir/x") && ContainsSubstring("No such file"));
  CHECK_THROWS_AS(LineFile::open(dir.path().string()), SinkOpenError);
}

TEST_CASE("a file holds no more than the limits, and a larger event goes alone") {
  TempDir dir;
  FileSink sink(LineFile::open(dir.file("f")), {.in_flight_events_max = 2, .in_flight_bytes_max = 10}, {});
  REQUIRE(sink.submit(event_of("01234567890123456789"), 1) == SubmitStatus::accepted);
  CHECK(sink.submit(event_of("1"), 2) == SubmitStatus::full);
  REQUIRE(sink.collect(10).size() == 1);
  REQUIRE(sink.submit(event_of("1"), 2) == SubmitStatus::accepted);
  REQUIRE(sink.submit(event_of("2"), 3) == SubmitStatus::accepted);
  CHECK(sink.submit(event_of("3"), 4) == SubmitStatus::full);
}

TEST_CASE("stdout acknowledges a line when it is written whole, and never waits for its reader") {
  StdoutPipe pipe;
  FileSink sink(LineFile::standard_output(), {}, {});
  const std::string large(1'000'000, '7');  // a JSON number; larger than any pipe
  REQUIRE(sink.submit(event_of(large), 1) == SubmitStatus::accepted);
  CHECK(sink.collect(10).empty());  // returns, though nobody reads
  pollfd waiting{sink.descriptor(), POLLIN, 0};
  CHECK(::poll(&waiting, 1, 0) == 0);  // there is nothing to do until somebody does
  SinkDriver driver(sink);
  std::string received = pipe.read_all();
  CHECK(driver.run_until([&] {
    received += pipe.read_all();
    return !driver.deliveries.empty();
  }));
  received += pipe.read_all();
  pipe.restore();
  CHECK(driver.deliveries[0].status == DeliveryStatus::persisted);
  CHECK(received == line_of(large));
}

TEST_CASE("a reader of stdout that has gone ends the sink and acknowledges nothing") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as the process does
  StdoutPipe pipe;
  FileSink sink(LineFile::standard_output(), {}, {});
  pipe.close_reader();
  REQUIRE(sink.submit(event_of("1"), 1) == SubmitStatus::accepted);
  SinkDriver driver(sink);
  const bool collected = driver.run_until_collected(1);
  pipe.restore();
  std::signal(SIGPIPE, before);
  REQUIRE(collected);
  CHECK(driver.deliveries[0].status == DeliveryStatus::in_doubt);
  REQUIRE(sink.fatal_reason());
  CHECK_THAT(*sink.fatal_reason(), ContainsSubstring("stdout") && ContainsSubstring("Broken pipe"));
}

}  // namespace walrelay::test
