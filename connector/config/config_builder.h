#pragma once
// Settings -> Config: types, ranges and unknown keys by the options table, then what concerns several keys at once.

#include <string>
#include <vector>

#include "connector/config/config.h"
#include "connector/config/options.h"
#include "connector/config/setting.h"

namespace walrelay {

// `optional`: an [[outbox]] may name its table and nothing else, for commands that do not map rows.
enum class Mapping : std::uint8_t { required, optional };

class ConfigBuilder {
 public:
  // A later setting replaces an earlier one of the same key. Throws ConfigError.
  void apply(const Setting& setting);

  // Fills in the presets and checks the whole. Throws ConfigError. The builder is used up.
  [[nodiscard]] Config finish(Mapping mapping);

 private:
  struct Target {
    const Setting& setting;
    const KeyMatch& match;
  };
  void set(const Target& target, const TextField& field);
  void set(const Target& target, const CountField& field);
  void set(const Target& target, const SizeField& field);
  void set(const Target& target, const DurationField& field);
  void set(const Target& target, const ChoiceField& field);
  void set(const Target& target, const ConstantField& field);
  void set(const Target& target, const RuleField& field);
  void set(const Target& target, const RuleCountField& field);
  void set(const Target& target, const RuleDurationField& field);
  void set(const Target& target, const TemplateField& field);
  void set(const Target& target, const HeadersField& field);
  void set(const Target& target, const PolicyField& field);
  void set(const Target& target, const PropertiesField& field);

  OutboxRules& outbox(const Setting& setting, std::size_t index);
  void check_duplicates() const;
  void check_dead_letter() const;
  void check_retention(std::size_t index) const;
  void complete_outbox(std::size_t index, Mapping mapping);

  Config config_;
  // Of an [[outbox]].
  struct Origins {
    std::string first;               // of its first setting
    std::vector<Setting> overrides;  // by flags, where that one is in a file
  };
  // What an error of the whole [[outbox]] is to name.
  [[nodiscard]] std::string origin_of(std::size_t index, std::string_view error) const;

  std::vector<Origins> outbox_origins_;
};

}  // namespace walrelay
