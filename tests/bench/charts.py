"""Bar charts as SVG, readable on light and on dark ground: text and lines take the colour of the reader's theme."""

import html
import math

from report import median

STYLE = """<style>
  text { font: 12px sans-serif; fill: #1f2328 } .title { font-weight: bold; font-size: 14px } .axis { stroke: #8c959f }
  .s0 { fill: #2f6fb5 } .s1 { fill: #d98a1f } .s2 { fill: #7a8794 } .ours { font-weight: bold }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .s0 { fill: #6aa9ec } .s1 { fill: #eeb35c } .s2 { fill: #9aa6b2 } }
</style>"""
WIDTH, LABELS, FIGURES = 780, 190, 150  # pixels: all of it, left of the bars, right of them
BAR, GAP, TOP = 14, 8, 52


def svg(title, series, rows, stacked=False, logarithmic=False):
    """`rows`: a label and one value for each of the series (None: no bar). A logarithmic scale begins at a tenth of the least."""
    room = WIDTH - LABELS - FIGURES
    known = [value for _, row in rows for value in row if value]
    most = max(sum(value or 0 for value in row) for _, row in rows) if stacked else max(known)
    least = min(known) / 10

    def length(value):
        if logarithmic:
            return room * math.log(max(value, least) / least) / math.log(most / least)
        return room * max(value, 0) / most

    body, y = [], TOP
    for label, row in rows:
        lines = 1 if stacked else len(row)
        weight = ' class="ours"' if label.startswith("walrelay") else ""
        body.append(f'<text{weight} x="{LABELS - 8}" y="{y + lines * BAR / 2 + 4:.0f}" text-anchor="end">{html.escape(label)}</text>')
        x = LABELS
        for index, value in enumerate(row):
            if value is None:
                continue
            at = y if stacked else y + index * BAR
            body.append(f'<rect class="s{index}" x="{x:.1f}" y="{at}" width="{length(value):.1f}" height="{BAR - 1}"/>')
            x = x + length(value) if stacked else LABELS
            if not stacked:
                body.append(f'<text x="{LABELS + length(value) + 5:.1f}" y="{at + 11}">{figure(value)}</text>')
        if stacked:
            figures = " + ".join(figure(value) for value in row if value is not None)
            body.append(f'<text x="{x + 5:.1f}" y="{y + 11}">{figures}</text>')
        y += lines * BAR + GAP
    legend, x = [], LABELS
    for index, name in enumerate(series if len(series) > 1 else []):
        legend.append(f'<rect class="s{index}" x="{x}" y="30" width="10" height="10"/><text x="{x + 15}" y="39">{html.escape(name)}</text>')
        x += 30 + 7 * len(name)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4}" width="{WIDTH}" height="{y + 4}" role="img">', STYLE,
        f"<title>{html.escape(title)}</title>", f'<text class="title" x="8" y="18">{html.escape(title)}</text>', *legend,
        f'<line class="axis" x1="{LABELS}" y1="{TOP - 4}" x2="{LABELS}" y2="{y - 4}"/>', *body, "</svg>", ""])


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def rows_of(legs, scales):
    rows = []
    for leg, runs in legs.items():
        found = [median(runs, key) for key in scales]
        rows.append((leg, [None if value is None else value / scale for value, scale in zip(found, scales.values())]))
    return [row for row in rows if any(row[1])]


def charts_of(name, workload):
    """File names and contents."""
    legs = workload["legs"]
    if workload["kind"] == "drain":
        yield f"{name}.svg", svg(f"{name}: thousand events a second", ["k/s"], rows_of(legs, {"events_per_second": 1000}))
        costs = rows_of(legs, {"consumer_us": 1, "server_us": 1, "broker_us": 1})
        yield f"{name}-cpu.svg", svg(f"{name}: CPU µs an event", ["consumer", "PostgreSQL", "broker"], costs, stacked=True)
    elif workload["kind"] == "latency":
        waits = rows_of(legs, {"p50": 1, "p99": 1})
        yield f"{name}.svg", svg(f"{name}: ms from INSERT to consumer, logarithmic", ["p50", "p99"], waits, logarithmic=True)


def write_charts(results, folder):
    """The names of the files."""
    written = []
    for name, workload in results["workloads"].items():
        if not workload["legs"]:
            continue
        for file, content in charts_of(name, workload):
            (folder / file).write_text(content)
            written.append(file)
    return written
