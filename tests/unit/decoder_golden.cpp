// Frames that real servers sent, byte for byte (see tests/golden/capture.py), against a second decoder's reading of
// them.

#include <filesystem>
#include <fstream>

#include "decoder/copy_frame.h"
#include "decoder/pgoutput_decoder.h"
#include "support/catch.h"
#include "support/describe_message.h"

namespace walrelay::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Paragraphs of hexadecimal digits; lines that begin with # are comments.
std::vector<std::string> frames_of(const fs::path& path) {
  std::vector<std::string> frames;
  bool new_frame = true;
  for (const auto& line : lines_of(path)) {
    if (line.empty()) new_frame = true;
    if (line.empty() || line.front() == '#') continue;
    if (new_frame) frames.emplace_back();
    new_frame = false;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      frames.back() += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
  }
  return frames;
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(WALRELAY_GOLDEN_FOLDER)) {
    if (entry.path().extension() == ".hex") files.push_back(entry.path());
  }
  return files;
}

std::string read_frame(PgoutputDecoder& decoder, const std::string& frame) {
  CopyFrame parsed;
  if (const auto error = parse_copy_frame(frame, parsed); error.failed()) return error.to_string();
  if (const auto* keepalive = std::get_if<Keepalive>(&parsed)) return describe(*keepalive);
  PgoutputMessage message;
  const auto error = decoder.decode(std::get<XLogData>(parsed).payload, message);
  return error.failed() ? error.to_string() : describe(message);
}

}  // namespace

TEST_CASE("frames of PostgreSQL 13, 15, 17 and 18 are read as the manual describes them") {
  const auto files = golden_files();
  REQUIRE(files.size() >= 5);
  for (const auto& file : files) {
    const auto frames = frames_of(file);
    const auto expected = lines_of(fs::path(file).replace_extension(".txt"));
    REQUIRE(frames.size() == expected.size());
    PgoutputDecoder decoder;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      INFO(file << ", frame " << i);
      CHECK(read_frame(decoder, frames[i]) == expected[i]);
    }
  }
}

TEST_CASE("a real frame cut at any byte is an error") {
  for (const auto& file : golden_files()) {
    for (const auto& frame : frames_of(file)) {
      for (std::size_t size = 0; size < frame.size(); ++size) {
        const std::string cut = frame.substr(0, size);
        CopyFrame parsed;
        PgoutputMessage message;
        PgoutputDecoder decoder;
        auto error = parse_copy_frame(cut, parsed);
        if (!error.failed()) error = decoder.decode(std::get<XLogData>(parsed).payload, message);
        if (!error.failed()) FAIL(file << ": " << describe(message) << " cut to " << size << " bytes");
      }
    }
  }
}

}  // namespace walrelay::test
