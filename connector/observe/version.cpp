#include "connector/observe/version.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include "sinks/kafka_handles.h"

namespace walrelay {

std::string version_text() {
  const int libpq = PQlibVersion();
  return fmt::format("walrelay {} (libpq {}.{}, librdkafka {})", kVersion, libpq / 10'000, libpq % 10'000,
                     rd_kafka_version_str());
}

}  // namespace walrelay
