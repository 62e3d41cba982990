"""A headless Chromium for a test, driven by its DevTools protocol over a pipe (descriptors 3 and 4, JSON texts with a zero
byte behind each): nothing but Debian's package chromium is needed, and no port. It ends with the process that made it."""

import base64
import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class BrowserError(Exception):
    pass


class Browser:
    """One window with one page. Everything that the page logs, throws or asks for is kept."""

    def __init__(self, program="chromium"):
        self._home = tempfile.TemporaryDirectory(prefix="walrelay-chromium-", ignore_cleanup_errors=True)
        from_us, self._to = os.pipe()
        self._from, to_us = os.pipe()
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash", program, "--headless=new", "--no-sandbox",
             "--remote-debugging-pipe", f"--user-data-dir={self._home.name}", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-extensions", "--no-default-browser-check", "--hide-scrollbars", "about:blank"],
            pass_fds=(from_us, to_us), env={**os.environ, "HOME": self._home.name}, preexec_fn=_die_with_parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self._received = b""
        self._number = 0
        self._session = None
        self._answers = {}
        self.requests = []   # addresses that the page asked for
        self.complaints = []  # errors and warnings in its console, exceptions, refusals by its policy
        page = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def call(self, method, at_most=60, **parameters):
        """What the browser answers; BrowserError if it refuses or says nothing."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + at_most
        while self._number not in self._answers:
            self._receive(deadline, method)
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _receive(self, deadline, waiting_for):
        readable, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
        got = os.read(self._from, 1 << 20) if readable else b""
        if not got:
            raise BrowserError(f"{waiting_for}: the browser " + ("has ended" if readable else "does not answer"))
        self._received += got
        *messages, self._received = self._received.split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message["params"])

    def _note(self, event, about):
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([argument.get("value") for argument in about["args"]]))
        elif event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def open(self, address):
        self.call("Page.navigate", url=address)

    def value(self, expression):
        """Of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, scheme):
        """light or dark"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key):
        """Tab or Enter"""
        code = {"Tab": 9, "Enter": 13}[key]
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def accessible(self):
        """(role, name) of everything that a screen reader is told, in its order."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def screenshot(self, file, whole=True):
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(file, "wb") as out:
            out.write(base64.b64decode(image["data"]))
