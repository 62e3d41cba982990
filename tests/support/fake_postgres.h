#pragma once
// Speaks as much of PostgreSQL's protocol as a supervisor asks for: a server with one free slot whose stream is in the
// test's hands, byte by byte and packet by packet. PostgreSQL manual, "Message Formats".

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "decoder/lsn.h"

namespace walrelay::test {

// Listens on 127.0.0.1, on a port picked by the kernel. The slot is "relay", the publication "relay", the database
// "shop". Every relation that it is asked about is a partition of the first table.
class FakePostgres {
 public:
  // `frames`: what goes out in one packet with the answer to START_REPLICATION. `columns`: of the one table, text;
  // none: nobody may ask for them.
  FakePostgres(std::vector<std::string> frames, std::vector<std::string> columns);
  ~FakePostgres();
  FakePostgres(const FakePostgres&) = delete;
  FakePostgres& operator=(const FakePostgres&) = delete;

  [[nodiscard]] std::string dsn() const;
  // Closes every connection, and takes no more.
  void stop();
  // Where the slot stands from now on, as another connection has confirmed.
  void confirm(Lsn position) { confirmed_ = position.value; }
  // Ends every connection; from now on another one has the slot.
  void take_slot() { taken_ = cut_ = true; }

 private:
  class Session;
  void serve();

  const std::vector<std::string> frames_;
  const std::vector<std::string> columns_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> confirmed_{1000};
  std::atomic<bool> taken_{false};
  std::atomic<bool> cut_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace walrelay::test
