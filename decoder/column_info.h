#pragma once
// A column of a table as the catalog describes it.

#include <string>

namespace walrelay {

struct ColumnInfo {
  std::string name;
  std::string
      type_name;  // as format_type(atttypid, NULL) prints it: "timestamp with time zone"; of a domain: its base type's
};

}  // namespace walrelay
