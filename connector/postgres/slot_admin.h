#pragma once
// Makes and removes slots and publications. PostgreSQL manual, "Replication Management Functions".
// Errors: PgError, with the remedy where one is known.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "connector/postgres/catalog.h"
#include "connector/postgres/pg_connection.h"

namespace walrelay {

// Gets lines for people about something that takes long.
using Report = std::function<void(const std::string& line)>;

struct SlotPatience {
  std::chrono::milliseconds first_report{3'000};
  std::chrono::milliseconds next_reports{10'000};
  std::chrono::milliseconds limit{60'000};
};

// Makes a logical slot of pgoutput. That waits for every transaction that is writing; `report` is told which. After the
// limit it gives up: throws, and no half-made slot is left behind. `creator` is busy meanwhile; `observer` is asked.
void create_slot(PgConnection& creator, PgConnection& observer, const std::string& slot, const Report& report,
                 const SlotPatience& patience = {});

// A slot that goes with the connection that made it, and the snapshot that sees what was committed before the slot's
// position and nothing else: what the slot sends is the rest.
struct TemporarySlot {
  std::string name;
  Lsn position;
  std::string snapshot;  // for SET TRANSACTION SNAPSHOT; good until `creator` gets its next command
};
// As create_slot(); `creator` is a replication connection.
[[nodiscard]] TemporarySlot create_temporary_slot(PgConnection& creator, PgConnection& observer,
                                                  const std::string& slot, const Report& report,
                                                  const SlotPatience& patience = {});

// Makes the permanent slot, which begins where the temporary one does. The connection that holds that one must be
// alive.
void make_permanent(PgConnection& connection, const TemporarySlot& temporary, const std::string& slot);

// Whom the session that makes a slot waits for right now: pid, application, query and age of each.
[[nodiscard]] std::string describe_blockers(PgConnection& observer, int creator_pid);

// Lets standbys keep a copy of the slot, so that it is there after a failover (PostgreSQL 17+). SQL has no such
// command: `replication` is how to make a replication connection.
void enable_failover(const Conninfo& replication, const std::string& slot);

// False if there was none. A slot in use is refused, naming the session.
bool drop_slot(PgConnection& connection, const std::string& slot);
bool drop_publication(PgConnection& connection, const std::string& publication);

// "pid 4711, walrelay/shop from 10.0.0.5, role relay": the session that uses a slot.
[[nodiscard]] std::string describe_user(const SlotInfo& slot);

enum class PublicationAge : std::uint8_t {
  fits,       // what the slot sends next can be decoded with the publication
  too_young,  // there are changes to send that were made before the publication was
  unknown,    // slot in use, or there was too much to look through
};

// Looks at the first change that a free slot would send, confirming nothing.
[[nodiscard]] PublicationAge compare_ages(PgConnection& connection, const SlotInfo& slot,
                                          const std::string& publication);

// Seconds since the first transaction that a free slot would send was committed; 0 if it has none to send, nothing if
// that cannot be told: slot in use, or too much to look through.
[[nodiscard]] std::optional<double> oldest_commit_age(PgConnection& connection, const SlotInfo& slot,
                                                      const std::string& publication);

}  // namespace walrelay
