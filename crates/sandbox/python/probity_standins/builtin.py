"""Functions that behave like built-in ones: as class attributes they do not turn into methods.

Invariants: the call goes through unchanged; name, documentation and text are those of the function.
Absent: signatures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Builtin:
    """A callable around a Python function."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self._function = function
        self.__name__ = self.__qualname__ = name or function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return "<built-in function %s>" % self.__name__
