#include "tests/support/postgres_server.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/free_port.h"
#include "tests/support/postgres_binaries.h"
#include "tests/support/shared_servers.h"
#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr milliseconds kStartMax = seconds(60);  // recovery included
constexpr int kPortsTriedMax = 5;

const ServerSettings kTestSettings = {
    {"wal_level", "logical"},        {"fsync", "off"},          {"jit", "off"},
    {"shared_buffers", "64MB"},      {"max_wal_senders", "50"}, {"max_replication_slots", "50"},
    {"log_line_prefix", "%m [%p] "}, {"lc_messages", "C"},
};

// PostgreSQL refuses to run as root.
const std::string& server_user() {
  static const std::string user = geteuid() != 0 ? "" : getpwnam("postgres") != nullptr ? "postgres" : "nobody";
  return user;
}

std::string in_quotes(std::string_view value) {
  std::string result = "'";
  for (const char c : value) result += c == '\'' || c == '\\' ? std::string(2, c) : std::string(1, c);
  return result + "'";
}

std::vector<pid_t> children_of(pid_t parent) {
  std::istringstream list(read_file(fmt::format("/proc/{}/task/{}/children", parent, parent)));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

PostgresServer::PostgresServer(const ServerSettings& settings, int version)
    : binaries_(postgres_binaries(version != 0 ? version : default_postgres_version())) {
  prepare_directory();
  initialise();
  configure(kTestSettings);
  configure(settings);
  start();
}

PostgresServer::PostgresServer(PostgresServer& primary, const ServerSettings& settings) : binaries_(primary.binaries_) {
  prepare_directory();
  copy_from(primary);
  configure(settings);
  start();
}

PostgresServer::~PostgresServer() {
  session_.reset();
  if (server_) server_->signal(SIGQUIT);  // its children and its shared memory go with it, other than at SIGKILL
  if (server_ && !server_->wait(seconds(10)))
    fmt::print(stderr, "PostgreSQL (pid {}) has to be killed\n", server_->pid());
}

void PostgresServer::prepare_directory() {
  if (const passwd* user = server_user().empty() ? nullptr : getpwnam(server_user().c_str())) {
    if (chown(directory_.path().c_str(), user->pw_uid, user->pw_gid) != 0) throw std::runtime_error("chown failed");
  }
}

void PostgresServer::initialise() {
  const auto result = run_command(binaries_ + "/initdb",
                                  {"--no-sync", "--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres",
                                   "--pgdata=" + data_directory()},
                                  {.user = server_user()}, seconds(60));
  if (result.status != 0) throw std::runtime_error("initdb failed: " + result.errors);
}

void PostgresServer::copy_from(PostgresServer& primary) {
  const auto result = run_command(binaries_ + "/pg_basebackup",
                                  {"--no-sync", "--checkpoint=fast", "--write-recovery-conf",
                                   "--dbname=" + primary.dsn(), "--pgdata=" + data_directory()},
                                  {.user = server_user()}, seconds(60));
  if (result.status != 0) throw std::runtime_error("pg_basebackup failed: " + result.errors);
}

// The last one of a name counts.
void PostgresServer::configure(const ServerSettings& settings) const {
  std::ofstream configuration(data_directory() + "/postgresql.conf", std::ios::app);
  configuration << "listen_addresses = '127.0.0.1'\nunix_socket_directories = " << in_quotes(socket_directory())
                << "\n";
  for (const auto& [name, value] : settings) configuration << name << " = " << in_quotes(value) << "\n";
}

void PostgresServer::start() {
  const bool first_start = port_ == 0;
  for (int attempt = 0; attempt < (first_start ? kPortsTriedMax : 1); ++attempt) {
    if (first_start) port_ = free_port();
    if (try_start()) return;
  }
  throw std::runtime_error("PostgreSQL does not start:\n" + log());
}

bool PostgresServer::try_start() {
  forget_server();
  server_ = std::make_unique<Process>(binaries_ + "/postgres",
                                      std::vector<std::string>{"-D", data_directory(), "-p", std::to_string(port_)},
                                      ProcessOptions{.user = server_user(), .death_signal = SIGQUIT});
  const std::string address = dsn();
  const bool answered =
      wait_until(kStartMax, [&] { return !server_->running() || PQping(address.c_str()) == PQPING_OK; });
  return answered && server_->running();
}

void PostgresServer::forget_server() {
  session_.reset();
  if (server_) past_log_ += server_->errors();
  server_.reset();
}

milliseconds PostgresServer::stop(StopMode mode, milliseconds at_most) {
  session_.reset();
  const auto begin = std::chrono::steady_clock::now();
  server_->signal(mode == StopMode::smart ? SIGTERM : mode == StopMode::fast ? SIGINT : SIGQUIT);
  if (!server_->wait(at_most)) throw std::runtime_error("PostgreSQL does not stop:\n" + log());
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

void PostgresServer::crash() {
  const auto children = children_of(server_->pid());
  server_->signal(SIGKILL);
  for (const pid_t child : children) kill(child, SIGKILL);
  const bool gone =
      server_->wait(seconds(10)) && wait_until(seconds(10), [&] {
        return std::all_of(children.begin(), children.end(), [](pid_t child) { return kill(child, 0) != 0; });
      });
  if (!gone) throw std::runtime_error("PostgreSQL survives SIGKILL");
}

void PostgresServer::restart(StopMode mode) {
  stop(mode);
  start();
}

void PostgresServer::set(const std::string& name, const std::string& value) {
  exec("ALTER SYSTEM SET " + name + " = " + in_quotes(value));
  exec("SELECT pg_reload_conf()");
}

void PostgresServer::promote() {
  exec("SELECT pg_promote()");
  session_.reset();
}

std::string PostgresServer::dsn(const std::string& database, const std::string& user) const {
  return fmt::format("host={} port={} dbname={} user={}", socket_directory(), port_, database, user);
}

std::string PostgresServer::tcp_dsn(const std::string& database, const std::string& user) const {
  return fmt::format("host=127.0.0.1 port={} dbname={} user={}", port_, database, user);
}

std::string PostgresServer::log() const { return past_log_ + (server_ ? server_->errors() : ""); }

int PostgresServer::version() { return PQserverVersion(session().handle()) / 10'000; }

PgSession& PostgresServer::session() {
  if (session_ && PQstatus(session_->handle()) != CONNECTION_OK) session_.reset();
  if (!session_) session_ = std::make_unique<PgSession>(dsn());
  return *session_;
}

TestDatabase::TestDatabase(std::string server_dsn)
    : server_dsn_(std::move(server_dsn)), name_(unique_name()), dsn_(server_dsn_ + " dbname=" + name_) {
  PgSession(server_dsn_).exec("CREATE DATABASE " + name_);
  session_ = std::make_unique<PgSession>(dsn_);
}

TestDatabase::TestDatabase() : TestDatabase(shared_postgres()) {}

TestDatabase::~TestDatabase() {
  session_.reset();
  const std::string ours = "FROM pg_replication_slots WHERE database = '" + name_ + "'";
  try {
    PgSession server(server_dsn_);
    const bool released = wait_until(seconds(10), [&] {
      server.exec("SELECT pg_terminate_backend(active_pid) " + ours + " AND active");
      return server.value("SELECT count(*) " + ours + " AND active") == "0";
    });
    if (released) server.exec("SELECT pg_drop_replication_slot(slot_name) " + ours);
    server.exec("DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "the database {} stays: {}\n", name_, error.what());
  }
}

}  // namespace walrelay::test
