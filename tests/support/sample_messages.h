#pragma once
// One valid example of each message and shape of message, written from the manual.

#include <string>
#include <vector>

#include "support/wire_bytes.h"

namespace walrelay::test {

struct SampleMessage {
  std::string bytes;
  std::string text;  // as describe() shows it
};

inline std::vector<SampleMessage> sample_messages() {
  return {
      {WireBytes().byte('B').int64(0x1'6B37'4D84).int64(5).int32(733), "begin lsn=1/6B374D84 time=5 xid=733"},
      {WireBytes().byte('C').byte(0).int64(0x10).int64(0x20).int64(7), "commit lsn=0/10 end=0/20 time=7"},
      {WireBytes().byte('O').int64(0x30).c_string("node a"), "origin lsn=0/30 \"node a\""},
      {WireBytes()
           .byte('R')
           .int32(16385)
           .c_string("public")
           .c_string("outbox")
           .byte('d')
           .int16(2)
           .byte(1)
           .c_string("id")
           .int32(2950)
           .int32(-1)
           .byte(0)
           .c_string("t\xC3\xA4g")
           .int32(1043)
           .int32(14),
       "relation 16385 \"public\".\"outbox\" identity=d [\"id\" type=2950 modifier=-1 key] "
       "[\"t\\xc3\\xa4g\" type=1043 modifier=14]"},
      {WireBytes().byte('R').int32(1).c_string("").c_string("none").byte('n').int16(0),
       "relation 1 \"\".\"none\" identity=n"},
      {WireBytes().byte('Y').int32(16400).c_string("").c_string("jsonb"), "type 16400 \"\".\"jsonb\""},
      {WireBytes()
           .byte('I')
           .int32(16385)
           .byte('N')
           .int16(4)
           .text_value("a")
           .null_value()
           .byte('b')
           .counted({"\0\x01", 2})
           .text_value(""),
       "insert 16385 N(t\"a\" n b\"\\x00\\x01\" t\"\")"},
      {WireBytes().byte('I').int32(16385).byte('N').int16(0), "insert 16385 N()"},
      {WireBytes().byte('U').int32(9).byte('N').int16(2).text_value("new").byte('u'), "update 9 N(t\"new\" u)"},
      {WireBytes().byte('U').int32(9).byte('K').int16(2).text_value("old").null_value().byte('N').int16(1).text_value(
           "new"),
       "update 9 K(t\"old\" n) N(t\"new\")"},
      {WireBytes().byte('U').int32(9).byte('O').int16(1).text_value("old").byte('N').int16(1).null_value(),
       "update 9 O(t\"old\") N(n)"},
      {WireBytes().byte('D').int32(9).byte('K').int16(2).text_value("k").null_value(), "delete 9 K(t\"k\" n)"},
      {WireBytes().byte('D').int32(9).byte('O').int16(1).text_value("all"), "delete 9 O(t\"all\")"},
      {WireBytes().byte('T').int32(2).byte(0).int32(7).int32(8), "truncate 7 8"},
      {WireBytes().byte('T').int32(1).byte(3).int32(7), "truncate 7 cascade restart_identity"},
      {WireBytes().byte('M').byte(1).int64(0x40).c_string("outbox").counted("{}"),
       "message lsn=0/40 transactional \"outbox\" \"{}\""},
      {WireBytes().byte('M').byte(0).int64(0x40).c_string("").counted(""), "message lsn=0/40 \"\" \"\""},
  };
}

}  // namespace walrelay::test
