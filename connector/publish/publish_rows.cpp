#include "connector/publish/publish_rows.h"

#include <deque>

#include "connector/postgres/pg_transaction.h"
#include "connector/postgres/table_rows.h"
#include "connector/sink_factory.h"
#include "decoder/outbox_router.h"

namespace walrelay {
namespace {

void publish_table(TableRows& rows, OutboxRouter& router, EventPublisher& publisher, RowMarker& marker,
                   const Tick& tick) {
  router.relation(rows.relation());
  while (rows.next(tick)) {
    const auto routed = router.route(rows.row(), publisher.time());
    if (routed.status == RouteStatus::rejected) {
      publisher.reject(routed.event, *routed.rejection);
    } else {
      marker.sent(routed.event.outbox, routed.event.id);
      publisher.publish(routed.event);
    }
    if (marker.full()) {
      publisher.settle();
      marker.write_settled(tick);
    }
  }
}

}  // namespace

RowsPublished publish_rows(PgConnection& connection, const Config& config, const RowJob& job) {
  SignalFd signals;  // before any thread
  const SystemClock clock;
  RowMeter meter(job.what, clock.now());
  OutboxRouter router(config.outboxes);
  const auto sink = make_sink(config);
  EventPublisher publisher(config.delivery, *sink, signals, meter, job.position, clock.wall());
  const Tick tick = [&] { publisher.pulse(); };
  RowMarker marker(config, job.position);
  publisher.on_refused([&](std::size_t outbox, std::string_view id, const Rejection& rejection) {
    marker.failed(outbox, id, rejection);
  });

  const PgTransaction transaction(connection, "ISOLATION LEVEL REPEATABLE READ READ ONLY");
  prepare_row_transaction(connection, job.snapshot);
  std::deque<TableRows> tables;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < config.outboxes.size(); ++i) {
    publisher.add_outbox(router.outbox_name(i), router.id_header(i));  // numbered as the router does
    if (config.outboxes[i].table.empty()) continue;                    // messages are nowhere to be read from
    auto& rows = tables.emplace_back(connection, config.outboxes[i], job.filter, static_cast<RelationId>(i + 1));
    total += static_cast<std::uint64_t>(rows.count(tick));
  }
  meter.expect(total, clock.now());
  try {
    for (auto& rows : tables) publish_table(rows, router, publisher, marker, tick);
    publisher.finish();
  } catch (const PublishStopped&) {
    marker.write_due([] {});
    throw;
  }
  marker.write_settled([] {});  // everything is published: nothing stops the command any more
  marker.finish();
  return {publisher.tally(), marker.marks()};
}

}  // namespace walrelay
