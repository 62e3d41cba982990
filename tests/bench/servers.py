"""Throwaway servers for tests/bench/run, each a process that can be measured, and what is read of processes in /proc."""

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
    """User and system time of a process with all its threads."""
    return sum(map(int, stat_fields(pid)[11:13])) / TICKS


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


def run_measured(command, log, environment=None):
    """Runs a command to its end; seconds, CPU seconds and peak memory. Its output goes to `log`."""
    with open(log, "ab") as output:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        peak = [0.0]
        ended = threading.Event()

        def sample():
            while not ended.wait(0.02):
                peak[0] = max(peak[0], peak_mb(process.pid))

        sampler = threading.Thread(target=sample)
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        ended.set()
        sampler.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"{command[0]} ended with {process.returncode}; see {log}")
    return {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": peak[0]}


class Server:
    """A process that is ended with its context."""

    stop_signal = signal.SIGTERM

    def __init__(self, name, command, log):
        self.name = name
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        self.log = log

    @property
    def pid(self):
        return self.process.pid

    def wait_until(self, ready):
        def decided():
            if self.process.poll() is not None:
                raise BenchError(f"{self.name} ended with {self.process.returncode}; see {self.log}")
            return ready()

        try:
            wait_for(self.name, decided)
        except BaseException:
            self.stop()
            raise

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


class Postgres(Server):
    stop_signal = signal.SIGINT  # "now, in order"
    user = "bench_owner"  # also how its backends are told from the server's own processes

    def __init__(self, directory, unix_socket):
        self.binaries = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.port = free_port()
        data = directory / "postgres"
        data.mkdir(mode=0o700)
        # PostgreSQL refuses to run as root: then it runs as the user that Debian's package made.
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        if as_user:
            shutil.chown(data, "postgres", "postgres")
        subprocess.run([*as_user, self.binaries / "initdb", "--no-sync", "--locale=C", "-E", "UTF8", "-U", self.user, "-A", "trust",
                        "-D", data], check=True, stdout=subprocess.DEVNULL)
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": data, "wal_level": "logical", "autovacuum": "off",
                    "shared_buffers": "256MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.host = str(data) if unix_socket else "127.0.0.1"
        self.dsn = f"host={self.host} port={self.port} dbname=postgres user={self.user}"
        super().__init__("PostgreSQL", [*as_user, self.binaries / "postgres", "-D", data, "-p", str(self.port), *options],
                         directory / "postgres.log")
        self.wait_until(lambda: subprocess.run([self.binaries / "pg_isready", "-q", "-d", self.dsn], check=False).returncode == 0)

    def sql(self, statements):
        """Runs statements, each in a transaction of its own; what the last one gave."""
        done = subprocess.run([self.binaries / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.dsn], input=statements,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(done.stderr.strip())
        return done.stdout.strip().rpartition("\n")[2]

    def backends_cpu_seconds(self):
        """CPU of all backends that have ended, walsenders included. Waits until none is left."""

        def no_backend_left():
            for child in pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
                try:
                    title = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
                except OSError:
                    continue
                # Without a title: just begun, or ended and not counted yet.
                if not title.startswith(b"postgres: ") or self.user.encode() in title:
                    return False
            return True

        wait_for("the end of the backends", no_backend_left)
        return cpu_seconds_of_ended_children(self.pid)


class MockBroker(Server):
    name = "mock"

    def __init__(self, directory, built):
        address = directory / "mock_broker.address"
        super().__init__("mock", [built / "deploy" / "mock_broker", address], directory / "mock_broker.log")
        self.wait_until(address.exists)
        self.address = address.read_text().strip()


class Kafka(Server):
    def __init__(self, directory):
        jars = ROOT / "build" / "kafka-jars"
        subprocess.run([ROOT / "tests" / "support" / "kafka-jars", jars], check=True)
        port, controller = free_port(), free_port()
        data = directory / "kafka"
        data.mkdir()
        (data / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=d2FscmVsYXktYmVuY2gxMQ\n")
        properties = directory / "kafka.properties"
        properties.write_text(f"""process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={data}
num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
""")
        super().__init__("kafka", ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{jars}/*", "kafka.Kafka",
                                   properties], directory / "kafka.log")
        self.wait_until(lambda: accepts(port))
        self.address = f"127.0.0.1:{port}"
