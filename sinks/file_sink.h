#pragma once
// Writes events as lines of JSON (event_line.h) to a file or to stdout.
//
// submit() only fills a buffer; collect() writes it. A file's events are persisted once fdatasync() has returned, one
// call for all that was submitted since the last collect(); stdout's once their line is written whole. A file may make
// collect() wait for the disk, stdout never makes it wait for its reader. A write that fails (disk full, reader gone)
// ends the sink: what was not acknowledged is in doubt.

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinks/event_line.h"
#include "sinks/file_descriptor.h"
#include "sinks/line_file.h"
#include "sinks/sink.h"
#include "sinks/sink_log.h"

namespace walrelay {

class FileSink final : public Sink {
 public:
  // LineFile::open() or LineFile::standard_output(). The file is claimed with the first event, so that a standby can
  // hold an open sink. Throws SinkOpenError.
  FileSink(LineFile file, SinkLimits limits, SinkLog log);

  [[nodiscard]] SubmitStatus submit(const OutboxEvent& event, Tag tag) override;
  [[nodiscard]] const Rejection& rejection() const override { return rejection_; }
  [[nodiscard]] std::span<const Delivery> collect(std::size_t limit) override;
  [[nodiscard]] int descriptor() const override { return poll_.get(); }
  [[nodiscard]] std::size_t in_flight_events() const override { return pending_.size(); }
  [[nodiscard]] std::size_t in_flight_bytes() const override { return in_flight_bytes_; }
  [[nodiscard]] std::optional<std::string> fatal_reason() const override { return fatal_reason_; }
  [[nodiscard]] Health health() const override;

 private:
  struct Pending {
    Tag tag;
    std::size_t bytes;       // key and value
    std::uint64_t line_end;  // position in all that was ever written
  };

  [[nodiscard]] bool has_room(std::size_t bytes) const;
  void write_out();
  void set_fatal(std::string reason);
  void announce();

  LineFile file_;
  SinkLimits limits_;
  SinkLog log_;
  FileDescriptor wakeup_;  // readable while there is work that needs no waiting
  FileDescriptor poll_;    // over wakeup_, and over the file while its reader is waited for
  bool woken_ = false;
  bool waits_for_reader_ = false;

  EventLineWriter writer_;
  bool claimed_ = false;
  std::string buffer_;  // lines; the first written_ bytes are out
  std::size_t written_ = 0;
  std::uint64_t buffer_start_ = 0;  // position of the buffer's first byte
  std::uint64_t durable_ = 0;       // up to this position
  std::deque<Pending> pending_;
  std::size_t in_flight_bytes_ = 0;
  std::vector<Delivery> deliveries_;  // what the last collect() returned
  Rejection rejection_;               // never set: a file takes everything
  std::optional<std::string> fatal_reason_;
};

}  // namespace walrelay
