"""The servers of one run of tests/bench/run, and the rounds in which everything has its turn."""

import datetime
import os
import pathlib
import platform
import subprocess
import sys

from legs import all_legs
from outboxes import POLLED, PUBLISHED, Outbox
from processes import BenchError, run_measured
from servers import Kafka, MockBroker, Postgres
from workloads import WORKLOADS

WARM_UP_EVENTS = 1_000_000


def note(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options, directory, stack):
        self.options = options
        self.built = options.built
        self.directory = directory
        self.stack = stack
        self.slots = 0
        self.polled_server = None
        self.legs = self.chosen_legs()
        self.postgres = stack.enter_context(Postgres(directory, "postgres"))
        self.postgres.sql(PUBLISHED)
        self.broker = stack.enter_context(MockBroker(directory, self.built) if options.broker == "mock" else Kafka(directory))
        self.warm_up_broker()

    def warm_up_broker(self):
        """A JVM that has just begun costs as much as a bad design. Makes the topic, too."""
        command = [self.built / "tests" / "bench" / "bench_produce", self.broker.address, Outbox(1, 1).topic, str(WARM_UP_EVENTS), "550"]
        run_measured("bench_produce", command, self.directory / "legs.log")

    def chosen_legs(self):
        legs = []
        for leg in all_legs(self.built, self.options.beside):
            if self.options.legs and leg.name not in self.options.legs:
                continue
            if leg.lacks:
                note(f"left out: {leg.name}: {leg.lacks}")
                continue
            try:
                leg.prepare()
                legs.append(leg)
            except subprocess.CalledProcessError as error:
                note(f"left out: {leg.name}: {error}")
        return legs

    def polled(self):
        """The polling worker's server; an idle one costs nothing."""
        if not self.polled_server:
            self.polled_server = self.stack.enter_context(Postgres(self.directory, "polled"))
            self.polled_server.sql(POLLED)
        return self.polled_server

    def new_slot(self):
        """A name that no run has had: walrelay remembers in Kafka where a slot stood."""
        self.slots += 1
        return f"slot_{self.slots}"

    def drop_slot(self, slot):
        self.postgres.sql(f"SELECT pg_drop_replication_slot('{slot}')")

    def measure(self, name):
        """A workload's result: the runs of each leg, round by round; the first round is the warm-up and not in it."""
        workload = WORKLOADS[name]
        turns = {form: form for form in workload.forms} or {leg.name: leg for leg in self.legs if workload.takes(leg)}
        job = workload.make(self)
        runs = {}
        note(f"{name}: {workload.title}: {', '.join(turns)}")
        job.load()
        for turn in range(self.options.rounds + 1):
            for title, what in list(turns.items()):
                if turn == 0 and (workload.kind in ("latency", "take-over") or getattr(what, "slow", False)):
                    continue  # these warm up by themselves, or need not
                try:
                    run = job.run(what)
                except BenchError as error:
                    note(f"{name}: {title} is left out from here on: {error}")
                    del turns[title]
                    runs.pop(title, None)
                    self.keep_logs(f"{name}-{title}")
                    continue
                if turn > 0:
                    runs.setdefault(title, []).append(run)
        job.unload()
        few = f" (at most {self.options.rows:,} events)" if self.options.rows else ""
        return {"kind": workload.kind, "title": workload.title + few, "date": now(), "broker": self.options.broker,
                "load_average": os.getloadavg()[0], "legs": runs}

    def keep_logs(self, name):
        """What a leg said before it failed, beside the results."""
        log = self.directory / "legs.log"
        if log.exists():
            target = self.options.out / f"failed-{name.replace(' ', '-').replace(',', '')}.log"
            target.write_bytes(log.read_bytes()[-20_000:])

    def environment(self):
        model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
        memory = next(int(line.split()[1]) // 1024**2 for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
                      if line.startswith("MemTotal"))
        return {"cores": os.cpu_count(), "cpu": model, "memory_gib": memory, "kernel": platform.release(),
                "postgres": self.postgres.sql("SHOW server_version"),
                "walrelay": subprocess.run([self.built / "connector" / "walrelay", "--version"], capture_output=True, text=True,
                                           check=True).stdout.strip()}


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
