"""One session of a test runner from its configuration to its exit code.

It begins in an interpreter that starts now (main.py), or in the snapshot of one that probity_warm_up.py left.

Invariants: nothing of the repository is imported before the session record is written; whatever goes wrong
before that is a `runner-error` record. The file of the configuration is emptied before that, and the key
that records are signed with is gone. The results device is closed at the end. The interpreter ends
without tearing down what nobody looks at any more.
Absent: the records of tests (probity_pytest.py, probity_unittest.py).
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import random
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NoReturn

import probity_across
import probity_candidate
import probity_integrity
import probity_records
import probity_standins
import probity_witness
from probity_guard import Guard, Task
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
    across: list[str] = field(default_factory=list)
    border: str | None = None
    shuffle: bool = False
    canaries: bool = False
    allow: list[str] = field(default_factory=list)

    @property
    def project_folders(self) -> list[str]:
        """The absolute folders that the project's modules are imported from."""
        return [os.path.normpath(os.path.join(self.root, part)) for part in self.python_path]


_paused: Session | None = None
_baseline: probity_integrity.Baseline | None = None
_codes: dict[int, frozenset[int]] = {}


def main(config_path: str) -> None:
    """Run the session that a file describes, and end the process with its exit code.

    If it is to be paused, return after collection.
    """
    global _paused
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    key = config.pop("key", "")
    if key:
        os.truncate(config_path, 0)
    config = Config(**config)
    if config.runner == "candidate":
        return answer(config)
    session = Session(config, key)
    del config, key
    code = session.begin()
    if code is not None:
        leave(code)
    gc.collect()
    gc.freeze()  # what collection left stays, in every guest that goes on from here
    _paused = session


def answer(config: Config) -> None:
    """Be the side of a border where the code under test lives, and answer what was asked so far."""
    assert config.border is not None
    prepare(config)
    probity_candidate.begin(config.across, config.border, config.results)
    gc.collect()
    gc.freeze()


def proceed(ids: str, answers: str | None = None) -> NoReturn:
    """Go on with a session that was paused: with the tests or calls of the JSON list `ids`, in
    hexadecimal.

    If it has a border, with the answers that come from there, written likewise.
    """
    assert _paused is not None
    if answers is not None:
        assert _paused.border is not None
        _paused.border.proceed(json.loads(bytes.fromhex(answers)))
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
    """Run a whole session whose records are not signed; its exit code."""
    code = Session(config, "").begin()
    assert code is not None
    return code


def remember() -> None:
    """Remember what the runners are, for sessions that begin in a snapshot of this interpreter."""
    global _baseline
    _baseline = probity_integrity.take()
    for name in RUNNERS.values():
        if name in sys.modules:
            admitted(sys.modules[name])


def admitted(runner: ModuleType) -> frozenset[int]:
    """The code that may write records when this runner runs."""
    key = id(runner)
    if key not in _codes:
        _codes[key] = probity_records.codes_of((sys.modules[__name__], probity_records, runner))
    return _codes[key]


def baseline() -> probity_integrity.Baseline:
    """What the runners that are loaded now were before any code of the repository ran."""
    if _baseline is not None and _baseline.is_current():
        return _baseline
    return probity_integrity.take()


class Session:
    """A session from its set-up on."""

    def __init__(self, config: Config, key: str) -> None:
        self.config = config
        self.witness = probity_witness.Witness(hide=bool(key))
        self.records = probity_records.Records(config.results, config.results_size, key, self.witness.vouches)
        self.dice = hashlib.sha256(("canaries %s %d" % (key, config.seed)).encode()).hexdigest()
        self.run: Any = None
        self.border: probity_across.Border | None = None

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
                if config.border is not None:
                    with open(config.border, encoding="ascii") as file:
                        answers = file.read().splitlines()
                    self.border = probity_across.install(
                        config.across, answers, config.project_folders, self.records.write
                    )
            except BaseException as error:
                self.records.write({"event": "runner-error", "message": self.records.describe(error)})
                return SETUP_FAILED
            if self.border is None:
                self.records.admit(admitted(runner))
            args = list(config.args)
            if config.runner == "call":
                self.run = runner.Run(self.records, args, names)
                code = self.run.collect() if config.pause else self.run.whole(config.calls)
                if code is not None:
                    self.close()
                return code
            if config.runner == "program":
                self.close()
                return int(runner.run(args))
            if config.runner == "pytest":
                args[:0] = [*OPTIONS, "--rootdir=" + config.root]
            runner.adapt()
            self.run = runner.Run(self.records, args, names, self.task())
            gc.freeze()  # what is hidden from code under test does not turn up in the collector's lists
            code = self.run.collect() if config.pause else self.run.whole()
        except BaseException:
            self.close()
            raise
        if code is not None:
            self.close()
        return code

    def task(self) -> Task:
        """What the runner is to do, and what it guards itself with."""
        config = self.config
        # Across a border only trusted code runs here, and parts of ours stand in the runner's place.
        before = baseline() if self.border is None else None
        guard = Guard(self.records, before, frozenset(config.allow))
        return Task(
            skip=frozenset(config.skip),
            only=None if config.only is None else frozenset(config.only),
            order=config.seed if config.shuffle else None,
            canaries=self.dice if config.canaries else None,
            witness=self.witness,
            pauses=config.pause or config.only is not None,
            guard=guard,
        )

    def close(self) -> None:
        """Nothing more is reported."""
        self.records.close()
        self.witness.release()

    def proceed(self, ids: list[Any]) -> int:
        """Run these tests, or make these calls, and do the rest; the exit code."""
        try:
            return int(self.run.proceed(ids))
        finally:
            self.close()


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
