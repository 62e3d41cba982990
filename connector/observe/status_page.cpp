#include "connector/observe/status_page.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>
#include <string_view>

#include "connector/embedded/page_css.h"
#include "connector/embedded/page_html.h"
#include "connector/embedded/page_js.h"
#include "sinks/base64.h"

namespace walrelay {
namespace {

std::string digest_source(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return fmt::format("'sha256-{}'", to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

void put(std::string& html, std::string_view place, std::string_view text) {
  html.replace(html.find(place), place.size(), text);
}

StatusPage make_page() {
  StatusPage page{std::string(kPageHtml), ""};
  put(page.html, "/* page.css */", kPageCss);
  put(page.html, "/* page.js */", kPageJs);
  page.content_security_policy = fmt::format(
      "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'",
      digest_source(kPageCss), digest_source(kPageJs));
  return page;
}

}  // namespace

const StatusPage& status_page() {
  static const StatusPage page = make_page();
  return page;
}

}  // namespace walrelay
