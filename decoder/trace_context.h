#pragma once
// The header `traceparent` of W3C Trace Context, chapter 3.2: "00-<32 hex>-<16 hex>-<2 hex>". Only looked at: a tracing
// header is passed on as it is.

#include <string_view>

namespace walrelay {

inline constexpr std::string_view kTraceparentHeader = "traceparent";
inline constexpr std::string_view kTracestateHeader = "tracestate";

// Whether a tracer would take it: lower-case hexadecimal, neither id all zero, a version other than ff. Of a later
// version than 00 more may follow, after a "-". Allocates nothing.
[[nodiscard]] bool is_traceparent(std::string_view text);

}  // namespace walrelay
