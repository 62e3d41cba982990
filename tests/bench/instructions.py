#!/usr/bin/env python3
"""instructions.py BENCH_DECODE COMPILER [--record]: whether decoder, router and frontier still take as many instructions for an
event as tests/bench/instructions.json says for this compiler.

Time is different on each machine and in each run; the number of instructions, counted by callgrind, is not. Two runs of different
length are compared, so that the start is not in it. Exits 1 if there are more by over a tenth; with --record the new figure is
written down instead. Exits 77 (skipped) where no figure is recorded for the compiler, or valgrind is missing.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

TOLERANCE = 0.10
SHORT, LONG, EVENTS = 20, 220, 100  # transactions; events in each
SKIPPED = 77
RECORDED = pathlib.Path(__file__).with_suffix(".json")


def instructions(program, transactions):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(transactions), "frontier"],
                          capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        sys.exit(f"callgrind failed:\n{done.stderr}")
    return int(collected.group(1))


def main():
    program, compiler = sys.argv[1:3]
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(SKIPPED)
    figures = json.loads(RECORDED.read_text())
    now = (instructions(program, LONG) - instructions(program, SHORT)) / ((LONG - SHORT) * EVENTS)
    record = f"python3 {RECORDED.with_suffix('.py')} {program} '{compiler}' --record"
    if sys.argv[3:] == ["--record"]:
        figures[compiler] = round(now)
        RECORDED.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    elif compiler not in figures:
        print(f"skipped: {now:.0f} instructions an event, and none are recorded for {compiler}; to record them: {record}")
        sys.exit(SKIPPED)
    print(f"{now:.0f} instructions an event; recorded for {compiler}: {figures[compiler]}")
    if now > figures[compiler] * (1 + TOLERANCE):
        sys.exit(f"that is over {TOLERANCE:.0%} more; if it is meant: {record}")
    if now < figures[compiler] * (1 - TOLERANCE):
        print(f"that is better than recorded; to keep it so: {record}")


if __name__ == "__main__":
    main()
