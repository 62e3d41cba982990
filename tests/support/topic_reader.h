#pragma once
// What is in a topic, read without a consumer group.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace walrelay::test {

struct TopicRecord {
  int partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;  // in the record's order
  std::int64_t timestamp_ms = 0;

  // The first header of this name; nothing if there is none or its value is null.
  [[nodiscard]] std::optional<std::string> header(const std::string& name) const;
};

// Errors: std::runtime_error if the topic does not exist in time or the broker refuses.
class TopicReader {
 public:
  // From the beginning of every partition that the topic has now. Waits for the topic to appear.
  TopicReader(const std::string& broker, const std::string& topic,
              std::chrono::milliseconds at_most = std::chrono::seconds(30));
  ~TopicReader();
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;

  // The next records, in order within a partition: `count` of them, or fewer when the time is over.
  [[nodiscard]] std::vector<TopicRecord> read(std::size_t count,
                                              std::chrono::milliseconds at_most = std::chrono::seconds(30));

  // Everything up to the end of every partition as it is now.
  [[nodiscard]] std::vector<TopicRecord> read_to_end(std::chrono::milliseconds at_most = std::chrono::seconds(30));

 private:
  struct Consumer;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace walrelay::test
