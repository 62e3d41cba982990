#pragma once
// Owners of libpq's handles.

#include <libpq-fe.h>

#include <memory>

namespace walrelay {

struct PgFree {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGcancel* cancel) const { PQfreeCancel(cancel); }
  void operator()(PGnotify* notify) const { PQfreemem(notify); }
  void operator()(char* memory) const { PQfreemem(memory); }
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

using PgConnectionHandle = std::unique_ptr<PGconn, PgFree>;
using PgResultHandle = std::unique_ptr<PGresult, PgFree>;
using PgMemory = std::unique_ptr<char, PgFree>;
using PgConninfoHandle = std::unique_ptr<PQconninfoOption, PgFree>;

}  // namespace walrelay
