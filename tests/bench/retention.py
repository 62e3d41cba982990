#!/usr/bin/env python3
"""What retention does to a service's inserts: 2 million rows, half of them too old, and 200 inserts a second beside it.

Starts a throwaway PostgreSQL (autovacuum on, fsync on) and librdkafka's mock cluster, fills the table, and measures the same inserts with
pgbench twice without retention and, in between, while retention deletes the million. Prints a table in Markdown.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True
from processes import BenchError, Program, free_port, wait_for
from servers import MockBroker, Postgres

TABLE = """
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), occurred_at timestamptz NOT NULL DEFAULT now(), type text NOT NULL,
                     payload jsonb);
INSERT INTO outbox (occurred_at, type, payload)
  SELECT now() - CASE WHEN n <= {old} THEN interval '30 days' ELSE interval '1 day' END + n * interval '1 ms', 'OrderPlaced',
         jsonb_build_object('orderId', n, 'note', repeat('x', 200)) FROM generate_series(1, {rows}) n;
CREATE INDEX ON outbox (occurred_at);
VACUUM ANALYZE outbox;
CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert');
SELECT pg_create_logical_replication_slot('walrelay', 'pgoutput');
CHECKPOINT;
"""
INSERT = "INSERT INTO outbox (type, payload) VALUES ('OrderPlaced', jsonb_build_object('note', repeat('x', 200)));\n"


class Relay(Program):
    def __init__(self, bench, retention):
        self.port = free_port()
        config = bench.directory / "relay.toml"
        config.write_text(f"""[postgres]
dsn = "{bench.postgres.dsn()}"
[[outbox]]
table = "public.outbox"
preset = "standard"
topic = "retention"
{retention}
[sink.kafka]
"bootstrap.servers" = "{bench.broker.address}"
[http]
listen = "127.0.0.1:{self.port}"
""")
        super().__init__("walrelay", [bench.built / "connector" / "walrelay", "run", "-c", config], bench.directory / "relay.log")
        self.wait_until(lambda: self.metric("walrelay_ready") == 1)

    def metric(self, name):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as page:
                for line in page.read().decode().splitlines():
                    if line.startswith(name + "{"):
                        return float(line.rsplit(" ", 1)[1])
        return None


class RetentionBench:
    def __init__(self, directory, built, arguments):
        self.directory, self.built, self.arguments = directory, built, arguments

    def inserts(self, seconds):
        """Milliseconds of each insert, from when it was due."""
        script = self.directory / "insert.sql"
        script.write_text(INSERT)
        for old in self.directory.glob("inserts.*"):
            old.unlink()
        subprocess.run([self.postgres.binaries / "pgbench", "-n", "-M", "prepared", "-f", script, "-c", "4", "-R", str(self.arguments.rate), "-T",
                        str(seconds), "-l", f"--log-prefix={self.directory}/inserts", self.postgres.dsn()],
                       check=True, capture_output=True)
        return sorted(int(line.split()[2]) / 1000 for log in self.directory.glob("inserts.*") for line in log.read_text().splitlines())

    def run(self):
        rows = self.arguments.rows
        with contextlib.ExitStack() as servers:
            self.postgres = servers.enter_context(Postgres(self.directory, "postgres", {"autovacuum": "on"}))
            self.broker = servers.enter_context(MockBroker(self.directory, self.built))
            self.postgres.sql(TABLE.format(rows=rows, old=rows // 2))
            results = [("without", self.without())]
            results.append(("while it deletes", self.during(rows // 2)))
            results.append(("without, after it", self.without()))
        print("| retention | inserts | p50 ms | p95 ms | p99 ms | max ms |\n| --- | --- | --- | --- | --- | --- |")
        for name, taken in results:
            shares = [taken[int(len(taken) * share)] for share in (0.5, 0.95, 0.99)]
            print(f"| {name} | {len(taken)} | " + " | ".join(f"{value:.2f}" for value in [*shares, taken[-1]]) + " |")

    def without(self):
        with Relay(self, ""):
            return self.inserts(self.arguments.seconds)

    def during(self, old):
        with Relay(self, f'[outbox.retention]\nkeep = "7d"\n{self.arguments.retention}') as relay:
            wait_for("the first deletion", lambda: relay.metric("walrelay_retention_deleted_rows_total"))
            taken = self.inserts(self.arguments.seconds)
            deleted = relay.metric("walrelay_retention_deleted_rows_total")
            print(f"{deleted:.0f} of {old} old rows were deleted in the {self.arguments.seconds} s that were measured")
        return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--built", type=pathlib.Path, required=True, help="build directory with walrelay and deploy/mock_broker")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=200, help="inserts a second")
    parser.add_argument("--seconds", type=int, default=30, help="of each measurement")
    parser.add_argument("--retention", default="", help="more lines of [outbox.retention]")
    arguments = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="walrelay-retention-"))
    directory.chmod(0o755)
    try:
        RetentionBench(directory, arguments.built.resolve(), arguments).run()
    except BenchError as error:
        sys.exit(f"retention.py: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
