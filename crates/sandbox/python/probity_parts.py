"""A pytest session in two parts: up to the end of collection, and from there to its end.

Between them the interpreter may be put away and taken out again, as often as there are tests, so that each
runs in the state that collection left. `pytest.main` cannot be stopped in the middle, so this does what it
does with the same hooks, in the same order and with the same exit codes.

Invariants: a session that cannot go on after collection has been finished already.
Absent: `pytest_cmdline_main`, whose implementations would take the session into their own hands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import _pytest._code
import pytest
from _pytest import config as configs
from _pytest.main import Session
from _pytest.outcomes import Exit

from probity_records import text


class Parts:
    """One session."""

    def __init__(self, args: Sequence[str], plugins: Sequence[object]) -> None:
        self.args, self.plugins = list(args), list(plugins)
        self.config: Any = None
        self.session: Any = None
        self.started = False

    def collect(self) -> int | None:
        """Collect; the exit code if the session came to its end."""
        os.environ["PYTEST_VERSION"] = pytest.__version__
        try:
            prepare = configs._prepareconfig
            self.config = prepare(self.args, self.plugins, **as_main(prepare))
        except configs.ConftestImportFailure as error:
            print("ImportError while loading conftest %r." % str(error.path), file=sys.stderr)
            print(error.cause, file=sys.stderr)
            return int(pytest.ExitCode.USAGE_ERROR)
        except pytest.UsageError as error:
            return usage(error)
        self.session = Session.from_config(self.config)
        self.session.exitstatus = pytest.ExitCode.OK
        if self.guarded(self._collect) and not self.stops():
            return None
        return self.finish()

    def _collect(self) -> None:
        self.config._do_configure()
        self.config.hook.pytest_sessionstart(session=self.session)
        self.started = True
        self.config.hook.pytest_collection(session=self.session)

    def stops(self) -> bool:
        """Whether no test is to run: because none was found, or collection failed.

        What pytest makes of that, it makes now.
        """
        goes_on = self.config.option.continue_on_collection_errors or not self.session.testsfailed
        if self.session.items and goes_on:
            return False
        self.guarded(self._run)
        return True

    def proceed(self, ids: Sequence[str], chosen: Callable[[list[Any]], None]) -> int:
        """Run the tests with these ids, of which `chosen` is told, to the session's end; its exit code."""
        wanted = frozenset(ids)
        self.session.items = [item for item in self.session.items if text(item.nodeid) in wanted]
        chosen(self.session.items)
        self.guarded(self._run)
        return self.finish()

    def _run(self) -> None:
        self.config.hook.pytest_runtestloop(session=self.session)
        if self.session.testsfailed:
            self.session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self.session.testscollected == 0:
            self.session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def guarded(self, step: Callable[[], None]) -> bool:
        """Do one step; whether it ended as it should. What it raises decides the exit code."""
        session = self.session
        try:
            step()
            return True
        except pytest.UsageError as error:
            session.exitstatus = usage(error)
        except Session.Failed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        except (KeyboardInterrupt, Exit) as error:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            if getattr(error, "returncode", None) is not None:
                session.exitstatus = error.returncode
            found = _pytest._code.ExceptionInfo.from_exception(error)
            self.config.hook.pytest_keyboard_interrupt(excinfo=found)
        except BaseException as error:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            found = _pytest._code.ExceptionInfo.from_exception(error)
            self.config.notify_exception(found, self.config.option)
        return False

    def finish(self) -> int:
        """End the session; its exit code."""
        session = self.session
        os.chdir(session.startpath)
        if self.started:
            try:
                self.config.hook.pytest_sessionfinish(session=session, exitstatus=session.exitstatus)
            except Exit as error:
                if error.returncode is not None:
                    session.exitstatus = error.returncode
        self.config._ensure_unconfigure()
        return int(session.exitstatus)


def as_main(function: Callable[..., Any]) -> dict[str, str]:
    """What tells a function of pytest that `pytest.main` calls it, in versions that want to know."""
    return {"prog": "pytest.main()"} if "prog" in function.__code__.co_varnames else {}


def usage(error: pytest.UsageError) -> int:
    """Say what is wrong with the arguments."""
    for line in error.args:
        print("ERROR: %s" % line, file=sys.stderr)
    return int(pytest.ExitCode.USAGE_ERROR)
