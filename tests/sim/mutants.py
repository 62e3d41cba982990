#!/usr/bin/env python3
"""Deliberate faults in the relay, each of which the simulation has to catch.

    mutants.py make NAME SOURCE_DIR OUT   writes the mutated source file to OUT
    mutants.py catch PROGRAM              runs a mutated simulation over five ranges of seeds: 0 if each range fails
"""
import pathlib
import re
import subprocess
import sys

FRONTIER = "connector/ack_frontier.cpp"
RELAY = "connector/relay.cpp"
WRITE_BACK = "connector/write_back_queue.cpp"

# Name: file, text, what stands there instead. The text has to be in the file once; blanks and line breaks do not count.
MUTANTS = {
    "confirm_at_submit": (FRONTIER, "oldest.outstanding > 0 || !oldest.end_lsn.valid()", "!oldest.end_lsn.valid()"),
    "confirm_out_of_order": (
        FRONTIER,
        "advance(); return finished;",
        "if (finished && transaction.end_lsn > confirmed_) move_confirmed(transaction.end_lsn); advance(); return finished;",
    ),
    "keepalive_in_flight": (FRONTIER, "!idle() || position <= confirmed_", "position <= confirmed_"),
    "forget_empty_transaction": (FRONTIER, "--size_; newest().end_lsn = end_lsn;", "--size_;"),
    "late_report_of_a_dead_relay": (RELAY, "if (tag.epoch != epoch_) return;", ""),
    "count_again_after_reconnect": (
        RELAY, "transaction_->already_done = transaction_->events;", "transaction_->already_done = 0;"),
    "doubt_is_delivery": (RELAY, "if (delivery.status == DeliveryStatus::in_doubt) return;", ""),
    "publish_what_is_covered": (RELAY, "if (transaction_->covered) return on_covered(*insert);", ""),
    "pass_over_another_history": (
        RELAY, "if (!covered_.ended({end_lsn, start.xid, start.commit_time})) return stop_at_gap(\"a commit\", end_lsn);",
        "covered_ = CoveredCommits(std::nullopt);"),
    "confirm_unrecorded": (
        RELAY, "case SubmitStatus::accepted: return; case SubmitStatus::full: return progress_.postponed(now_);",
        "case SubmitStatus::accepted: return progress_.written(); "
        "case SubmitStatus::full: return progress_.postponed(now_);"),
    "confirm_before_written": (WRITE_BACK, "if (!due_.empty()) limit = std::min(limit, due_.front().before);", ""),
    "forget_covered_rows": (RELAY, "write_back_->covered(event.outbox, transaction_->start, event.id);", ""),
    "mark_what_failed": (WRITE_BACK, "row->failed = true;", ""),
}

RANGES = [(first, 200) for first in (1, 1001, 2001, 3001, 4001)]


def make(name, source_dir, out):
    file, text, instead = MUTANTS[name]
    source = (pathlib.Path(source_dir) / file).read_text(encoding="utf-8")
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    mutated, count = re.subn(pattern, lambda _: instead, source)
    if count != 1:
        sys.exit(f"mutants.py: {name}: the text is {count} times in {file}, not once: {text}")
    path = pathlib.Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(mutated, encoding="utf-8")


def fails(program, first, seeds):
    run = subprocess.run([program, str(first), str(seeds)], capture_output=True, text=True, check=False)
    said = (run.stdout + run.stderr).strip().splitlines()
    print(f"seeds {first} to {first + seeds - 1}: status {run.returncode}: {said[-1] if said else ''}")
    return run.returncode != 0


def main():
    if sys.argv[1] == "make":
        return make(*sys.argv[2:])
    caught = [fails(sys.argv[2], *seeds) for seeds in RANGES]
    return 0 if all(caught) else 1


if __name__ == "__main__":
    sys.exit(main())
