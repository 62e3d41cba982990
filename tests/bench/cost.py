"""What writing the outbox costs the server: rows of a table, and messages without one."""

from outboxes import Outbox

FORMS = {f"{what}, transactions of {size}": (size, messages)
         for size in (100, 1) for what, messages in (("table", False), ("messages", True))}


class WriteCost:
    def __init__(self, bench, rows):
        self.bench = bench
        self.rows = rows

    def load(self):
        pass

    def unload(self):
        self.bench.postgres.sql("TRUNCATE public.outbox")

    def run(self, form):
        size, messages = FORMS[form]
        postgres = self.bench.postgres
        # Right behind a checkpoint every first touch of a page would write all of it: that is not what is asked here.
        postgres.sql("TRUNCATE public.outbox; CHECKPOINT;" + Outbox(100, size, messages=messages).load())
        postgres.wait_until_idle()
        position = postgres.sql("SELECT pg_current_wal_insert_lsn()")
        postgres.wait_until_idle()
        before = postgres.backends_cpu_seconds()
        postgres.sql(Outbox(self.rows, size, messages=messages).load())
        postgres.wait_until_idle()
        cpu = postgres.backends_cpu_seconds() - before
        return {"wal_bytes": float(postgres.sql(f"SELECT pg_current_wal_insert_lsn() - '{position}'::pg_lsn")) / self.rows,
                "server_us": cpu / self.rows * 1e6}
