#pragma once
// What the torture writes, and the checker that compares it with what the topics hold. Independent of walrelay: it
// knows the tables, a Kafka consumer, and the promises.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/fault_support.h"

namespace walrelay::test {

// Tables "outbox_0", "outbox_1", "outbox_2" with a topic each, and writers that fill them in transactions of any size,
// some of which roll back. Rows of the second are to be marked once they are published, those of the third deleted. A
// writer has keys of its own, some of them hot, and numbers its rows: of one key in one topic they have to arrive in
// the order of the numbers.
class TortureLoad {
 public:
  TortureLoad(PostgresServer& server, std::string name, const std::string& broker, std::uint64_t seed);

  static constexpr int kTables = 3;
  static constexpr int kWriters = 3;

  // [[outbox]] sections for all tables.
  [[nodiscard]] std::string outboxes() const;
  [[nodiscard]] std::string topic(int table) const;
  // The writers. What they write before there is a slot is nobody's.
  void start();
  void stop() { writers_.clear(); }

 private:
  void write(int writer);

  PostgresServer& server_;
  std::string name_;
  struct Writer {
    std::mt19937_64 random;
    std::unique_ptr<PgSession> session;
    std::uint64_t rows = 0;
  };
  std::vector<Writer> states_;
  std::vector<std::unique_ptr<Background>> writers_;
};

struct TortureResult {
  std::size_t rows = 0;
  std::size_t lost = 0;        // committed rows without a record
  std::size_t foreign = 0;     // records of no committed row, or with another key or value than its row
  std::size_t disordered = 0;  // first deliveries of a key that came before an earlier row of it
  std::size_t repeats = 0;     // with an id that came before
  std::size_t unwritten = 0;   // rows that are neither marked nor deleted, and should be

  [[nodiscard]] bool kept() const { return lost == 0 && foreign == 0 && disordered == 0 && unwritten == 0; }
  [[nodiscard]] std::string text() const;
};

// Of all tables. Everything has to have been delivered before.
[[nodiscard]] TortureResult check_torture(PgSession& session, const TortureLoad& load, const std::string& broker);

}  // namespace walrelay::test
