"""The names of `fcntl`; every call is unsupported.

Invariants: constants have Linux's values; a call raises `Unsupported`.
Absent: locks between processes, of which there is one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from probity_standins.ledger import Unsupported

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW = range(8)
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2


def fcntl(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.fcntl")


def ioctl(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.ioctl")


def flock(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.flock")


def lockf(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("fcntl.lockf")
