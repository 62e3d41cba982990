#pragma once
// A PostgreSQL cluster that lives as long as a test.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pg_session.h"
#include "tests/support/process.h"
#include "tests/support/server_settings.h"
#include "tests/support/temp_dir.h"

namespace walrelay::test {

enum class StopMode { smart, fast, immediate };  // pg_ctl's words

// Listens on 127.0.0.1 and on a Unix socket; trusts everybody; superuser "postgres"; wal_level=logical, fsync=off.
// As root it runs as the user "postgres" or "nobody". Dies with the process that made it. Errors: std::runtime_error
// with the server's log.
class PostgresServer {
 public:
  using Settings =
      std::vector<std::pair<std::string, std::string>>;  // of postgresql.conf; the last one of a name counts

  // Initialised and started. Major version 0: see postgres_binaries.h.
  explicit PostgresServer(const ServerSettings& settings = {}, int version = 0);
  // A standby that streams from `primary`, of the same version; `settings` on top of the primary's.
  PostgresServer(PostgresServer& primary, const ServerSettings& settings);
  ~PostgresServer();

  void start();
  // How long it took; the server keeps its port and its data. Throws if it is not down after `at_most`.
  std::chrono::milliseconds stop(StopMode mode = StopMode::fast,
                                 std::chrono::milliseconds at_most = std::chrono::seconds(60));
  void
  crash();  // as after a power cut, short of losing what the kernel holds: no checkpoint, recovery at the next start
  void restart(StopMode mode = StopMode::fast);
  void set(const std::string& name,
           const std::string& value);  // ALTER SYSTEM and reload; some settings need a restart()
  void promote();                      // a standby becomes a primary; back when it is one

  // libpq connection strings, without a password.
  [[nodiscard]] std::string dsn(const std::string& database = "postgres",
                                const std::string& user = "postgres") const;  // socket
  [[nodiscard]] std::string tcp_dsn(const std::string& database = "postgres",
                                    const std::string& user = "postgres") const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string socket_directory() const { return directory_.path().string(); }
  [[nodiscard]] std::string data_directory() const { return directory_.file("data"); }
  [[nodiscard]] std::string log() const;  // over all starts
  [[nodiscard]] int version();            // major: 15

  // In the database "postgres", on a connection that is kept.
  void exec(const std::string& sql) { session().exec(sql); }
  [[nodiscard]] PgRows query(const std::string& sql) { return session().query(sql); }
  [[nodiscard]] std::string value(const std::string& sql) { return session().value(sql); }
  [[nodiscard]] PgSession& session();

 private:
  void prepare_directory();
  void initialise();
  void copy_from(PostgresServer& primary);
  void configure(const ServerSettings& settings) const;
  [[nodiscard]] bool try_start();
  void forget_server();

  std::string binaries_;
  TempDir directory_;
  std::uint16_t port_ = 0;
  std::string past_log_;
  std::unique_ptr<Process> server_;
  std::unique_ptr<PgSession> session_;
};

// A database of its own on a server that tests share. Gone with the object, together with its replication slots.
class TestDatabase {
 public:
  explicit TestDatabase(std::string server_dsn);  // of any database of the server, as a superuser
  TestDatabase();                                 // on the shared server, see shared_servers.h
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }  // also good as a slot's or a topic's unique prefix
  [[nodiscard]] const std::string& dsn() const { return dsn_; }
  void exec(const std::string& sql) { session_->exec(sql); }
  [[nodiscard]] PgRows query(const std::string& sql) { return session_->query(sql); }
  [[nodiscard]] std::string value(const std::string& sql) { return session_->value(sql); }
  [[nodiscard]] PgSession& session() { return *session_; }

 private:
  std::string server_dsn_;
  std::string name_;
  std::string dsn_;
  std::unique_ptr<PgSession> session_;
};

}  // namespace walrelay::test
