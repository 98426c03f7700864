"""`webbrowser` on a machine without browsers.

Invariants: looking for one fails, and opening a page says that it did not, as the real module does where
it finds none.
Absent: browsers.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Error(Exception):
    """As in `webbrowser`."""


def register(name: str, constructor: Any, instance: Any = None, *, preferred: bool = False) -> None:
    """Nobody will ask for it."""


def get(using: str | None = None) -> NoReturn:
    """None."""
    raise Error("could not locate runnable browser")


def open(url: str, new: int = 0, autoraise: bool = True) -> bool:
    """Not opened."""
    return False


def open_new(url: str) -> bool:
    """Not opened."""
    return open(url, 1)


def open_new_tab(url: str) -> bool:
    """Not opened."""
    return open(url, 2)
