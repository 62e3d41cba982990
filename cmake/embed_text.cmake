# cmake -DINPUT=page.css -DOUTPUT=page_css.h -DNAME=kPageCss -P embed_text.cmake: the file's text as a std::string_view.
file(READ ${INPUT} text)
get_filename_component(file_name ${INPUT} NAME)
if(text MATCHES "\\)embedded\"")
  message(FATAL_ERROR "${INPUT}: has the text that ends a raw string")
endif()
file(WRITE ${OUTPUT} "#pragma once
// Made of ${file_name} by cmake/embed_text.cmake.

#include <string_view>

namespace walrelay {
inline constexpr std::string_view ${NAME} = R\"embedded(${text})embedded\";
}  // namespace walrelay
")
