#include "connector/replication_source.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "connector/invariant.h"
#include "connector/postgres/pg_quote.h"
#include "decoder/copy_frame.h"

namespace walrelay {

using State = AsyncConnection::State;

ReplicationSource::ReplicationSource(const Conninfo& conninfo, Instant now) {
  connection_.connect(conninfo, now);
  if (connection_.state() == State::closed) connection_failed();
}

ReplicationSource::Phase ReplicationSource::advance(Instant now) {
  if (phase_ == Phase::ended || phase_ == Phase::identified || phase_ == Phase::streaming) return phase_;
  if (phase_ == Phase::finishing) {
    std::string_view ignored;
    while (receive(ignored) == ReceiveStatus::frame) {
    }
    return phase_;
  }
  const State state = connection_.step(now);
  if (state != State::busy || !waits_for_answer()) {
    asked_at_.reset();
  } else if (!asked_at_) {
    asked_at_ = now;
  }
  if (state == State::closed) {
    connection_failed();
  } else if (asked_at_ && now - *asked_at_ >= kAnswerMax) {
    end_with(SourceEnd::connection_lost,
             {"", connection_.target().to_string() + ": no answer on the replication connection within 10 s"});
  } else if (phase_ == Phase::connecting && state == State::ready) {
    identify();
  } else if (phase_ == Phase::identifying && state == State::ready) {
    take_history();
  } else if (phase_ == Phase::reading_timelines && state == State::ready) {
    take_timelines();
  } else if (phase_ == Phase::making_slot && state == State::ready) {
    slot_made();
  } else if (phase_ == Phase::starting && state != State::busy) {
    started(state);
  }
  return phase_;
}

void ReplicationSource::identify() {
  PQsetNoticeReceiver(connection_.raw(), &ReplicationSource::on_notice, this);
  connection_.query("IDENTIFY_SYSTEM");
  phase_ = Phase::identifying;
}

void ReplicationSource::take_history() {
  const PgResultHandle result = connection_.take_result();
  if (!result || PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1 ||
      PQnfields(result.get()) < 4) {
    return end_with(SourceEnd::error, connection_.describe(result.get()));
  }
  const auto field = [&](int column) { return std::string_view{PQgetvalue(result.get(), 0, column)}; };
  const auto timeline = field(1);
  const auto flushed = Lsn::parse(field(2));
  const auto [stop, bad] = std::from_chars(timeline.data(), timeline.data() + timeline.size(), history_.timeline);
  if (bad != std::errc{} || !flushed) {
    return end_with(SourceEnd::error, {"", fmt::format("{}: IDENTIFY_SYSTEM gave timeline \"{}\" and position \"{}\"",
                                                       connection_.target().to_string(), timeline, field(2))});
  }
  history_.system_identifier = field(0);
  history_.flushed = *flushed;
  history_.database = field(3);
  if (history_.timeline == 1) {
    phase_ = Phase::identified;
    return;
  }
  connection_.query(fmt::format("TIMELINE_HISTORY {}", history_.timeline));
  phase_ = Phase::reading_timelines;
}

void ReplicationSource::take_timelines() {
  const PgResultHandle result = connection_.take_result();
  if (!result || PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1 ||
      PQnfields(result.get()) < 2) {
    return end_with(SourceEnd::error, connection_.describe(result.get()));
  }
  history_.earlier_timelines = parse_timeline_history(PQgetvalue(result.get(), 0, 1));
  phase_ = Phase::identified;
}

void ReplicationSource::make_temporary_slot(const std::string& slot) {
  WALRELAY_INVARIANT(phase_ == Phase::identified);
  connection_.query(
      fmt::format("CREATE_REPLICATION_SLOT {} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT", quote_identifier(slot)));
  phase_ = Phase::making_slot;
}

void ReplicationSource::slot_made() {
  const PgResultHandle result = connection_.take_result();
  if (!result || PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    return end_with(SourceEnd::error, connection_.describe(result.get()));
  }
  phase_ = Phase::identified;
}

void ReplicationSource::start(const std::string& slot, const std::string& publication, bool messages, Lsn from) {
  WALRELAY_INVARIANT(phase_ == Phase::identified);
  transport_ = transport_of(descriptor());
  if (transport_ == Transport::loopback) bound_receive_buffer(descriptor());
  connection_.query(fmt::format("START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names {}{})",
                                quote_identifier(slot), from.to_string(), quote_publication_name(publication),
                                messages ? ", messages 'true'" : ""));
  phase_ = Phase::starting;
}

void ReplicationSource::wake_from(int bytes) {
  if (std::exchange(wakes_from_, bytes) != bytes) walrelay::wake_from(descriptor(), bytes);
}

void ReplicationSource::started(State state) {
  if (state == State::copying) {
    phase_ = Phase::streaming;
    return;
  }
  SourceError why = connection_.error();
  if (why.message.empty())
    why.message = fmt::format("{}: START_REPLICATION did not start a stream", connection_.target().to_string());
  end_with(SourceEnd::error, std::move(why));
}

ReceiveStatus ReplicationSource::receive(std::string_view& frame) {
  if (phase_ == Phase::ended) return ReceiveStatus::ended;
  if (phase_ != Phase::streaming && phase_ != Phase::finishing) return ReceiveStatus::nothing_yet;
  PGconn* raw = connection_.raw();
  char* data = nullptr;
  frame_.reset();
  int length = PQgetCopyData(raw, &data, 1);
  if (length == 0) {
    if (PQconsumeInput(raw) == 0) {
      connection_failed();
      return ReceiveStatus::ended;
    }
    length = PQgetCopyData(raw, &data, 1);
  }
  frame_.reset(data);
  if (length < 0) return stream_ended();
  if (!refused_publication_.empty()) {
    end_with(SourceEnd::error, {"42704", std::exchange(refused_publication_, {})});
    return ReceiveStatus::ended;
  }
  if (length == 0) return ReceiveStatus::nothing_yet;
  frame = std::string_view{data, static_cast<std::size_t>(length)};
  return ReceiveStatus::frame;
}

ReceiveStatus ReplicationSource::stream_ended() {
  PGconn* raw = connection_.raw();
  if (PQconsumeInput(raw) != 0 && PQisBusy(raw) != 0) return ReceiveStatus::nothing_yet;
  const PgResultHandle result{PQgetResult(raw)};
  if (result && PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
    SourceError why = connection_.describe(result.get());
    const bool lost = why.sqlstate.empty();
    end_with(lost ? SourceEnd::connection_lost : SourceEnd::error, std::move(why));
  } else {
    end_with(SourceEnd::server_closed, {"", fmt::format("{} ended the stream", connection_.target().to_string())});
  }
  return ReceiveStatus::ended;
}

bool ReplicationSource::send_status(Lsn written, Lsn flushed, Lsn applied, PgTime now, bool reply_requested) {
  WALRELAY_INVARIANT(written.valid() && flushed.valid() && applied.valid());
  WALRELAY_INVARIANT(flushed <= written && applied <= flushed);
  if (phase_ != Phase::streaming) return false;
  const auto message = encode_status_update(written, flushed, applied, now, reply_requested);
  // 0 means that libpq's buffer is full and the socket does not take more: the next update carries the same and more.
  const int queued = PQputCopyData(connection_.raw(), message.data(), static_cast<int>(message.size()));
  if (queued < 0 || !connection_.flush()) {
    connection_failed();
    return false;
  }
  return true;
}

void ReplicationSource::finish() {
  if (phase_ != Phase::streaming) return end_with(SourceEnd::server_closed, {});
  wake_from(1);  // the server's last words are few
  if (PQputCopyEnd(connection_.raw(), nullptr) < 0 || !connection_.flush()) return connection_failed();
  phase_ = Phase::finishing;
}

void ReplicationSource::connection_failed() {
  SourceError why = connection_.error();
  if (why.message.empty()) why = connection_.describe(nullptr);
  const bool lost = why.sqlstate.empty();  // before it is moved from
  end_with(lost ? SourceEnd::connection_lost : SourceEnd::error, std::move(why));
}

void ReplicationSource::end_with(SourceEnd why, SourceError error) {
  phase_ = Phase::ended;
  end_ = why;
  error_ = std::move(error);
}

// PostgreSQL 18 only warns when the publication did not exist at the position it decodes, and then leaves the rows out.
void ReplicationSource::on_notice(void* self, const PGresult* notice) {
  auto* source = static_cast<ReplicationSource*>(self);
  const char* sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  if (sqlstate == nullptr || std::string_view{sqlstate} != "55000") return;
  source->refused_publication_ = source->connection_.describe(notice).message;
}

}  // namespace walrelay
