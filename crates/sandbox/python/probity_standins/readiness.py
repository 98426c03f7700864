"""`select`, `poll` and `kqueue` that also know the sockets of `sockets`.

Invariants: asked about real descriptors only, `select` and `poll` are the interpreter's. Otherwise nothing
can become ready while one waits, so a wait with a timeout takes that long on the (virtual) clock and then
answers; a wait without one raises `Unsupported` unless something is ready.
Absent: `epoll`, which only Linux has; edge-triggered waiting; real descriptors in one wait with memory
sockets.
"""

from __future__ import annotations

import errno
import os
import select as system
from time import sleep as _sleep
from typing import Any

from .builtin import Builtin
from .ledger import Unsupported, note
from .sockets import FIRST_DESCRIPTOR, by_descriptor

_select, _poll = system.select, system.poll
KQUEUE = {
    "KQ_FILTER_READ": -1,
    "KQ_FILTER_WRITE": -2,
    "KQ_EV_ADD": 1,
    "KQ_EV_DELETE": 2,
    "KQ_EV_ENABLE": 4,
    "KQ_EV_DISABLE": 8,
    "KQ_EV_ONESHOT": 0x10,
    "KQ_EV_CLEAR": 0x20,
    "KQ_EV_EOF": 0x8000,
    "KQ_EV_ERROR": 0x4000,
}


def descriptor(file: Any) -> int:
    """The number of a file object, or the number itself."""
    number = file if isinstance(file, int) else file.fileno()
    if number < 0:
        raise ValueError("file descriptor cannot be a negative integer (%d)" % number)
    return number


def sleep(seconds: float | None) -> None:
    """Let the time pass in which nothing becomes ready."""
    if seconds is None:
        raise Unsupported("waiting for sockets without a timeout")
    if seconds > 0:
        _sleep(seconds)


def select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /) -> tuple[list, list, list]:
    """What is readable, writable, exceptional."""
    rlist, wlist, xlist = list(rlist), list(wlist), list(xlist)
    if all(descriptor(file) < FIRST_DESCRIPTOR for file in (*rlist, *wlist, *xlist)):
        return _select(rlist, wlist, xlist, timeout)
    note("sockets")

    def ready(files: list, test: str) -> list:
        found = ((file, by_descriptor.get(descriptor(file))) for file in files)
        return [file for file, end in found if end is not None and getattr(end, test)()]

    for last in (False, True):
        answer = ready(rlist, "readable"), ready(wlist, "writable"), []
        if any(answer) or last:
            return answer
        sleep(timeout)
    raise AssertionError("unreachable")


class Registry:
    """Descriptors with the events that somebody wants to know of, numbered as for `poll`."""

    IN, OUT, ERROR, HANG_UP, INVALID = 1, 4, 8, 0x10, 0x20

    def __init__(self) -> None:
        self.wanted: dict[int, int] = {}

    def ready(self) -> list[tuple[int, int]]:
        """The descriptors with something to report."""
        return [(number, events) for number, events in ((n, self.events(n)) for n in self.wanted) if events]

    def events(self, number: int) -> int:
        """What holds now for a descriptor, of what is wanted."""
        end = by_descriptor.get(number)
        if end is None:
            return self.INVALID
        found = (self.IN if end.readable() else 0) | (self.OUT if end.writable() else 0)
        return (found & self.wanted[number]) | (self.HANG_UP if end.hung_up() else 0)

    def wait(self, seconds: float | None) -> list[tuple[int, int]]:
        """The ready ones, now or after the time."""
        note("sockets")
        found = self.ready()
        if not found:
            sleep(seconds)
            found = self.ready()
        return found


class Poll(Registry):
    """What `select.poll()` returns."""

    IN, OUT = system.POLLIN, system.POLLOUT
    ERROR, HANG_UP, INVALID = system.POLLERR, system.POLLHUP, system.POLLNVAL

    def register(self, fd: Any, eventmask: int = system.POLLIN | system.POLLPRI | system.POLLOUT, /) -> None:
        """Watch a descriptor."""
        self.wanted[descriptor(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int, /) -> None:
        """Watch it for something else."""
        if descriptor(fd) not in self.wanted:
            raise FileNotFoundError(2, "No such file or directory")
        self.wanted[descriptor(fd)] = eventmask

    def unregister(self, fd: Any, /) -> None:
        """Watch it no longer."""
        del self.wanted[descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Wait for so many milliseconds; negative or None is without end."""
        if self.wanted and all(number < FIRST_DESCRIPTOR for number in self.wanted):
            real = _poll()
            for number, events in self.wanted.items():
                real.register(number, events)
            return real.poll(timeout)
        return self.wait(None if timeout is None or timeout < 0 else timeout / 1000)


class KEvent:
    """What `select.kevent()` returns."""

    def __init__(
        self, ident: Any, filter: int = -1, flags: int = 1, fflags: int = 0, data: int = 0, udata: int = 0
    ) -> None:
        self.ident, self.filter, self.flags = descriptor(ident), filter, flags
        self.fflags, self.data, self.udata = fflags, data, udata

    def _key(self) -> tuple[int, ...]:
        return self.ident, self.filter, self.flags, self.fflags, self.data, self.udata

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, KEvent) else NotImplemented

    __hash__ = None

    def __repr__(self) -> str:
        return "<select.kevent ident=%d filter=%d flags=%#x fflags=%#x data=%#x udata=%#x>" % self._key()


class KQueue:
    """What `select.kqueue()` returns: the BSDs' way to wait, since `sys.platform` is not "linux"."""

    def __init__(self) -> None:
        self.closed = False
        self._watched: dict[tuple[int, int], KEvent] = {}

    def control(self, changelist: Any, max_events: int, timeout: float | None = None, /) -> list[KEvent]:
        """Change what is watched, then wait for so many seconds; None is without end."""
        if self.closed:
            raise ValueError("I/O operation on closed kqueue object")
        for change in changelist or ():
            self._change(change)
        if max_events == 0:
            return []
        note("sockets")
        found = self._ready()
        if not found:
            sleep(timeout)
            found = self._ready()
        for event in found[:max_events]:
            if event.flags & KQUEUE["KQ_EV_ONESHOT"]:
                del self._watched[event.ident, event.filter]
        return found[:max_events]

    def _change(self, change: KEvent) -> None:
        key = change.ident, change.filter
        if change.flags & KQUEUE["KQ_EV_ADD"]:
            if change.filter not in (KQUEUE["KQ_FILTER_READ"], KQUEUE["KQ_FILTER_WRITE"]):
                raise Unsupported("kqueue filters other than read and write")
            if change.ident not in by_descriptor:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._watched[key] = change
        elif change.flags & KQUEUE["KQ_EV_DELETE"] and self._watched.pop(key, None) is None:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    def _ready(self) -> list[KEvent]:
        found = []
        for (number, kind), watched in list(self._watched.items()):
            end = by_descriptor.get(number)
            if end is None:
                del self._watched[number, kind]
            elif end.readable() if kind == KQUEUE["KQ_FILTER_READ"] else end.writable():
                over = KQUEUE["KQ_EV_EOF"] if end.hung_up() else 0
                found.append(KEvent(number, kind, watched.flags | over, 0, 0, watched.udata))
        return found

    def close(self) -> None:
        """Forget everything."""
        self.closed = True
        self._watched.clear()

    def fileno(self) -> int:
        """Unsupported: it cannot itself be waited for."""
        raise Unsupported("the descriptor of a kqueue object")


def install() -> None:
    """Replace the functions of `select`, and let `selectors` use them."""
    system.select, system.poll = Builtin(select), Poll
    if not hasattr(system, "epoll") and not hasattr(system, "kqueue"):
        system.kqueue, system.kevent = KQueue, KEvent
        for name, value in KQUEUE.items():
            setattr(system, name, value)
    import selectors

    selectors.SelectSelector._select = system.select
    if hasattr(selectors, "PollSelector"):
        selectors.PollSelector._selector_cls = Poll
