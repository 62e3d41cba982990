#include "tests/support/fake_postgres.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tests/support/wire_bytes.h"

namespace walrelay::test {
namespace {

using Row = std::vector<std::pair<std::string_view, std::string_view>>;  // column, value

constexpr std::int64_t kText = 25;

std::string message(char type, const std::string& body) {
  return WireBytes().byte(static_cast<unsigned char>(type)).int32(static_cast<std::int64_t>(body.size()) + 4).raw(body);
}

std::string ready() { return message('Z', "I"); }

std::string command_complete() { return message('C', WireBytes().c_string("SELECT 1")); }

std::string rows(const std::vector<Row>& all) {
  std::string bytes;
  for (const auto& row : all) {
    WireBytes columns;
    WireBytes values;
    columns.int16(static_cast<std::int64_t>(row.size()));
    values.int16(static_cast<std::int64_t>(row.size()));
    for (const auto& [name, value] : row) {
      columns.c_string(name).int32(0).int16(0).int32(kText).int16(-1).int32(-1).int16(0);
      values.counted(value);
    }
    if (bytes.empty()) bytes = message('T', columns);
    bytes += message('D', values);
  }
  return bytes + command_complete();
}

std::string no_row() { return message('T', WireBytes().int16(0)) + command_complete(); }

std::string columns_answer(const std::vector<std::string>& columns) {
  if (columns.empty()) {
    return message('E', WireBytes().c_string("SERROR").c_string("C42501").c_string("Mpermission denied").byte(0));
  }
  std::vector<Row> all;
  all.reserve(columns.size());
  for (const auto& name : columns) {
    all.push_back({{"ordinal", "1"}, {"name", name}, {"generated", "f"}, {"type", "text"}});
  }
  return rows(all);
}

std::string facts(const std::string& confirmed, bool taken) {
  return rows({{{"version", "150000"},
                {"recovering", "f"},
                {"position", "0/2000"},
                {"wal_level", "logical"},
                {"database", "shop"},
                {"sender_timeout", "60000"},
                {"slot_name", "relay"},
                {"slot_type", "logical"},
                {"temporary", "f"},
                {"active", taken ? "t" : "f"},
                {"active_pid", taken ? "99" : "0"},
                {"plugin", "pgoutput"},
                {"slot_database", "shop"},
                {"wal_status", "reserved"},
                {"confirmed_flush_lsn", confirmed},
                {"synced", "f"},
                {"retained", "0"},
                {"safe_wal_size", "1"},
                {"pubname", "relay"},
                {"pubinsert", "t"}}});
}

const Row kSystem = {{"systemid", "1"}, {"timeline", "1"}, {"xlogpos", "0/2000"}, {"dbname", "shop"}};

const Row kPartition = {{"known", "t"}, {"ordinal", "1"}};  // whatever relation is asked about

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

// One connection, from its startup packet on.
class FakePostgres::Session {
 public:
  Session(int socket, const FakePostgres& server) : socket_(socket), server_(server) {}
  ~Session() { close(socket_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] int socket() const { return socket_; }

  // What has come; false once the client has gone.
  bool step() {
    char packet[4096];
    const auto got = recv(socket_, packet, sizeof packet, 0);
    if (got <= 0) return false;
    received_.append(packet, static_cast<std::size_t>(got));
    while (const std::size_t size = whole()) {
      const std::string body = received_.substr(header(), size - header());
      const char type = started_ ? received_[0] : '\0';
      received_.erase(0, size);
      answer(type, body);
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t header() const { return started_ ? 5 : 4; }

  // The first message's bytes; 0 while there is no whole one.
  [[nodiscard]] std::size_t whole() const {
    if (received_.size() < header()) return 0;
    std::size_t length = started_ ? 1 : 0;
    std::size_t counted = 0;
    for (std::size_t i = header() - 4; i < header(); ++i)
      counted = counted << 8U | static_cast<unsigned char>(received_[i]);
    length += counted;
    return received_.size() < length ? 0 : length;
  }

  void answer(char type, const std::string& body) {
    switch (type) {
      case '\0':
        started_ = true;
        return send_all(message('R', WireBytes().int32(0)) +
                        message('S', WireBytes().c_string("server_version").c_string("15.0")) +
                        message('S', WireBytes().c_string("client_encoding").c_string("UTF8")) +
                        message('K', WireBytes().int32(1).int32(1)) + ready());
      case 'Q':
        return has(body, "IDENTIFY_SYSTEM") ? send_all(rows({kSystem}) + ready()) : start_stream();
      case 'P':
        answer_ = has(body, "pg_replication_slots") ? facts(Lsn{server_.confirmed_}.to_string(), server_.taken_)
                  : has(body, "AS known")           ? rows({kPartition})
                  : has(body, "attgenerated")       ? columns_answer(server_.columns_)
                                                    : no_row();
        return;
      case 'S':
        return send_all(message('1', "") + message('2', "") + answer_ + ready());
      case 'c':  // the end of a stream, in order
        return send_all(message('c', "") + command_complete() + ready());
      default:
        return;
    }
  }

  void start_stream() {
    std::string packet = message('W', WireBytes().byte(0).int16(0));
    for (const auto& frame : server_.frames_) packet += message('d', frame);
    send_all(packet);
  }

  void send_all(const std::string& bytes) {
    if (send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
      shutdown(socket_, SHUT_RDWR);
    }
  }

  int socket_;
  const FakePostgres& server_;
  std::string received_;
  bool started_ = false;
  std::string answer_;  // to the statement that was parsed
};

FakePostgres::FakePostgres(std::vector<std::string> frames, std::vector<std::string> columns)
    : frames_(std::move(frames)),
      columns_(std::move(columns)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, length) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakePostgres::~FakePostgres() { stop(); }

void FakePostgres::stop() {
  if (stop_.exchange(true)) return;
  thread_.join();
  close(listener_);
}

std::string FakePostgres::dsn() const {
  return fmt::format("host=127.0.0.1 port={} dbname=shop user=relay sslmode=disable gssencmode=disable", port_);
}

void FakePostgres::serve() {
  std::list<Session> sessions;
  while (!stop_) {
    if (cut_.exchange(false)) sessions.clear();
    std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
    for (const auto& session : sessions) waiting.push_back({session.socket(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), 20) <= 0) continue;
    auto polled = waiting.begin() + 1;
    for (auto session = sessions.begin(); session != sessions.end(); ++polled) {
      session = polled->revents == 0 || session->step() ? std::next(session) : sessions.erase(session);
    }
    if (waiting.front().revents == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) sessions.emplace_back(client, *this);
  }
}

}  // namespace walrelay::test
