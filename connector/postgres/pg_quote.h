#pragma once
// The one place where names and texts become SQL. PostgreSQL manual, "Lexical Structure" (identifiers, string
// constants) and "Streaming Replication Protocol" (the commands of a walsender have their own scanner: no E'' strings,
// no backslash escapes). Errors: std::invalid_argument for a zero byte, which no SQL text can carry.

#include <span>
#include <string>
#include <string_view>

namespace walrelay {

// "Name", always quoted, so that neither case folding nor a keyword gets in the way.
[[nodiscard]] std::string quote_identifier(std::string_view name);

// "schema"."table" of a name as it stands in the configuration: split at the first dot; "public" where there is none.
[[nodiscard]] std::string quote_table(std::string_view table);

// 'text' for SQL; right whatever standard_conforming_strings says.
[[nodiscard]] std::string quote_literal(std::string_view text);

// 'text' for a replication command, where a backslash is an ordinary character.
[[nodiscard]] std::string quote_replication_literal(std::string_view text);

// The value of pgoutput's option publication_names as a literal of START_REPLICATION: '"One","Two"'. The server splits
// the text like a list of identifiers and would fold bare names to lower case.
[[nodiscard]] std::string quote_publication_names(std::span<const std::string> names);
[[nodiscard]] std::string quote_publication_name(const std::string& name);

// The text of an array, "{}" at first, gets one more element.
void append_array_element(std::string& array, std::string_view element);
[[nodiscard]] std::string array_text(std::span<const std::string> elements);

struct TableName {
  std::string schema;
  std::string name;
};

// Of a name as it stands in the configuration: "schema.table" as in the catalog, split at the first dot.
[[nodiscard]] TableName split_table(std::string_view table);

}  // namespace walrelay
