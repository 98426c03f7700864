"""The names of `multiprocessing` in a library that was cut: one process, and no way to start another.

Invariants: questions about the one process have answers; making a process, or anything that processes
would share, raises `Unsupported`.
Absent: the package's inner modules but for `pool`, shared memory, managers.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

from probity_standins.ledger import Unsupported


class ProcessError(Exception):
    """As in `multiprocessing`."""


class BufferTooShort(ProcessError):
    """As in `multiprocessing`."""


class TimeoutError(ProcessError):
    """As in `multiprocessing`."""


class AuthenticationError(ProcessError):
    """As in `multiprocessing`."""


class Process:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("multiprocessing.Process")


class _MainProcess(Process):
    """The process that everything runs in."""

    name, daemon, exitcode = "MainProcess", False, None

    def __init__(self) -> None:
        self.pid = self.ident = os.getpid()

    def is_alive(self) -> bool:
        """Always."""
        return True

    def __repr__(self) -> str:
        return "<_MainProcess name='MainProcess' parent=None started>"


_main = _MainProcess()


def current_process() -> Process:
    """The one process."""
    return _main


def parent_process() -> None:
    """None of which anything is known."""


def active_children() -> list[Process]:
    """None."""
    return []


def cpu_count() -> int:
    """How many processors there are."""
    return os.cpu_count() or 1


def freeze_support() -> None:
    """Nothing to do."""


def get_all_start_methods() -> list[str]:
    """None works."""
    return []


def _unsupported(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported("multiprocessing.%s" % name)

    function.__name__ = name
    return function


UNSUPPORTED = (
    "Array",
    "Barrier",
    "BoundedSemaphore",
    "Condition",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Pipe",
    "Pool",
    "Queue",
    "RLock",
    "RawArray",
    "RawValue",
    "Semaphore",
    "SimpleQueue",
    "Value",
    "get_context",
    "get_logger",
    "get_start_method",
    "log_to_stderr",
    "set_executable",
    "set_start_method",
)
globals().update((name, _unsupported(name)) for name in UNSUPPORTED)
