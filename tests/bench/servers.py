"""The throwaway servers that tests/bench/run measures with."""

import os
import pathlib
import shutil
import signal
import subprocess

from processes import ROOT, Program, accepts, cpu_seconds, cpu_seconds_of_ended_children, free_port, missing, wait_for, BenchError

TRANSPORTS = ("TCP", "Unix socket", "TLS")


class Postgres(Program):
    """Reached by TCP, by its Unix socket and by TLS. Autovacuum is off, so that nothing runs beside what is measured, unless
    more_settings say otherwise."""

    stop_signal = signal.SIGINT  # "now, in order"
    user = "bench_owner"  # also how its backends are told from the server's own processes

    def __init__(self, directory, name, more_settings=None):
        self.binaries = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.port = free_port()
        self.data = directory / name
        self.data.mkdir(mode=0o700)
        # PostgreSQL refuses to run as root: then it runs as the user that Debian's package made.
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        if as_user:
            shutil.chown(self.data, "postgres", "postgres")
        subprocess.run([*as_user, self.binaries / "initdb", "--no-sync", "--locale=C", "-E", "UTF8", "-U", self.user, "-A", "trust",
                        "-D", self.data], check=True, stdout=subprocess.DEVNULL)
        self.make_certificate(as_user)
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": self.data, "wal_level": "logical", "autovacuum": "off",
                    "shared_buffers": "256MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h", "ssl": "on",
                    **(more_settings or {})}
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        super().__init__(name, [*as_user, self.binaries / "postgres", "-D", self.data, "-p", str(self.port), *options],
                         directory / f"{name}.log")
        self.wait_until(lambda: subprocess.run([self.binaries / "pg_isready", "-q", "-d", self.dsn()], check=False).returncode == 0)

    def make_certificate(self, as_user):
        subprocess.run([*as_user, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-keyout", self.data / "server.key", "-out", self.data / "server.crt"], check=True, capture_output=True)
        (self.data / "server.key").chmod(0o600)

    def dsn(self, transport="TCP"):
        host, sslmode = {"TCP": ("127.0.0.1", "disable"), "TLS": ("127.0.0.1", "require"),
                         "Unix socket": (self.data, "disable")}[transport]
        return f"host={host} port={self.port} dbname=postgres user={self.user} sslmode={sslmode}"

    def sql(self, statements):
        """Runs statements, each in a transaction of its own; what the last one gave."""
        done = subprocess.run([self.binaries / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.dsn()], input=statements,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(done.stderr.strip())
        return done.stdout.strip().rpartition("\n")[2]

    def backends(self):
        """Ids and titles of the processes that serve clients; without a title: just begun, or ended and not counted yet."""
        found = {}
        for child in pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            try:
                title = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if not title.startswith("postgres: ") or self.user in title:
                found[int(child)] = title
        return found

    def wait_until_idle(self):
        wait_for("the end of the backends", lambda: not self.backends())

    def backends_cpu_seconds(self):
        """CPU of all backends so far, walsenders included, also of those that have ended."""
        return cpu_seconds_of_ended_children(self.pid) + sum(map(cpu_seconds, self.backends()))


class MockBroker(Program):
    """librdkafka's mock cluster: real sockets and requests, nothing stored."""

    def __init__(self, directory, built):
        address = directory / "mock_broker.address"
        super().__init__("mock broker", [built / "deploy" / "mock_broker", address], directory / "mock_broker.log")
        self.wait_until(address.exists)
        self.address = address.read_text().strip()


class Kafka(Program):
    """One broker; it keeps little of each partition, since every run writes the same again."""

    lacks = staticmethod(lambda: missing("java", "mvn"))

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
message.max.bytes=10485760
log.segment.bytes=134217728
log.retention.bytes=268435456
log.retention.check.interval.ms=10000
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
""")
        super().__init__("Kafka", ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{jars}/*", "kafka.Kafka",
                                   properties], directory / "kafka.log")
        self.wait_until(lambda: accepts(port))
        self.address = f"127.0.0.1:{port}"
