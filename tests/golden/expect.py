#!/usr/bin/env python3
"""Writes what the frames of golden files say, one line a frame:  expect.py FILE.hex...  makes FILE.txt of each.

A second decoder, written from the manual's chapter "Logical Replication Message Formats" and sharing nothing with ours, so that an
error would have to be made twice to go unseen.
"""
import pathlib
import struct
import sys


class Fields:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, code):
        value = struct.unpack_from("!" + code, self.data, self.at)[0]
        self.at += struct.calcsize(code)
        return value

    def byte(self):
        return self.raw(1).decode("latin-1")

    def lsn(self):
        value = self.number("Q")
        return f"{value >> 32:X}/{value & 0xFFFFFFFF:X}"

    def raw(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size : self.at]

    def name(self):
        return quoted(self.raw(self.data.index(0, self.at) + 1 - self.at)[:-1])


def quoted(data):
    text = ""
    for byte in data:
        char = chr(byte)
        text += f"\\{char}" if char in '"\\' else char if " " <= char <= "~" else f"\\x{byte:02x}"
    return f'"{text}"'


def row(f):
    values = []
    for _ in range(f.number("h")):
        kind = f.byte()
        values.append(kind + (quoted(f.raw(f.number("i"))) if kind in "tb" else ""))
    return "(" + " ".join(values) + ")"


def rows(f):
    text = ""
    while f.at < len(f.data):
        text += " " + f.byte() + row(f)
    return text


def relation(f):
    text = f"relation {f.number('I')} {f.name()}.{f.name()} identity={f.byte()}"
    for _ in range(f.number("h")):
        key = " key" if f.number("B") else ""
        text += f" [{f.name()} type={f.number('I')} modifier={f.number('i')}{key}]"
    return text


def truncate(f):
    count, flags = f.number("i"), f.number("B")
    tables = " ".join(str(f.number("I")) for _ in range(count))
    return f"truncate {tables}" + (" cascade" if flags & 1 else "") + (" restart_identity" if flags & 2 else "")


def message(f):
    flags = f.number("B")
    return f"message lsn={f.lsn()} {'transactional ' if flags else ''}{f.name()} {quoted(f.raw(f.number('i')))}"


MESSAGES = {
    "B": lambda f: f"begin lsn={f.lsn()} time={f.number('q')} xid={f.number('I')}",
    "C": lambda f: f"commit lsn={(f.byte(), f.lsn())[1]} end={f.lsn()} time={f.number('q')}",
    "O": lambda f: f"origin lsn={f.lsn()} {f.name()}",
    "R": relation,
    "Y": lambda f: f"type {f.number('I')} {f.name()}.{f.name()}",
    "I": lambda f: f"insert {f.number('I')}{rows(f)}",
    "U": lambda f: f"update {f.number('I')}{rows(f)}",
    "D": lambda f: f"delete {f.number('I')}{rows(f)}",
    "T": truncate,
    "M": message,
}


def frame(f):
    if f.byte() == "k":
        return f"keepalive end={f.lsn()} time={f.number('q')}" + (" reply_requested" if f.number("B") else "")
    f.raw(24)
    return MESSAGES[f.byte()](f)


def main():
    for path in map(pathlib.Path, sys.argv[1:]):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        frames = [bytes.fromhex(part.replace("\n", "")) for part in "\n".join(lines).strip().split("\n\n")]
        path.with_suffix(".txt").write_text("".join(frame(Fields(data)) + "\n" for data in frames), encoding="utf-8")


main()
