"""The names of `mmap`; mapping a file is unsupported.

Invariants: constants have Linux's values; making a map raises `Unsupported`.
Absent: maps.
"""

from __future__ import annotations

from typing import Any

from probity_standins.ledger import Unsupported

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
MAP_SHARED, MAP_PRIVATE, MAP_ANON = 1, 2, 0x20
MAP_ANONYMOUS = MAP_ANON
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
PAGESIZE = ALLOCATIONGRANULARITY = 65536
error = OSError


class mmap:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("mmap.mmap")
