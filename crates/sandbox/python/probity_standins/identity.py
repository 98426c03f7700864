"""User, group and terminal questions that WASI does not answer: one user, 0, as every file's owner says.

Invariants: only functions that `os` lacks are added. There is no terminal and no login.
Absent: changing any of it; functions that would change a process or a file's owner stay missing.
"""

from __future__ import annotations

import errno
import os

from .builtin import Builtin
from .ledger import Unsupported

_mask = 0o022


def _umask(mask: int, /) -> int:
    global _mask
    _mask, old = mask & 0o777, _mask
    return old


def _getlogin() -> str:
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _get_terminal_size(fd: int = 1, /) -> os.terminal_size:
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _kill(pid: int, signal: int, /) -> None:
    raise Unsupported("os.kill: there are no processes")


ANSWERS = {
    "getuid": lambda: 0,
    "geteuid": lambda: 0,
    "getgid": lambda: 0,
    "getegid": lambda: 0,
    "getgroups": lambda: [0],
    "getppid": lambda: 1,
    "umask": _umask,
    "getlogin": _getlogin,
    "get_terminal_size": _get_terminal_size,
    "kill": _kill,
}


def install() -> None:
    """Add the missing functions to `os`."""
    for name, answer in ANSWERS.items():
        if not hasattr(os, name):
            setattr(os, name, Builtin(answer, name))
