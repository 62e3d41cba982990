#include "sinks/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "sinks/sink_error.h"

namespace walrelay {
namespace {

constexpr mode_t kFileMode = 0640;

// What every line of a sink begins with, see event_line.h.
constexpr std::string_view kLineStart = R"({"topic":")";

// A new file survives a crash only if its directory entry does.
void sync_directory(const std::string& path) {
  const auto directory = std::filesystem::absolute(path).parent_path();
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    throw SinkOpenError(fmt::format("cannot sync {}: {}", directory.string(), std::strerror(errno)));
  }
}

// The offset behind the last line break; 0 if there is none.
off_t end_of_last_line(int fd, off_t size) {
  std::string block(64 * 1024, '\0');
  for (off_t end = size; end > 0;) {
    const auto wanted = std::min<off_t>(end, static_cast<off_t>(block.size()));
    const ssize_t count = ::pread(fd, block.data(), static_cast<std::size_t>(wanted), end - wanted);
    if (count != wanted) return -1;
    const auto found = std::string_view(block.data(), static_cast<std::size_t>(count)).rfind('\n');
    if (found != std::string_view::npos) return end - wanted + static_cast<off_t>(found) + 1;
    end -= wanted;
  }
  return 0;
}

bool begins_like_a_line(int fd, off_t offset, off_t size) {
  std::string start(std::min(kLineStart.size(), static_cast<std::size_t>(size - offset)), '\0');
  const ssize_t count = ::pread(fd, start.data(), start.size(), offset);
  return count == static_cast<ssize_t>(start.size()) && kLineStart.starts_with(start);
}

}  // namespace

LineFile::LineFile(FileDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) throw SinkOpenError(error("use"));
  regular_ = S_ISREG(status.st_mode);
  never_waits_ = regular_ || (S_ISCHR(status.st_mode) && ::isatty(fd_.get()) == 0);
}

LineFile LineFile::open(const std::string& path) {
  const bool is_new = ::access(path.c_str(), F_OK) != 0;
  // O_NONBLOCK: opening must not wait for a pipe's reader; it means nothing for a file.
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kFileMode));
  if (!fd.valid()) throw SinkOpenError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  LineFile file(std::move(fd), path);
  if (!file.never_waits_) {
    throw SinkOpenError(fmt::format("cannot write to {}: it is no regular file; use the stdout sink for a pipe", path));
  }
  if (is_new) sync_directory(path);
  return file;
}

LineFile LineFile::standard_output() {
  FileDescriptor fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) throw SinkOpenError(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
  LineFile file(std::move(fd), "stdout");
  file.regular_ = false;  // a redirection belongs to the shell: no lock, no cut, acknowledged when written
  return file;
}

std::string LineFile::error(std::string_view what) const {
  return fmt::format("cannot {} {}: {}", what, name_, std::strerror(errno));
}

std::string LineFile::claim(std::string& note) {
  if (!regular_) return {};
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? fmt::format("cannot write to {}: another process does", name_) : error("lock");
  }
  return cut_torn_line(note);
}

std::string LineFile::cut_torn_line(std::string& note) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return error("look at");
  const off_t end = end_of_last_line(fd_.get(), status.st_size);
  if (end < 0) return error("read");
  if (end == status.st_size) return {};
  if (!begins_like_a_line(fd_.get(), end, status.st_size)) {
    return fmt::format("cannot append to {}: its last line has no end and is not of walrelay; end or remove that line",
                       name_);
  }
  if (::ftruncate(fd_.get(), end) != 0) return error("cut the torn last line of");
  note = fmt::format("{}: cut a torn last line of {} bytes off; its event comes again", name_, status.st_size - end);
  return {};
}

std::string LineFile::write(std::string_view bytes, std::size_t& count) {
  count = 0;
  while (count < bytes.size()) {
    // A pipe that is writable takes PIPE_BUF bytes at least.
    const std::size_t piece =
        never_waits_ ? bytes.size() - count : std::min<std::size_t>(PIPE_BUF, bytes.size() - count);
    pollfd waiting{fd_.get(), POLLOUT, 0};
    if (!never_waits_ && ::poll(&waiting, 1, 0) == 0) break;
    const ssize_t written = ::write(fd_.get(), bytes.data() + count, piece);
    if (written >= 0) {
      count += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return error("write to");
    }
  }
  return {};
}

std::string LineFile::sync() const { return regular_ && ::fdatasync(fd_.get()) != 0 ? error("sync") : std::string{}; }

}  // namespace walrelay
