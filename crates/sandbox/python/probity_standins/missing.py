"""Functions of the standard library that are not there: asking for one says what this sandbox lacks.

Invariants: `hasattr` stays false, so a program with another way takes it; only the text of the
AttributeError changes.
Absent: names that Python lacks on every system.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

PROCESSES = """
    execl execle execlp execlpe execv execve execvp execvpe fork forkpty getpgid getpgrp getsid killpg nice
    pidfd_open posix_spawn posix_spawnp register_at_fork setpgid setpgrp setsid spawnl spawnle spawnlp
    spawnlpe spawnv spawnve spawnvp spawnvpe system tcgetpgrp tcsetpgrp wait wait3 wait4 waitid waitpid
    waitstatus_to_exitcode
"""
USERS = """
    chroot getgrouplist getresgid getresuid initgroups setegid seteuid setgid setgroups
    setregid setresgid setresuid setreuid setuid
"""
LACKING: tuple[tuple[ModuleType, str, str], ...] = (
    (os, "processes", PROCESSES),
    (os, "users", USERS),
    (os, "file modes", "lchmod chflags lchflags"),
    (os, "terminals", "ctermid openpty login_tty posix_openpt grantpt unlockpt ptsname"),
    (os, "pipes", "pipe pipe2 mkfifo mknod splice tee"),
    (
        os,
        "system figures",
        "getloadavg getpriority setpriority sched_getaffinity sched_setaffinity sched_getscheduler statvfs"
        " fstatvfs",
    ),
    (
        signal,
        "signals",
        "alarm getitimer pause pidfd_send_signal pthread_kill pthread_sigmask setitimer siginterrupt"
        " sigpending sigtimedwait sigwait sigwaitinfo",
    ),
    (
        socket,
        "sockets",
        "getnameinfo getprotobyname getservbyname getservbyport if_nameindex if_nametoindex sethostname"
        " recv_fds send_fds",
    ),
    (time, "clocks", "clock_settime pthread_getcpuclockid"),
    (threading, "threads", "setprofile_all_threads settrace_all_threads"),
    (hashlib, "OpenSSL", "scrypt"),
)


def asked(module: ModuleType, reasons: dict[str, str]) -> Callable[[str], Any]:
    """What the module answers to names that it lacks."""
    before = getattr(module, "__getattr__", None)

    def __getattr__(name: str) -> Any:
        if name in reasons:
            what = "unsupported: %s: module %r has no attribute %r" % (reasons[name], module.__name__, name)
            raise AttributeError(what, name=name, obj=module)
        if before is not None:
            return before(name)
        raise AttributeError("module %r has no attribute %r" % (module.__name__, name), name=name, obj=module)

    return __getattr__


def install() -> None:
    """Give the modules their answers."""
    reasons: dict[ModuleType, dict[str, str]] = {}
    for module, what, names in LACKING:
        found = reasons.setdefault(module, {})
        found.update((name, what) for name in names.split() if not hasattr(module, name))
    for module, lacking in reasons.items():
        if lacking and not hasattr(module.__dict__.get("__getattr__"), "_probity"):
            answer = asked(module, lacking)
            answer._probity = True
            module.__getattr__ = answer
