"""The names of `resource`; every call is unsupported.

Invariants: constants have Linux's values; a call raises `Unsupported`.
Absent: limits and accounting, which are the host's.
"""

from __future__ import annotations

from typing import Any, NoReturn

from probity_standins.ledger import Unsupported

error = OSError
RLIM_INFINITY = -1
(
    RLIMIT_CPU,
    RLIMIT_FSIZE,
    RLIMIT_DATA,
    RLIMIT_STACK,
    RLIMIT_CORE,
    RLIMIT_RSS,
    RLIMIT_NPROC,
    RLIMIT_NOFILE,
    RLIMIT_MEMLOCK,
    RLIMIT_AS,
) = range(10)
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1


def getrlimit(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("resource.getrlimit")


def setrlimit(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("resource.setrlimit")


def getrusage(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("resource.getrusage")


def getpagesize() -> int:
    """The size of a WebAssembly page."""
    return 65536
