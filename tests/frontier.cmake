# What may be confirmed and when it is said: the frontier, the status policy, the relay's step with a scripted source and sink.
walrelay_test(frontier_tests unit
  SOURCES
    unit/ack_frontier.cpp
    unit/delivery_tag.cpp
    unit/failure_log_test.cpp
    unit/progress_gate.cpp
    unit/progress_record.cpp
    unit/progress_verdict.cpp
    unit/read_pace.cpp
    unit/relay_progress.cpp
    unit/relay_status.cpp
    unit/relay_step.cpp
    unit/relay_write_back.cpp
    unit/skip_list_test.cpp
    unit/slot_verdict.cpp
    unit/status_policy.cpp
    unit/supervisor.cpp
    unit/tail_sink_test.cpp
    unit/write_back_queue.cpp
    support/fake_postgres.cpp
  LIBRARIES connector PostgreSQL::PostgreSQL
)
