#pragma once
// The page at "/": one HTML document, made of the three files in status_page/, that shows what /status, /history and
// /config say. It asks nobody but the relay, which its Content-Security-Policy enforces. Thread: any.

#include <string>

namespace walrelay {

struct StatusPage {
  std::string html;
  std::string content_security_policy;  // names the digests of its style and its script, and forbids any other
};

// The same each time; made once.
[[nodiscard]] const StatusPage& status_page();

}  // namespace walrelay
