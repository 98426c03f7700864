"""The user database of a machine without one: every look-up fails as for an unknown user.

Invariants: errors have the wording of the real module.
Absent: users.
"""

from __future__ import annotations

from typing import NoReturn


class struct_passwd(tuple):
    """As in `pwd`; none exists."""

    __slots__ = ()


def getpwuid(uid: int, /) -> NoReturn:
    """No such user."""
    raise KeyError("getpwuid(): uid not found: %d" % uid)


def getpwnam(name: str, /) -> NoReturn:
    """No such user."""
    raise KeyError("getpwnam(): name not found: %r" % name)


def getpwall() -> list[struct_passwd]:
    """Nobody."""
    return []
