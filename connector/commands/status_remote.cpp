// `walrelay status --url`: what an instance says of itself, asked over HTTP.

#include <fmt/format.h>
#include <httplib.h>

#include <optional>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "decoder/json_pointer.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kConnectTimeout{5};
constexpr std::chrono::seconds kReadTimeout{10};

// Values of one answer by JSON pointer.
class Answers {
 public:
  explicit Answers(std::string body) : body_(std::move(body)) {}

  [[nodiscard]] bool are_walrelays() {
    return reader_.members(body_, members_) && known("/slot") && known("/state") && known("/positions");
  }
  [[nodiscard]] std::optional<std::string> known(std::string_view pointer) {
    std::string value;
    const auto found = reader_.find(body_, JsonPointer::parse(pointer).value(), value);
    return found == JsonLookup::found ? std::optional(std::move(value)) : std::nullopt;
  }
  [[nodiscard]] std::string text(std::string_view pointer) { return known(pointer).value_or("-"); }
  [[nodiscard]] const std::string& body() const { return body_; }

 private:
  std::string body_;
  JsonReader reader_;
  std::vector<JsonMember> members_;
};

std::string slot_wal(Answers& answers) {
  auto wal = fmt::format("  retained WAL {} bytes, status {}", answers.text("/slot_retained_bytes"),
                         answers.text("/slot_wal_status"));
  const auto left = answers.known("/slot_safe_bytes");
  wal += left ? fmt::format(", {} more until the slot is lost", *left) : ", without limit";
  if (const auto until = answers.known("/slot_seconds_until_lost")) {
    wal += fmt::format(", at the present rate in {:.0f} seconds", std::stod(*until));
  }
  return wal + "\n";
}

std::string outboxes(Answers& answers) {
  std::string lines;
  for (std::size_t i = 0;; ++i) {
    const auto member = [&](std::string_view name) { return answers.text(fmt::format("/outboxes/{}/{}", i, name)); };
    if (!answers.known(fmt::format("/outboxes/{}/name", i))) return lines;
    lines += fmt::format("  outbox {}: {} delivered, {} dead letters, {} skipped\n", member("name"),
                         member("delivered"), member("dead_letter"), member("skipped"));
  }
}

std::string as_text(Answers& answers) {
  std::string out = fmt::format("slot {}: {}, {} since {}\n", answers.text("/slot"), answers.text("/role"),
                                answers.text("/state"), answers.text("/since"));
  for (std::size_t i = 0;; ++i) {
    const auto reason = answers.known(fmt::format("/not_ready/{}", i));
    if (!reason) break;
    out += fmt::format("  not ready: {}\n", *reason);
  }
  out += fmt::format("  confirmed {}, lag {} bytes, {} seconds, {} events in flight\n",
                     answers.text("/positions/confirmed"), answers.text("/lag/bytes"), answers.text("/lag/seconds"),
                     answers.text("/in_flight/events"));
  out += slot_wal(answers) + outboxes(answers);
  out += fmt::format("  reconnects {} to the server, {} to the sink\n", answers.text("/reconnects/source"),
                     answers.text("/reconnects/sink"));
  if (const auto error = answers.known("/last_error/text")) {
    out += fmt::format("  last error {}: {}\n", answers.text("/last_error/time"), *error);
  }
  out += fmt::format("  walrelay {}, PostgreSQL {} at {}, {}\n", answers.text("/version"),
                     answers.text("/server/version"), answers.text("/server/host"), answers.text("/sink"));
  return out;
}

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Scheme, host and port: "http://" is put before what has none.
std::string origin(const std::string& url) {
  std::string whole = url.find("://") == std::string::npos ? "http://" + url : url;
  if (whole.ends_with('/')) whole.pop_back();
  const auto host = whole.find("://") + 3;
  const bool scheme = whole.starts_with("http://") || whole.starts_with("https://");
  if (!scheme || host == whole.size() || whole.find_first_of("/?#@ ", host) != std::string::npos) {
    throw Refused("--url: write it as http://HOST:PORT, with the address of the instance's [http] listen");
  }
  return whole;
}

std::string why_not(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "cannot connect: refused, or there is no such host; is the instance running, and is this its [http] "
             "listen?";
    case httplib::Error::Read:
      return fmt::format("no answer within {} s, or the connection was closed", kReadTimeout.count());
    default:
      return fmt::format("no answer: {}", httplib::to_string(error));
  }
}

std::string ask(const std::string& address) {
  httplib::Client client(address);
  client.set_connection_timeout(kConnectTimeout);
  client.set_read_timeout(kReadTimeout);
  const auto answer = client.Get("/status");
  if (!answer) throw Refused(fmt::format("{}: {}", address, why_not(answer.error())));
  if (answer->status != 200) {
    throw Refused(
        fmt::format("{}/status: HTTP status {}; something else than walrelay listens there", address, answer->status));
  }
  return answer->body;
}

ExitCode remote_status(const StatusFlags& flags) {
  const auto address = origin(flags.url);
  Answers answers(ask(address));
  if (!answers.are_walrelays()) {
    throw Refused(fmt::format("{}/status: the answer is not walrelay's; something else listens there", address));
  }
  print_out(flags.json ? answers.body() : as_text(answers));
  return ExitCode::done;
}

}  // namespace

ExitCode remote_status_command(const StatusFlags& flags) {
  return guarded("status", [&] { return remote_status(flags); });
}

}  // namespace walrelay
