// Invariant 10: secrets never appear. Every password here begins with the marker, whatever notation it is written in,
// and every output of every command is searched for it, when all is well and when each kind of thing fails.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "tests/support/catch.h"
#include "tests/support/free_port.h"
#include "tests/support/postgres_server.h"
#include "tests/support/relay_process.h"
#include "tests/support/secure_kafka.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr std::string_view kMarker = "S3cret";
constexpr const char* kInUri = "S3cretP%40%3A%2F%3F%23%5B%5D%25%26%3D%20%27%5C%C2%A3%C3%BC";
constexpr const char* kInString = "S3cretP@:/?#[]%&= \\'\\\\£ü";
constexpr const char* kKeyPassword = "S3cretKey";

// A server that asks for a password and a broker that asks for one and takes a client's certificate, each with its
// files.
class GuardedServers {
 public:
  GuardedServers() {
    server_.exec(
        fmt::format("SET password_encryption = 'scram-sha-256'; CREATE ROLE \"relay@x\" SUPERUSER LOGIN "
                    "REPLICATION PASSWORD E'{}'; CREATE TABLE outbox (payload text)",
                    kInString));
    write_file(server_.data_directory() + "/pg_hba.conf",
               "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
    server_.restart();
    write_file(directory_.file("postgres"), std::string(kInString) + "\n");
    const auto client = kafka_.authority().sign("client");
    certificate_ = client.file;
    key_ = kafka_.authority().encrypt(client, kKeyPassword);
    std::filesystem::permissions(key_, std::filesystem::perms(0644));
  }

  PostgresServer& server() { return server_; }
  SecureKafka& kafka() { return kafka_; }
  [[nodiscard]] std::string target(int port) const {
    return fmt::format("host=127.0.0.1 port={} dbname=postgres user=relay@x", port);
  }
  [[nodiscard]] std::string dsn() const {
    return fmt::format("{} password='${{file:{}}}'", target(server_.port()), directory_.file("postgres"));
  }
  [[nodiscard]] std::string uri() const {
    return fmt::format("postgresql://relay%40x:{}@127.0.0.1:{}/postgres", kInUri, server_.port());
  }
  [[nodiscard]] const std::string& another_certificate() const { return certificate_; }  // no authority's
  [[nodiscard]] std::string kafka_lines() const {
    return fmt::format(
        "\"bootstrap.servers\" = \"{}\"\n\"security.protocol\" = \"SASL_SSL\"\n{}\"sasl.mechanisms\" = \"PLAIN\"\n"
        "\"sasl.username\" = \"{}\"\n\"sasl.password\" = \"${{SASL_PASSWORD}}\"\n\"ssl.certificate.location\" = "
        "\"{}\"\n"
        "\"ssl.key.location\" = \"{}\"\n\"ssl.key.password\" = \"${{KEY_PASSWORD}}\"\n\"debug\" = \"all\"\n",
        kafka_.login(), kafka_.trust(), kSecureUser, certificate_, key_);
  }

 private:
  PostgresServer server_;
  SecureKafka kafka_;
  TempDir directory_;
  std::string certificate_;
  std::string key_;
};

struct Situation {
  std::string name;
  bool by_kafka = false;
  std::string dsn;
  std::vector<std::string> more;  // arguments
  std::string sasl_password = kSecurePassword;
  std::string key_password = kKeyPassword;
};

std::vector<Situation> situations(const GuardedServers& servers, int own_port) {
  const std::string nowhere = fmt::format("127.0.0.1:{}", free_port());
  const std::string stranger = servers.another_certificate();
  const auto good = servers.dsn();
  return {
      {"all is well", false, good, {}},
      {"wrong password", false, servers.target(own_port) + " password=S3cretWrong", {}},
      {"server away", false, servers.target(free_port()) + " password=S3cretAway", {}},
      {"server without TLS", false, good + " sslmode=require", {}},
      {"connection string is wrong", false, "host=db password=S3cret with spaces", {}},
      {"Kafka login refused", true, good, {}, "S3cretWrongLogin"},
      {"Kafka away", true, good, {"--brokers", nowhere}},
      {"Kafka's authority unknown", true, good, {"-X", "ssl.ca.location=" + stranger}},
      {"key cannot be read", true, good, {}, kSecurePassword, "S3cretWrongKey"},
  };
}

// Everything that one command said, and what `ps` showed of it.
struct Said {
  std::string what;
  std::unique_ptr<Process> process;
};

class Search {
 public:
  explicit Search(GuardedServers& servers) : servers_(servers) {}

  static void in(const std::string& what, const std::string& text) {
    const auto at = text.find(kMarker);
    const auto begin = at == std::string::npos || at < 200 ? 0 : at - 200;
    INFO(what << ": ..." << text.substr(begin, 400));
    CHECK(at == std::string::npos);
  }

  static void in_process_list(const std::string& what, pid_t pid) {
    for (const auto* file : {"cmdline", "comm", "stat", "status"}) {
      in(what + ", " + file, read_file(fmt::format("/proc/{}/{}", pid, file)));
    }
  }

  [[nodiscard]] std::string configuration(const Situation& situation) const {
    return fmt::format(
        "[postgres]\ndsn = \"{}\"\n[[outbox]]\ntable = \"public.outbox\"\ntopic = \"t\"\nvalue = \"{{payload}}\"\n"
        "[sink.kafka]\n{}[log]\nlevel = \"debug\"\n",
        situation.dsn, servers_.kafka_lines());
  }

  static ProcessOptions options(const Situation& situation) {
    return {.environment = {{"SASL_PASSWORD", situation.sasl_password}, {"KEY_PASSWORD", situation.key_password}}};
  }

  // Every command but `run`, side by side; of those that fail by Kafka, the one that asks it.
  void start_commands(const Situation& situation) {
    static const std::vector<std::vector<std::string>> every = {
        {"check"}, {"check", "--json"}, {"init", "--print"}, {"status"}, {"status", "--json"}, {"tail"}, {"config"},
        {"drop"},
    };
    const std::span commands(every.data(), situation.by_kafka ? 1 : every.size());
    const auto file = directory_.file(situation.name);
    write_file(file, configuration(situation));
    for (auto arguments : commands) {
      const auto what = situation.name + ", " + arguments.front();
      arguments.insert(arguments.end(), {"-c", file});
      arguments.insert(arguments.end(), situation.more.begin(), situation.more.end());
      said_.push_back({what, std::make_unique<Process>(walrelay_program(), arguments, options(situation))});
    }
  }

  // `tail` would run for ever where it can.
  void in_commands() {
    for (auto& [what, process] : said_) {
      const bool is_tail = what.ends_with("tail");
      in_process_list(what, process->pid());
      if (is_tail) static_cast<void>(wait_until(seconds(15), [&] { return !process->running(); }));
      if (is_tail) process->signal(SIGTERM);
      CAPTURE(what);
      CHECK(process->wait(seconds(60)));
      CHECK_FALSE((process->output() + process->errors()).empty());
      in(what, process->output());
      in(what, process->errors());
    }
  }

 private:
  GuardedServers& servers_;
  TempDir directory_;
  std::vector<Said> said_;
};

void search_pages(RelayProcess& relay, const std::string& what) {
  for (const auto* page : {"/", "/status", "/metrics", "/healthz", "/readyz", "/S3cre%74"}) {
    Search::in(what + ", " + page, relay.get(page).body);
  }
}

TEST_CASE("no password appears in what any command, page, log or process list shows, whatever fails") {
  GuardedServers servers;
  Search search(servers);
  const auto all = situations(servers, servers.server().port());
  const auto& good = all.front();
  const auto made = walrelay_command({"init"}, search.configuration(good), Search::options(good));
  INFO(made.errors);
  REQUIRE(made.status == 0);
  Search::in("init", made.output + made.errors);

  std::vector<std::unique_ptr<RelayProcess>> relays;
  const auto start_relay = [&](const Situation& situation, std::vector<std::string> arguments) {
    if (relays.size() % 2 == 1) arguments.insert(arguments.end(), {"--log-format", "json"});
    relays.push_back(
        std::make_unique<RelayProcess>(search.configuration(situation), arguments, Search::options(situation)));
  };
  start_relay(good, {});
  servers.server().exec("INSERT INTO outbox VALUES ('x')");
  REQUIRE(wait_until(seconds(90), [&] { return relays.front()->metric("walrelay_events_total").value_or(0) == 1; }));
  for (const auto& situation : all) {
    search.start_commands(situation);
    if (&situation != &good) start_relay(situation, situation.more);
  }
  // What is given on the command line is worse off.
  start_relay(good, {"--dsn", servers.uri(), "-X", std::string("sasl.password=") + kSecurePassword, "--set",
                     std::string("sink.kafka.ssl.key.password=") + kKeyPassword});
  CHECK(wait_until(seconds(60), [&] { return relays.back()->get("/status").status == 200; }));
  search.in_commands();
  for (std::size_t i = 0; i < relays.size(); ++i) {
    const auto what = i < all.size() ? all[i].name + ", run" : "run by flags";
    auto& relay = *relays[i];
    Search::in_process_list(what, relay.process().pid());
    search_pages(relay, what);
    static_cast<void>(relay.stop(seconds(60)));
    CAPTURE(what);
    CHECK_FALSE(relay.log().empty());
    Search::in(what, relay.process().output() + relay.log());
  }
  const auto dropped = walrelay_command({"drop", "--yes"}, search.configuration(good), Search::options(good));
  CHECK(dropped.status == 0);
  Search::in("drop", dropped.output + dropped.errors);
}

}  // namespace
}  // namespace walrelay::test
