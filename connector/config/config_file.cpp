// The only file that includes toml++: it takes seconds to compile.
#include "connector/config/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <utility>

#include "connector/config/text_file.h"

namespace walrelay {
namespace {

struct Found {
  Setting setting;
  toml::source_position at;
};

class Flattener {
 public:
  explicit Flattener(const std::string& name) : name_(name) {}

  void table(const std::string& prefix, const toml::table& table) {
    if (table.empty()) leaf(prefix, table, OddValue::empty_table);
    for (const auto& [key, value] : table) {
      node(prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str()), value);
    }
  }

  // toml++ sorts a table by its keys; the order of the file is what people mean.
  std::vector<Setting> in_file_order() {
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
    std::vector<Setting> settings;
    for (Found& one : found_) settings.push_back(std::move(one.setting));
    return settings;
  }

 private:
  void node(const std::string& key, const toml::node& value) {
    if (const auto* inner = value.as_table()) return table(key, *inner);
    if (const auto* array = value.as_array()) return this->array(key, *array);
    if (const auto* text = value.as_string()) return leaf(key, value, text->get());
    if (const auto* number = value.as_integer()) return leaf(key, value, number->get());
    if (const auto* number = value.as_floating_point()) return leaf(key, value, number->get());
    if (const auto* boolean = value.as_boolean()) return leaf(key, value, boolean->get());
    leaf(key, value, OddValue::date);
  }

  void array(const std::string& key, const toml::array& array) {
    // [[outbox]] is the one array there is; any other is for the options table to refuse.
    if (array.empty() || !array.is_homogeneous(toml::node_type::table)) return leaf(key, array, OddValue::array);
    for (std::size_t i = 0; i < array.size(); ++i) node(fmt::format("{}.{}", key, i), array[i]);
  }

  void leaf(const std::string& key, const toml::node& value, SettingValue content) {
    const auto at = value.source().begin;
    found_.push_back({Setting{key, std::move(content), fmt::format("{}:{}:{}", name_, at.line, at.column)}, at});
  }

  const std::string& name_;
  std::vector<Found> found_;
};

// What is wrong with text without quotes, by what it was taken for.
std::string_view hint(std::string_view description) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kTakenFor = {"value:"sv, "boolean:"sv, "integer:"sv, "floating-point:"sv, "time:"sv, "date:"sv};
  const bool scalar = std::any_of(kTakenFor.begin(), kTakenFor.end(),
                                  [&](auto word) { return description.find(word) != std::string_view::npos; });
  return scalar ? "; text needs quotes: key = \"text\"" : "";
}

}  // namespace

std::vector<Setting> parse_config_text(std::string_view text, const std::string& name) {
  try {
    const toml::table root = toml::parse(text);
    Flattener flattener(name);
    if (!root.empty()) flattener.table("", root);
    return flattener.in_file_order();
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    throw ConfigError(fmt::format("{}:{}:{}: not valid TOML: {}{}", name, at.line, at.column, error.description(),
                                  hint(error.description())));
  }
}

std::vector<Setting> read_config_file(const std::string& path) {
  const TextFile file = read_text_file(path);
  if (!file.problem.empty()) {
    throw ConfigError(
        fmt::format("-c {0}: cannot be read: {1}; `walrelay init` proposes a configuration", path, file.problem));
  }
  return parse_config_text(file.text, path);
}

}  // namespace walrelay
