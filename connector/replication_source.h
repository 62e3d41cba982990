#pragma once
// The replication connection: START_REPLICATION … LOGICAL on a slot with the pgoutput plugin.
// PostgreSQL manual, "Streaming Replication Protocol". Thread: the loop thread; nothing blocks.
//
// Phases in order: connecting → identified (the owner compares the server's history and calls start()) → starting →
// streaming → ended. receive() is useful while streaming; before that, advance() drives the connection.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connector/postgres/async_connection.h"
#include "connector/postgres/transport.h"
#include "connector/server_history.h"
#include "connector/source.h"

namespace walrelay {

class ReplicationSource final : public Source {
 public:
  enum class Phase : std::uint8_t {
    connecting,
    identifying,
    reading_timelines,
    identified,
    making_slot,
    starting,
    streaming,
    finishing,
    ended
  };

  ReplicationSource(const Conninfo& conninfo, Instant now);

  // Goes on with connecting, identifying, starting or finishing.
  Phase advance(Instant now);
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const ServerHistory& history() const { return history_; }
  [[nodiscard]] int server_version() const { return PQserverVersion(connection_.raw()); }  // e.g. 150018
  [[nodiscard]] int backend_pid() const { return PQbackendPID(connection_.raw()); }
  [[nodiscard]] bool tls() const { return PQsslInUse(connection_.raw()) != 0; }
  [[nodiscard]] Transport transport() const { return transport_; }  // once streaming

  // Only when identified: makes a slot that goes with this connection; advance() until identified again.
  void make_temporary_slot(const std::string& slot);

  // Only when identified. `from`: the server starts at the later of this and the slot's confirmed position.
  // `messages`: also pg_logical_emit_message (14+).
  void start(const std::string& slot, const std::string& publication, bool messages, Lsn from);

  // While streaming: how many bytes have to come before the descriptor is readable (transport.h).
  void wake_from(int bytes);

  // Ends the stream in order, so that the server takes in the last status update: advance() until ended.
  void finish();

  [[nodiscard]] ReceiveStatus receive(std::string_view& frame) override;
  [[nodiscard]] SourceEnd end() const override { return end_; }
  [[nodiscard]] const SourceError& error() const override { return error_; }
  bool send_status(Lsn written, Lsn flushed, Lsn applied, PgTime now, bool reply_requested) override;
  [[nodiscard]] int descriptor() const override { return connection_.descriptor(); }
  [[nodiscard]] bool wants_write() const override { return connection_.wants_write(); }

 private:
  static void on_notice(void* self, const PGresult* notice);
  // For what the server answers at once: connecting has a limit of its own, making a slot waits for transactions.
  static constexpr Duration kAnswerMax = std::chrono::seconds(10);

  void identify();
  void take_history();
  void take_timelines();
  void slot_made();
  void started(AsyncConnection::State state);
  [[nodiscard]] bool waits_for_answer() const {
    return phase_ == Phase::identifying || phase_ == Phase::reading_timelines || phase_ == Phase::starting;
  }
  ReceiveStatus stream_ended();
  void end_with(SourceEnd why, SourceError error);
  void connection_failed();

  AsyncConnection connection_;
  Phase phase_ = Phase::connecting;
  Transport transport_ = Transport::network;
  int wakes_from_ = 1;               // bytes
  std::optional<Instant> asked_at_;  // while the server owes an answer
  ServerHistory history_;
  PgMemory frame_;
  std::string refused_publication_;  // a warning that means rows are being left out
  SourceEnd end_ = SourceEnd::none;
  SourceError error_;
};

}  // namespace walrelay
