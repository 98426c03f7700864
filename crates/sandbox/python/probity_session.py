"""One session of a test runner from its configuration to its exit code.

It begins in an interpreter that starts now (main.py), or in the snapshot of one that probity_warm_up.py left.

Invariants: nothing of the repository is imported before the session record is written; whatever goes wrong
before that is a `runner-error` record. The results device is closed at the end. The interpreter ends
without tearing down what nobody looks at any more.
Absent: the records of tests (probity_pytest.py, probity_unittest.py).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NoReturn

import probity_records
import probity_standins
from probity_standins import imports

HERE = os.path.dirname(os.path.abspath(__file__))
SETUP_FAILED = 3
RUNNERS = {
    "pytest": "probity_pytest",
    "unittest": "probity_unittest",
    "call": "probity_call",
    "program": "probity_program",
}
ISOLATED = ("call", "program")  # run the candidate alone, nothing that judges it
RUN_TESTS = frozenset(
    ("doctest", "unittest", "probity_ahead", "probity_parts", "probity_pytest", "probity_unittest")
)
OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:faulthandler",
    "--capture=sys",
    "--color=no",
    "--no-header",
    "--no-summary",
    "--basetemp=/tmp/pytest",
)
STEERING = (
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTEST_THEME",
    "PYTEST_THEME_MODE",
    "PYTEST_DEBUG",
    "FORCE_COLOR",
    "PY_COLORS",
)


@dataclass(frozen=True)
class Config:
    """What the host asks for; main.py describes the fields."""

    root: str
    results: str
    runner: str = "pytest"
    python_path: list[str] = field(default_factory=list)
    site: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    results_size: int = 64 * 1024 * 1024
    seed: int = 0
    skip: list[str] = field(default_factory=list)
    only: list[str] | None = None
    calls: list[list[Any]] = field(default_factory=list)
    pause: bool = False
    bundled: list[str] = field(default_factory=list)

    @property
    def project_folders(self) -> list[str]:
        """The absolute folders that the project's modules are imported from."""
        return [os.path.normpath(os.path.join(self.root, part)) for part in self.python_path]


_paused: Session | None = None


def main(config_path: str) -> None:
    """Run the session that a file describes, and end the process with its exit code.

    If it is to be paused, return after collection.
    """
    global _paused
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    session = Session(Config(**config))
    code = session.begin()
    if code is not None:
        leave(code)
    gc.collect()
    gc.freeze()  # what collection left stays, in every guest that goes on from here
    _paused = session


def proceed(ids: str) -> NoReturn:
    """Go on with a session that was paused: with the tests or calls of the JSON list `ids`, in hexadecimal."""
    assert _paused is not None
    random.seed(_paused.config.seed)
    leave(_paused.proceed(json.loads(bytes.fromhex(ids))))


def leave(code: int) -> NoReturn:
    """End the process."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a suite may leave anything there; what it printed decides nothing
            pass
    os._exit(code)


def resume(config_path: str) -> None:
    """The same in a warmed-up interpreter, after making it look as if it had just started."""
    import logging
    import tempfile
    import uuid

    # what these took from the clock or the random source when they were imported
    logging._startTime = time_now(logging._startTime)
    tempfile._name_sequence = None
    uuid._last_timestamp = None
    sys.argv[:] = [os.path.join(HERE, "main.py"), config_path]
    main(config_path)


def time_now(like: float) -> float:
    """The time in the unit of `like`: seconds, or nanoseconds as an integer."""
    import time

    return time.time_ns() if isinstance(like, int) else time.time()


def run(config: Config) -> int:
    """Run a whole session; its exit code."""
    code = Session(config).begin()
    assert code is not None
    return code


class Session:
    """A session from its set-up on."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.records = probity_records.Records(config.results, config.results_size)
        self.run: Any = None

    def begin(self) -> int | None:
        """Set it up and run it, whole or up to its pause; the exit code if it came to its end."""
        config = self.config
        try:
            try:
                prepare(config)
                runner = import_runner(config.runner)
                if config.runner in ISOLATED:
                    forget_runners()
                names = shadowed(config.project_folders + config.site)
            except BaseException as error:
                self.records.write({"event": "runner-error", "message": self.records.describe(error)})
                return SETUP_FAILED
            args = list(config.args)
            if config.runner == "call":
                self.run = runner.Run(self.records, args, names)
                code = self.run.collect() if config.pause else self.run.whole(config.calls)
                if code is not None:
                    self.records.close()
                return code
            if config.runner == "program":
                self.records.close()
                return int(runner.run(args))
            if config.runner == "pytest":
                args[:0] = [*OPTIONS, "--rootdir=" + config.root]
            only = None if config.only is None else frozenset(config.only)
            self.run = runner.Run(self.records, args, names, frozenset(config.skip), only)
            code = self.run.collect() if config.pause else self.run.whole()
        except BaseException:
            self.records.close()
            raise
        if code is not None:
            self.records.close()
        return code

    def proceed(self, ids: list[Any]) -> int:
        """Run these tests, or make these calls, and do the rest; the exit code."""
        try:
            return int(self.run.proceed(ids))
        finally:
            self.records.close()


def import_runner(name: str) -> ModuleType:
    """The module that runs the tests and reports them."""
    if name not in RUNNERS:
        raise ValueError("there is no runner %r" % name)
    sys.path.append(HERE)
    try:
        return importlib.import_module(RUNNERS[name])
    finally:
        sys.path.remove(HERE)


def forget_runners() -> None:
    """Forget what the warm-up imported to run tests, and all that came from wheels.

    A program that looks whether tests are running finds what it finds elsewhere.
    """
    for name in list(sys.modules):
        wheel = name != "__main__" and not imports.is_runtime(name)
        if wheel or name.partition(".")[0] in RUN_TESTS:
            del sys.modules[name]


def prepare(config: Config) -> None:
    """Stand-ins, import order, environment, working folder, seed."""
    probity_standins.install()
    imports.set_order(config.project_folders, config.site, config.bundled)
    for name in STEERING:
        os.environ.pop(name, None)
    os.environ["PYTHONPATH"] = os.pathsep.join(config.project_folders)  # for child programs
    os.environ.setdefault("COLUMNS", "80")
    os.chdir(config.root)
    random.seed(config.seed)


def shadowed(folders: list[str]) -> list[str]:
    """The standard library's names that a folder of the project or of its wheels also claims."""
    found: set[str] = set()
    for folder in folders:
        if os.path.isdir(folder):
            found.update(name.partition(".")[0] for name in os.listdir(folder))
    return sorted(found & sys.stdlib_module_names)
