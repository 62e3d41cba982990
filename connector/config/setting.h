#pragma once
// One value that was given for one key, before anybody knows whether the key exists: what files, flags and --set have
// in common.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace walrelay {

// What has no use as a value but must be named when it stands where one is expected.
enum class OddValue : std::uint8_t { empty_table, array, date };

using SettingValue = std::variant<OddValue, bool, std::int64_t, double, std::string>;

struct Setting {
  std::string key;  // dotted: "delivery.max_in_flight", "outbox.0.topic", "sink.kafka.bootstrap.servers"
  SettingValue value;
  std::string origin;  // for people: "relay.toml:12:3", "--slot"
};

// Anything wrong with the command line or the configuration: one line that names key, reason and remedy, without
// secrets. Ends the program with ExitCode::usage.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "relay.toml:12:3: delivery.max_in_flight: <reason>"
[[noreturn]] void refuse(const Setting& setting, std::string_view reason);

}  // namespace walrelay
