#pragma once
// Writes to the rows of outbox tables what became of their events: a connection of its own, so that a slow statement
// does not blind ServerWatch, and one batch at a time, as the queue has it.
//
// Delivery does not depend on it. What may heal (connection, locks, deadlocks) is tried again for kPatience, during
// which positions wait; after that, and until something succeeds, each batch gets one try. What a statement is refused
// for good is given up at once. Rows that were given up are counted and told in the log, and their positions are
// confirmed.
//
// Thread: the loop thread; never blocks. Connects when there is something to write for the first time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "connector/backoff.h"
#include "connector/clock.h"
#include "connector/config/config.h"
#include "connector/observe/metrics.h"
#include "connector/patience.h"
#include "connector/postgres/async_connection.h"
#include "connector/postgres/write_back_sql.h"
#include "connector/write_back_queue.h"

namespace walrelay {

class PgRows;

class WriteBack {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(10);
  static constexpr Duration kRetry = std::chrono::milliseconds(250);
  // After a refusal for good a table's rows are given up without asking for so long.
  static constexpr Duration kRest = std::chrono::seconds(10);
  static constexpr Duration kToldInterval = std::chrono::seconds(60);

  // Whether any [[outbox]] has something to write back.
  [[nodiscard]] static bool wanted(const Config& config);

  // Of each [[outbox]], by index.
  [[nodiscard]] static std::vector<WriteBackQueue::Use> uses(const Config& config);

  // `config` and `metrics` stay the caller's. `conninfo` is asked at every connect.
  WriteBack(std::function<Conninfo()> conninfo, const Config& config, RelayMetrics& metrics, std::uint64_t seed);

  [[nodiscard]] WriteBackQueue& queue() { return queue_; }

  // Takes in what the server has answered. `readable`: the descriptor is.
  void take(Instant now, bool readable);
  // Sends what is due. `awaited`: a position could be confirmed otherwise; while none can, patience does not run out.
  void send(Instant now, bool awaited);

  // At the end: what no later success will tell of.
  void tell_given_up() const;

  [[nodiscard]] int descriptor() const { return connection_.descriptor(); }
  [[nodiscard]] bool wants_write() const { return connection_.wants_write(); }
  [[nodiscard]] Instant deadline() const;

 private:
  enum class Asked : std::uint8_t {
    nothing,
    columns,    // of the table of the batch that comes next
    rows,       // to write the batch that is under way
    free_rows,  // the same without those that others have locked
    visible,    // whether rows that were not found are there at all yet
  };
  struct Table {
    std::optional<WriteBackStatements> statements;  // once its columns are known
    Instant rests_until{};
  };

  void connect(Instant now);
  void lost(Instant now);
  void send_next(Instant now);
  void ask(Asked what, std::size_t outbox, Instant now);
  void take_answer(Instant now);
  void take_columns(const PgRows& answer, Instant now);
  void take_visible(const PgRows& answer, Instant now);
  void written(std::size_t rows, Instant now);
  void refused(Instant now);
  void try_again(const std::string& why, Instant now);
  void give_up(const std::string& why, Instant now);
  void give_up_all(Instant now);
  void count(WriteBackResult result, std::size_t rows);
  void tell(std::size_t outbox, const std::string& why, Instant now);

  std::function<Conninfo()> conninfo_;
  const Config& config_;
  RelayMetrics& metrics_;
  WriteBackQueue queue_;
  std::vector<Table> tables_;
  AsyncConnection connection_;
  Backoff backoff_;
  Asked asked_ = Asked::nothing;
  std::size_t asked_outbox_ = 0;
  Instant connect_at_{};
  Instant answer_deadline_{};
  Instant retry_at_{};
  Patience patience_{kPatience};  // with nothing that succeeds, while positions wait
  std::string trouble_;
  std::optional<Instant> told_at_;
  std::size_t given_up_ = 0;  // rows, since something succeeded
};

}  // namespace walrelay
