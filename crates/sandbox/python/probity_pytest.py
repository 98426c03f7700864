"""The pytest plugin that reports every test's own completion as a record.

Records, in this order (fields beside `event`):

    session        python, runner ("pytest"), runner_version, shadowed: standard library names that the
                   repository or a wheel also claims
    collect-error  path, message        a file or class could not be collected
    collect-skip   path, reason         a file or class was skipped as a whole
    collected      ids: at most 1000; as many records as needed
    start          id
    result         id, outcome (passed, failed, error, skipped, xfailed, xpassed), and where not empty:
                   message, reason (of a skip or an expected failure), stdout, stderr, standins: the
                   names of the stand-ins that were used between start and result
    internal-error message              pytest or this plugin broke; the session is not to be trusted
    interrupted    message              the session was stopped from inside
    finish         exit (pytest's code), tests (number of results)
    canaries       expected: how many tests of ours there are to be (probity_canaries.py)
    canary         fails, outcome, rewritten
    tampering      message              somebody laid hands on the runner (probity_integrity.py)

Invariants: at most one result for an id, written after its teardown; an id that several tests share gets
the worst of their outcomes, after the last of them; an outcome is taken from the outermost place of
pytest's report hook, and a test that raised but is reported as passed, or whose code did not return
(probity_witness.py), counts as failed; an error inside the plugin is a record and ends the session, never a
pass. No result is written for a test that did not complete.

Absent: terminal output (pytest's own goes to stdout).
"""

from __future__ import annotations

import builtins
import sys
import unittest
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from _pytest import capture, doctest, runner
from _pytest.assertion import rewrite

import probity_canaries
from probity_canaries import Canaries, Canary, function_of
from probity_guard import Task, shuffled
from probity_integrity import from_its_file, impostors
from probity_parts import Parts
from probity_records import Records, text
from probity_standins import ledger

__builtins__ = dict(vars(builtins))  # see probity_records

IDS_PER_RECORD = 1000
NOT_RETURNED = "reported as passed, but the test did not return"
LAST_ERROR = ("last_exc", "last_type", "last_value", "last_traceback")
NO_MODULES = (pytest.Package, doctest.DoctestModule, doctest.DoctestTextfile)
WORST_FIRST = ("error", "failed", "skipped", "xpassed", "xfailed", "passed")


@dataclass
class Finding:
    """What is known so far about one run of one test."""

    phases: dict[str, pytest.TestReport] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)
    skipped_part: bool = False
    failed_part: pytest.TestReport | None = None

    def outcome(self) -> str:
        """The verdict over set-up, call and teardown."""
        setup, call, teardown = (self.phases.get(when) for when in ("setup", "call", "teardown"))
        if setup is None or teardown is None or setup.failed or teardown.failed:
            return "error"
        if setup.skipped:
            return "xfailed" if hasattr(setup, "wasxfail") else "skipped"
        if call is None:
            return "error"
        if call.failed or self.failed_part is not None or self.hidden():
            return "failed"
        if call.skipped:
            return "xfailed" if hasattr(call, "wasxfail") else "skipped"
        return "xpassed" if hasattr(call, "wasxfail") else "passed"

    def hidden(self) -> list[str]:
        """The phases that raised although their reports now say that they passed."""
        return [
            when
            for when, report in self.phases.items()
            if report.passed and when in self.raised and not hasattr(report, "wasxfail")
        ]

    def message(self) -> str:
        """Every failure's own text, in order."""
        parts = [report.longreprtext for report in self.phases.values() if report.failed]
        if self.failed_part is not None and not parts:
            parts.append(self.failed_part.longreprtext)
        parts.extend(
            "reported as passed, but %s raised %s" % (when, self.raised[when]) for when in self.hidden()
        )
        missing = [when for when in ("setup", "teardown") if when not in self.phases]
        parts.extend("no report of %s" % when for when in missing)
        return "\n\n".join(parts)

    def reason(self) -> str:
        """Why it was skipped, or expected to fail."""
        for report in self.phases.values():
            if hasattr(report, "wasxfail"):
                return str(report.wasxfail)
            if report.skipped:
                return skip_reason(report)
        return ""


class Reporter:
    """The plugin object."""

    def __init__(self, records: Records, task: Task) -> None:
        self.records, self.task = records, task
        self.witness, self.guard = task.witness, task.guard
        self.canaries = None if task.canaries is None else Canaries("pytest", task.canaries)
        self.places: dict[int, int] = {}
        self.config: pytest.Config | None = None
        self.first: str | None = None
        self.current: dict[str, Finding] = {}
        self.done: dict[str, list[dict[str, Any]]] = {}
        self.wanted: Counter[str] = Counter()
        self.results = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        with self.guarded():
            if report.failed:
                self.records.write(
                    {
                        "event": "collect-error",
                        "path": text(report.nodeid),
                        "message": self.records.text(report.longreprtext),
                    }
                )
            elif report.skipped:
                self.records.write(
                    {
                        "event": "collect-skip",
                        "path": text(report.nodeid),
                        "reason": self.records.text(skip_reason(report)),
                    }
                )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.task.order is not None:
            items[:] = shuffled(items, path_of, self.task.order)
        items[:] = [item for item in items if self.task.wants(text(item.nodeid))]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        with self.guarded():
            ids = [item.nodeid for item in session.items]
            self.wanted = Counter(ids)
            unique = list(self.wanted)
            for start in range(0, len(unique), IDS_PER_RECORD):
                part = unique[start : start + IDS_PER_RECORD]
                self.records.write({"event": "collected", "ids": [text(i) for i in part]})
            self.check_modules(session.items)
            self.witness.expect([(item.nodeid, getattr(item, "obj", None)) for item in session.items])
            (self.guard.check if self.task.pauses else self.guard.look)()
            if session.items and self.task.only is None:
                self.first = session.items[0].nodeid
            if not self.task.pauses:
                self.place_canaries(session.items)

    def check_modules(self, items: list[pytest.Item]) -> None:
        """Report modules of tests that are not what their files hold."""
        modules = {id(part): part for part in (item.getparent(pytest.Module) for item in items) if part}
        for part in modules.values():
            if isinstance(part, NO_MODULES) or not isinstance(part.obj, ModuleType):
                continue
            problem = from_its_file(part.obj, str(part.path))
            if problem:
                self.records.tampering("the module of `%s`: %s" % (part.nodeid, problem))
        for folder in sorted({str(part.path.parent) for part in modules.values() if part.path.is_file()}):
            for name in impostors(folder):
                self.records.tampering("a module `%s` stands in the place of the file in `%s`" % (name, folder))

    def place_canaries(self, items: list[pytest.Item]) -> None:
        """Choose the tests before which tests of ours run: all, or in a unit of a suite, in one of several."""
        if self.canaries is None or not items:
            return
        first = items[0].nodeid
        if self.task.pauses and first != self.first and not self.canaries.are_due(first):
            return
        free = [at for at, item in enumerate(items) if is_free(item, items[at - 1] if at else None)]
        self.places = {id(items[at]): at for at in free}
        self.records.write({"event": "canaries", "expected": self.canaries.places(free)})

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        place = self.places.get(id(item))
        if place is not None and self.canaries is not None:
            with self.guarded():
                module = item.getparent(pytest.Module)
                for canary in self.canaries.take(place, list(vars(module.obj))):
                    self.run_canary(canary, module, item)
        return (yield)

    def run_canary(self, canary: Canary, module: pytest.Module, before: pytest.Item) -> None:
        """Run a test of ours as if it stood in the module, and report what it came to."""
        kept = {name: vars(sys)[name] for name in LAST_ERROR if name in vars(sys)}
        finding, problem = Finding(), ""
        try:
            space = {"__name__": module.obj.__name__, "__file__": str(module.path)}
            space.update({"pytest": pytest, "unittest": unittest, "@py_builtins": builtins, "@pytest_ar": rewrite})
            rewrites = module.config.option.assertmode == "rewrite"
            function = function_of(canary, space, str(module.path), rewrite_assertions if rewrites else None)
            item = pytest.Function.from_parent(module, name=canary.name, callobj=function)
            item.repr_failure = lambda error: error.exconly()  # nobody reads it
            self.current[item.nodeid] = finding
            self.witness.begin(item.nodeid, function)
            runner.runtestprotocol(item, log=False, nextitem=before)
            self.current.pop(item.nodeid, None)
        except BaseException as error:  # whatever a fixture or hook of the suite does here, it does to real tests
            problem = type(error).__name__
            before.session._setupstate.teardown_exact(before)
        for name in LAST_ERROR:
            vars(sys).pop(name, None)
        vars(sys).update(kept)
        ledger.take()
        outcome = "skipped" if problem else finding.outcome()
        record = {"event": "canary", "fails": canary.fails, "outcome": outcome}
        self.records.write({**record, "rewritten": bool(finding.hidden())})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        with self.guarded():
            if item.nodeid in self.current and item.nodeid in self.wanted:
                if not self.witness.begin(item.nodeid, getattr(item, "obj", None)):
                    self.records.tampering("the code of `%s` is not what was collected" % item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.config = session.config

    def check_registered(self) -> None:
        """Report hooks of ours that pytest no longer calls."""
        hooks = self.config.hook if self.config else None
        for name, own in vars(Reporter).items() if hooks else ():
            if not name.startswith("pytest_"):
                continue
            impls = [impl for impl in getattr(hooks, name).get_hookimpls() if impl.plugin is self]
            if [getattr(impl.function, "__func__", None) for impl in impls] != [own]:
                self.records.tampering("the hook `%s` of the reporter was taken away" % name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        with self.guarded():
            (self.guard.look if self.task.pauses else self.guard.check)()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self.guarded():
            self.current[nodeid] = Finding()
            ledger.take()
            if nodeid not in self.done:
                self.records.write({"event": "start", "id": text(nodeid)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        raised = call.excinfo
        report = yield
        with self.guarded():
            finding = self.current.setdefault(item.nodeid, Finding())
            if call.when == "setup":
                finding.phases.clear()
                finding.raised.clear()
                finding.failed_part = None
            finding.phases[report.when] = report
            if raised is not None:
                finding.raised[report.when] = raised.exconly()
            elif finding.skipped_part:  # the report of a subtest came first, this is the whole test's
                finding.raised.pop(report.when, None)
            finding.skipped_part = raised is not None and isinstance(raised.value, pytest.skip.Exception)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        with self.guarded():
            finding = self.current.setdefault(report.nodeid, Finding())
            if hasattr(report, "context"):  # one part of a test with subtests
                if report.failed and finding.failed_part is None:
                    finding.failed_part = report
            else:
                finding.phases.setdefault(report.when, report)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self.guarded():
            self.finish_test(nodeid)
            self.guard.glance()

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.records.write({"event": "internal-error", "message": self.records.describe(excinfo.value)})

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.records.write({"event": "interrupted", "message": self.records.text(excinfo.exconly())})

    def finish_test(self, nodeid: str) -> None:
        """Write the test's result, unless another test of the same id is still to come."""
        finding = self.current.pop(nodeid, None)
        if finding is None or not finding.phases:
            return
        runs = self.done.setdefault(nodeid, [])
        runs.append(self.result_record(nodeid, finding))
        wanted = max(1, self.wanted[nodeid])
        if len(runs) > wanted:
            self.records.write({"event": "internal-error", "message": "ran again: " + text(nodeid)})
        elif len(runs) == wanted:
            self.records.write(min(runs, key=lambda record: WORST_FIRST.index(record["outcome"])))
            self.results += 1

    def result_record(self, nodeid: str, finding: Finding) -> dict[str, Any]:
        """The record of a completed test."""
        outcome = finding.outcome()
        if outcome == "passed" and not self.witness.vouches(nodeid):
            outcome = "failed"
        last = list(finding.phases.values())[-1]
        record: dict[str, Any] = {"event": "result", "id": text(nodeid), "outcome": outcome}
        texts = {
            "message": (finding.message() or NOT_RETURNED) if outcome in ("failed", "error") else "",
            "reason": finding.reason(),
            "stdout": last.capstdout,
            "stderr": last.capstderr,
        }
        record.update((name, self.records.text(value)) for name, value in texts.items() if value)
        used = ledger.take()
        if used:
            record["standins"] = used
        return record

    def guarded(self) -> Guarded:
        """A block whose errors become a record and go on."""
        return Guarded(self.records)


class Guarded:
    """Reports an error that leaves the block; never hides it."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.records.write({"event": "internal-error", "message": self.records.describe(error)})


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The reason in a skip's report, without the place."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return report.longreprtext


def capture_through_sys() -> None:
    """Let the `capfd` fixtures capture what goes through `sys.stdout`.

    WASI cannot redirect a descriptor. What is written past `sys.stdout` stays uncaptured, so a test that
    asserts such output fails.
    """

    def noting(kind: Any) -> Any:
        class Noting(kind):
            def __init__(self, descriptor: int) -> None:
                ledger.note("capfd")
                super().__init__(descriptor)

        return Noting

    if not issubclass(capture.FDCapture, capture.SysCapture):
        capture.FDCapture = noting(capture.SysCapture)
        capture.FDCaptureBinary = noting(capture.SysCaptureBinary)


def explain_whole() -> None:
    """Let failed assertions be explained to the end, as pytest itself does where it sees a CI."""
    for name, module in list(sys.modules.items()):
        if name.startswith("_pytest.assertion") or name == "_pytest.compat":
            if hasattr(module, "running_on_ci"):
                module.running_on_ci = on_ci


def on_ci() -> bool:
    """Yes."""
    return True


def path_of(item: pytest.Item) -> tuple[str, ...]:
    """File, classes and name of a test, by which tests stay together when they are shuffled."""
    nodes = [node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))]
    return (str(item.path), *nodes)


def is_free(item: pytest.Item, before: pytest.Item | None) -> bool:
    """Whether a function of the same module can run before the test: nothing but the module is set up then."""
    module = item.getparent(pytest.Module)
    if not isinstance(item, pytest.Function) or module is None or isinstance(module, NO_MODULES):
        return False
    alone = before is None or before.getparent(pytest.Module) is not module
    marks = {mark.name for mark in module.iter_markers()}
    return (item.parent is module or alone) and not marks & {"skip", "skipif", "xfail"}


def rewrite_assertions(tree: Any, source: bytes) -> None:
    """Make of assertions what pytest makes of them."""
    rewrite.rewrite_asserts(tree, source)


def adapt() -> None:
    """Fit pytest to where it runs."""
    capture_through_sys()
    explain_whole()


def prepare() -> None:
    """Do what sessions that begin in a snapshot need not do."""
    probity_canaries.prepare("pytest", rewrite_assertions)


class Run:
    """One session with the plugin, between the first and the last record."""

    def __init__(
        self,
        records: Records,
        args: list[str],
        shadowed: list[str],
        task: Task,
    ) -> None:
        self.records, self.args, self.guard = records, args, task.guard
        self.reporter = Reporter(records, task)
        self.parts = Parts(args, [self.reporter])
        records.begin("pytest", pytest.__version__, shadowed)

    def whole(self) -> int:
        """Run all of it; pytest's exit code."""
        return self.ended(self.broken_by(lambda: int(pytest.main(self.args, plugins=[self.reporter]))))

    def collect(self) -> int | None:
        """Run it up to the end of collection; the exit code if it came to its end."""
        code = self.broken_by(self.parts.collect)
        return None if code is None else self.ended(code)

    def proceed(self, ids: list[str]) -> int:
        """Run these tests and the rest of it; pytest's exit code."""
        return self.ended(self.broken_by(lambda: self.parts.proceed(ids, self.reporter.place_canaries)))

    def broken_by(self, step: Callable[[], int | None]) -> int | None:
        """What the step returns; an error that pytest did not handle is a record."""
        try:
            return step()
        except BaseException as error:
            self.records.write({"event": "internal-error", "message": self.records.describe(error)})
            return int(pytest.ExitCode.INTERNAL_ERROR)

    def ended(self, code: int) -> int:
        """Write the last record."""
        with self.reporter.guarded():
            self.guard.look()
            self.reporter.check_registered()
        return self.records.finish(code, self.reporter.results)
