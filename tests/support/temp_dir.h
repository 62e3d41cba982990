#pragma once
// A directory of its own, gone with the object.

#include <filesystem>
#include <string>
#include <string_view>

namespace walrelay::test {

class TempDir {
 public:
  // Under $TMPDIR or /tmp: short enough for a Unix socket's path (107 bytes). Everybody may enter it, since a server
  // that refuses to run as root works there too.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// The whole file; "" if there is none.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace walrelay::test
