#pragma once
// The one table of everything that can be configured. It alone says which keys exist, their types, ranges and defaults;
// reading (config_builder), --help (command_line), `walrelay config` (config_print) and docs/configuration.md
// (config_reference) are made from it.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "connector/config/config.h"

namespace walrelay {

// How a key's text becomes part of Config. The functions give the place in Config or OutboxRules that the key stands
// for.

// Why a text is not accepted and what to write instead, "" if it is.
using TextCheck = std::string (*)(std::string_view text);

struct TextField {
  std::string& (*place)(Config&);
  TextCheck check;
  std::string_view form;  // for the documentation: "host:port"
  bool secret = false;    // holds passwords: never repeated in a message, masked when printed
  std::string& (*as_given)(Config&) =
      nullptr;  // where the text goes before ${...} is replaced, if that is wanted again
};

struct CountField {
  std::size_t& (*place)(Config&);
  std::size_t min, max;
};

struct SizeField {  // bytes
  std::size_t& (*place)(Config&);
  std::size_t min, max;
};

struct DurationField {
  std::chrono::milliseconds& (*place)(Config&);
  std::chrono::milliseconds min, max;
};

struct ChoiceField {
  std::span<const std::string_view> names;  // in the order of the enumeration
  std::size_t (*get)(Config&);
  void (*set)(Config&, std::size_t index);
};

// A key of the design that has only one possible value in this version.
struct ConstantField {
  std::string_view only;
};

struct RuleField {
  std::string& (*place)(OutboxRules&);
  TextCheck check;
  std::string_view form;
};

struct RuleCountField {  // 0 in its place: not given
  std::size_t& (*place)(OutboxRules&);
  std::size_t min, max;
};

struct RuleDurationField {  // 0 in its place: not given
  std::chrono::milliseconds& (*place)(OutboxRules&);
  std::chrono::milliseconds min, max;
  std::string_view why_min = "";  // for people: what is wrong with less
};

struct TemplateField {
  std::optional<std::string>& (*place)(OutboxRules&);
  std::string_view without = "the preset's";  // for the documentation: what holds where it is not given
};

struct HeadersField {  // KEY.NAME: a template each
  std::vector<std::pair<std::string, std::string>>& (*place)(OutboxRules&);
  std::string_view without = "the preset's";
};
struct PolicyField {};      // delivery.on_error: a word, or a table by failure class
struct PropertiesField {};  // sink.kafka.PROPERTY: handed to librdkafka

using OptionField =
    std::variant<TextField, CountField, SizeField, DurationField, ChoiceField, ConstantField, RuleField, RuleCountField,
                 RuleDurationField, TemplateField, HeadersField, PolicyField, PropertiesField>;

struct Option {
  std::string_view key;  // '*' stands for the number of an [[outbox]], counted from 0
  OptionField field;
  std::string_view flag;     // "--slot"; "" if there is none
  std::string_view summary;  // what it is, for people; no full stop
};

[[nodiscard]] std::span<const Option> options();

// A section of the file and what it is about, in the order of the documentation.
struct Section {
  std::string_view name;  // "postgres", "outbox.*", "sink.kafka"
  std::string_view summary;
};
[[nodiscard]] std::span<const Section> sections();

inline constexpr std::array<std::string_view, 3> kOnErrorNames = {"halt", "dead-letter", "skip"};

// What a dotted key means.
struct KeyMatch {
  const Option* option = nullptr;  // nullptr: no such key
  std::size_t outbox = 0;          // for keys of an [[outbox]]
  std::string rest;                // header name, librdkafka property or failure class, where the key has one
};
[[nodiscard]] KeyMatch find_option(std::string_view key);

// "delivery.max_in_flight" for "delivery.max_inflight"; "" if nothing is near. Numbers of outboxes are kept.
[[nodiscard]] std::string nearest_key(std::string_view key);

// "outbox.*.topic" and 1 for "outbox.1.topic"; the key itself and nothing for a key outside of any [[outbox]].
struct OutboxKey {
  std::string pattern;
  std::optional<std::size_t> outbox;
};
[[nodiscard]] OutboxKey split_outbox_key(std::string_view key);

}  // namespace walrelay
