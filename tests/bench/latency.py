"""How long an event takes from its INSERT to a consumer at a steady rate; and how long it takes when the relay is killed."""

import json
import signal
import threading

from legs import Job
from outboxes import Outbox
from processes import cpu_seconds, peak_mb, run_measured, wait_for

TOPIC = Outbox(1, 1).topic
KILL_AFTER_SECONDS = 3
TAKE_OVER_SECONDS = 8
TAKE_OVER_RATE = 200


class Latency:
    """Transactions of one row, `rate` a second."""

    def __init__(self, bench, rate):
        self.bench = bench
        self.rate = rate

    def load(self):
        for postgres in (self.bench.postgres, self.bench.polled()):
            postgres.sql("TRUNCATE public.outbox")

    def unload(self):
        pass

    def run(self, leg):
        job = job_of(self.bench, leg)
        job.postgres.wait_until_idle()
        with leg.start(job) as program:
            program.wait_until(lambda: leg.is_streaming(job))
            processes = {"consumer_us": lambda: cpu_seconds(program.pid), "broker_us": lambda: cpu_seconds(job.broker.pid),
                         "server_us": lambda: sum(map(cpu_seconds, served))}
            served = [pid for pid, title in job.postgres.backends().items() if leg.reads == "table" or "walsender" in title]
            before = {name: cpu() for name, cpu in processes.items()}
            result = insert_and_consume(self.bench, job, self.rate, leg.warm_up_seconds, self.bench.options.seconds)
            events = self.rate * (leg.warm_up_seconds + self.bench.options.seconds)
            result.update({name: (cpu() - before[name]) / events * 1e6 for name, cpu in processes.items()})
            result["peak_mb"] = peak_mb(program.pid)
        end_job(self.bench, leg, job)
        return result


class TakeOver:
    """Two instances; the one that streams is killed. The longest that an event waited is the time of the take-over."""

    def __init__(self, bench):
        self.bench = bench

    def load(self):
        self.bench.postgres.sql("TRUNCATE public.outbox")

    def unload(self):
        pass

    def run(self, leg):
        job = job_of(self.bench, leg)
        with leg.start(job) as active:
            active.wait_until(lambda: leg.is_streaming(job))
            with leg.start(job) as standby:
                killer = threading.Timer(leg.warm_up_seconds + KILL_AFTER_SECONDS, lambda: active.process.send_signal(signal.SIGKILL))
                killer.start()
                result = insert_and_consume(self.bench, job, TAKE_OVER_RATE, leg.warm_up_seconds, TAKE_OVER_SECONDS)
                killer.join()
                standby.wait_until(lambda: leg.is_streaming(job))
        end_job(self.bench, leg, job)
        return {"take_over_seconds": result["max"] / 1000}


def job_of(bench, leg):
    """A job from here on, without a backlog."""
    if leg.reads == "table":
        return Job(bench.polled(), "polled", bench.broker, TOPIC, bench.directory, steady=True)
    slot = bench.new_slot()
    bench.postgres.sql(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    return Job(bench.postgres, slot, bench.broker, TOPIC, bench.directory, steady=True)


def end_job(bench, leg, job):
    if leg.reads != "table":
        wait_for("the end of the stream", lambda: not leg.is_streaming(job))
        bench.drop_slot(job.slot)


def insert_and_consume(bench, job, rate, warm_up, seconds):
    output = bench.directory / "latency.json"
    with open(output, "wb") as file:
        run_measured("bench_latency", [bench.built / "tests" / "bench" / "bench_latency", job.postgres.dsn(), job.broker.address, TOPIC,
                                       str(rate), str(warm_up), str(seconds)], bench.directory / "legs.log", file)
    return json.loads(output.read_text())
