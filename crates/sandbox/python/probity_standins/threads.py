"""Threads that run to their end inside `start()`.

Invariants: a body sees its own `current_thread()`, `get_ident()`, thread-local data and context variables,
and no running event loop, as a real thread does; the starter's are back when it ends. The result is what a
real machine shows when its scheduler favours the new thread. A body that waits for its starter cannot go on
and gets `Unsupported`.
Absent: interleaving, `threading.Timer` (it would fire before it can be cancelled), native ids.
"""

from __future__ import annotations

import _thread
import _threading_local
import contextvars
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from .builtin import Builtin
from .ledger import Unsupported, note
from .locks import Lock

_installed = False
_main_ident = _thread.get_ident()
_idents = itertools.count(_main_ident + 1)
_running = [_main_ident]
_sentinels: dict[int, Lock] = {}
_has_handles = hasattr(threading, "_start_joinable_thread")  # otherwise a thread is joined by a lock


class Handle:
    """What `threading` keeps to wait for a thread."""

    def __init__(self) -> None:
        self.ident = 0
        self._done = False

    def is_done(self) -> bool:
        """Whether the body has ended."""
        return self._done

    def _set_done(self) -> None:
        self._done = True

    def join(self, timeout: float | None = -1, /) -> None:
        """Return if the body has ended; a thread that has not is the caller or one of its callers."""
        if not self._done:
            raise RuntimeError("Cannot join current thread")


class WaitingHandle(Handle):
    """A thread that waits for work until somebody joins it."""

    def __init__(self, ident: int) -> None:
        super().__init__()
        self.ident = ident

    def join(self, timeout: float | None = -1, /) -> None:
        """End the thread."""
        self._done = True
        threading._active.pop(self.ident, None)


class WaitingLock(Lock):
    """The same for an interpreter that joins a thread by taking the lock which it holds."""

    __slots__ = ("ident",)

    def __init__(self, ident: int) -> None:
        super().__init__()
        self.ident = ident
        super().acquire()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """End the thread if somebody waits for it."""
        if blocking and self._held:
            threading._active.pop(self.ident, None)
            self.release()
        return super().acquire(blocking, timeout)


def waiting_thread(name: str, ident: int) -> threading.Thread:
    """A thread that counts as started and waits for work."""
    thread = threading.Thread(name=name, target=None)
    thread._ident = ident
    if _has_handles:
        thread._os_thread_handle = WaitingHandle(ident)
    else:
        thread._tstate_lock = WaitingLock(ident)
    thread._started.set()
    return thread


def set_sentinel() -> Lock:
    """The lock that the running thread holds until it has ended."""
    lock = _sentinels[get_ident()] = Lock()
    return lock


def get_ident() -> int:
    """The identity of the body that runs."""
    return _running[-1]


def new_ident() -> int:
    """An identity that no thread has had."""
    return next(_idents)


def run_as(ident: int, body: Callable[[], Any]) -> None:
    """Run the body under the identity, apart from the caller's event loop."""
    events = sys.modules.get("asyncio.events")
    loop = events._get_running_loop() if events else None
    if loop is not None:
        events._set_running_loop(None)
    _running.append(ident)
    try:
        body()
    finally:
        _running.pop()
        if loop is not None:
            events._set_running_loop(loop)


def start_joinable_thread(
    function: Callable[[], Any], handle: Handle | None = None, daemon: bool = True
) -> Handle:
    """What `threading.Thread.start` calls."""
    note("threads")
    handle = handle or Handle()
    handle.ident = new_ident()
    try:
        run_as(handle.ident, function)
    finally:
        handle._set_done()
    return handle


def start_new_thread(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /
) -> int:
    """The low-level way to start a thread."""
    note("threads")
    ident = new_ident()

    def body() -> None:
        try:
            contextvars.Context().run(function, *args, **(kwargs or {}))
        except SystemExit:
            pass
        except BaseException as error:
            sys.unraisablehook(_Unraisable(error, function))

    try:
        run_as(ident, body)
    finally:
        sentinel = _sentinels.pop(ident, None)
        if sentinel is not None and sentinel.locked():
            sentinel.release()
    return ident


class _Unraisable:
    """The argument of `sys.unraisablehook`."""

    def __init__(self, error: BaseException, function: Callable[..., Any]) -> None:
        self.exc_type, self.exc_value, self.exc_traceback = type(error), error, error.__traceback__
        self.err_msg, self.object = "Exception ignored in thread started by %r" % (function,), None


def _start_timer(timer: threading.Timer) -> NoReturn:
    raise Unsupported("threading.Timer")


def install() -> None:
    """Let `threading` and `_thread` start threads here."""
    global _installed
    if _installed:
        return
    _installed = True
    _thread.get_ident = threading.get_ident = Builtin(get_ident)
    _thread.start_new_thread = _thread.start_new = Builtin(start_new_thread)
    if _has_handles:
        _thread.start_joinable_thread = threading._start_joinable_thread = Builtin(start_joinable_thread)
        _thread._ThreadHandle = threading._ThreadHandle = Handle
    else:
        threading._start_new_thread = _thread.start_new_thread
        threading._set_sentinel = _thread._set_sentinel = Builtin(set_sentinel)
        threading.main_thread()._tstate_lock = set_sentinel()
        threading.main_thread()._tstate_lock.acquire()
    _thread._local = threading.local = _threading_local.local
    threading.Timer.start = _start_timer
