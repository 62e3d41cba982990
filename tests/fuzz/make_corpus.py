#!/usr/bin/env python3
"""Makes the fuzzers' seeds from the golden frames: one of each shape of message. Run by hand after a new capture."""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden"

# Columns as router_fuzzer.cpp splits them: type, kind, value; types and kinds are indexes into its tables.
ROUTER = {
    "json": ["00 1", "00OrderPlaced", '20{"a": {"b/c": [1, "x"]}, "type": "OrderPlaced", "n": 1.50}', "402024-02-29 12:00:00.5+02", "30\\x00ff"],
    "nulls": ["800b2d8a3e-5a51-4f7b-a3a6-0a3d4c3f4b9c", "00a", "11", "41", "31"],
    "escapes": ["001", "00x", '10{"a":{"b/c":["\\ud83d\\ude00\\n"]},"type":null,"n":{"N":[]}}', "70-1", "00text"],
    "times": ["001", "00x", "20[]", "40infinity", "30\\xZZ"],
    "bc": ["001", "00x", '20"text"', "500001-01-01 00:00:00 BC", "30\\x0"],
    "date": ["001", "00x", "20{}", "602024-13-45", "02"],
}


def frames(path):
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    return [bytes.fromhex(part.replace("\n", "")) for part in text.strip().split("\n\n")]


def write(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main():
    seen = set()
    for file in sorted(GOLDEN.glob("*.hex")):
        for number, (frame, text) in enumerate(zip(frames(file), file.with_suffix(".txt").read_text().splitlines())):
            shape = re.sub(r'"[^"]*"', "", re.sub(r"=\S+|\d+|\\.", "", text))
            if shape in seen or len(frame) > 400:
                continue
            seen.add(shape)
            name = f"{file.stem}-{number:02}-{text.split()[0]}"
            write("copy_frame", name, frame)
            if frame[:1] == b"w":
                write("truncation", name, frame[25:])
    for name, columns in ROUTER.items():
        coded = [bytes([int(column[0]), int(column[1])]) + column[2:].encode() for column in columns + ["00more"]]
        write("router", name, b"\xfe".join(coded))
    content = {"topic": '"t"', "key": '"k"', "id": '"1"', "type": '"T"', "headers": '{"h": null, "i": "v"}', "payload": '{"a": [1]}'}
    write("router", "message", ("{" + ", ".join(f'"{name}": {value}' for name, value in content.items()) + "}").encode())


main()
