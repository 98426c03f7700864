"""The names of `syslog`; every call that would reach a log is unsupported.

Invariants: constants have Linux's values; a call raises `Unsupported`.
Absent: logs.
"""

from __future__ import annotations

from typing import Any, NoReturn

from probity_standins.ledger import Unsupported

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON = (
    facility << 3 for facility in range(10)
)
LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7 = (
    facility << 3 for facility in range(16, 24)
)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32


def LOG_MASK(priority: int) -> int:
    """The mask of one priority."""
    return 1 << priority


def LOG_UPTO(priority: int) -> int:
    """The mask of all priorities up to one."""
    return (1 << (priority + 1)) - 1


def syslog(*args: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("syslog.syslog")


def openlog(*args: Any, **kwargs: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("syslog.openlog")


def closelog() -> NoReturn:
    """Unsupported."""
    raise Unsupported("syslog.closelog")


def setlogmask(maskpri: int) -> NoReturn:
    """Unsupported."""
    raise Unsupported("syslog.setlogmask")
