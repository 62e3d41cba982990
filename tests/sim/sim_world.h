#pragma once
// One seeded history: a server that commits, a broker, and two instances that share a slot, with faults at random
// moments. The oracle looks at every position that reaches the slot and at everything the broker stored.

#include <memory>
#include <optional>
#include <string>

#include "connector/relay.h"
#include "tests/sim/sim_broker.h"
#include "tests/sim/sim_server.h"
#include "tests/support/set_clock.h"
#include "tests/support/stream_bytes.h"

namespace walrelay::test {

class SimWorld {
 public:
  // Most worlds keep progress records, or all of them; every third writes to the rows.
  explicit SimWorld(std::uint64_t seed, bool always_recorded = false);

  // Faults and work at random, then all is healed and runs to rest. What was wrong, "" if nothing.
  std::string run();
  // The same, and then the server is set back to a backup that lacks events which were published, and goes on from
  // there: that has to be seen before anything is published or confirmed.
  std::string run_and_set_back();

 private:
  // One process.
  struct Instance {
    std::unique_ptr<SimSink> sink;
    std::unique_ptr<OutboxRouter> router;
    std::unique_ptr<RelayMetrics> metrics;
    std::unique_ptr<WriteBackQueue> write_back;  // where this world has it
    bool writing = false;                        // a batch is under way
    std::unique_ptr<Relay> relay;
    std::unique_ptr<SimSource> source;
    std::uint16_t epoch = 0;
  };

  void act();
  void work();
  void commit();
  void start(Instance& instance);
  void new_relay(Instance& instance);
  void connect(Instance& instance);
  void disconnect(Instance& instance);
  void crash(Instance& instance);
  void step(Instance& instance);
  void write_back(Instance& instance);
  void write(const WriteBackBatch& batch);
  void go_past_poison(Instance& instance);
  void heal();
  void check_confirmed(Lsn confirmed);
  void check_stored();
  void check_not_covered(const StoredRecord& record);
  void check_recorded(Lsn confirmed);
  void set_back(const SimServer& backup);
  void run_set_back();
  [[nodiscard]] bool settled(const SimRow& row) const;
  [[nodiscard]] bool written_back(const SimRow& row) const;
  void fail(std::string what);
  [[nodiscard]] std::size_t below(std::size_t bound);
  [[nodiscard]] bool chance(std::size_t one_in) { return below(one_in) == 0; }

  std::mt19937_64 random_;
  SetClock clock_;
  SimServer server_;
  SimBroker broker_;
  DeliveryOptions delivery_;
  std::size_t in_flight_max_;
  std::array<Instance, 2> instances_;
  std::size_t active_ = 0;  // who has the slot
  std::uint64_t lives_ = 0;
  std::size_t rows_ = 0;
  std::size_t checked_transactions_ = 0;
  std::size_t checked_records_ = 0;
  std::set<std::string> stored_ids_;
  std::set<std::string> skipped_ids_;  // by name, after a halt
  std::set<std::pair<std::uint64_t, std::string>> stored_by_life_;
  std::map<std::string, std::size_t> last_of_key_;
  std::map<std::string, Lsn> commit_of_;          // where a row's transaction ends
  std::map<std::uint64_t, Lsn> covered_by_life_;  // what the record said when that relay began
  bool writes_back_ = false;
  std::set<std::string> marked_ids_;  // in the table, as are those that tell a failure
  std::set<std::string> told_ids_;
  std::set<std::string> given_up_ids_;  // by write-back
  bool set_back_ = false;
  bool gap_seen_ = false;
  std::string failure_;
};

}  // namespace walrelay::test
