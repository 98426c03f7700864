"""`ctypes.util` on a machine without libraries.

Invariants: no library is found, as the real module says where there is none.
Absent: libraries.
"""

from __future__ import annotations


def find_library(name: str) -> None:
    """None."""
