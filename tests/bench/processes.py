"""Processes that can be measured, and what /proc says of them."""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30


class BenchError(Exception):
    """One line for people."""


def wait_for(what, condition, seconds_max=START_SECONDS_MAX):
    deadline = time.monotonic() + seconds_max
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError(f"{what} did not come within {seconds_max} s")
        time.sleep(0.02)


def missing(*tools):
    """What is not installed of them, for a message; "" if all are."""
    names = [tool for tool in tools if not shutil.which(tool)]
    return f"needs {' and '.join(names)}" if names else ""


def free_port():
    """A port that nothing listens on, below those that outgoing connections take."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def stat_fields(pid):
    """The fields of /proc/PID/stat from the third on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid):
    """User and system time of a process with all its threads; 0 once it is gone."""
    try:
        return sum(map(int, stat_fields(pid)[11:13])) / TICKS
    except OSError:
        return 0.0


def cpu_seconds_of_ended_children(pid):
    return sum(map(int, stat_fields(pid)[13:15])) / TICKS


def peak_mb(pid):
    """VmHWM; 0 once the process is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


class Program:
    """A process that is ended with its context. Its output goes to `log`, or standard output to `stdout`."""

    stop_signal = signal.SIGTERM

    def __init__(self, name, command, log, stdout=None):
        self.name = name
        self.log = log
        self.peak_mb = 0.0
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout or output, stderr=output,
                                            start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def wait_until(self, ready):
        """Waits for a condition while the process runs."""
        def decided():
            if self.process.poll() is not None:
                raise BenchError(f"{self.name} ended with {self.process.returncode}; see {self.log}")
            return ready()

        try:
            wait_for(self.name, decided)
        except BaseException:
            self.stop()
            raise

    def end(self):
        """Waits for the process to end by itself; user and system seconds that it took in all."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != 0:
            raise BenchError(f"{self.name} ended with {self.process.returncode}; see {self.log}")
        return usage.ru_utime + usage.ru_stime

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def run_measured(name, command, log, stdout=None):
    """Runs a command to its end; seconds, CPU seconds and peak memory."""
    begin = time.monotonic()
    with Program(name, command, log, stdout) as program:
        peak = [0.0]
        ended = threading.Event()

        def sample():
            while not ended.wait(0.02):
                peak[0] = max(peak[0], peak_mb(program.pid))

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            cpu = program.end()
            seconds = time.monotonic() - begin
        finally:
            ended.set()
            sampler.join()
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak[0]}
