"""How fast a backlog is drained, and what that costs.

Every leg drains a copy of one slot that was made before the rows were written, so that all read the same log. What counts runs
from the first record to the last one at the broker; what comes before is the start."""

import contextlib
import json
import subprocess
import time

from legs import Job
from processes import BenchError, Program, cpu_seconds, peak_mb, run_measured


class Drain:
    def __init__(self, bench, outbox):
        self.bench = bench
        self.outbox = outbox
        self.postgres = bench.postgres
        self.starts = {}  # seconds and CPU of legs that throw everything away, for nothing but the last row

    def load(self):
        self.postgres.sql("TRUNCATE public.outbox; SELECT pg_create_logical_replication_slot('origin', 'pgoutput')")
        self.postgres.sql(self.outbox.load())
        self.postgres.sql("CHECKPOINT; SELECT pg_create_logical_replication_slot('nothing', 'pgoutput')")
        self.end = self.postgres.sql("CHECKPOINT; SELECT pg_current_wal_flush_lsn()")

    def unload(self):
        self.postgres.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")

    def run(self, leg):
        how = {"slot": self.from_slot, "table": self.from_table, "slot, to nowhere": self.to_nowhere, "memory": self.from_memory}
        return how[leg.reads](leg)

    # ---- one run of each kind ----

    def from_slot(self, leg):
        with self.copied_slot("origin") as slot:
            run = self.watched(leg, self.job(slot))
            if leg.ends:  # and so has confirmed everything
                left = self.postgres.sql(f"SELECT '{self.end}'::pg_lsn - confirmed_flush_lsn FROM pg_replication_slots "
                                         f"WHERE slot_name = '{slot}'")
                if float(left) > 0:
                    raise BenchError(f"{leg.name} left {left} bytes; see {self.bench.directory}/legs.log")
        return run

    def from_table(self, leg):
        postgres = self.bench.polled()
        postgres.sql("TRUNCATE public.outbox RESTART IDENTITY")
        postgres.sql(self.outbox.load(self.events(leg)) + "CHECKPOINT; VACUUM ANALYZE public.outbox;")
        return self.watched(leg, Job(postgres, "polled", self.bench.broker, self.outbox.topic, self.bench.directory))

    def to_nowhere(self, leg):
        if leg.name not in self.starts:
            self.starts[leg.name] = self.read_to_nowhere(leg, "nothing")
        start = self.starts[leg.name]
        run = self.read_to_nowhere(leg, "origin")
        return {"events_per_second": self.outbox.rows / (run["seconds"] - start["seconds"]),
                "consumer_us": self.per_event(run["cpu_seconds"] - start["cpu_seconds"]),
                "server_us": self.per_event(run["server"] - start["server"]), "peak_mb": run["peak_mb"]}

    def read_to_nowhere(self, leg, origin):
        with self.copied_slot(origin) as slot:
            self.postgres.wait_until_idle()
            before = self.postgres.backends_cpu_seconds()
            run = run_measured(leg.name, leg.command(self.job(slot)), self.bench.directory / "legs.log")
            self.postgres.wait_until_idle()
            return {**run, "server": self.postgres.backends_cpu_seconds() - before}

    def from_memory(self, leg):
        broker = self.bench.broker
        before = cpu_seconds(broker.pid)
        output = self.bench.directory / "produce.json"
        with open(output, "wb") as file:
            run = run_measured(leg.name, [leg.program, broker.address, self.outbox.topic, str(self.outbox.rows),
                                          str(self.outbox.payload_bytes)], self.bench.directory / "legs.log", file)
        took = json.loads(output.read_text())  # only from the first event to the last acknowledgement
        return {"events_per_second": self.outbox.rows / took["seconds"], "consumer_us": self.per_event(took["cpu_seconds"]),
                "broker_us": self.per_event(cpu_seconds(broker.pid) - before), "peak_mb": run["peak_mb"]}

    # ---- what they are made of ----

    def events(self, leg):
        return self.outbox.rows // (2 if leg.slow else 1)

    def per_event(self, cpu):
        return cpu / self.outbox.rows * 1e6

    def job(self, slot):
        return Job(self.postgres, slot, self.bench.broker, self.outbox.topic, self.bench.directory, self.outbox.messages, self.end)

    @contextlib.contextmanager
    def copied_slot(self, origin):
        slot = self.bench.new_slot()
        self.postgres.sql(f"SELECT pg_copy_logical_replication_slot('{origin}', '{slot}')")
        yield slot
        self.bench.drop_slot(slot)

    def watched(self, leg, job):
        """Runs a leg until the broker has everything."""
        expected = self.events(leg) // self.outbox.topics  # of the one topic that is watched
        watch = [self.bench.built / "tests" / "bench" / "bench_watch", job.broker.address, job.topic, str(expected)]
        job.postgres.wait_until_idle()
        with Program("bench_watch", watch, self.bench.directory / "watch.log", subprocess.PIPE) as watching:
            wait_for_mark(watching, "ready", None)
            begin = time.time()
            with leg.start(job) as program:
                def sample():
                    return {"cpu": {"consumer": cpu_seconds(program.pid), "server": job.postgres.backends_cpu_seconds(),
                                    "broker": cpu_seconds(job.broker.pid)}, "peak_mb": peak_mb(program.pid)}

                first, half, last = (wait_for_mark(watching, name, program, sample) for name in ("first", "half", "last"))
                if leg.ends:
                    program.end()
                    job.postgres.wait_until_idle()  # a backend that is ending is counted neither here nor there
                    last["cpu"]["server"] = job.postgres.backends_cpu_seconds()
        return {**self.between(first, last), "peak_mb": max(mark["peak_mb"] for mark in (first, half, last)),
                "start_seconds": first["at"] - begin, "second_half": self.between(half, last)}

    def between(self, begin, end):
        events = (end["count"] - begin["count"]) * self.outbox.topics
        if events <= 0:
            raise BenchError(f"{self.outbox.rows} rows are too few to be measured: take more")
        costs = {f"{what}_us": (end["cpu"][what] - begin["cpu"][what]) / events * 1e6 for what in begin["cpu"]}
        return {"events_per_second": events / (end["at"] - begin["at"]), **costs}


def wait_for_mark(watching, name, program, sample=lambda: {}):
    """The next line of bench_watch, with what `sample` gives at that moment."""
    line = watching.process.stdout.readline().decode().split()
    if len(line) != 3 or line[0] != name:
        who = f" of {program.name}; see {program.log}" if program else ""
        raise BenchError(f"bench_watch saw no {name} record{who}, {watching.log}")
    return {"at": float(line[1]), "count": int(line[2]), **sample()}
