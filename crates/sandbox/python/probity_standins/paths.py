"""The empty path names nothing, as POSIX says; under WASI it would be the working folder.

Invariants: only the empty path is treated specially. Absent: `open("")`, which no wrapper of `os` sees.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from .builtin import Builtin

FUNCTIONS = ("stat", "lstat", "access", "chdir", "listdir", "scandir", "mkdir", "readlink", "unlink", "rmdir")
CAPABILITIES = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids)


def refusing_empty(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, except for the empty path."""

    def call(*args: Any, **kwargs: Any) -> Any:
        path = args[0] if args else kwargs.get("path", ".")
        if path == "" or path == b"":
            if function.__name__ == "access":
                return False
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return function(*args, **kwargs)

    return Builtin(call, function.__name__)


def install() -> None:
    """Wrap the functions of `os`, if the empty path is something."""
    try:
        os.stat("")
    except OSError:
        return
    for name in FUNCTIONS:
        function = getattr(os, name)
        wrapped = refusing_empty(function)
        setattr(os, name, wrapped)
        for capability in CAPABILITIES:
            if function in capability:
                capability.add(wrapped)
