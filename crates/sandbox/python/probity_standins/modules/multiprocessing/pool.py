"""The names of `multiprocessing.pool`; making a pool, even of threads, is unsupported.

Invariants: the classes can be named and compared; making one raises `Unsupported`.
Absent: everything else.
"""

from __future__ import annotations

from typing import Any

from probity_standins.ledger import Unsupported


class Pool:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("multiprocessing.pool.%s" % type(self).__name__)


class ThreadPool(Pool):
    """Cannot be made."""
