#include "sinks/kafka_record.h"

#include <array>

namespace walrelay {
namespace {

rd_kafka_vu_t bytes_part(rd_kafka_vtype_t type, const NullableBytes& bytes) {
  rd_kafka_vu_t part{};
  part.vtype = type;
  part.u.mem = {.ptr = kafka_bytes(bytes), .size = bytes ? bytes->size() : 0};
  return part;
}

}  // namespace

rd_kafka_resp_err_t produce_record(rd_kafka_t* client, const KafkaRecord& record, KafkaHeadersHandle headers) {
  std::array<rd_kafka_vu_t, 8> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_RKT;
  parts[0].u.rkt = record.topic;
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = record.partition;
  parts[2] = bytes_part(RD_KAFKA_VTYPE_KEY, record.key);
  parts[3] = bytes_part(RD_KAFKA_VTYPE_VALUE, record.value);
  parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[4].u.i = RD_KAFKA_MSG_F_COPY;
  parts[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  parts[5].u.i64 = record.timestamp_ms;
  parts[6].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[6].u.ptr = record.opaque;
  parts[7].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[7].u.headers = headers.get();
  if (const KafkaErrorHandle error{rd_kafka_produceva(client, parts.data(), parts.size())}) {
    return rd_kafka_error_code(error.get());
  }
  static_cast<void>(headers.release());  // librdkafka's now
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace walrelay
