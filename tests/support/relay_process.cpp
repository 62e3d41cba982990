#include "tests/support/relay_process.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/support/wait.h"

namespace walrelay::test {
namespace {

constexpr const char* kProgram = WALRELAY_PROGRAM;

std::string configuration_file(const TempDir& directory, const std::string& configuration) {
  const std::string file = directory.file("walrelay.toml");
  write_file(file, configuration);
  return file;
}

std::vector<std::string> run_arguments(const TempDir& directory, const std::string& configuration,
                                       std::vector<std::string> arguments) {
  const std::string file = configuration_file(directory, configuration + "\n[http]\nlisten = \"127.0.0.1:0\"\n");
  arguments.insert(arguments.begin(), {"run", "-c", file});
  return arguments;
}

// A line of the text exposition format: name{label="value",...} number
bool fits(const std::string& line, const std::string& name, const std::map<std::string, std::string>& labels) {
  const auto name_end = line.find_first_of("{ ");
  if (name_end == std::string::npos || line.compare(0, name_end, name) != 0 || name_end != name.size()) return false;
  const std::string own = line.substr(name_end, line.rfind(' ') - name_end);
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const std::string text = label.first + "=\"" + label.second + "\"";
    return own.find("{" + text) != std::string::npos || own.find("," + text) != std::string::npos;
  });
}

}  // namespace

std::string walrelay_program() { return kProgram; }

CommandResult walrelay_command(std::vector<std::string> arguments, const std::string& configuration,
                               const ProcessOptions& options, milliseconds at_most) {
  const TempDir directory;
  if (!configuration.empty()) {
    arguments.emplace_back("-c");
    arguments.push_back(configuration_file(directory, configuration));
  }
  return run_command(kProgram, std::move(arguments), options, at_most);
}

RelayProcess::RelayProcess(const std::string& configuration, std::vector<std::string> arguments,
                           const ProcessOptions& options)
    : process_(kProgram, run_arguments(directory_, configuration, std::move(arguments)), options) {}

std::optional<std::uint16_t> RelayProcess::http_port() {
  static const std::regex listening("serving metrics and health.*\\bport\\W+([0-9]+)");
  const std::string text = http_port_ ? "" : log();
  std::smatch found;
  if (std::regex_search(text, found, listening)) http_port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
  return http_port_;
}

HttpReply RelayProcess::get(const std::string& path) {
  const auto port = http_port();
  if (!port) return {};
  httplib::Client client("127.0.0.1", *port);
  client.set_connection_timeout(seconds(2));
  client.set_read_timeout(seconds(5));
  const auto reply = client.Get(path.c_str());
  return reply ? HttpReply{reply->status, reply->body} : HttpReply{};
}

bool RelayProcess::wait_ready(milliseconds at_most) {
  bool ready = false;
  const bool decided = wait_until(at_most, [&] {
    ready = get("/readyz").status == 200;
    return ready || !process_.running();
  });
  return decided && ready;
}

std::optional<double> RelayProcess::metric(const std::string& name, const std::map<std::string, std::string>& labels) {
  std::istringstream lines(get("/metrics").body);
  std::optional<double> sum;
  for (std::string line; std::getline(lines, line);) {
    if (fits(line, name, labels)) sum = sum.value_or(0) + std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

std::optional<ExitStatus> RelayProcess::stop(milliseconds at_most) {
  process_.signal(SIGTERM);
  return process_.wait(at_most);
}

}  // namespace walrelay::test
