#include "connector/config/listen_address.h"

#include <limits>

#include "connector/config/option_values.h"

namespace walrelay {

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const auto port = parse_count(text.substr(colon + 1));
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;  // an IPv6 address without brackets: its last group is not a port
  }
  if (host.empty() || host.find_first_of(" /[]") != std::string_view::npos) return std::nullopt;
  return ListenAddress{std::string(host), static_cast<std::uint16_t>(*port)};
}

}  // namespace walrelay
