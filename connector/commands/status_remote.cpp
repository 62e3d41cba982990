// `walrelay status --url`: what an instance says of itself, asked over HTTP.

#include <fmt/format.h>
#include <httplib.h>

#include <optional>

#include "connector/commands/command_support.h"
#include "connector/commands/commands.h"
#include "connector/observe/quantity_text.h"
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

std::string size(const std::optional<std::string>& bytes) {
  return bytes ? bytes_text(std::stoll(*bytes)) : "not known";
}

std::string slot_wal(Answers& answers) {
  const auto kept = answers.known("/slot_retained_bytes");
  if (!kept) return "  retained WAL not known\n";
  std::optional<std::int64_t> left;
  if (const auto safe = answers.known("/slot_safe_bytes")) left = std::stoll(*safe);
  auto wal = fmt::format("  retained WAL {} ({}), {}", size(kept), answers.text("/slot_wal_status"), room_text(left));
  if (const auto until = answers.known("/slot_seconds_until_lost"); until && left > 0) {
    wal += fmt::format(", at the present rate in {}", duration_text(std::stod(*until)));
  }
  return wal + "\n";
}

std::string progress(Answers& answers) {
  const auto confirmed = answers.known("/positions/confirmed");
  const auto seconds = answers.known("/lag/seconds");
  return fmt::format("  {}, lag {}{}, {} events in flight\n",
                     confirmed ? "confirmed " + *confirmed : "confirmed position not known",
                     size(answers.known("/lag/bytes")), seconds ? ", " + duration_text(std::stod(*seconds)) : "",
                     answers.text("/in_flight/events"));
}

std::string outboxes(Answers& answers) {
  std::string lines;
  for (std::size_t i = 0;; ++i) {
    const auto member = [&](std::string_view name) { return answers.text(fmt::format("/outboxes/{}/{}", i, name)); };
    if (!answers.known(fmt::format("/outboxes/{}/name", i))) return lines;
    lines += fmt::format("  outbox {}: {} delivered, {} dead letters, {} skipped", member("name"), member("delivered"),
                         member("dead_letter"), member("skipped"));
    if (answers.known(fmt::format("/outboxes/{}/write_back/written", i))) {
      lines += fmt::format(", {} written back, {} given up", member("write_back/written"), member("write_back/failed"));
    }
    lines += "\n";
  }
}

// An instance that has no stream is a standby only while another one has the slot.
std::string state(Answers& answers) {
  const auto state = answers.text("/state");
  auto words = state == "connecting"         ? "connecting to PostgreSQL"
               : state == "waiting_for_sink" ? "disconnected until the sink is back"
                                             : state;
  return answers.text("/role") == "active" ? "active, " + words : words;
}

std::string server(Answers& answers) {
  const auto version = answers.known("/server/version");
  return version ? fmt::format("PostgreSQL {} at {}", *version, answers.text("/server/host")) : "no server yet";
}

std::string as_text(Answers& answers) {
  std::string out =
      fmt::format("slot {}: {} since {}\n", answers.text("/slot"), state(answers), answers.text("/since"));
  for (std::size_t i = 0;; ++i) {
    const auto reason = answers.known(fmt::format("/not_ready/{}", i));
    if (!reason) break;
    out += fmt::format("  not ready: {}\n", *reason);
  }
  out += progress(answers) + slot_wal(answers) + outboxes(answers);
  if (const auto pending = answers.known("/write_back_pending_rows")) {
    out += fmt::format("  {} rows to be written back\n", *pending);
  }
  out += fmt::format("  reconnects {} to the server, {} to the sink\n", answers.text("/reconnects/source"),
                     answers.text("/reconnects/sink"));
  if (const auto error = answers.known("/last_error/text")) {
    out += fmt::format("  last error {}: {}\n", answers.text("/last_error/time"), *error);
  }
  out += fmt::format("  walrelay {}, {}, {}\n", answers.text("/version"), server(answers), answers.text("/sink"));
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
