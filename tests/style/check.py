#!/usr/bin/env python3
"""check.py NAME: one check of the source tree, registered with ctest as "style: ..." by tests/style.cmake.

Prints every place that is wrong, and exits 1 if there is one. CONTRIBUTING.md says why the rules are there.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("decoder", "sinks", "connector", "deploy", "tests")
LINES_MAX = 500

# What a folder's files may not include: (pattern of the included name, why).
FORBIDDEN_INCLUDES = {
    "decoder": [
        (r"(sinks|connector|tests)/", "the decoder stands below everything else"),
        (r"libpq|librdkafka|httplib|prometheus", "the decoder knows bytes only"),
        (r"(thread|mutex|condition_variable|atomic|ctime|time\.h|sys/time\.h|iostream)$", "the decoder has no clock, log or thread"),
    ],
    "sinks": [
        (r"(connector|tests)/", "sinks stand below the connector"),
        (r"libpq", "sinks do not know PostgreSQL"),
    ],
    "connector": [
        (r"tests/", "the product does not know its tests"),
        (r"librdkafka", "only sinks know librdkafka"),
    ],
}
SIMDJSON_USER = "decoder/json_pointer.cpp"


def tracked_files():
    """Paths relative to ROOT of what is in the repository; of everything outside build/ where there is none."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    found = []
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name not in (".git", "build", ".cache")]
        found += [str((pathlib.Path(folder) / name).relative_to(ROOT)) for name in names]
    return found


def sources(*endings):
    return [name for name in tracked_files() if name.split("/")[0] in SOURCE_FOLDERS and name.endswith(endings)]


def lines_of(name):
    """The lines of a text file; none of a binary one."""
    try:
        return (ROOT / name).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def check_format():
    files = sources(".cpp", ".h")
    result = subprocess.run(["clang-format-19", "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    return [line for line in result.stderr.splitlines() if "error:" in line]


def check_sizes():
    return [f"{name}: {len(lines_of(name))} lines, at most {LINES_MAX}" for name in sources(".cpp", ".h", ".py", ".java")
            if len(lines_of(name)) > LINES_MAX]


def included_names(name):
    for number, line in enumerate(lines_of(name), 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1)


def check_includes():
    wrong = []
    for name in sources(".cpp", ".h"):
        for number, included in included_names(name):
            for pattern, why in FORBIDDEN_INCLUDES.get(name.split("/")[0], []):
                if re.match(pattern, included):
                    wrong.append(f"{name}:{number}: includes {included}: {why}")
            if included.startswith("simdjson") and name != SIMDJSON_USER:
                wrong.append(f"{name}:{number}: only {SIMDJSON_USER} uses simdjson")
    return wrong


def check_listed():
    """Every .cpp is named in a CMake file of its top folder: a test that is not built tests nothing."""
    wrong = []
    for name in sources(".cpp"):
        folder, rest = name.split("/", 1)
        cmake_files = [f for f in tracked_files() if f.startswith(folder + "/") and (f.endswith(".cmake") or f.endswith("CMakeLists.txt"))]
        words = {word.strip('"()') for f in cmake_files for line in lines_of(f) for word in line.split("#")[0].split()}
        if not any(word == rest or word.endswith("/" + rest) for word in words):
            wrong.append(f"{name}: in no CMake file of {folder}/")
    return wrong


def check_headers():
    return [f"{name}: does not begin with #pragma once" for name in sources(".h") if lines_of(name)[:1] != ["#pragma once"]]


def check_marks():
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    return [f"{name}:{number}: {line.strip()}" for name in tracked_files() for number, line in enumerate(lines_of(name), 1)
            if mark.search(line)]


def check_names():
    """A case that Catch takes for a flag or a tag, or that ctest cuts at its semicolon, runs nothing and passes."""
    misread = re.compile(r'TEST_CASE\("(?:-|\[|~|[^"]*;)')
    return [f"{name}:{number}: {line.strip()}" for name in sources(".cpp") for number, line in enumerate(lines_of(name), 1)
            if misread.match(line)]


def anchors_of(name):
    """What the headings of a page are called in links to them."""
    headings = [line.lstrip("#").strip() for line in lines_of(name) if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links():
    wrong = []
    for page in (name for name in tracked_files() if name.endswith(".md")):
        for number, line in enumerate(lines_of(page), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (ROOT / page).parent / path if path else ROOT / page
                if not file.exists():
                    wrong.append(f"{page}:{number}: {target}: there is no such file")
                elif anchor and anchor not in anchors_of(file.resolve().relative_to(ROOT)):
                    wrong.append(f"{page}:{number}: {target}: there is no such heading")
    return wrong


def check_runbooks():
    """An alert that nobody explains, and an explanation of an alert that is not there."""
    page, rules = "docs/operations.md", "deploy/prometheus/alerts.yml"
    text = (ROOT / rules).read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)", text)
    wrong = [f"{rules}: {alert}: runbook is not {page}#{alert.lower()}" for alert in alerts
             if f"runbook: {page}#{alert.lower()}\n" not in text]
    headings = [line[4:] for line in lines_of(page) if line.startswith("### Walrelay")]
    wrong += [f"{page}: no section {alert}" for alert in alerts if alert not in headings]
    wrong += [f"{page}: {heading}: {rules} has no such alert" for heading in headings if heading not in alerts]
    return wrong


def check_log_events():
    """Whoever watches the log finds each event's name in the runbook, and none that is never logged."""
    page = "docs/operations.md"
    call = re.compile(r'\blog_(?:debug|info|warning|error|line)\(\s*(?:[^";]*,\s*)?"(\w+)"')
    logged = {event: name for name in sources(".cpp") if name.startswith(("connector/", "sinks/"))
              for event in call.findall((ROOT / name).read_text(encoding="utf-8"))}
    section = (ROOT / page).read_text(encoding="utf-8").partition("\n## Log lines\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    wrong = [f"{name}: event {event}: {page}, Log lines, does not have it" for event, name in sorted(logged.items()) if event not in listed]
    return wrong + [f"{page}: event {event}: is never logged" for event in sorted(listed - set(logged))]


def check_yaml():
    """The templates of the chart are no YAML before Helm has rendered them."""
    files = [name for name in tracked_files() if name.endswith((".yml", ".yaml")) and "/templates/" not in name]
    parse = "import sys, yaml\nfor name in sys.argv[1:]: list(yaml.safe_load_all(open(name, encoding='utf-8')))"
    # The system's Python has Debian's python3-yaml.
    result = subprocess.run(["/usr/bin/python3", "-c", parse, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stderr.splitlines()


CHECKS = {
    "format": check_format,
    "sizes": check_sizes,
    "includes": check_includes,
    "listed": check_listed,
    "headers": check_headers,
    "marks": check_marks,
    "links": check_links,
    "names": check_names,
    "runbooks": check_runbooks,
    "log-events": check_log_events,
    "yaml": check_yaml,
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: check.py {'|'.join(CHECKS)}")
    wrong = CHECKS[sys.argv[1]]()
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
