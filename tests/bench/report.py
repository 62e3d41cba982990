"""Tables in Markdown, made of results.json. Figures are medians of the rounds; ratios are medians of each round's own ratio."""

import statistics

FLOOR = "minimal pipe"
LIMIT = "pg_recvlogical"


def values(runs, key):
    return [run[key] for run in runs if key in run]


def median(runs, key):
    found = values(runs, key)
    return statistics.median(found) if found else None


def ratio(legs, leg, base, key):
    """How a leg compares with another one in the same round; nothing if one of the two has no such figure."""
    pairs = [(run[key], other[key]) for run, other in zip(legs.get(leg, []), legs.get(base, [])) if key in run and key in other]
    shares = [mine / others for mine, others in pairs if others > 0]
    return statistics.median(shares) if shares else None


def shown(value, digits=1):
    return "–" if value is None else f"{value:,.{digits}f}"


def spread(runs, key, scale, digits):
    found = [value / scale for value in values(runs, key)]
    digits += 0 if max(found) >= 1 else 2
    return f"{shown(statistics.median(found), digits)} ({shown(min(found), digits)} to {shown(max(found), digits)})"


def table(head, rows):
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def drain_table(legs):
    head = ["consumer", "k/s (least to most)", f"to {LIMIT}", "consumer µs", f"to {FLOOR}", "server µs", "broker µs", "peak MB", "first event s"]
    return table(head, [
        [leg, spread(runs, "events_per_second", 1000, 1), shown(ratio(legs, leg, LIMIT, "events_per_second"), 2),
         shown(median(runs, "consumer_us")), shown(ratio(legs, leg, FLOOR, "consumer_us"), 2), shown(median(runs, "server_us")),
         shown(median(runs, "broker_us")), shown(median(runs, "peak_mb"), 0), shown(median(runs, "start_seconds"), 2)]
        for leg, runs in legs.items()])


def second_half(legs):
    """A JVM is slow until it is warm: what its second half was."""
    halves = [run["second_half"] for run in legs.get("Debezium", [])]
    if not halves:
        return ""
    return (f"\nDebezium, the second half of each run only: {shown(median(halves, 'events_per_second') / 1000)} k/s, "
            f"{shown(median(halves, 'consumer_us'))} µs of its own.\n")


def latency_table(legs):
    head = ["consumer", "p50 ms", "p99 ms (least to most)", f"p99 to {FLOOR}", "p99.9 ms", "max ms", "late inserts", "consumer µs",
            f"to {FLOOR}", "walsender or backend µs", "broker µs", "peak MB"]
    return table(head, [
        [leg, shown(median(runs, "p50"), 2), spread(runs, "p99", 1, 1), shown(ratio(legs, leg, FLOOR, "p99"), 2),
         shown(median(runs, "p999")), shown(median(runs, "max")), shown(median(runs, "late_inserts"), 0),
         shown(median(runs, "consumer_us")), shown(ratio(legs, leg, FLOOR, "consumer_us"), 2), shown(median(runs, "server_us")),
         shown(median(runs, "broker_us")), shown(median(runs, "peak_mb"), 0)]
        for leg, runs in legs.items()])


def take_over_table(legs):
    return table(["consumer", "take-over s (least to most)"],
                 [[leg, spread(runs, "take_over_seconds", 1, 2)] for leg, runs in legs.items()])


def cost_table(legs):
    return table(["outbox", "WAL bytes an event", "server µs an event"],
                 [[form, shown(median(runs, "wal_bytes"), 0), shown(median(runs, "server_us"))] for form, runs in legs.items()])


def decode_table(legs):
    return table(["up to", "ns an event (least to most)", "allocations an event"],
                 [[stage, spread(runs, "ns", 1, 0), shown(median(runs, "allocations"), 3)] for stage, runs in legs.items()])


TABLES = {"drain": drain_table, "latency": latency_table, "take-over": take_over_table, "cost": cost_table, "decode": decode_table}


def section(name, workload):
    """One workload, as Markdown."""
    legs = workload["legs"]
    if not legs:
        return f"### {name}\n\nNothing was measured.\n"
    rounds = min(map(len, legs.values()))
    about = f"{workload['title'][0].upper()}{workload['title'][1:]}. {rounds} rounds, broker: {workload['broker']}, {workload['date']}."
    extra = second_half(legs) if workload["kind"] == "drain" else ""
    return f"### {name}\n\n{about}\n\n{TABLES[workload['kind']](legs)}\n{extra}"


def machine(environment):
    return (f"{environment['cores']} cores ({environment['cpu']}), {environment['memory_gib']} GiB, Linux {environment['kernel']}, "
            f"PostgreSQL {environment['postgres']}, {environment['walrelay']}.\n")


def document(results):
    return "\n".join([machine(results["environment"]), *(section(name, results["workloads"][name]) for name in results["workloads"])])
