"""User, group and terminal questions that WASI does not answer: one user, 0, as every file's owner says.

Invariants: only functions that `os` lacks are added. There is no terminal and no login. A file's owner can be
set to what it is.
Absent: changing any of it; functions that would change a process stay missing.
"""

from __future__ import annotations

import errno
import os
from typing import Any

from .builtin import Builtin
from .ledger import Unsupported, unsupported_call

_mask = 0o022


def _umask(mask: int, /) -> int:
    global _mask
    _mask, old = mask & 0o777, _mask
    return old


def current_umask() -> int:
    """The bits that new files are made without."""
    return _mask


def _getlogin() -> str:
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _get_terminal_size(fd: int = 1, /) -> os.terminal_size:
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _kill(pid: int, signal: int, /) -> None:
    raise Unsupported("os.kill: there are no processes")


def _chown(path: Any, uid: int, gid: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if uid not in (-1, 0) or gid not in (-1, 0):
        raise unsupported_call("users: everything belongs to user 0")


def _lchown(path: Any, uid: int, gid: int) -> None:
    _chown(path, uid, gid, follow_symlinks=False)


def _fchown(fd: int, uid: int, gid: int) -> None:
    _chown(fd, uid, gid)


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
    "chown": _chown,
    "lchown": _lchown,
    "fchown": _fchown,
}


def install() -> None:
    """Add the missing functions to `os`."""
    for name, answer in ANSWERS.items():
        if not hasattr(os, name):
            setattr(os, name, Builtin(answer, name))
