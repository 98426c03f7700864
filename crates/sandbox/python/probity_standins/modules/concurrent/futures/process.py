"""The names of `concurrent.futures.process`; there are no processes, so a pool of them is unsupported.

Invariants: the classes can be named and compared; making a pool raises `Unsupported`.
Absent: everything else.
"""

from __future__ import annotations

from concurrent.futures import _base
from typing import Any

from probity_standins.ledger import Unsupported


class BrokenProcessPool(_base.BrokenExecutor):
    """As in `concurrent.futures`."""


class ProcessPoolExecutor(_base.Executor):
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("concurrent.futures.ProcessPoolExecutor")
