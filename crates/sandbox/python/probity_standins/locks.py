"""Locks for one thread of execution: waiting for a held lock ends in a timeout or in an error.

The interpreter's own locks end the whole program when somebody must wait for one (WASI has no threads), so
`threading.Lock` and all that is built from it use a lock written here.

Invariants: a wait with a timeout takes that long on the (virtual) clock and fails; a wait without one can
never end, since nobody else runs, and raises `Unsupported` at once. A reentrant lock that another
(stand-in) thread holds counts as held.
Absent: C code's own locks (the import system, buffered files), which one thread never waits for.
"""

from __future__ import annotations

import _thread
import queue
import threading
from time import sleep as _sleep
from typing import NoReturn

from .ledger import Unsupported, note

_installed = False


class Lock:
    """What `threading.Lock()` returns."""

    __slots__ = ("_held", "__weakref__")

    def __init__(self) -> None:
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; False if it is held and stays so until the timeout."""
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if timeout > threading.TIMEOUT_MAX:
            raise OverflowError("timeout value is too large")
        if not self._held:
            self._held = True
            return True
        if not blocking:
            return False
        note("locks")
        if timeout == -1:
            raise Unsupported("waiting for a lock that no other thread can release")
        _sleep(timeout)
        return False

    def release(self) -> None:
        """Give the lock back."""
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self) -> bool:
        """Whether it is held."""
        return self._held

    def _at_fork_reinit(self) -> None:
        self._held = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot pickle '_thread.lock' object")

    def __repr__(self) -> str:
        return "<%s _thread.lock object at %#x>" % ("locked" if self._held else "unlocked", id(self))

    acquire_lock, release_lock, locked_lock = acquire, release, locked


class RLock(threading._PyRLock):
    """What `threading.RLock()` returns: the library's own in Python, built on the above."""


for _kind, _name in ((Lock, "lock"), (RLock, "RLock")):  # some callers look where their lock comes from
    _kind.__module__, _kind.__name__, _kind.__qualname__ = "_thread", _name, _name


def install() -> None:
    """Let every way to make a lock lead here."""
    global _installed
    if _installed:
        return
    _installed = True
    _thread.lock = _thread.LockType = _thread.allocate_lock = _thread.allocate = Lock
    threading.Lock = threading._LockType = threading._allocate_lock = Lock
    threading._CRLock = _thread.RLock = RLock
    threading._active_limbo_lock = RLock()
    queue.SimpleQueue = queue._PySimpleQueue
