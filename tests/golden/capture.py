#!/usr/bin/env python3
"""Captures replication frames of a real server into a golden file.

  capture.py BIN_DIR OUTPUT.hex [--binary]

Starts a throwaway server of the PostgreSQL whose programs are in BIN_DIR (not as root: initdb refuses that), runs the SQL below and
writes every CopyData frame that its walsender then sends, as hexadecimal text with the server's version and the SQL as comments.
expect.py makes the expected text from it. Run by hand when a new server version is added; the tests only read the files.
"""
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

SETUP = """
CREATE TYPE mood AS ENUM ('calm', 'busy');
CREATE DOMAIN short_text AS text CHECK (length(value) < 100);
CREATE TABLE outbox (id int PRIMARY KEY, topic text, payload jsonb, happened timestamptz);
CREATE TABLE "Mixed ""Case"" täble" (id int PRIMARY KEY, "Größe" short_text, m mood, b bytea, big text);
ALTER TABLE "Mixed ""Case"" täble" ALTER big SET STORAGE EXTERNAL;
CREATE TABLE full_identity (a int, b text);
ALTER TABLE full_identity REPLICA IDENTITY FULL;
CREATE TABLE child (id int PRIMARY KEY REFERENCES outbox);
CREATE PUBLICATION golden FOR ALL TABLES;
"""

CHANGES = """
INSERT INTO outbox VALUES (1, 'orders', '{"n": 12345678901234567890}', '2024-02-29 12:00:00.123456+00'), (2, '', NULL, 'infinity');
BEGIN; INSERT INTO outbox VALUES (3, 'kept'); SAVEPOINT s; INSERT INTO outbox VALUES (4, 'rolled back'); ROLLBACK TO s; COMMIT;
BEGIN; INSERT INTO outbox VALUES (5, 'rolled back'); ROLLBACK;
INSERT INTO "Mixed ""Case"" täble" VALUES (1, 'süß', 'busy', '\\x00ff0a', repeat('x', 2100));
UPDATE "Mixed ""Case"" täble" SET "Größe" = 'new' WHERE id = 1;
UPDATE outbox SET id = 10 WHERE id = 1;
DELETE FROM outbox WHERE id = 10;
INSERT INTO full_identity VALUES (1, 'one');
UPDATE full_identity SET b = NULL;
DELETE FROM full_identity;
ALTER TABLE outbox DROP COLUMN happened, ADD COLUMN key varchar(40);
INSERT INTO outbox VALUES (6, 'altered', '[]', 'k');
TRUNCATE outbox RESTART IDENTITY CASCADE;
SELECT pg_replication_origin_create('far node');
BEGIN; SELECT pg_replication_origin_session_setup('far node'), pg_replication_origin_xact_setup('A/BCD', '2024-01-01 00:00:00+00');
INSERT INTO outbox VALUES (7, 'from elsewhere'); COMMIT; SELECT pg_replication_origin_session_reset();
"""

MESSAGES = """
BEGIN; SELECT pg_logical_emit_message(true, 'outbox', '{"topic": "t"}'); COMMIT;
SELECT pg_logical_emit_message(false, 'at once', '\\x61ff00'::bytea);
INSERT INTO outbox VALUES (8, 'last');
"""


class Server:
    def __init__(self, bin_dir, folder):
        self.bin, self.folder = bin_dir, folder

    def __enter__(self):
        data = f"{self.folder}/data"
        self.run("initdb", "-D", data, "-A", "trust", "-U", "golden", "--locale=C", "-E", "UTF8")
        options = f"-k {self.folder} -c listen_addresses='' -c wal_level=logical -c wal_sender_timeout=2s -c jit=off"
        self.run("pg_ctl", "-w", "-D", data, "-l", f"{self.folder}/log", "-o", options, "start")
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def run(self, program, *arguments, script=None):
        done = subprocess.run([f"{self.bin}/{program}", *arguments], check=True, stdout=subprocess.PIPE, input=script, text=True)
        return done.stdout.strip()

    def sql(self, script):
        connection = ("-h", self.folder, "-U", "golden", "-d", "postgres")
        return self.run("psql", *connection, "-v", "ON_ERROR_STOP=1", "-AtqX", "-f", "-", script=script)


class Replication:
    """Just enough of the frontend protocol, over the server's Unix socket, to see the frames as they are sent."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(f"{folder}/.s.PGSQL.5432")
        settings = b"user\0golden\0database\0postgres\0replication\0database\0options\0-c timezone=UTC\0\0"
        self.socket.sendall(struct.pack("!II", len(settings) + 8, 3 << 16) + settings)
        while self.message()[0] != b"Z":
            pass

    def start(self, options):
        command = f'START_REPLICATION SLOT "golden" LOGICAL 0/0 ({options})'.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(command) + 4) + command)
        kind, body = self.message()
        if kind != b"W":
            raise SystemExit(f"START_REPLICATION failed: {body!r}")

    def frame(self):
        kind, body = self.message()
        if kind != b"d":
            raise SystemExit(f"unexpected message {kind!r}: {body!r}")
        return body

    def message(self):
        head = self.exactly(5)
        return head[:1], self.exactly(struct.unpack("!I", head[1:])[0] - 4)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise SystemExit("the server closed the connection")
            data += part
        return data


def capture(server, options):
    frames = []
    stream = Replication(server.folder)
    stream.start(options)
    while True:
        frames.append(stream.frame())
        if frames[-1][:1] == b"k" and frames[-1][-1] == 1:  # caught up, and the server has begun to wonder whether we live
            return frames


def main():
    bin_dir, output = sys.argv[1], pathlib.Path(sys.argv[2])
    binary = "--binary" in sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder, Server(bin_dir, folder) as server:
        version = server.sql("SHOW server_version").split(" ")[0]
        newer = int(version.split(".")[0]) >= 14
        changes = CHANGES + (MESSAGES if newer else "")
        options = "proto_version '1', publication_names 'golden'" + (", messages 'true'" if newer else "")
        options += ", binary 'true'" if binary else ""
        server.sql(SETUP)
        server.sql("SELECT pg_create_logical_replication_slot('golden', 'pgoutput')")
        server.sql(changes)
        frames = capture(server, options)
    lines = [f"# PostgreSQL {version}, ({options})", "# One CopyData frame a paragraph, written by capture.py. Its SQL:"]
    lines += [f"#   {line}" for line in (SETUP + changes).splitlines() if line]
    for frame in frames:
        digits = frame.hex()
        lines += [""] + [digits[at : at + 120] for at in range(0, len(digits), 120)]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{output}: {len(frames)} frames of PostgreSQL {version}")


main()
