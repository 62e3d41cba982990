#include "tests/sim/sim_world.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "connector/progress_verdict.h"
#include "connector/session_start.h"

namespace walrelay::test {

namespace {

constexpr int kActions = 300;
constexpr int kHealingStepsMax = 4000;

}  // namespace

SimWorld::SimWorld(std::uint64_t seed, bool always_recorded)
    : random_(seed), in_flight_max_(below(40) + 1), writes_back_(seed % 3 == 0) {
  delivery_.max_in_flight = below(60) + 1;
  broker_.holds_progress = !chance(4) || always_recorded;
  delivery_.on_error = std::array{OnError::halt, OnError::dead_letter, OnError::skip}.at(below(3));
  server_.on_confirmed = [this](Lsn confirmed) { check_confirmed(confirmed); };
  for (auto& instance : instances_) start(instance);
  connect(instances_.at(active_));
}

std::size_t SimWorld::below(std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
}

void SimWorld::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

std::string SimWorld::run() {
  for (int i = 0; i < kActions && failure_.empty(); ++i) act();
  if (failure_.empty()) heal();
  return failure_;
}

std::string SimWorld::run_and_set_back() {
  for (int i = 0; i < kActions / 2 && failure_.empty(); ++i) act();
  const SimServer backup = server_.backup();
  for (int i = 0; i < kActions / 2 && failure_.empty(); ++i) act();
  if (failure_.empty()) heal();
  const auto record = choose_progress(broker_.progress);
  const bool lacks_published = record && record->commit && record->commit->end_lsn > backup.position();
  if (failure_.empty() && lacks_published) set_back(backup);
  return failure_;
}

void SimWorld::act() {
  Instance& active = instances_.at(active_);
  switch (below(24)) {
    case 0:
      return crash(instances_.at(below(2)));
    case 1:
      disconnect(active);
      if (chance(2)) active_ = 1 - active_;  // the other one was quicker
      return connect(instances_.at(active_));
    case 2:
      broker_.up = !broker_.up;
      return;
    case 3:
      if (chance(4)) active.sink->die();
      return;
    case 4:
      if (!chance(4)) return server_.checkpoint();
      disconnect(active);
      server_.crash();
      return connect(active);
    default:
      return work();
  }
}

void SimWorld::work() {
  commit();
  Instance& active = instances_.at(active_);
  if (active.source) {
    active.source->grant(below(12));
    if (chance(3)) active.source->keepalive(chance(2));
  }
  for (auto& instance : instances_) {
    instance.sink->store(random_, below(10) + 1);
    if (chance(2)) instance.sink->report(random_);
    step(instance);
    write_back(instance);
  }
  clock_.advance(std::chrono::milliseconds(below(300)));
}

void SimWorld::commit() {
  if (chance(3)) return server_.write_elsewhere(8 * (below(50) + 1));
  std::vector<SimRow> rows;
  for (auto n = chance(4) ? 0 : below(6); n > 0; --n) {
    rows.push_back({fmt::format("{:06}", ++rows_), fmt::format("key {}", below(4))});
    if (chance(40)) broker_.poison.insert(rows.back().id);
  }
  server_.commit(std::move(rows), 8 * (below(20) + 1));
  const auto& committed = server_.transactions().back();
  for (const auto& row : committed.rows) commit_of_[row.id] = committed.end_lsn;
}

void SimWorld::start(Instance& instance) {
  instance.sink = std::make_unique<SimSink>(broker_, in_flight_max_);
  instance.router = std::make_unique<OutboxRouter>(stream_rules());
  instance.metrics = std::make_unique<RelayMetrics>(1);
  instance.writing = false;
  if (!writes_back_) return;
  instance.write_back = std::make_unique<WriteBackQueue>(std::vector<WriteBackQueue::Use>{{true, true}},
                                                         delivery_.on_error != OnError::halt, delivery_.max_in_flight);
}

void SimWorld::new_relay(Instance& instance) {
  ++instance.epoch;
  instance.sink->life = ++lives_;
  RelayOptions options{
      .delivery = delivery_, .write_back = instance.write_back.get(), .frames_per_step_max = below(20) + 1};
  const auto progress = instance.sink->read_progress("slot");
  if (progress.state == StoredProgress::State::ready) {
    auto verdict = judge_progress(progress.records, "slot", server_.confirmed(), server_.history());
    if (!verdict.gap.empty()) {
      gap_seen_ = true;
      if (!set_back_) fail("a gap where none is: " + verdict.gap);
    }
    if (verdict.covered) covered_by_life_[lives_] = verdict.covered->end_lsn;
    options.progress = std::move(verdict.gate);
    options.covered = verdict.covered;
  }
  instance.relay = std::make_unique<Relay>(std::move(options), *instance.router, *instance.sink, *instance.metrics,
                                           clock_, server_.confirmed(), instance.epoch);
}

void SimWorld::connect(Instance& instance) {
  if (!instance.relay || !may_resume(*instance.relay, server_.confirmed(), server_.position())) new_relay(instance);
  instance.source = std::make_unique<SimSource>(server_, instance.relay->resume_position());
  instance.relay->begin_session(*instance.source, std::chrono::seconds(60), clock_.now());
}

void SimWorld::disconnect(Instance& instance) {
  if (instance.relay) instance.relay->end_session();
  instance.source.reset();
}

void SimWorld::crash(Instance& instance) {
  instance.sink->crash(random_);
  instance.relay.reset();
  instance.source.reset();
  start(instance);
  if (&instance == &instances_.at(active_)) connect(instance);
}

void SimWorld::step(Instance& instance) {
  if (!instance.relay) return;
  instance.relay->step(clock_.now());
  const RelayEnd end = instance.relay->end();
  if (end == RelayEnd::none) return;
  const bool active = &instance == &instances_.at(active_);
  disconnect(instance);
  if (end == RelayEnd::sink_fatal) {
    instance.relay.reset();
    start(instance);
  } else if (end == RelayEnd::poison && delivery_.on_error == OnError::halt) {
    go_past_poison(instance);
  } else if (end == RelayEnd::gap && set_back_) {
    gap_seen_ = true;
    return;
  } else {
    fail(fmt::format("the relay ended with {}: {}", static_cast<int>(end), instance.relay->end_reason()));
  }
  if (active) connect(instance);
}

// One batch at a time, each of which may take a while, fail, or be given up.
void SimWorld::write_back(Instance& instance) {
  if (!instance.write_back) return;
  WriteBackQueue& queue = *instance.write_back;
  if (!instance.writing && queue.due() && *queue.due() <= clock_.now()) {
    static_cast<void>(queue.begin());
    instance.writing = true;
  }
  if (!instance.writing || chance(2)) return;
  instance.writing = false;
  if (chance(5)) return queue.put_back();
  write(queue.under_way());
  if (chance(5)) return queue.put_back();  // written, but the answer was lost
  queue.finished();
}

void SimWorld::write(const WriteBackBatch& batch) {
  check_stored();
  const bool given_up = chance(20);
  const std::string quoted = batch.kind == WriteBackBatch::Kind::failed ? '"' + batch.ids + '"' : batch.ids;
  for (auto quote = quoted.find('"'); quote != std::string::npos; quote = quoted.find('"', quote + 8)) {
    const auto id = quoted.substr(quote + 1, 6);
    if (given_up) {
      given_up_ids_.insert(id);
    } else if (batch.kind == WriteBackBatch::Kind::failed) {
      told_ids_.insert(id);
    } else if (batch.kind == WriteBackBatch::Kind::delivered || !told_ids_.contains(id)) {
      marked_ids_.insert(id);
      const bool delivered = stored_ids_.contains(id) && !broker_.poison.contains(id);
      if (!delivered && !given_up_ids_.contains(id)) fail(fmt::format("row {} is marked, and was not delivered", id));
    }
  }
}

// Both processes end with the server, and find it set back when they start again.
void SimWorld::set_back(const SimServer& backup) {
  set_back_ = true;
  server_.restore(backup);
  checked_records_ = broker_.stored.size();
  server_.on_confirmed = [this](Lsn confirmed) {
    if (confirmed >= choose_progress(broker_.progress)->commit->end_lsn) fail("confirmed what has gone its own way");
  };
  for (auto& instance : instances_) {
    instance.sink = std::make_unique<SimSink>(broker_, in_flight_max_);
    instance.relay.reset();
    instance.source.reset();
  }
  run_set_back();
  if (failure_.empty() && !gap_seen_) fail("a server that was set back was not noticed");
  if (failure_.empty() && broker_.stored.size() > checked_records_) fail("published from a server that was set back");
}

void SimWorld::run_set_back() {
  const Lsn published = choose_progress(broker_.progress)->commit->end_lsn;
  while (server_.position() <= published) commit();
  Instance& instance = instances_.at(active_);
  connect(instance);
  for (int i = 0; i < kHealingStepsMax && !gap_seen_ && failure_.empty(); ++i) {
    instance.source->grant(20);
    if (i % 8 == 0) instance.source->keepalive(false);
    instance.sink->store(random_, 20);
    instance.sink->report(random_);
    step(instance);
    write_back(instance);
    clock_.advance(std::chrono::milliseconds(100));
  }
}

// The process has ended with its event named; somebody starts it again, and names what it is to go past.
void SimWorld::go_past_poison(Instance& instance) {
  skipped_ids_ = broker_.poison;
  delivery_.skip = SkipList({skipped_ids_.begin(), skipped_ids_.end()});
  instance.sink->crash(random_);
  instance.relay.reset();
  start(instance);
}

void SimWorld::heal() {
  broker_.up = true;
  for (int i = 0; i < kHealingStepsMax && failure_.empty(); ++i) {
    Instance& active = instances_.at(active_);
    active.source->grant(20);
    if (i % 8 == 0) active.source->keepalive(false);
    for (auto& instance : instances_) {
      instance.sink->store(random_, 20);
      instance.sink->report(random_);
      step(instance);
      write_back(instance);
    }
    clock_.advance(std::chrono::milliseconds(100));
    if (server_.confirmed() == server_.position() && instances_[1 - active_].sink->in_flight_events() == 0)
      return check_stored();
  }
  fail(fmt::format("stuck: confirmed {} of {}, {} in flight", server_.confirmed().to_string(),
                   server_.position().to_string(), instances_.at(active_).sink->in_flight_events()));
}

// ---- the oracle -----------------------------------------------------------------------------------------------------

bool SimWorld::settled(const SimRow& row) const {
  if (!broker_.poison.contains(row.id)) return stored_ids_.contains(row.id);
  return delivery_.on_error == OnError::skip || skipped_ids_.contains(row.id) || stored_ids_.contains(row.id);
}

bool SimWorld::written_back(const SimRow& row) const {
  return marked_ids_.contains(row.id) || told_ids_.contains(row.id) || given_up_ids_.contains(row.id) ||
         skipped_ids_.contains(row.id);
}

void SimWorld::check_confirmed(Lsn confirmed) {
  check_stored();
  if (confirmed > server_.position()) fail("confirmed what was never written");
  check_recorded(confirmed);
  const auto& transactions = server_.transactions();
  while (checked_transactions_ < transactions.size() && transactions[checked_transactions_].end_lsn <= confirmed) {
    for (const auto& row : transactions[checked_transactions_++].rows) {
      if (!settled(row))
        fail(fmt::format("confirmed {} although event {} is not stored", confirmed.to_string(), row.id));
      if (writes_back_ && !written_back(row))
        fail(fmt::format("confirmed {} although row {} is not written to", confirmed.to_string(), row.id));
    }
  }
}

void SimWorld::check_recorded(Lsn confirmed) {
  if (!broker_.holds_progress) return;
  const auto record = choose_progress(broker_.progress);
  if (!record || record->position < confirmed)
    fail(fmt::format("confirmed {} before its record", confirmed.to_string()));
}

void SimWorld::check_not_covered(const StoredRecord& record) {
  const auto covered = covered_by_life_.find(record.life);
  if (covered != covered_by_life_.end() && commit_of_.at(record.id) <= covered->second) {
    fail(fmt::format("event {} again, although the record covers it", record.id));
  }
}

void SimWorld::check_stored() {
  for (; checked_records_ < broker_.stored.size(); ++checked_records_) {
    const StoredRecord& record = broker_.stored[checked_records_];
    if (!stored_by_life_.emplace(record.life, record.id).second)
      fail(fmt::format("event {} twice from one life", record.id));
    check_not_covered(record);
    if (!stored_ids_.insert(record.id).second || record.topic != "events") continue;
    const auto number = std::stoul(record.id);
    auto& last = last_of_key_[record.key];
    if (number < last) fail(fmt::format("event {} of {} came first after {}", record.id, record.key, last));
    last = number;
  }
}

}  // namespace walrelay::test
