#include "tests/support/kafka_acls.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/support/kafka_client.h"

namespace walrelay::test {
namespace {

constexpr int kAnswerMaxMs = 30'000;

rd_kafka_AclOperation_t operation_of(const std::string& word) {
  static const std::map<std::string, rd_kafka_AclOperation_t> operations = {
      {"READ", RD_KAFKA_ACL_OPERATION_READ},         {"WRITE", RD_KAFKA_ACL_OPERATION_WRITE},
      {"CREATE", RD_KAFKA_ACL_OPERATION_CREATE},     {"DELETE", RD_KAFKA_ACL_OPERATION_DELETE},
      {"DESCRIBE", RD_KAFKA_ACL_OPERATION_DESCRIBE}, {"DESCRIBE_CONFIGS", RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS},
  };
  return operations.at(word);
}

void allow(rd_kafka_t* client, const std::string& principal, rd_kafka_AclOperation_t operation,
           const std::string& topic, rd_kafka_ResourcePatternType_t pattern) {
  std::array<char, 512> error{};
  rd_kafka_AclBinding_t* binding =
      rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str(), pattern, principal.c_str(), "*", operation,
                              RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, error.data(), error.size());
  if (binding == nullptr) throw std::runtime_error(error.data());
  const KafkaHandle<rd_kafka_queue_t> replies(rd_kafka_queue_new(client));
  rd_kafka_CreateAcls(client, &binding, 1, nullptr, replies.get());
  rd_kafka_AclBinding_destroy(binding);
  const KafkaHandle<rd_kafka_event_t> reply(rd_kafka_queue_poll(replies.get(), kAnswerMaxMs));
  if (!reply) throw std::runtime_error("CreateAcls: no answer");
  std::size_t count = 0;
  const auto* const* results = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(reply.get()), &count);
  const auto* problem = count == 1 ? rd_kafka_acl_result_error(results[0]) : nullptr;
  if (count != 1 || problem != nullptr) {
    throw std::runtime_error(fmt::format("CreateAcls: {}", problem != nullptr
                                                               ? rd_kafka_error_string(problem)
                                                               : rd_kafka_event_error_string(reply.get())));
  }
}

}  // namespace

std::vector<std::string> kafka_acls_commands(const std::string& page) {
  std::istringstream lines(page);
  std::vector<std::string> commands;
  bool continued = false;
  for (std::string line; std::getline(lines, line);) {
    if (continued) {
      commands.back() += line;
    } else if (line.starts_with("kafka-acls.sh ")) {
      commands.push_back(line);
    } else {
      continue;
    }
    continued = commands.back().ends_with('\\');
    if (continued) commands.back().pop_back();
  }
  if (commands.empty()) throw std::runtime_error("no kafka-acls.sh in this page");
  return commands;
}

void run_kafka_acls(const std::string& broker, const std::string& command) {
  std::istringstream words(command);
  std::vector<std::string> operations;
  std::map<std::string, std::string> others;
  std::string word;
  words >> word;  // kafka-acls.sh
  while (words >> word) {
    std::string value;
    if (word == "--add") continue;
    words >> value;
    if (word == "--operation") {
      operations.push_back(value);
    } else {
      others[word] = value;
    }
  }
  const auto client = kafka_client(RD_KAFKA_PRODUCER, broker);
  const auto pattern = others["--resource-pattern-type"] == "prefixed" ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED
                                                                       : RD_KAFKA_RESOURCE_PATTERN_LITERAL;
  for (const auto& operation : operations) {
    allow(client.get(), others.at("--allow-principal"), operation_of(operation), others.at("--topic"), pattern);
  }
}

}  // namespace walrelay::test
