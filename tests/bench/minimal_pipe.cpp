// minimal_pipe DSN SLOT PUBLICATION BROKERS TOPIC [--nap-us N] [--linger-ms N] [--rcvbuf BYTES] [--until LSN]
//
// A floor to measure walrelay against, and no product: what is left of a relay when it trusts every byte, knows one
// table (id, aggregatetype, aggregateid, type, payload) and one topic, and gives up at the first surprise. libpq logs
// in; after that it is recv() on the bare socket, a nap behind each so that rows gather, and librdkafka. What both have
// to do, it does: acks=all, idempotent, and a position is confirmed when all events up to it are acknowledged.

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "connector/postgres/pg_handles.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kConfirmEvery = std::chrono::milliseconds(100);
constexpr std::size_t kBufferBytes = 4 << 20;  // a row is at most a little smaller

template <typename Integer>
Integer big_endian(const char* at) {
  Integer raw;
  std::memcpy(&raw, at, sizeof raw);
  if constexpr (sizeof raw == 2) return static_cast<Integer>(be16toh(static_cast<std::uint16_t>(raw)));
  if constexpr (sizeof raw == 4) return static_cast<Integer>(be32toh(static_cast<std::uint32_t>(raw)));
  if constexpr (sizeof raw == 8) return static_cast<Integer>(be64toh(static_cast<std::uint64_t>(raw)));
}

void append_u64(std::string& out, std::uint64_t value) {
  const std::uint64_t raw = htobe64(value);
  out.append(reinterpret_cast<const char*>(&raw), sizeof raw);
}

void set(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  std::array<char, 256> reason{};
  if (rd_kafka_conf_set(conf, name, value.c_str(), reason.data(), reason.size()) != RD_KAFKA_CONF_OK) {
    throw std::runtime_error(reason.data());
  }
}

// An error's fields end with a NUL each.
std::string readable(std::string text) {
  std::ranges::replace(text, '\0', ' ');
  return text;
}

class MinimalPipe {
 public:
  MinimalPipe(std::span<char*> words, std::map<std::string, std::string>& options)
      : nap_us_(std::stoul(options["--nap-us"])),
        connection_(PQconnectdb(fmt::format("{} replication=database", words[0]).c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
    unsigned int high = 0;
    unsigned int low = 0;
    if (std::sscanf(options["--until"].c_str(), "%X/%X", &high, &low) == 2) {  // NOLINT(cert-err34-c): our own
      until_ = (std::uint64_t{high} << 32U) | low;
    }
    start_kafka(words[3], words[4], options["--linger-ms"]);
    start_stream(words[1], words[2], std::stoi(options["--rcvbuf"]));
  }
  MinimalPipe(const MinimalPipe&) = delete;
  ~MinimalPipe() {
    rd_kafka_topic_destroy(topic_);
    rd_kafka_destroy(kafka_);
  }

  void run() {
    while (until_ == 0 || confirmed_ < until_) {
      const auto size = recv(socket_, buffer_.data() + held_, buffer_.size() - held_, 0);  // waits 20 ms at most
      if (size == 0) throw std::runtime_error("the server closed the connection");
      if (size > 0) {
        if (nap_us_ > 0) usleep(static_cast<useconds_t>(nap_us_));
        held_ += static_cast<std::size_t>(size);
        take_frames();
      }
      rd_kafka_poll(kafka_, 0);
      confirm();
    }
    send_all(std::string("c\0\0\0\4X\0\0\0\4", 10));
    while (recv(socket_, buffer_.data(), buffer_.size(), 0) != 0) {
    }
  }

 private:
  struct Transaction {
    std::uint64_t end = 0;
    std::size_t pending = 0;
  };

  static void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      fmt::print(stderr, "minimal_pipe: {}\n", rd_kafka_err2str(message->err));
      _exit(1);
    }
    auto& pipe = *static_cast<MinimalPipe*>(self);
    --pipe.open_[reinterpret_cast<std::size_t>(message->_private) - pipe.settled_].pending;
  }

  void start_kafka(const char* brokers, const char* topic, const std::string& linger_ms) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", brokers);
    set(conf, "enable.idempotence", "true");
    set(conf, "acks", "all");
    set(conf, "linger.ms", linger_ms);
    set(conf, "message.max.bytes", "10000000");
    set(conf, "partitioner", "murmur2_random");
    set(conf, "socket.nagle.disable", "true");
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    std::array<char, 256> reason{};
    kafka_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason.data(), reason.size());
    if (kafka_ == nullptr) throw std::runtime_error(reason.data());
    topic_ = rd_kafka_topic_new(kafka_, topic, nullptr);
  }

  // By a message of our own: libpq would read ahead, into a buffer that is out of reach.
  void start_stream(const char* slot, const char* publication, int rcvbuf) {
    socket_ = PQsocket(connection_.get());
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) & ~O_NONBLOCK);
    const timeval wait{.tv_sec = 0, .tv_usec = 20'000};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    if (rcvbuf > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
    const std::string command = fmt::format(
        "START_REPLICATION SLOT \"{}\" LOGICAL 0/0 (proto_version '1', publication_names '\"{}\"')", slot, publication);
    const std::uint32_t size = htonl(static_cast<std::uint32_t>(4 + command.size() + 1));
    send_all("Q" + std::string(reinterpret_cast<const char*>(&size), 4) + command + '\0');
  }

  void send_all(const std::string& bytes) const {
    if (send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("sending to the server failed");
    }
  }

  void take_frames() {
    const char* at = buffer_.data();
    const char* const end = at + held_;
    while (end - at >= 5) {
      const auto size = big_endian<std::uint32_t>(at + 1) + 1;
      if (end - at < size) break;
      if (*at == 'E') throw std::runtime_error(readable({at + 5, size - 5}));
      if (*at == 'd' && at[5] == 'w') take_message(at + 30);
      if (*at == 'd' && at[5] == 'k' && open_.empty()) received_ = big_endian<std::uint64_t>(at + 6);
      at += size;
    }
    held_ = static_cast<std::size_t>(end - at);
    std::memmove(buffer_.data(), at, held_);
    if (held_ == buffer_.size()) throw std::runtime_error("a row is larger than the buffer");
  }

  void take_message(const char* message) {
    if (*message == 'B') open_.emplace_back();
    if (*message == 'C') open_.back().end = big_endian<std::uint64_t>(message + 10);
    if (*message == 'I') take_row(message + 8);
  }

  void take_row(const char* column) {
    std::array<std::string_view, 5> row;
    for (auto& value : row) {
      value = {column + 5, big_endian<std::uint32_t>(column + 1)};
      column = value.data() + value.size();
    }
    const auto& [id, kind, key, type, payload] = row;
    ++open_.back().pending;
    const auto ordinal = reinterpret_cast<void*>(settled_ + open_.size() - 1);
    while (true) {
      const auto error = rd_kafka_producev(kafka_, RD_KAFKA_V_RKT(topic_), RD_KAFKA_V_KEY(key.data(), key.size()),
                                           RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
                                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                           RD_KAFKA_V_HEADER("id", id.data(), static_cast<ssize_t>(id.size())),
                                           RD_KAFKA_V_OPAQUE(ordinal), RD_KAFKA_V_END);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
      if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) throw std::runtime_error(rd_kafka_err2str(error));
      rd_kafka_poll(kafka_, 1);
    }
  }

  // The end of the last transaction before which nothing waits; at once if that was all.
  void confirm() {
    while (!open_.empty() && open_.front().end != 0 && open_.front().pending == 0) {
      received_ = open_.front().end;
      open_.pop_front();
      ++settled_;
    }
    const auto now = Clock::now();
    const bool is_last = until_ != 0 && received_ >= until_;
    if (received_ == confirmed_ || (now < confirmed_at_ + kConfirmEvery && !is_last)) return;
    confirmed_ = received_;
    confirmed_at_ = now;
    std::string update("d\0\0\0\46r", 6);
    for (int i = 0; i < 3; ++i) append_u64(update, confirmed_);  // written, flushed, applied
    append_u64(update, 0);                                       // the server does not care about the time
    send_all(update + '\0');
  }

  unsigned long nap_us_;
  walrelay::PgConnectionHandle connection_;
  int socket_ = -1;
  rd_kafka_t* kafka_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  std::uint64_t until_ = 0;  // 0: for ever
  std::uint64_t received_ = 0, confirmed_ = 0;
  Clock::time_point confirmed_at_{};
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  std::size_t held_ = 0;
  std::deque<Transaction> open_;
  std::size_t settled_ = 0;  // the ordinal of the first of `open_`
};

}  // namespace

int main(int count, char** words) {
  std::map<std::string, std::string> options{
      {"--nap-us", "500"}, {"--linger-ms", "5"}, {"--rcvbuf", "0"}, {"--until", ""}};
  for (int i = 6; i + 1 < count; i += 2) options[words[i]] = words[i + 1];
  if (count < 6 || count % 2 != 0 || options.size() != 4) {
    fmt::print(stderr,
               "usage: minimal_pipe DSN SLOT PUBLICATION BROKERS TOPIC [--nap-us N] [--linger-ms N] "
               "[--rcvbuf BYTES] [--until LSN]\n");
    return 2;
  }
  try {
    MinimalPipe({words + 1, 5}, options).run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "minimal_pipe: {}\n", error.what());
    return 1;
  }
}
