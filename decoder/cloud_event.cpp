#include "decoder/cloud_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "decoder/rule_error.h"
#include "decoder/trace_context.h"

namespace walrelay {
namespace {

// What the specification defines; an extension cannot have one of these names.
constexpr std::array<std::string_view, 10> kAttributes = {
    "id", "source", "specversion", "type", "datacontenttype", "dataschema", "subject", "time", "data", "data_base64"};

constexpr std::string_view kDefaultContentType = "application/json";

class CloudEventCompiler {
 public:
  CloudEventCompiler(const OutboxRules& rules, const std::string& id)
      : rules_(rules), cloud_(*rules.cloudevents), id_(id) {}

  std::vector<CloudEventHeader> compile() {
    for (const auto& header : rules_.headers) refuse_header(header.first);
    if (id_.empty()) fail("a CloudEvent needs an id; set id, or choose a preset");
    add("id", id_, Repeats::id);
    add("specversion", "1.0");
    add("source", required(cloud_.source, "source", R"(source = "/shop/orders")"));
    add("type", required(cloud_.type ? cloud_.type : header_text("type"), "type", R"(type = "{type}")"));
    add("time", "", Repeats::time);
    add_if_set("subject", cloud_.subject);
    add_if_set("dataschema", cloud_.dataschema);
    add_content_type();
    for (const auto& [name, text] : cloud_.extensions) {
      check_extension(name);
      add_if_set(name, text);
    }
    add_if_set(kTraceparentHeader, tracing_text(kTraceparentHeader));
    add_if_set(kTracestateHeader, tracing_text(kTracestateHeader));
    return std::move(headers_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw RuleError(fmt::format("[[outbox]] {}: {}", rules_.table.empty() ? rules_.messages : rules_.table, what));
  }

  void refuse_header(std::string_view name) const {
    if (name.starts_with(kCloudEventPrefix)) {
      fail(fmt::format("header \"{}\" is the CloudEvent's; set {} under [outbox.cloudevents]", name,
                       name.substr(kCloudEventPrefix.size())));
    }
    if (name == kContentTypeHeader) {
      fail(R"(header "content-type" is the CloudEvent's; set datacontenttype under [outbox.cloudevents])");
    }
  }

  void check_extension(std::string_view name) const {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (name.empty() || !std::all_of(name.begin(), name.end(), fits)) {
      fail(fmt::format("\"{}\" cannot name an extension of CloudEvents: only a-z and 0-9 are allowed", name));
    }
    if (std::find(kAttributes.begin(), kAttributes.end(), name) != kAttributes.end()) {
      fail(
          fmt::format("\"{}\" is an attribute of every CloudEvent, not an extension; take it out of extensions", name));
    }
  }

  [[nodiscard]] std::string required(const std::optional<std::string>& text, std::string_view name,
                                     std::string_view example) const {
    if (text && !text->empty()) return *text;
    fail(fmt::format("a CloudEvent needs a {}; write {} under [outbox.cloudevents]", name, example));
  }

  // The template of a configured header; of messages also of the one that is theirs by default.
  [[nodiscard]] std::optional<std::string> header_text(std::string_view name) const {
    const auto& headers = rules_.headers;
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
    if (found != headers.end()) return found->second;
    return !rules_.messages.empty() && name == "type" ? std::optional<std::string>("{type}") : std::nullopt;
  }

  // The extension "Distributed Tracing" has the trace in which the event began, and so have our headers.
  [[nodiscard]] std::optional<std::string> tracing_text(std::string_view name) const {
    const auto is_own = [&](const auto& extension) { return extension.first == name; };
    if (std::any_of(cloud_.extensions.begin(), cloud_.extensions.end(), is_own)) return std::nullopt;
    return header_text(name);
  }

  void add(std::string_view attribute, std::string text, Repeats repeats = Repeats::nothing) {
    headers_.push_back({fmt::format("{}{}", kCloudEventPrefix, attribute),
                        fmt::format("CloudEvents attribute \"{}\"", attribute), std::move(text), repeats});
  }

  void add_if_set(std::string_view attribute, const std::optional<std::string>& text) {
    if (text && !text->empty()) add(attribute, *text);
  }

  void add_content_type() {
    std::string text(cloud_.datacontenttype.value_or(std::string(kDefaultContentType)));
    if (text.empty()) return;
    headers_.push_back(
        {std::string(kContentTypeHeader), R"(CloudEvents attribute "datacontenttype")", std::move(text)});
  }

  const OutboxRules& rules_;
  const CloudEventRules& cloud_;
  const std::string& id_;
  std::vector<CloudEventHeader> headers_;
};

}  // namespace

std::vector<CloudEventHeader> cloud_event_headers(const OutboxRules& rules, const std::string& id) {
  return CloudEventCompiler(rules, id).compile();
}

}  // namespace walrelay
