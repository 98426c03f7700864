"""Bring a fresh interpreter into the state that a snapshot is worth taking of.

It imports this harness, the runners and what suites commonly use, and runs three small sessions of each, so
that the code they need is loaded and specialized. The folders `site` hold the same wheels at the same places
as later sessions; pytest is left out if it is not among them.

Invariants: no file stays open; the modules, folders and settings of the small sessions are gone afterwards.
Needs a writable /tmp. Absent: anything that depends on a repository; a session need not run in a snapshot
at all.
"""

from __future__ import annotations

import gc
import importlib
import linecache
import os
import shutil
import sys
from importlib.machinery import PathFinder

import probity_ahead
import probity_canaries
import probity_session
from probity_standins import ledger

FOLDER = "/tmp/probity-warm-up"
COMMON = (
    "argparse",
    "array",
    "asyncio",
    "base64",
    "bisect",
    "calendar",
    "concurrent.futures",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "doctest",
    "enum",
    "fractions",
    "functools",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "locale",
    "logging",
    "numbers",
    "operator",
    "pathlib",
    "pickle",
    "platform",
    "pprint",
    "queue",
    "random",
    "re",
    "secrets",
    "shlex",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "timeit",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib.parse",
    "uuid",
    "warnings",
    "weakref",
    "xml.etree.ElementTree",
    "zipfile",
    "zoneinfo",
)
SUITES = {
    "pytest": """
import unittest
import pytest


@pytest.fixture(params=["a", "b"])
def letter(request, tmp_path):
    (tmp_path / "file").write_text(request.param)
    yield request.param


@pytest.mark.parametrize("number", [1, 2, "three"])
def test_parametrized(number, letter):
    assert number and letter


def test_captured(capsys, monkeypatch):
    monkeypatch.setenv("NAME", "value")
    print("out")
    assert capsys.readouterr().out == "out\\n"


def test_raises(caplog):
    with pytest.raises(ValueError, match="no"):
        raise ValueError("no")


def test_fails():
    left, right = [1, 2, {"three": 3}], [1, 2, {"three": 4}]
    assert left == right


@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    assert "text" in ("other", "texts")


@pytest.mark.skip(reason="to be skipped")
def test_skipped():
    pass


class Case(unittest.TestCase):
    def setUp(self):
        self.value = 1

    def test_method(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(self.value, 1)
""",
    "unittest": """
import sys
import unittest


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = []

    def setUp(self):
        self.value = 1
        self.addCleanup(self.shared.clear)

    def test_parts(self):
        print("out")
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(self.value, 1)

    def test_raises(self):
        with self.assertRaisesRegex(ValueError, "no"):
            raise ValueError("no")

    def test_fails(self):
        self.assertEqual([1, 2, {"three": 3}], [1, 2, {"three": 4}])

    @unittest.expectedFailure
    def test_expected_to_fail(self):
        self.assertIn("text", ("other", "texts"))

    @unittest.skip("to be skipped")
    def test_skipped(self):
        pass


class AsyncCase(unittest.IsolatedAsyncioTestCase):
    async def test_method(self):
        self.assertTrue(sys.modules)
""",
}


def main(site: list[str]) -> None:
    """Warm the interpreter up."""
    probity_session.probity_standins.install()
    for name in COMMON:
        importlib.import_module(name)
    before, environment = set(sys.modules), dict(os.environ)
    for _ in range(3):
        sessions(site)
    for name in set(sys.modules) - before:
        if name.startswith(("test_probity_", "probity_warm_up_program", "conftest")):
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(environment)
    sys.path_importer_cache.clear()
    linecache.clearcache()
    ledger.take()
    if "pytest" in runners(site):
        probity_ahead.prepare(probity_session.OPTIONS)
        sys.modules["probity_pytest"].prepare()
    probity_canaries.prepare("unittest", None)
    probity_session.remember()
    gc.collect()
    gc.freeze()  # what is there now stays, so that collections need not look at it


def runners(site: list[str]) -> list[str]:
    """The runners that are there."""
    return [name for name in SUITES if name == "unittest" or PathFinder.find_spec(name, site)]


def sessions(site: list[str]) -> None:
    """Run one small session of each runner."""
    kept = dict(sys.modules)  # isolated sessions forget the runners, which later suites find here
    calls(site)
    program(site)
    sys.modules.update(kept)
    for runner in runners(site):  # last, since they leave the runtime's archive listed
        session(site, runner)


def calls(site: list[str]) -> None:
    """Make calls of each outcome."""
    config = probity_session.Config(
        root="/tmp",
        runner="call",
        results="/dev/null",
        site=site,
        args=["json", "loads"],
        calls=[["1", ['{"a": [1, 2.5, null, true]}'], {}], ["2", ["{"], {}]],
    )
    if probity_session.run(config) != 0:
        raise SystemExit("the warm-up's calls did not come out as they should")


def program(site: list[str]) -> None:
    """Run a small program, in both ways, and take away its files."""
    os.makedirs(FOLDER)
    with open(FOLDER + "/probity_warm_up_program.py", "w", encoding="utf-8") as file:
        file.write("import sys\nsys.stdin.read()\n")
    before = sys.argv[:], sys.path[:], sys.stdin
    for args in (["probity_warm_up_program.py"], ["-m", "probity_warm_up_program"]):
        config = probity_session.Config(
            root=FOLDER, runner="program", results="/dev/null", python_path=["."], site=site, args=args
        )
        if probity_session.run(config) != 0:
            raise SystemExit("the warm-up's program did not run as it should")
    sys.argv[:], sys.path[:], sys.stdin = before
    os.chdir("/")
    shutil.rmtree(FOLDER)


def session(site: list[str], runner: str) -> None:
    """Run one small session and take away its files."""
    os.makedirs(FOLDER)
    with open(FOLDER + "/test_probity_warm_up.py", "w", encoding="utf-8") as file:
        file.write(SUITES[runner])
    args = ["-q", FOLDER] if runner == "pytest" else ["-s", FOLDER]
    config = probity_session.Config(root=FOLDER, runner=runner, results="/dev/null", site=site, args=args)
    if probity_session.run(config) != 1:
        raise SystemExit("the warm-up's suite did not run as it should")
    sys.modules.pop("test_probity_warm_up", None)
    os.chdir("/")
    for folder in (FOLDER, "/tmp/pytest"):
        shutil.rmtree(folder, ignore_errors=True)
