"""unittest's own loader and suites, with every test's own completion reported as a record.

The records are those of probity_pytest.py; `runner` is "unittest", ids are what `TestCase.id()` says. The
arguments are those of `python -m unittest`: dotted names or files, `discover` with its options, or these
options alone.

    collect-error  a name, module or `load_tests` that the loader could not load; `path` is its dotted name
    collect-skip   a module that raised `SkipTest` when it was imported
    start          before the fixtures of the test's class and module, so that one that never ends is a test's
    result         failed: an assertion of the test or of a part (`subTest`); error: any other exception, also
                   of the fixtures before it (`setUpClass`, `setUpModule`); xpassed: an unexpected success
    tearDownClass (NAME), tearDownModule (NAME)
                   are ids of their own, with an error, if that fixture failed after its tests had ended

Invariants: at most one result for an id; an id that several tests share gets the worst of their outcomes,
after the last of them; a test that told nothing of itself is an error, one that was not run has no result.
The exit code is 0 only if `python -m unittest` would have ended with it.

Absent: unittest's printed report, `-c`.
"""

from __future__ import annotations

import builtins
import io
import platform
import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import loader, suite

from probity_canaries import Canaries, Canary, function_of
from probity_guard import Task, shuffled
from probity_integrity import from_its_file
from probity_records import Records, text
from probity_standins import ledger

__builtins__ = dict(vars(builtins))  # see probity_records

IDS_PER_RECORD = 1000
WORST_FIRST = ("error", "failed", "skipped", "xpassed", "xfailed", "passed")
DISCOVER = ("-s", "-p", "-t", "--start-directory", "--pattern", "--top-level-directory")
BEFORE = ("setUpClass", "setUpModule")
NO_TESTS = 5


class Capture(io.TextIOWrapper):
    """A standard stream that is kept in memory; who writes to its descriptor passes it by."""

    def __init__(self, replaced: Any, errors: str) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors=errors, newline="", write_through=True)
        self.mode, self._replaced = "w", replaced

    @property
    def name(self) -> str:
        """As that of the stream itself."""
        return self._replaced.name

    def fileno(self) -> int:
        """The descriptor of the stream itself."""
        return self._replaced.fileno()

    def take(self) -> str:
        """What was written since the last call."""
        if self.closed:
            return ""
        self.flush()
        written = self.buffer.getvalue()
        self.seek(0)
        self.truncate()
        return written.decode("utf-8", "replace")


class Kept:
    """Takes records and keeps them."""

    def __init__(self, records: Records) -> None:
        self.written: list[dict[str, Any]] = []
        self.write, self.text = self.written.append, records.text


class Result(unittest.TestResult):
    """Turns what tests tell into records."""

    def __init__(
        self,
        records: Records | Kept,
        streams: tuple[Capture, Capture],
        wanted: Counter[str],
        task: Task,
        canaries: Canaries | None = None,
    ) -> None:
        super().__init__()
        self.records, self.streams, self.wanted, self.task = records, streams, wanted, task
        self.canaries = canaries
        self.places: dict[str, int] = {}
        self.told: list[tuple[str, str]] = []
        self.open: str | None = None
        self.owners: tuple[str, ...] = ()
        self.before: tuple[str, tuple[str, str]] | None = None
        self.begun: set[str] = set()
        self.done: dict[str, list[dict[str, Any]]] = {}
        self.results = 0

    def begin(self, test: Any) -> None:
        """A test is next; its class and module may have to be set up first."""
        self.end()
        if self.shouldStop:
            return
        self.open, self.told = identity(test), []
        self.owners = owners(test)
        ledger.take()
        for stream in self.streams:
            stream.take()
        if self.open not in self.begun:
            self.begun.add(self.open)
            self.records.write({"event": "start", "id": self.open})

    def end(self) -> None:
        """The test that was begun is over, or was not run since a fixture before it failed."""
        if self.open is not None and self.before is not None and self.before[0] in self.owners:
            self.told.append(self.before[1])
            self.finish_test()
        self.open = None

    def startTest(self, test: Any) -> None:
        """The test itself begins."""
        super().startTest(test)
        if self.open != identity(test):  # somebody else ran it, not a suite that was watched
            self.begin(test)
        self.before, self.told = None, []
        if not self.task.witness.begin(identity(test), method_of(test)):
            self.task.guard.changed("the code of `%s` is not what was collected" % identity(test))

    def stopTest(self, test: Any) -> None:
        """The test has ended."""
        super().stopTest(test)
        if self.open == identity(test):
            self.finish_test()
        if isinstance(self.records, Records):
            self.task.guard.glance()
        if self.canaries is not None:
            for canary in self.canaries.take(self.places.get(identity(test), -1), dir(type(test))):
                self.run_canary(canary, test)

    def place_canaries(self, tests: list[Any]) -> None:
        """Choose the tests after which tests of ours run."""
        if self.canaries is None:
            return
        free = [at for at, test in enumerate(tests) if is_free(test)]
        self.places = {identity(tests[at]): at for at in free}
        self.records.write({"event": "canaries", "expected": self.canaries.places(free)})

    def run_canary(self, canary: Canary, beside: Any) -> None:
        """Run a test of ours as if it stood in the class of another, and report what it came to."""
        kept, outcome = Kept(self.records), "skipped"
        result = Result(kept, self.streams, Counter(), self.task)
        try:
            kind, module = type(beside), sys.modules.get(type(beside).__module__)
            space = {"__name__": kind.__module__, "unittest": unittest}
            function = function_of(canary, space, getattr(module, "__file__", None) or "test.py", None)
            own = {canary.name: function, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
            test = type(kind)(kind.__name__, (kind,), own)(canary.name)
            test.run(result)
            found = [record["outcome"] for record in kept.written if record["event"] == "result"]
            outcome = found[0] if len(found) == 1 else outcome
        except BaseException:  # a class may do as it likes with those that inherit from it
            pass
        record = {"event": "canary", "fails": canary.fails, "outcome": outcome}
        self.records.write({**record, "rewritten": False})

    def finish_test(self) -> None:
        """Write the test's result, unless another test of the same id is still to come."""
        name, self.open = self.open, None
        runs = self.done.setdefault(name, [])
        runs.append(self.result_record(name))
        wanted = max(1, self.wanted[name])
        if len(runs) > wanted:
            self.records.write({"event": "internal-error", "message": "ran again: " + name})
        elif len(runs) == wanted:
            self.records.write(min(runs, key=lambda record: WORST_FIRST.index(record["outcome"])))
            self.results += 1

    def result_record(self, name: str) -> dict[str, Any]:
        """The record of what was told of a test."""
        told = self.told or [("error", "no outcome was reported")]
        outcome = min((kind for kind, _ in told), key=WORST_FIRST.index)
        if outcome == "passed" and not self.task.witness.vouches(name):
            outcome, told = "failed", [("failed", "reported as passed, but the test did not return")]
        record: dict[str, Any] = {"event": "result", "id": name, "outcome": outcome}
        bad = "\n\n".join(what for kind, what in told if kind in ("error", "failed") and what)
        reason = "; ".join(what for kind, what in told if kind in ("skipped", "xfailed") and what)
        texts = {
            "message": bad,
            "reason": "" if bad else reason,
            "stdout": self.streams[0].take(),
            "stderr": self.streams[1].take(),
        }
        record.update((key, self.records.text(value)) for key, value in texts.items() if value)
        used = ledger.take()
        if used:
            record["standins"] = used
        return record

    def tell(self, test: Any, kind: str, what: str) -> None:
        """Note an outcome of the test that runs, or of a fixture around tests."""
        if not isinstance(test, suite._ErrorHolder):
            self.told.append((kind, what))
            return
        fixture, _, owner = test.id().rstrip(")").partition(" (")
        if fixture in BEFORE:
            if kind == "error":
                what = "%s\n\n%s" % (test.id(), what)
            self.before = (owner, (kind, what))
        elif test.id() not in self.wanted:
            self.tell_late(test.id(), kind, what)

    def tell_late(self, name: str, kind: str, what: str) -> None:
        """Report a fixture that failed when its tests had ended, as a test of its own."""
        self.wanted[name] += 1
        name = text(name)
        self.records.write({"event": "start", "id": name})
        message = self.records.text(what)
        self.records.write({"event": "result", "id": name, "outcome": kind, "message": message})
        self.results += 1

    def addSuccess(self, test: Any) -> None:
        """The test passed."""
        self.tell(test, "passed", "")

    def addError(self, test: Any, err: Any) -> None:
        """It, or a fixture, raised something."""
        super().addError(test, err)
        self.tell(test, "error", self.errors[-1][1])

    def addFailure(self, test: Any, err: Any) -> None:
        """An assertion does not hold."""
        super().addFailure(test, err)
        self.tell(test, "failed", self.failures[-1][1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """A part of the test has ended."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            what = (self.failures if failed else self.errors)[-1][1]
            self.tell(test, "failed" if failed else "error", "%s\n%s" % (subtest, what))

    def addSkip(self, test: Any, reason: str) -> None:
        """It, a part of it, or everything under a fixture was skipped."""
        super().addSkip(test, reason)
        self.tell(test, "skipped", str(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """It failed, as it was marked to."""
        super().addExpectedFailure(test, err)
        self.tell(test, "xfailed", "%s: %s" % (err[0].__name__, err[1]) if str(err[1]) else err[0].__name__)

    def addUnexpectedSuccess(self, test: Any) -> None:
        """It was marked to fail and did not."""
        super().addUnexpectedSuccess(test)
        self.tell(test, "xpassed", "")


class Watched(list):
    """The parts of a suite; says of each test when its turn has come, which is once."""

    def __init__(self, parts: list[Any], result: Result) -> None:
        super().__init__(parts)
        self.result, self.reached = result, 0

    def __iter__(self) -> Iterator[Any]:
        for index, part in enumerate(super().__iter__()):
            if index >= self.reached:
                self.reached = index + 1
                if part is not None and not is_suite(part):
                    self.result.begin(part)
            yield part


class Loader(unittest.TestLoader):
    """unittest's, but a name that raises anything is one that could not be loaded."""

    def loadTestsFromName(self, name: str, module: Any = None) -> Any:
        """The tests that a dotted name means."""
        try:
            found = super().loadTestsFromName(name, module)
        except Exception as error:
            self.errors.append(name)
            found = self.suiteClass([loader._FailedTest(name, error)])
        for test in tests_of(found):
            if not_loaded(test):
                test.probity_name = name
        return found


class Program(unittest.TestProgram):
    """The command line of `python -m unittest`, up to the loaded tests."""

    def __init__(self, args: list[str]) -> None:
        super().__init__(module=None, argv=["python -m unittest", *args], exit=False, testLoader=Loader())

    def runTests(self) -> None:
        """Not here."""


def adapt() -> None:
    """Nothing of unittest needs to be fitted to where it runs."""


def is_suite(part: Any) -> bool:
    """Whether it is made of tests, as unittest decides it."""
    try:
        iter(part)
    except TypeError:
        return False
    return True


def identity(test: Any) -> str:
    """The id of a test."""
    return text(test.id() if hasattr(test, "id") else test)


def owners(test: Any) -> tuple[str, str]:
    """The names under which fixtures of the test's class and module are reported."""
    kind = type(test)
    return "%s.%s" % (kind.__module__, kind.__qualname__), kind.__module__


def tests_of(part: Any) -> Iterator[Any]:
    """The tests of a suite, in order."""
    for inner in part:
        if is_suite(inner):
            yield from tests_of(inner)
        elif inner is not None:
            yield inner


def not_loaded(test: Any) -> bool:
    """Whether it only stands for what could not be loaded."""
    kind = type(test)
    return kind.__module__ == loader.__name__ and kind.__name__ in ("_FailedTest", "ModuleSkipped")


def report_not_loaded(test: Any, records: Records) -> None:
    """Write what could not be loaded, and why."""
    method = test._testMethodName
    name = vars(test).get("probity_name", method)
    if type(test).__name__ == "ModuleSkipped":
        reason = getattr(getattr(test, method), "__unittest_skip_why__", "")
        records.write({"event": "collect-skip", "path": text(name), "reason": records.text(reason)})
    else:
        error = test._exception  # a module's own traceback is in the text of what unittest made of it
        message = records.describe(error) if error.__traceback__ else records.text(error)
        records.write({"event": "collect-error", "path": text(name), "message": message})


def watch(part: Any, keep: Any, result: Result) -> None:
    """Leave in a suite the tests to keep, and have it say when their turn has come."""
    parts = list(part)
    if isinstance(getattr(part, "_tests", None), list):
        parts = [inner for inner in parts if is_suite(inner) or keep(inner)]
        part._tests = Watched(parts, result)
    for inner in parts:
        if is_suite(inner):
            watch(inner, keep, result)


def method_of(test: Any) -> Any:
    """What runs as the test."""
    name = getattr(test, "_testMethodName", None)
    return getattr(test, name, None) if isinstance(name, str) else None


def is_free(test: Any) -> bool:
    """Whether a test of ours can stand in its class: one that unittest runs, without a loop of its own."""
    return isinstance(test, unittest.TestCase) and type(test).run is unittest.TestCase.run


def module_problem(test: Any) -> str:
    """Why the module of a test is not what its file holds; or nothing."""
    module = sys.modules.get(type(test).__module__)
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__.partition(".")[0] in sys.stdlib_module_names | {"__main__"}:
        return ""
    return from_its_file(module, file)


def shuffle(part: Any, seed: int) -> None:
    """Put the tests of a suite into another order; those of a module and of a class stay together."""
    if isinstance(getattr(part, "_tests", None), list):
        part._tests = shuffled(part._tests, lambda test: (), seed)
        for place, inner in enumerate(part._tests):
            if is_suite(inner):
                shuffle(inner, seed + place)


def announced(program: Program, records: Records, task: Task) -> Counter[str]:
    """Report what was loaded and what could not be; the ids of the tests that are wanted."""
    if task.order is not None:
        shuffle(program.test, task.order)
    for test in tests_of(program.test):
        if not_loaded(test):
            report_not_loaded(test, records)
    names = [identity(test) for test in tests_of(program.test) if not not_loaded(test)]
    wanted = Counter(name for name in names if task.wants(name))
    unique = list(wanted)
    for start in range(0, len(unique), IDS_PER_RECORD):
        records.write({"event": "collected", "ids": unique[start : start + IDS_PER_RECORD]})
    modules = {type(test).__module__: test for test in tests_of(program.test) if not not_loaded(test)}
    for name, test in modules.items():
        problem = module_problem(test)
        if problem:
            records.tampering("the module `%s`: %s" % (name, problem))
    task.witness.expect([(identity(test), method_of(test)) for test in tests_of(program.test)])
    (task.guard.check if task.pauses else task.guard.look)()
    return wanted


def run_tests(program: Program, wanted: Counter[str], result: Result) -> None:
    """Run the wanted tests and report each."""
    result.failfast, result.tb_locals = bool(program.failfast), bool(getattr(program, "tb_locals", False))
    watch(program.test, lambda test: not not_loaded(test) and identity(test) in wanted, result)
    with warnings.catch_warnings():
        if program.warnings:
            warnings.simplefilter(program.warnings)
        result.startTestRun()
        try:
            program.test(result)
        finally:
            result.stopTestRun()
            result.end()


class Run:
    """One session of unittest, between the first and the last record."""

    def __init__(
        self,
        records: Records,
        args: list[str],
        shadowed: list[str],
        task: Task,
    ) -> None:
        self.records, self.task = records, task
        discovers = any(arg.startswith(DISCOVER) for arg in args) and args[0] != "discover"
        self.args = ["discover", *args] if discovers else args
        self.program: Program | None = None
        self.wanted: Counter[str] = Counter()
        self.first: str | None = None
        self.results = 0
        records.begin("unittest", platform.python_version(), shadowed)

    def whole(self) -> int:
        """Run all of it; its exit code."""
        code = self.guarded(self.load)
        return self.ended(self.guarded(self.test) if code is None else code)

    def collect(self) -> int | None:
        """Load the tests; the exit code if that is the end of it."""
        code = self.guarded(self.load)
        if code is None and not self.wanted:
            code = self.guarded(self.test)
        return None if code is None else self.ended(code)

    def proceed(self, ids: list[str]) -> int:
        """Run these tests; the exit code."""
        self.wanted = Counter({name: self.wanted[name] for name in ids if name in self.wanted})
        return self.ended(self.guarded(self.test))

    def load(self) -> None:
        """Load the tests and announce them."""
        self.program = Program(self.args)
        self.wanted = announced(self.program, self.records, self.task)
        self.first = next(iter(self.wanted), None) if self.task.only is None else None

    def test(self) -> int:
        """Run the wanted tests; the exit code."""
        program = self.program
        streams = Capture(sys.stdout, "strict"), Capture(sys.stderr, "backslashreplace")
        tests = [test for test in tests_of(program.test) if identity(test) in self.wanted]
        result = Result(self.records, streams, self.wanted + Counter(self.task.skip), self.task, self.canaries(tests))
        result.place_canaries(tests)
        kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = streams
        try:
            run_tests(program, self.wanted, result)
        finally:
            sys.stdout, sys.stderr = kept
            self.results = result.results
        if not result.wasSuccessful() or program.testLoader.errors:
            return 1
        return 0 if result.testsRun or result.skipped or self.task.skip else NO_TESTS

    def canaries(self, tests: list[Any]) -> Canaries | None:
        """Tests of ours among these: always, or in a unit of a suite, in one of several."""
        if self.task.canaries is None or not tests:
            return None
        found, first = Canaries("unittest", self.task.canaries), identity(tests[0])
        if self.task.pauses and first != self.first and not found.are_due(first):
            return None
        return found

    def guarded(self, step: Callable[[], int | None]) -> int | None:
        """What the step returns; an error that unittest did not handle is a record."""
        kept = list(sys.argv)
        sys.argv[:] = ["python -m unittest", *self.args]
        try:
            return step()
        except KeyboardInterrupt as error:
            self.records.write({"event": "interrupted", "message": self.records.describe(error)})
        except SystemExit as error:
            message = "unittest does not take the arguments %r (exit code %s)" % (self.args, error.code)
            self.records.write({"event": "internal-error", "message": self.records.text(message)})
        except BaseException as error:  # unittest lets only what it cannot handle escape
            self.records.write({"event": "internal-error", "message": self.records.describe(error)})
        finally:
            sys.argv[:] = kept
        return 1

    def ended(self, code: int) -> int:
        """Write the last record."""
        (self.task.guard.look if self.task.pauses else self.task.guard.check)()
        return self.records.finish(code, self.results)
