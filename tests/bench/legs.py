"""What is measured side by side: each leg is a consumer of the outbox, as a process that can be started and watched."""

import dataclasses
import pathlib
import subprocess

from processes import ROOT, Program, missing

GO_PIPE = pathlib.Path(__file__).parent / "go_pipe"


@dataclasses.dataclass
class Job:
    """What a leg is to do: read this slot (or table), write to this topic."""
    postgres: object
    slot: str
    broker: object
    topic: str
    directory: pathlib.Path
    messages: bool = False  # the outbox is a stream of messages, without a table
    until: str = ""         # a position in the log, where a leg that can do so ends by itself; "": run on
    steady: bool = False    # latency counts, not throughput


class Leg:
    """A consumer. `reads`: what it takes the events from. `ends`: it ends by itself at Job.until."""
    reads = "slot"
    ends = False
    lacks = ""  # why it cannot run here
    slow = False  # drains the half only, and has no turn in the round that warms up
    warm_up_seconds = 5

    def __init__(self, name, transport="TCP"):
        self.name = name if transport == "TCP" else f"{name}, {transport}"
        self.transport = transport

    def fits(self, outbox):
        """Whether the leg can take this outbox at all."""
        return outbox.topics == 1 and not outbox.messages

    def prepare(self):
        """Gets what the leg needs, once."""

    def start(self, job):
        return Program(self.name, self.command(job), job.directory / "legs.log")

    def is_streaming(self, job):
        return job.postgres.sql(f"SELECT active FROM pg_replication_slots WHERE slot_name = '{job.slot}'") == "t"


class Walrelay(Leg):
    ends = True

    def __init__(self, name, program, transport="TCP"):
        super().__init__(name, transport)
        self.program = program

    def fits(self, outbox):
        return True

    def command(self, job):
        outbox = ["--set", "outbox.0.messages=outbox"] if job.messages else ["--table", "public.outbox", "--preset", "debezium"]
        return [self.program, "run", "--dsn", job.postgres.dsn(self.transport), "--slot", job.slot, "--publication", "bench",
                *outbox, "--brokers", job.broker.address, "--set", "http.listen=", *(["--drain"] if job.until else [])]


class MinimalPipe(Leg):
    ends = True

    def __init__(self, built, transport="TCP"):
        super().__init__("minimal pipe", transport)
        self.program = built / "tests" / "bench" / "minimal_pipe"

    def command(self, job):
        more = (["--until", job.until] if job.until else []) + (["--linger-ms", "0"] if job.steady else [])
        return [self.program, job.postgres.dsn(self.transport), job.slot, "bench", job.broker.address, job.topic, *more]


class GoPipe(Leg):
    lacks = missing("go")

    def __init__(self, transport="TCP"):
        super().__init__("Go pipe", transport)
        self.program = ROOT / "build" / "bench" / "go_pipe"

    def prepare(self):
        subprocess.run(["go", "build", "-o", self.program, "."], cwd=GO_PIPE, check=True)

    def command(self, job):
        return [self.program, "-dsn", job.postgres.dsn(self.transport), "-slot", job.slot, "-publication", "bench",
                "-brokers", job.broker.address, "-topic", job.topic, *(["-linger-ms", "0"] if job.steady else [])]


class PollingWorker(Leg):
    """Reads a table of its own, in a server of its own, so that its updates are not in the log that the others read."""
    reads = "table"
    slow = True

    def __init__(self, built):
        super().__init__("polling worker")
        self.program = built / "tests" / "bench" / "polling_worker"

    def command(self, job):
        return [self.program, job.postgres.dsn(), job.broker.address, job.topic]

    def is_streaming(self, job):
        return len(job.postgres.backends()) > 0


class Debezium(Leg):
    """Kafka Connect standalone with Debezium's connector and its outbox router, tuned for throughput and latency alike."""
    lacks = missing("java", "mvn")
    slow = True
    warm_up_seconds = 15

    def __init__(self):
        super().__init__("Debezium")
        self.jars = ROOT / "build" / "debezium-jars"

    def prepare(self):
        subprocess.run([ROOT / "tests" / "support" / "kafka-jars", self.jars, pathlib.Path(__file__).parent / "debezium-pom.xml"],
                       check=True)

    def command(self, job):
        worker = self.write(job, "worker", {
            "bootstrap.servers": job.broker.address, "listeners": "http://127.0.0.1:0", "offset.flush.interval.ms": 1000,
            "offset.storage.file.filename": job.directory / f"{job.slot}.offsets",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "producer.acks": "all", "producer.linger.ms": 5, "producer.batch.size": 524288, "producer.buffer.memory": 134217728,
            "producer.max.request.size": 8388608, "plugin.discovery": "service_load"})
        connector = self.write(job, "connector", {
            "name": job.slot, "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": 1,
            "database.hostname": "127.0.0.1", "database.port": job.postgres.port, "database.user": job.postgres.user,
            "database.password": "", "database.dbname": "postgres", "database.sslmode": "disable", "topic.prefix": "bench",
            "plugin.name": "pgoutput", "slot.name": job.slot, "publication.name": "bench", "publication.autocreate.mode": "disabled",
            "snapshot.mode": "no_data", "table.include.list": "public.outbox", "tombstones.on.delete": "false",
            "max.batch.size": 8192, "max.queue.size": 32768, "poll.interval.ms": 10,
            "transforms": "outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.table.op.invalid.behavior": "warn"})
        return ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{self.jars}/*",
                "org.apache.kafka.connect.cli.ConnectStandalone", worker, connector]

    @staticmethod
    def write(job, name, properties):
        file = job.directory / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return file


class Recvlogical(Leg):
    """PostgreSQL's own client, which throws everything away: what it costs to read, and nothing else."""
    reads = "slot, to nowhere"
    ends = True

    def __init__(self, transport="TCP"):
        super().__init__("pg_recvlogical", transport)

    def fits(self, outbox):
        return True

    def command(self, job):
        messages = ["-o", "messages=true"] if job.messages else []
        return [job.postgres.binaries / "pg_recvlogical", "-d", job.postgres.dsn(self.transport), "-S", job.slot, "--start", "--no-loop",
                "-f", "/dev/null", "-E", job.until, "-o", "proto_version=1", "-o", "publication_names=bench", *messages]


class ProduceOnly(Leg):
    """Events that lie ready in memory: what the broker takes."""
    reads = "memory"
    ends = True

    def __init__(self, built):
        super().__init__("produce only")
        self.program = built / "tests" / "bench" / "bench_produce"


def all_legs(built, beside):
    """In the order of their turns and of the tables."""
    walrelay = built / "connector" / "walrelay"
    legs = [Recvlogical(), Walrelay("walrelay", walrelay)]
    if beside:
        legs.append(Walrelay("the other walrelay", beside))
    return [*legs, MinimalPipe(built), GoPipe(), Debezium(), PollingWorker(built), ProduceOnly(built),
            Recvlogical("Unix socket"), Walrelay("walrelay", walrelay, "Unix socket"), MinimalPipe(built, "Unix socket"),
            Walrelay("walrelay", walrelay, "TLS"), Recvlogical("TLS")]
