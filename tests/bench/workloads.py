"""What can be measured, by the names that --only takes."""

import dataclasses
from collections.abc import Callable

from cost import FORMS, WriteCost
from decode import STAGES, Decode
from drain import Drain
from latency import Latency, TakeOver
from outboxes import Outbox

LOCAL = ("TCP",)
EVERY = ("TCP", "Unix socket", "TLS")


@dataclasses.dataclass(frozen=True)
class Workload:
    title: str
    kind: str             # "drain", "latency", "take-over", "cost", "decode": which table it makes
    make: Callable        # of the bench
    takes: Callable       # of a leg: whether it takes part
    by_default: bool = False
    forms: tuple = ()     # what has its turn in a round instead of the legs


def drain(rows, by_default=False, transports=LOCAL, peers=True, **outbox):
    """`rows`: as given here, but never more than --rows where that is given."""
    def scaled(bench):
        return dataclasses.replace(all_of_it, rows=min(rows, bench.options.rows or rows))

    def takes(leg):
        return leg.transport in transports and leg.fits(all_of_it) and (peers or leg.name in CORE)

    all_of_it = Outbox(rows, **outbox)
    return Workload(f"drain of {all_of_it}", "drain", lambda bench: Drain(bench, scaled(bench)), takes, by_default)


def latency(rate, by_default=False, transports=LOCAL):
    return Workload(f"latency from INSERT to consumer at {rate:,} events/s in transactions of 1", "latency",
                    lambda bench: Latency(bench, rate), lambda leg: leg.reads in ("slot", "table") and leg.transport in transports, by_default)


CORE = ("pg_recvlogical", "walrelay", "the other walrelay", "minimal pipe")

WORKLOADS = {
    "drain-b": drain(200_000, by_default=True, transports=EVERY, per_transaction=100),
    "drain-a": drain(100_000, by_default=True, transports=LOCAL, per_transaction=1),
    "latency-1000": latency(1000, by_default=True),
    "latency-100": latency(100),
    "latency-10000": latency(10_000),
    "latency-transports": latency(1000, transports=EVERY),
    "take-over": Workload("kill -9 of the instance that streams, with another standing by", "take-over", TakeOver,
                          lambda leg: leg.name == "walrelay", by_default=True),
    "payload-100": drain(200_000, per_transaction=100, payload_bytes=100, peers=False),
    "payload-10k": drain(20_000, per_transaction=100, payload_bytes=10_000, peers=False),
    "payload-1m": drain(400, per_transaction=10, payload_bytes=1_000_000, peers=False),
    "transaction-100k": drain(200_000, per_transaction=100_000, peers=False),
    "transaction-500k": drain(500_000, per_transaction=500_000, peers=False),
    "topics-100": drain(200_000, per_transaction=100, topics=100, peers=False),
    "messages": drain(200_000, per_transaction=100, messages=True, peers=False),
    "outbox-cost": Workload("what writing an event costs the server", "cost", lambda bench: WriteCost(bench, 50_000),
                            lambda leg: False, by_default=True, forms=tuple(FORMS)),
    "decode": Workload("decoder, router and frontier alone, set B from memory; each stage includes the ones before it", "decode", Decode,
                       lambda leg: False, by_default=True, forms=STAGES),
}
