#!/usr/bin/env python3
"""status_page.py ADDRESS SLOT OUTBOX: looks at the status page of a running relay as people do, in a headless Chromium.

OUTBOX is the name of one of its outboxes, a text that looks like HTML. Where the story needs the world to change, the script
prints a line "do: ..." and waits until the page shows that it was done: whoever started it does it. Prints "passed" at the
end; the first thing that is not as it should be ends it. With WALRELAY_SCREENSHOTS, pictures go into that directory.
"""

import os
import pathlib
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser import Browser  # noqa: E402

AT_MOST = 40  # seconds, for what takes one or two

# The least contrast of all visible text with what is behind it, and that text. WCAG 2, 1.4.3.
LEAST_CONTRAST = """(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const over = (top, ground) => top.slice(0, 3).map((c, i) => c * (top[3] ?? 1) + ground[i] * (1 - (top[3] ?? 1)));
  const light = (rgb) => rgb.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    const own = parse(getComputedStyle(element).backgroundColor);
    if ((own[3] ?? 1) === 1) return own;
    return over(own, element.parentElement ? ground(element.parentElement) : [255, 255, 255]);
  };
  let least = [99, ''];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName)) continue;
    const behind = ground(element), front = over(parse(getComputedStyle(element).color), behind);
    const [high, low] = [light(front), light(behind)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < least[0]) least = [contrast, text];
  }
  return least;
})()"""

FOCUSED = "(() => { const e = document.activeElement; return [e.tagName, e.textContent.trim(), getComputedStyle(e).outlineStyle]; })()"


def check(condition, claim):
    if not condition:
        raise AssertionError(claim)


class Page:
    def __init__(self, browser):
        self.browser = browser

    def text(self, name):
        return self.browser.value(f"document.getElementById({name!r})?.innerText ?? \"\"")

    def wait(self, claim, condition):
        deadline = time.monotonic() + AT_MOST
        while not condition():
            check(time.monotonic() < deadline, f"{claim}; the page has:\n{self.browser.value('document.body.innerText')}")
            time.sleep(0.1)

    def ground(self):
        return self.browser.value("getComputedStyle(document.getElementById('state')).backgroundColor")

    def picture(self, name):
        if directory := os.environ.get("WALRELAY_SCREENSHOTS"):
            time.sleep(0.5)
            self.browser.screenshot(f"{directory}/{name}.png")


def red(color):
    r, g, b = [int(part) for part in color.strip("rgb()").split(",")[:3]]
    return r > 150 and g < 80 and b < 80


def demand(what):
    print("do:", what, flush=True)


def number(text):
    return 0 if text == "–" else float(text.replace(",", ""))


def values_appear_and_move(page, slot, outbox):
    page.wait("it is active", lambda: page.text("headline") == "Active")
    check(not red(page.ground()), "an active relay is not red")
    check(page.text("slot") == slot, "the slot is named")
    check(page.text("server").startswith("PostgreSQL "), "the server is named")
    demand("insert")
    page.wait("events are counted", lambda: number(page.text("rate")) > 0)
    before = page.text("rate-more")
    page.wait("the count moves", lambda: page.text("rate-more") != before)
    page.wait("the rate's curve is there", lambda: "now" in page.text("rate-text") and page.browser.value(
        "document.querySelectorAll('#rate-chart .curve').length") > 0)
    check(outbox in page.text("outboxes"), "the name of an outbox is shown as it is")
    check(page.browser.value("document.querySelectorAll('#outboxes img').length") == 0, "and is not taken for HTML")
    check(page.text("lag").endswith("s"), f"the lag is known: {page.text('lag')}")
    check(page.text("kept").endswith("iB"), f"the WAL that is kept is known: {page.text('kept')}")
    page.wait("rows that are written back are counted", lambda: number(page.text("back")) > 0)
    check("0 given up" in page.text("back-more"), page.text("back-more"))
    check("KiB" in page.text("safe") or "MiB" in page.text("safe") or "no limit" in page.text("safe"), page.text("safe"))


def broker_goes_and_comes(page):
    demand("take the broker away")
    page.wait("a relay without its broker is not ready", lambda: "not ready" in page.text("headline"))
    page.wait("it is red", lambda: red(page.ground()))
    page.wait("the reason is there", lambda: "127.0.0.1" in page.text("reasons"))
    page.wait("and among the last warnings", lambda: "sink_away" in page.text("messages"))
    check(page.browser.value("document.title").endswith("NOT READY – walrelay"), "the window's title says so")
    page.picture("broker-away")
    demand("give the broker back")
    page.wait("it is active again", lambda: page.text("headline") == "Active")
    page.wait("and not red", lambda: not red(page.ground()))
    check(page.text("reasons") == "", "no reason is left")


def past_is_there_on_a_fresh_page(page, address):
    page.browser.open(address)
    page.wait("the page has come again", lambda: page.text("headline") == "Active")
    page.wait("the history tells of the time without broker", lambda: page.text("shaded").startswith("Shaded: not ready"))
    check(page.browser.value("document.querySelectorAll('#lag-chart .shade').length") > 0, "it is shaded in the chart")


def fits_and_is_readable(page):
    grounds = {}
    for scheme in ("light", "dark"):
        page.browser.prefer(scheme)
        for width, height in ((1200, 900), (400, 900)):
            page.browser.resize(width, height)
            scrolls = page.browser.value("document.documentElement.scrollWidth")
            check(scrolls <= width, f"at {width} pixels there is no need to scroll sideways: {scrolls}")
            page.picture(f"page-{width}-{scheme}")
        grounds[scheme] = page.browser.value("getComputedStyle(document.documentElement).backgroundColor")
        time.sleep(0.4)  # the state's colour passes over into the other scheme's
        contrast, text = page.browser.value(LEAST_CONTRAST)
        check(contrast >= 4.5, f"in {scheme} colours all text is readable: {contrast:.2f} for {text!r}")
    check(grounds["light"] != grounds["dark"], "dark mode has other colours")


def works_with_the_keyboard(page):
    expected = ["The same as a table", "What is in effect, without secrets", "status", "history", "metrics", "readyz", "healthz", "config"]
    for name in expected:
        page.browser.press("Tab")
        tag, text, outline = page.browser.value(FOCUSED)
        check(text == name, f"the focus goes to {name!r}: {text!r}")
        check(outline != "none", f"the focus on {name!r} can be seen")
    page.browser.value("document.querySelectorAll('summary').forEach((summary) => summary.focus())")
    page.browser.press("Enter")
    page.wait("the configuration opens by a key", lambda: "[postgres]" in page.text("config"))
    config = page.text("config")
    check("password=***" in config and "open sesame" not in config, "without its password")


def tells_a_screen_reader(page):
    tree = page.browser.accessible()
    names = {}
    for role, name in tree:
        names.setdefault(role, []).append(name)
    for heading in ("State", "Now", "Last 15 minutes", "Slot", "Events since the start", "Last warnings and errors", "Configuration"):
        check(heading in names["heading"], f"the heading {heading!r}: {names['heading']}")
    charts = names.get("image", []) + names.get("img", [])
    check(len(charts) == 3 and all("now" in name for name in charts), f"the charts say what they show: {charts}")
    check(len(names.get("status", [])) == 1, "changes of the state are announced, and nothing else")
    check({"Outbox", "Delivered", "Dead letters", "Skipped"} <= set(names["columnheader"]), f"{names['columnheader']}")
    check("WAL status" in names["rowheader"], f"{names['rowheader']}")
    check({"banner", "main", "contentinfo", "navigation"} <= set(names), f"landmarks: {sorted(names)}")


def says_that_the_relay_is_gone(page):
    demand("stop the relay")
    page.wait("it says that there is no answer", lambda: page.text("headline").startswith("No answer since "))
    page.wait("in red", lambda: red(page.ground()))


def main(address, slot, outbox):
    with Browser() as browser:
        page = Page(browser)
        browser.resize(1200, 900)
        browser.prefer("light")
        browser.open(address)
        values_appear_and_move(page, slot, outbox)
        broker_goes_and_comes(page)
        past_is_there_on_a_fresh_page(page, address)
        fits_and_is_readable(page)
        works_with_the_keyboard(page)
        tells_a_screen_reader(page)
        check(not browser.complaints, f"the browser complains about nothing: {browser.complaints}")
        says_that_the_relay_is_gone(page)
        strange = {request for request in browser.requests if urllib.parse.urlsplit(request).netloc != urllib.parse.urlsplit(address).netloc
                   and not request.startswith("data:")}
        check(not strange, f"nobody but the relay is asked: {strange}")
    print("passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
