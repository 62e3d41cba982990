#include "decoder/template.h"

#include <array>
#include <string>
#include <vector>

#include "decoder/rule_error.h"
#include "tests/support/catch.h"

namespace walrelay::test {
namespace {

// Fills a template whose references name the columns a, b, c in this order of values.
std::optional<std::string> fill(std::string_view text, std::vector<NullableBytes> values) {
  const auto compiled = Template::compile("test", text);
  std::vector<ColumnValue> row;
  for (const auto& value : values) row.push_back({value ? ColumnKind::text : ColumnKind::null, value.value_or("")});
  std::vector<std::size_t> columns;
  for (const auto& reference : compiled.references())
    columns.push_back(static_cast<std::size_t>(reference.column[0] - 'a'));
  JsonReader json;
  std::string scratch;
  const auto filled = compiled.fill(row, columns, json, scratch);
  REQUIRE(filled.error == FillError::none);
  if (!filled.value) return std::nullopt;
  return std::string(*filled.value);
}

std::string error_of(std::string_view text) {
  try {
    (void)Template::compile("[[outbox]] public.orders, key", text);
  } catch (const RuleError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("template: text and references are joined in their order") {
  CHECK(fill("outbox.{a}.{b}", {"x", "y"}) == "outbox.x.y");
  CHECK(fill("{b}{a}{b}", {"x", "y"}) == "yxy");
  CHECK(fill("constant", {}) == "constant");
  CHECK(fill("ü{a}ß", {"é"}) == "üéß");
}

TEST_CASE("template: doubled braces are braces") {
  CHECK(fill("{{{a}}}", {"x"}) == "{x}");
  CHECK(fill("{{}}", {}) == "{}");
  CHECK(fill("{{a}}", {"x"}) == "{a}");
}

TEST_CASE("template: a lone reference that is NULL is NULL, in a longer template NULL is empty") {
  CHECK(fill("{a}", {std::nullopt}) == std::nullopt);
  CHECK(fill("{a|lower}", {std::nullopt}) == std::nullopt);
  CHECK(fill("{a/x}", {R"({"x":null})"}) == std::nullopt);
  CHECK(fill("{a/x}", {R"({})"}) == std::nullopt);
  CHECK(fill("{a}-{b}", {std::nullopt, "y"}) == "-y");
  CHECK(fill("{a}{b}", {std::nullopt, std::nullopt}) == "");
  CHECK(fill("x{a/x}", {R"({})"}) == "x");
  CHECK(fill("{a}", {""}) == "");
}

TEST_CASE("template: a lone column is not copied") {
  const auto compiled = Template::compile("test", "{a}");
  const std::string value = "payload";
  const std::array row = {ColumnValue{ColumnKind::text, value}};
  const std::array<std::size_t, 1> columns = {0};
  JsonReader json;
  std::string scratch;
  CHECK(compiled.fill(row, columns, json, scratch).value->data() == value.data());
}

TEST_CASE("template: filters apply from left to right") {
  CHECK(fill("{a|lower}", {"OrderPlaced"}) == "orderplaced");
  CHECK(fill("{a|upper}", {"OrderPlaced"}) == "ORDERPLACED");
  CHECK(fill("{a|kebab|upper}", {"OrderPlaced"}) == "ORDER-PLACED");
  CHECK(fill("{a|upper|kebab}", {"OrderPlaced"}) == "orderplaced");
  CHECK(fill("{a | snake}", {"x"}) == "x");
  CHECK(fill("A{a|lower}B{b|upper}C", {"X", "y"}) == "AxBYC");
  CHECK(fill("{a/type|kebab}", {R"({"type":"OrderPlaced"})"}) == "order-placed");
}

TEST_CASE("template: snake and kebab find words in the usual spellings") {
  const auto [input, kebab] = GENERATE(table<std::string, std::string>({
      {"OrderPlaced", "order-placed"},
      {"orderPlaced", "order-placed"},
      {"order_placed", "order-placed"},
      {"order placed", "order-placed"},
      {"order--placed", "order-placed"},
      {"ORDER_PLACED", "order-placed"},
      {"HTTPServerStarted", "http-server-started"},
      {"OrderV2Placed", "order-v2-placed"},
      {"Sales.OrderPlaced", "sales.order-placed"},
      {"_private_", "private"},
      {"ÄnderungErfasst", "Änderung-erfasst"},
      {"A", "a"},
      {"", ""},
  }));
  CHECK(fill("{a|kebab}", {input}) == kebab);
}

TEST_CASE("template: a JSON pointer of two references to one column reads both") {
  CHECK(fill("{a/x}/{a/y}/{a/x}", {R"({"x":1,"y":"two"})"}) == "1/two/1");
}

TEST_CASE("template: text that is no JSON is an error, not NULL") {
  const auto compiled = Template::compile("test", "{a/x}");
  const std::array<std::size_t, 1> columns = {0};
  JsonReader json;
  std::string scratch;
  for (const std::string_view text :
       {"", "no json", "{\"x\":1", "{\"x\":1} more", "{\"x\":1,}", "{\"x\" 1}", "{\"x\":01}", "\xff"}) {
    CAPTURE(text);
    const std::array row = {ColumnValue{ColumnKind::text, text}};
    const auto filled = compiled.fill(row, columns, json, scratch);
    CHECK(filled.error == FillError::invalid_json);
    CHECK(filled.failed == &compiled.references()[0]);
  }
}

TEST_CASE("template: values that are not text are errors") {
  const auto compiled = Template::compile("test", "{a}");
  const std::array<std::size_t, 1> columns = {0};
  JsonReader json;
  std::string scratch;
  CHECK(compiled.fill(std::array{ColumnValue{ColumnKind::unchanged_toast, {}}}, columns, json, scratch).error ==
        FillError::missing_value);
  CHECK(compiled.fill(std::array{ColumnValue{ColumnKind::binary, "x"}}, columns, json, scratch).error ==
        FillError::not_text);
}

TEST_CASE("template: column names are taken exactly as they stand") {
  const auto compiled = Template::compile("test", "{Größe €}{ x }{select}");
  CHECK(compiled.references()[0].column == "Größe €");
  CHECK(compiled.references()[1].column == " x ");
  CHECK(compiled.references()[2].column == "select");
}

TEST_CASE("template: a mistake names template, position, reason and remedy") {
  CHECK(
      error_of("{payload/orderId") ==
      R"([[outbox]] public.orders, key: template "{payload/orderId", position 1: "{" without "}"; close it, or write "{{" for a brace)");
  CHECK(error_of("ü}") ==
        R"([[outbox]] public.orders, key: template "ü}", position 2: "}" without "{"; write "}}" for a brace)");
  CHECK_THAT(error_of("x{}"), ContainsSubstring("position 3: no column is named; write {column}"));
  CHECK_THAT(error_of("{|lower}"), ContainsSubstring("no column is named"));
  CHECK_THAT(error_of("{/x}"), ContainsSubstring("no column is named"));
  CHECK_THAT(error_of("{a{b}"), ContainsSubstring("position 3: \"{\" within a reference"));
  CHECK_THAT(error_of("{a/x~2}"), ContainsSubstring("position 3: \"~\" in a JSON pointer is not followed by 0 or 1"));
}

TEST_CASE("template: an unknown filter names the nearest one") {
  CHECK_THAT(error_of("{type|kebap}"),
             ContainsSubstring("position 7: unknown filter \"kebap\"; did you mean \"kebab\"?"));
  CHECK_THAT(error_of("{type|lower|}"),
             ContainsSubstring("unknown filter \"\"; filters are lower, upper, snake, kebab"));
}

}  // namespace
}  // namespace walrelay::test
