// polling_worker DSN BROKERS TOPIC [SLEEP_MS]: the usual polling worker, to measure walrelay against. Takes up to 100
// rows of public.outbox that nobody has published (FOR UPDATE SKIP LOCKED), produces them (idempotent, acks=all), waits
// for the acknowledgements, marks the rows, commits, and sleeps SLEEP_MS (1000) when there were fewer. Runs until
// ended.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

#include "connector/postgres/pg_handles.h"
#include "tests/support/kafka_client.h"

namespace {

using walrelay::PgResultHandle;
using walrelay::test::KafkaHandle;

constexpr int kAnswerMaxMs = 30'000;
constexpr auto kSelect =
    "SELECT id, aggregateid, payload FROM public.outbox WHERE processed_at IS NULL ORDER BY number LIMIT 100 "
    "FOR UPDATE SKIP LOCKED";
constexpr int kFull = 100;
constexpr auto kMark = "UPDATE public.outbox SET processed_at = now() WHERE id = ANY ($1::uuid[])";

class PollingWorker {
 public:
  PollingWorker(const char* dsn, const std::string& brokers, const char* topic)
      : connection_(PQconnectdb(dsn)),
        kafka_(walrelay::test::kafka_client(RD_KAFKA_PRODUCER, brokers,
                                            {{"enable.idempotence", "true"}, {"acks", "all"}, {"linger.ms", "0.5"}})),
        topic_(rd_kafka_topic_new(kafka_.get(), topic, nullptr)) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
    for (const auto& [name, sql] : {std::pair{"take", kSelect}, std::pair{"mark", kMark}}) {
      expect(PgResultHandle(PQprepare(connection_.get(), name, sql, 0, nullptr)), PGRES_COMMAND_OK);
    }
  }

  // The number of events published.
  int turn() {
    execute("BEGIN");
    const PgResultHandle rows(PQexecPrepared(connection_.get(), "take", 0, nullptr, nullptr, nullptr, 0));
    expect(rows, PGRES_TUPLES_OK);
    const int count = PQntuples(rows.get());
    std::string ids = "{";
    for (int row = 0; row < count; ++row) {
      produce(rows.get(), row);
      ids += (row > 0 ? "," : "") + value(rows.get(), row, 0);
    }
    if (rd_kafka_flush(kafka_.get(), kAnswerMaxMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      throw std::runtime_error("the broker does not acknowledge");
    }
    ids += '}';
    const std::array<const char*, 1> values{ids.c_str()};
    if (count > 0) {
      expect(PgResultHandle(PQexecPrepared(connection_.get(), "mark", 1, values.data(), nullptr, nullptr, 0)),
             PGRES_COMMAND_OK);
    }
    execute("COMMIT");
    return count;
  }

 private:
  static void expect(const PgResultHandle& result, ExecStatusType wanted) {
    if (PQresultStatus(result.get()) != wanted) throw std::runtime_error(PQresultErrorMessage(result.get()));
  }
  static std::string value(const PGresult* rows, int row, int column) {
    return {PQgetvalue(rows, row, column), static_cast<std::size_t>(PQgetlength(rows, row, column))};
  }
  void execute(const char* sql) { expect(PgResultHandle(PQexec(connection_.get(), sql)), PGRES_COMMAND_OK); }

  void produce(const PGresult* rows, int row) {
    const std::string id = value(rows, row, 0);
    const std::string key = value(rows, row, 1);
    std::string payload = value(rows, row, 2);
    const auto error =
        rd_kafka_producev(kafka_.get(), RD_KAFKA_V_RKT(topic_.get()), RD_KAFKA_V_KEY(key.data(), key.size()),
                          RD_KAFKA_V_VALUE(payload.data(), payload.size()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_HEADER("id", id.data(), static_cast<ssize_t>(id.size())), RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(error));
  }

  walrelay::PgConnectionHandle connection_;
  KafkaHandle<rd_kafka_t> kafka_;
  KafkaHandle<rd_kafka_topic_t> topic_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 4 && count != 5) {
    fmt::print(stderr, "usage: polling_worker DSN BROKERS TOPIC [SLEEP_MS]\n");
    return 2;
  }
  try {
    const auto sleep_us = static_cast<useconds_t>(count == 5 ? std::stoul(words[4]) : 1000) * 1000;
    PollingWorker worker(words[1], words[2], words[3]);
    while (true) {
      if (worker.turn() < kFull) usleep(sleep_us);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "polling_worker: {}\n", error.what());
    return 1;
  }
}
