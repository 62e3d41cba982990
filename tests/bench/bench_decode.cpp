// bench_decode TRANSACTIONS [STAGE]: what decoder, router and frontier take of each event, without server and broker.
// The events are those of set B, in transactions of 100: frames as the server sends them, in memory. Prints a JSON
// object for each stage ("decode", "route", "frontier"; each includes the ones before it), or for the one that is
// named: nanoseconds and allocations an event.

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "connector/ack_frontier.h"
#include "decoder/copy_frame.h"
#include "decoder/outbox_router.h"
#include "decoder/pgoutput_decoder.h"
#include "decoder/presets.h"
#include "tests/support/count_allocations.h"
#include "tests/support/stream_bytes.h"

namespace {

using Clock = std::chrono::steady_clock;
using walrelay::Lsn;
using walrelay::test::WireBytes;

constexpr int kRows = 100;
constexpr int kPayloadBytes = 550;
constexpr int kWarmUpTransactions = 10;
constexpr std::uint32_t kTextType = 25;
enum class Stage : std::uint8_t { decode, route, frontier };
constexpr std::string_view kStageNames[] = {"decode", "route", "frontier"};

std::string relation_frame() {
  WireBytes bytes;
  bytes.byte('R').int32(walrelay::test::kOutboxRelation).c_string("public").c_string("outbox").byte('d').int16(5);
  for (const auto* column : {"id", "aggregatetype", "aggregateid", "type", "payload"}) {
    bytes.byte(0).c_string(column).int32(kTextType).int32(-1);
  }
  return walrelay::test::xlog_frame(bytes);
}

std::string insert_frame(int row) {
  const std::string head = fmt::format(R"({{"order": {}, "pad": ")", row);
  return walrelay::test::xlog_frame(WireBytes()
                                        .byte('I')
                                        .int32(walrelay::test::kOutboxRelation)
                                        .byte('N')
                                        .int16(5)
                                        .text_value(fmt::format("00000000-0000-4000-8000-{:012}", row))
                                        .text_value("order")
                                        .text_value(fmt::format("customer-{}", row * 97 % 10'000))
                                        .text_value("OrderPlaced")
                                        .text_value(head + std::string(kPayloadBytes - head.size() - 2, 'x') + "\"}"));
}

std::vector<walrelay::OutboxRules> rules() {
  walrelay::OutboxRules rules;
  rules.table = "public.outbox";
  rules.preset = "debezium";
  walrelay::fill_from_preset(rules);
  return {rules};
}

class Bench {
 public:
  Bench() : router_(rules()), frontier_(Lsn{1}) {
    for (int row = 0; row < kRows; ++row) inserts_.push_back(insert_frame(row));
    take<Stage::frontier>(relation_frame());
  }

  // One transaction and the acknowledgement of its events.
  template <Stage stage>
  void transaction() {
    ++lsn_.value;
    take<stage>(begin_);
    if constexpr (stage == Stage::frontier) ordinal_ = frontier_.open({.commit_lsn = lsn_, .xid = 733});
    for (const auto& insert : inserts_) take<stage>(insert);
    take<stage>(commit_);
    if constexpr (stage == Stage::frontier) {
      frontier_.close(Lsn{++lsn_.value});
      for (int row = 0; row < kRows; ++row) frontier_.settled(ordinal_);
    }
  }

  void check() const {
    if (frontier_.confirmed() != lsn_) throw std::runtime_error("not everything is confirmed");
  }

 private:
  template <Stage stage>
  void take(std::string_view bytes) {
    walrelay::CopyFrame frame;
    walrelay::PgoutputMessage message;
    if (walrelay::parse_copy_frame(bytes, frame).failed() ||
        decoder_.decode(std::get<walrelay::XLogData>(frame).payload, message).failed()) {
      throw std::runtime_error("a frame of our own cannot be read");
    }
    if constexpr (stage == Stage::decode) return;
    if (const auto* insert = std::get_if<walrelay::InsertMessage>(&message)) {
      const auto routed = router_.route(*insert, 1);
      if (routed.status != walrelay::RouteStatus::event) throw std::runtime_error("a row of our own is no event");
      if constexpr (stage == Stage::frontier) frontier_.add();
    } else if (const auto* relation = std::get_if<walrelay::RelationMessage>(&message)) {
      router_.relation(*relation);
    }
  }

  walrelay::PgoutputDecoder decoder_;
  walrelay::OutboxRouter router_;
  walrelay::AckFrontier frontier_;
  walrelay::AckFrontier::Ordinal ordinal_ = 0;
  Lsn lsn_{1};
  std::string begin_ = walrelay::test::begin_frame(Lsn{2}, 733);
  std::string commit_ = walrelay::test::commit_frame(Lsn{2}, Lsn{3});
  std::vector<std::string> inserts_;
};

template <Stage stage>
void measure(int transactions) {
  Bench bench;
  for (int i = 0; i < kWarmUpTransactions; ++i) bench.transaction<stage>();
  const std::size_t allocations = walrelay::test::allocations();
  const auto begin = Clock::now();
  for (int i = 0; i < transactions; ++i) bench.transaction<stage>();
  const double elapsed = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  const double events = 1.0 * transactions * kRows;
  if (stage == Stage::frontier) bench.check();
  fmt::print("{{\"stage\": \"{}\", \"ns\": {:.1f}, \"allocations\": {:.3f}}}\n",
             kStageNames[static_cast<std::size_t>(stage)], elapsed / events,
             static_cast<double>(walrelay::test::allocations() - allocations) / events);
}

void run(int transactions, std::string_view stage) {
  if (stage.empty() || stage == "decode") measure<Stage::decode>(transactions);
  if (stage.empty() || stage == "route") measure<Stage::route>(transactions);
  if (stage.empty() || stage == "frontier") measure<Stage::frontier>(transactions);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && count != 3) {
    fmt::print(stderr, "usage: bench_decode TRANSACTIONS [STAGE]\n");
    return 2;
  }
  try {
    run(std::stoi(words[1]), count == 3 ? words[2] : "");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_decode: {}\n", error.what());
    return 1;
  }
}
