#include "connector/observe/status_page.h"

#include <openssl/sha.h>

#include <regex>

#include "sinks/base64.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  REQUIRE(from != std::string::npos);
  return text.substr(from + begin.size(), text.find(end, from) - from - begin.size());
}

std::string digest(const std::string& text) {
  unsigned char bytes[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes);
  return "'sha256-" + to_base64({reinterpret_cast<const char*>(bytes), sizeof bytes}) + "'";
}

}  // namespace

TEST_CASE("the status page's policy allows its own style and script, requests to the relay, and nothing else") {
  const auto& page = status_page();
  const auto style = between(page.html, "<style>", "</style>");
  const auto script = between(page.html, "<script>", "</script>");
  CHECK(style.size() > 1000);
  CHECK(script.size() > 1000);
  const auto& policy = page.content_security_policy;
  CHECK(policy.starts_with("default-src 'none'; "));
  CHECK_THAT(policy, ContainsSubstring("style-src " + digest(style) + ";"));
  CHECK_THAT(policy, ContainsSubstring("script-src " + digest(script) + ";"));
  CHECK_THAT(policy, ContainsSubstring("connect-src 'self';"));
  CHECK_THAT(policy, !ContainsSubstring("unsafe"));
}

TEST_CASE("the status page names no other place, and puts no text of the relay in as HTML") {
  const auto& html = status_page().html;
  const std::regex address("https?://[^'\"]*");
  for (auto found = std::sregex_iterator(html.begin(), html.end(), address); found != std::sregex_iterator(); ++found) {
    CHECK(found->str() == "http://www.w3.org/2000/svg");  // the name of a namespace
  }
  for (const auto* way :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "src=", "onclick="}) {
    CHECK_THAT(html, !ContainsSubstring(way));
  }
}

}  // namespace walrelay::test
