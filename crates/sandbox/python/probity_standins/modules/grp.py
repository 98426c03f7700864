"""The group database of a machine without one: every look-up fails as for an unknown group.

Invariants: errors have the wording of the real module.
Absent: groups.
"""

from __future__ import annotations

from typing import NoReturn


class struct_group(tuple):
    """As in `grp`; none exists."""

    __slots__ = ()


def getgrgid(id: int) -> NoReturn:
    """No such group."""
    raise KeyError("getgrgid(): gid not found: %d" % id)


def getgrnam(name: str) -> NoReturn:
    """No such group."""
    raise KeyError("getgrnam(): name not found: %r" % name)


def getgrall() -> list[struct_group]:
    """None."""
    return []
