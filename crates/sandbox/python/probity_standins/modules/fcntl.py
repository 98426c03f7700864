"""Locks on files within one process; everything else of `fcntl` is unsupported.

`flock` locks belong to an open file: a second one of the same file has to wait, or is refused. `lockf` locks
belong to the process, so within the only one there they always succeed.

Invariants: constants have Linux's values. A wait that nobody could end raises `Unsupported`. The lock of a
file that was closed is gone.
Absent: `fcntl()` and `ioctl()`, locks of duplicated descriptors.
"""

from __future__ import annotations

import errno
import os
import weakref
from typing import Any, NoReturn

from probity_standins.ledger import Unsupported, note

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW = range(8)
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2

_File = tuple[int, int]
_held: dict[int, tuple[_File, int, Any]] = {}  # by descriptor: which file, shared or exclusive, for whom


def _descriptor(fd: Any) -> int:
    number = fd if isinstance(fd, int) else fd.fileno()
    if number < 0:
        raise ValueError("file descriptor cannot be a negative integer (%d)" % number)
    return number


def _file(number: int) -> _File:
    found = os.fstat(number)
    return found.st_dev, found.st_ino


def _holder(fd: Any) -> Any:
    """A way to ask for the file object later: its number may by then mean another file."""
    try:
        return weakref.ref(fd)
    except TypeError:  # a number, for one
        return lambda: fd


def _holds(number: int, file: _File, holder: Any) -> bool:
    """Whether the descriptor is still open on the file that it locked."""
    if getattr(holder(), "closed", holder() is None):
        return False
    try:
        return _file(number) == file
    except OSError:
        return False


def flock(fd: Any, operation: int, /) -> None:
    """Lock or unlock a whole file."""
    note("file-locks")
    number = _descriptor(fd)
    file = _file(number)
    kind = operation & ~LOCK_NB
    if kind == LOCK_UN:
        _held.pop(number, None)
        return
    if kind not in (LOCK_SH, LOCK_EX):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    for other, (locked, how, holder) in list(_held.items()):
        if not _holds(other, locked, holder):
            del _held[other]
        elif other != number and locked == file and LOCK_EX in (kind, how):
            if operation & LOCK_NB:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            raise Unsupported("waiting for a lock on a file that nobody else can release")
    _held[number] = file, kind, _holder(fd)


def lockf(fd: Any, cmd: int, len: int = 0, start: int = 0, whence: int = 0, /) -> None:
    """Lock or unlock a part of a file."""
    note("file-locks")
    _file(_descriptor(fd))
    if cmd & ~LOCK_NB not in (LOCK_SH, LOCK_EX, LOCK_UN):
        raise ValueError("unrecognized lockf argument")


def fcntl(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.fcntl")


def ioctl(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.ioctl")
