// `walrelay run`.

#include <fmt/format.h>

#include <optional>
#include <random>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/config/config_print.h"
#include "connector/config/load_config.h"
#include "connector/observe/admin_server.h"
#include "connector/observe/log.h"
#include "connector/observe/service_manager.h"
#include "connector/observe/version.h"
#include "connector/sink_factory.h"
#include "connector/supervisor.h"
#include "sinks/kafka_options.h"
#include "sinks/sink_error.h"

namespace walrelay {

namespace {

RelayIdentity identity_of(const Config& config, const OutboxRouter& router, const Clock& clock) {
  RelayIdentity identity{std::string(kVersion),      config.postgres.slot, {},
                         describe_sink(config.sink), clock.wall(),         print_config(config)};
  for (std::size_t i = 0; i < router.outbox_count(); ++i) identity.outboxes.emplace_back(router.outbox_name(i));
  for (const auto& outbox : config.outboxes) identity.write_back.push_back(outbox.writes_back());
  return identity;
}

ExitCode run_relay(const Config& config, const RunFlags& flags) {
  configure_log(config.log);
  SignalFd signals;  // before any thread, so that all of them inherit the mask
  SystemClock clock;
  OutboxRouter router(config.outboxes);
  RelayMetrics metrics(router.outbox_count());
  StatusBoard board(clock.wall());
  History history(metrics, board, clock);
  const AdminPages pages(identity_of(config, router, clock), metrics, board, history, clock);
  log_info("starting", version_text(), {{"slot", config.postgres.slot}, {"sink", describe_sink(config.sink)}});
  if (config.sink.type == SinkType::kafka) {
    for (const auto& warning : kafka_warnings(config.sink.kafka)) log_warning("configuration", warning);
  }
  ServiceManager service_manager(board);
  Supervisor supervisor({config, router, metrics, board, clock, [&] { return make_sink(config); }, signals,
                         [&] { return reread_secrets(config.postgres); },
                         [&](Instant now) {
                           service_manager.turn(now);
                           history.turn(now);
                         }},
                        std::random_device{}());
  std::optional<AdminServer> admin;
  if (!config.http.listen.empty()) admin.emplace(config.http.listen, pages);
  const ExitCode code = supervisor.run(flags.drain);
  service_manager.stopping();
  log_info("ended", "walrelay ends", {{"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace

ExitCode run_command(const Config& given, const RunFlags& flags) {
  return guarded("run", [&] {
    try {
      Config config = given;
      config.delivery.skip = SkipList(flags.skip);
      return run_relay(config, flags);
    } catch (const SinkConfigError& error) {
      say(fmt::format("walrelay run: {}", error.what()));
      return ExitCode::usage;
    }
  });
}

}  // namespace walrelay
