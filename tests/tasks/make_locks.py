#!/usr/bin/env python3
"""Resolve the wheels that each task's suite needs and write them as pip requirement files with hashes.

    make_locks.py [--check]

Reads every task `ID.json` beside this file and writes the `*.lock` files and `locks.json` (task id → lock
file); also the default lock that the binary embeds (pytest and its dependencies only). A lock is named after
its contents when several tasks share it (`pytest-9.2.0.lock`), after its task otherwise. `--check` writes
nothing: it lets pip download what every lock pins, as the binary does (`FETCH` below), into a scratch folder.

Invariants: one wheel per package, one SHA-256 per wheel, no sdist; a wheel for any platform wins over a
platform's own; where only the latter exist the CPython 3.11 Linux x86-64 one is pinned, whose shared objects
are dropped on installation (each such package falls back to pure Python). The package under test is never
in its own lock. pytest's own dependencies are the newest of the day of the resolution.

Absent: building, and markers; a lock is for one interpreter.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT_LOCK = HERE.parents[1] / "crates" / "sandbox" / "python" / "pytest.lock"
DEFAULT_PYTEST = "9.2.0"
TARGET = [
    "--implementation",
    "cp",
    "--python-version",
    "3.11",
    "--abi",
    "cp311",
    "--abi",
    "none",
    "--platform",
    "manylinux_2_28_x86_64",
    "--platform",
    "manylinux_2_17_x86_64",
    "--platform",
    "manylinux2014_x86_64",
]
PURE = ["--implementation", "py", "--python-version", "3.15", "--abi", "none", "--platform", "any"]
FETCH = ["download", "--require-hashes", "--no-deps", "--only-binary=:all:", *TARGET]

Pin = tuple[str, str]


def normal(name: str) -> str:
    """The name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pip(*args: str) -> subprocess.CompletedProcess[str]:
    """Run pip, without its notices about itself."""
    return subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *args],
        capture_output=True,
        text=True,
        check=False,
    )


def resolve(requirements: list[str], target: list[str]) -> list[dict] | None:
    """What pip would install, or nothing if it finds no set of wheels."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        done = pip(
            "install",
            "-q",
            "--dry-run",
            "--ignore-installed",
            "--only-binary=:all:",
            "--target",
            scratch,
            "--report",
            str(report),
            *target,
            *requirements,
        )
        return json.loads(report.read_text())["install"] if done.returncode == 0 else None


class Wheels:
    """The wheel chosen for a pin, looked up once each."""

    def __init__(self) -> None:
        self.known: dict[Pin, tuple[str, str]] = {}

    def of(self, pin: Pin) -> tuple[str, str]:
        """File name and SHA-256 of the wheel for a name and version."""
        if pin not in self.known:
            exact = ["--no-deps", "%s==%s" % pin]
            found = resolve(exact[1:], ["--no-deps", *PURE]) or resolve(exact[1:], ["--no-deps", *TARGET])
            if not found:
                raise SystemExit("%s %s: no usable wheel" % pin)
            file = found[0]["download_info"]
            self.known[pin] = (file["url"].rsplit("/", 1)[1], file["archive_info"]["hashes"]["sha256"])
        return self.known[pin]


def text_of(pins: list[Pin], wheels: Wheels) -> str:
    """The lock file's text."""
    lines = [
        "# Wheels for one suite, for `pip download --require-hashes --no-deps`. Written by make_locks.py.\n"
    ]
    for pin in pins:
        filename, digest = wheels.of(pin)
        lines.append("\n# %s\n%s==%s \\\n    --hash=sha256:%s\n" % (filename, *pin, digest))
    return "".join(lines)


def tasks() -> list[dict]:
    """Every task, by id."""
    found = [json.loads(p.read_text()) for p in sorted(HERE.glob("*.json"))]
    return [t for t in found if isinstance(t, dict) and "test_deps" in t]


def write() -> None:
    """Resolve and write all locks."""
    wheels = Wheels()
    users: dict[tuple[Pin, ...], list[dict]] = defaultdict(list)
    memo: dict[tuple[str, ...], list[dict]] = {}
    for task in tasks():
        wanted = ["pytest==" + task["pytest"], *task["test_deps"]]
        found = memo.get(tuple(wanted)) or resolve(wanted, TARGET)
        if not found:
            raise SystemExit("%s: pip finds no set of wheels" % task["id"])
        memo[tuple(wanted)] = found
        pins = sorted((normal(i["metadata"]["name"]), i["metadata"]["version"]) for i in found)
        users[tuple(p for p in pins if p[0] != normal(task["package"]))].append(task)
    lock_of: dict[str, str] = {}
    for old in HERE.glob("*.lock"):
        old.unlink()
    for pins, group in users.items():
        deps = sorted(normal(d.split("==")[0]) for d in group[0]["test_deps"])
        shared = len(group) > 1 or not deps
        name = "-".join(["pytest", group[0]["pytest"], *deps]) if shared else group[0]["id"]
        (HERE / (name + ".lock")).write_text(text_of(list(pins), wheels))
        lock_of.update((task["id"], name + ".lock") for task in group)
    (HERE / "locks.json").write_text(json.dumps(lock_of, indent=1, sort_keys=True) + "\n")
    DEFAULT_LOCK.write_text((HERE / ("pytest-%s.lock" % DEFAULT_PYTEST)).read_text())


def check() -> None:
    """Download each lock and count its wheels."""
    for lock in [*sorted(HERE.glob("*.lock")), DEFAULT_LOCK]:
        with tempfile.TemporaryDirectory() as scratch:
            done = pip(*FETCH, "-q", "-d", scratch, "-r", str(lock))
            got, want = len(list(Path(scratch).glob("*.whl"))), lock.read_text().count("--hash=")
            print("%s: %d of %d wheels" % (lock.name, got, want))
            if done.returncode or got != want:
                raise SystemExit(done.stderr)


def main() -> None:
    """Parse the one flag and do it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="download what the locks pin, write nothing")
    check() if parser.parse_args().check else write()


if __name__ == "__main__":
    main()
