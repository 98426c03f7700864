"""Copies of file descriptors, which WASI cannot make: the error says so.

Invariants: a call that works is the interpreter's own.
Absent: copies. Redirecting standard output is what most callers want; that goes through `sys.stdout` here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from .builtin import Builtin
from .ledger import unsupported_call


def _explained(function: Callable[..., int]) -> Builtin:
    def call(*args: Any, **kwargs: Any) -> int:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            raise unsupported_call("descriptors: os.%s" % function.__name__) from None

    return Builtin(call, function.__name__)


def install() -> None:
    """Wrap `os.dup` and `os.dup2`."""
    for name in ("dup", "dup2"):
        if hasattr(os, name) and not isinstance(getattr(os, name), Builtin):
            setattr(os, name, _explained(getattr(os, name)))
