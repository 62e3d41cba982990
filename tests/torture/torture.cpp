// Everything fails at random, for a minute or as long as WALRELAY_TORTURE_SECONDS says, while two relays share a slot
// and three writers fill three tables. WALRELAY_TORTURE_SEED repeats a sequence of faults.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/shared_servers.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/wait.h"
#include "tests/torture/load.h"

namespace walrelay::test {
namespace {

constexpr std::size_t kMaxInFlight = 2000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Torture {
 public:
  explicit Torture(std::uint64_t seed)
      : random_(seed),
        server_(ServerSettings{{"wal_sender_timeout", "4s"}}),
        proxy_(server_.port()),
        load_(server_, name_, broker_.address(), seed) {
    server_.exec(
        fmt::format("CREATE PUBLICATION {} FOR TABLE outbox_0, outbox_1, outbox_2 WITH (publish = 'insert')", name_));
    server_.exec(fmt::format("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", name_));
    load_.start();
    for (auto& relay : relays_) start(relay);
  }

  void run(seconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      act();
      check_alive();
      pause(below(1500));
    }
  }

  // Everything works again; true once all that was committed is confirmed. A walsender that is ended while its network
  // is cut hangs in its last words, with the slot, until it is ended once more.
  bool heal() {
    load_.stop();
    end_walsender();
    end_walsender();
    return wait_until(seconds(60), [&] { return all_confirmed(); });
  }

  [[nodiscard]] TortureResult check() { return check_torture(server_.session(), load_, broker_.address()); }
  [[nodiscard]] std::size_t faults() const { return faults_; }
  [[nodiscard]] std::string log() const { return log_; }
  [[nodiscard]] std::string relay_logs() const {
    std::string logs;
    for (const auto& relay : relays_) logs += "\n---- a relay's last lines\n" + tail(relay->log());
    return logs;
  }

 private:
  void act() {
    static constexpr std::array kFaults = {&Torture::kill_relay,        &Torture::suspend_relay, &Torture::stop_relay,
                                           &Torture::suspend_walsender, &Torture::end_walsender, &Torture::crash_server,
                                           &Torture::restart_server,    &Torture::kill_broker,   &Torture::pause_broker,
                                           &Torture::slow_broker,       &Torture::cut_network};
    (this->*kFaults.at(below(kFaults.size())))();
  }

  void kill_relay() {
    auto& relay = any_relay("kill");
    relay->process().signal(SIGKILL);
    REQUIRE(relay->process().wait(seconds(10)));
    start(relay);
  }
  void stop_relay() {
    auto& relay = any_relay("stop");
    const auto ended = relay->stop(seconds(30));
    INFO(log_ << tail(relay->log()));
    // The signal itself ends a relay that has not come so far as to take it.
    REQUIRE((ended == ExitStatus{143, 0} || ended == ExitStatus{-1, SIGTERM}));
    start(relay);
  }
  void suspend_relay() {
    auto& relay = any_relay("suspend");
    relay->process().signal(SIGSTOP);
    pause(below(8000));
    relay->process().signal(SIGCONT);
  }
  void suspend_walsender() {
    const auto pid = walsender("suspend");
    if (pid <= 0 || ::kill(pid, SIGSTOP) != 0) return;
    pause(below(8000));
    ::kill(pid, SIGCONT);
  }
  void end_walsender() {
    note("end the walsender");
    server_.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
  }
  void crash_server() {
    note("crash the server");
    server_.crash();
    pause(below(1500));
    server_.start();
  }
  void restart_server() {
    note("restart the server");
    server_.restart();
  }
  void kill_broker() {
    note("kill the broker");
    broker_.kill();
    pause(below(3000));
    broker_.start();
  }
  void pause_broker() {
    note("pause the broker");
    broker_.pause();
    pause(below(8000));
    broker_.resume();
  }
  void slow_broker() {
    note("slow the broker down");
    for (int i = 0; i < 20; ++i) {
      broker_.pause();
      pause(50 + below(100));
      broker_.resume();
      pause(10 + below(20));
    }
  }
  void cut_network() {
    note("cut the network to the server");
    proxy_.freeze();
  }

  std::unique_ptr<RelayProcess>& any_relay(const char* what) {
    const auto which = below(relays_.size());
    note(fmt::format("{} relay {}", what, which));
    return relays_.at(which);
  }
  pid_t walsender(const char* what) {
    note(fmt::format("{} the walsender", what));
    const auto pid = server_.query("SELECT pid FROM pg_stat_replication LIMIT 1");
    return pid.empty() ? -1 : static_cast<pid_t>(std::stol(pid.at(0).at(0).value()));
  }

  void start(std::unique_ptr<RelayProcess>& relay) {
    relay = std::make_unique<RelayProcess>(fmt::format(
        "[postgres]\ndsn = \"host=127.0.0.1 port={0} dbname=postgres user=postgres\"\nslot = \"{1}\"\n"
        "publication = \"{1}\"\n{2}\n[sink]\ntype = \"kafka\"\n[sink.kafka]\n\"bootstrap.servers\" = \"{3}\"\n"
        "[delivery]\nmax_in_flight = {4}\nprogress_topic = \"{1}.progress\"\nstall_disconnect = \"5s\"\n",
        proxy_.port(), name_, load_.outboxes(), broker_.address(), kMaxInFlight));
  }

  // None of the faults is one that a relay may end for.
  void check_alive() {
    for (auto& relay : relays_) {
      const bool running = relay->process().running();
      INFO(log_ << relay->log());
      REQUIRE(running);
    }
  }

  bool all_confirmed() {
    try {
      return server_.value(fmt::format("SELECT confirmed_flush_lsn >= pg_current_wal_flush_lsn() FROM "
                                       "pg_replication_slots WHERE slot_name = '{}'",
                                       name_)) == "t";
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  void note(const std::string& what) {
    ++faults_;
    log_ += fmt::format("{:%T} {}\n", std::chrono::system_clock::now(), what);
  }
  void pause(std::size_t ms) { std::this_thread::sleep_for(milliseconds(ms)); }
  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  static std::string tail(const std::string& log) {
    return log.substr(log.size() - std::min<std::size_t>(log.size(), 6000));
  }

  std::mt19937_64 random_;
  std::string name_ = unique_name();
  PostgresServer server_;
  KafkaBroker broker_;
  TcpProxy proxy_;
  TortureLoad load_;
  std::array<std::unique_ptr<RelayProcess>, 2> relays_;
  std::size_t faults_ = 0;
  std::string log_;
};

// A disk of its own for a broker, that can be made larger. Needs the right to mount.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) {
    std::filesystem::create_directory(path());
    mounted_ = ::mount("tmpfs", path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] std::string path() const { return directory_.file("disk"); }
  [[nodiscard]] bool mounted() const { return mounted_; }
  void grow(const std::string& size) {
    REQUIRE(::mount("tmpfs", path().c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0);
  }

 private:
  TempDir directory_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("a broker that dies of a full disk costs no row, once its disk is larger", "[.torture]") {
  SmallDisk disk("40m");
  if (!disk.mounted()) {
    WARN("left out: mounting a small disk needs root");
    return;
  }
  PostgresServer server;
  KafkaBroker broker(ServerSettings{{"log.dirs", disk.path() + "/log"}});
  Outbox outbox(server.dsn(), server.dsn(), unique_name(), broker.address());
  server.exec("ALTER TABLE outbox ALTER payload SET STORAGE EXTERNAL");
  RelayProcess relay(outbox.configuration());
  REQUIRE(relay.wait_ready());
  Background load([&] { outbox.insert(500, 2000); });
  REQUIRE(wait_until(seconds(60), [&] { return !broker.running(); }));
  CHECK(wait_until(seconds(20), [&] { return relay.get("/readyz").status == 503; }));
  load.stop();
  disk.grow("1g");
  broker.start();
  const auto comparison = outbox.compare();
  INFO(comparison.text() << "\n" << relay.log());
  CHECK(comparison.complete());
  CHECK(outbox.wait_confirmed());
}

TEST_CASE("two relays under random faults of everything lose nothing and keep the order of each key", "[.torture]") {
  const auto seed = number_from("WALRELAY_TORTURE_SEED", std::random_device{}());
  const auto time = seconds(number_from("WALRELAY_TORTURE_SECONDS", 60));
  std::cout << "WALRELAY_TORTURE_SEED=" << seed << " WALRELAY_TORTURE_SECONDS=" << time.count() << '\n' << std::flush;
  Torture torture(seed);
  torture.run(time);
  const bool healed = torture.heal();
  INFO(torture.log() << torture.relay_logs());
  REQUIRE(healed);
  const auto result = torture.check();
  std::cout << result.text() << ", " << torture.faults() << " faults" << '\n' << std::flush;
  INFO(result.text());
  CHECK(result.rows > 0);
  CHECK(result.kept());
  // What is in flight comes again when a relay, its session or its producer ends, and nothing else.
  CHECK(result.repeats < torture.faults() * kMaxInFlight);
}

}  // namespace walrelay::test
