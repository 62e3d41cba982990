"""What decoder, router and frontier take, without server and broker."""

import json

from processes import run_measured

STAGES = ("decode", "route", "frontier")
TRANSACTIONS = 20_000


class Decode:
    def __init__(self, bench):
        self.bench = bench

    def load(self):
        pass

    def unload(self):
        pass

    def run(self, stage):
        output = self.bench.directory / "decode.json"
        with open(output, "wb") as file:
            run_measured("bench_decode", [self.bench.built / "tests" / "bench" / "bench_decode", str(TRANSACTIONS), stage],
                         self.bench.directory / "legs.log", file)
        found = json.loads(output.read_text())
        return {"ns": found["ns"], "allocations": found["allocations"]}
