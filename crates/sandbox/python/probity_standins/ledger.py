"""Which stand-ins were used since somebody last asked, and the error for what has none.

Invariants: names are few and fixed (`threads`, `locks`, `executor`, `event-loop`, …); noting one is cheap.
Absent: counting.
"""

from __future__ import annotations

import errno

_used: set[str] = set()


class Unsupported(RuntimeError):
    """Something that this sandbox cannot do and does not pretend to."""

    def __init__(self, what: str) -> None:
        super().__init__("unsupported: " + what)


def unsupported_call(what: str) -> OSError:
    """The same as the error of a system call, which programs expect and may handle."""
    return OSError(errno.ENOTSUP, "unsupported: " + what)


def note(name: str) -> None:
    """Remember that a stand-in was used."""
    _used.add(name)


def take() -> list[str]:
    """The names noted since the last call, sorted."""
    names = sorted(_used)
    _used.clear()
    return names
