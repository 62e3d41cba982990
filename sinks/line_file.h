#pragma once
// Where the file and stdout sinks write to: appends whole lines, tells what is durable, and never waits for a reader.
// Errors are texts for people, "" if there was none.

#include <cstddef>
#include <string>
#include <string_view>

#include "sinks/file_descriptor.h"

namespace walrelay {

class LineFile {
 public:
  // A regular file, made if it is missing, or a character device. Throws SinkOpenError.
  [[nodiscard]] static LineFile open(const std::string& path);
  // A reader that has gone is an error of the sink only where the process ignores SIGPIPE. Throws SinkOpenError.
  [[nodiscard]] static LineFile standard_output();

  // Before the first write: takes the file for this process alone and cuts a torn last line off. A line is torn when
  // the process or the machine died while it was written; it was never acknowledged, so it comes again. `note` says if
  // that was done.
  [[nodiscard]] std::string claim(std::string& note);

  // As much of `bytes` as can be written without waiting; `count` is how much that was.
  [[nodiscard]] std::string write(std::string_view bytes, std::size_t& count);

  // What was written is on the disk afterwards. Nothing to do for anything but a regular file.
  [[nodiscard]] std::string sync() const;

  // False for a pipe, a socket or a terminal: write() may have to wait for its reader.
  [[nodiscard]] bool never_waits() const { return never_waits_; }

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  LineFile(FileDescriptor fd, std::string name);

  [[nodiscard]] std::string error(std::string_view what) const;
  [[nodiscard]] std::string cut_torn_line(std::string& note);

  FileDescriptor fd_;
  std::string name_;
  bool regular_ = false;
  bool never_waits_ = false;
};

}  // namespace walrelay
