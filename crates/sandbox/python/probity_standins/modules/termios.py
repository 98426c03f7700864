"""The terminal interface of a machine without terminals: every call fails as it does on a file.

Invariants: constants have Linux's values; calls raise `termios.error` with "not a typewriter", as the real
ones do on anything that is no terminal.
Absent: terminals.
"""

from __future__ import annotations

import errno
import os
from typing import Any, NoReturn

IGNBRK, BRKINT, IGNPAR, PARMRK, INPCK, ISTRIP, INLCR, IGNCR, ICRNL = (1 << bit for bit in range(9))
IXON, IXANY, IXOFF, IMAXBEL, IUTF8 = 0o2000, 0o4000, 0o10000, 0o20000, 0o40000
OPOST, ONLCR, OCRNL, ONOCR, ONLRET = 1, 4, 8, 0o20, 0o40
CSIZE, CS5, CS6, CS7, CS8, CSTOPB, CREAD, PARENB, PARODD, HUPCL, CLOCAL = (
    0o60,
    0,
    0o20,
    0o40,
    0o60,
    0o100,
    0o200,
    0o400,
    0o1000,
    0o2000,
    0o4000,
)
ISIG, ICANON, ECHO, ECHOE, ECHOK, ECHONL, NOFLSH, TOSTOP, IEXTEN = (
    1,
    2,
    8,
    0o20,
    0o40,
    0o100,
    0o200,
    0o400,
    0o100000,
)
TCSANOW, TCSADRAIN, TCSAFLUSH = 0, 1, 2
TCIFLUSH, TCOFLUSH, TCIOFLUSH = 0, 1, 2
TCOOFF, TCOON, TCIOFF, TCION = 0, 1, 2, 3
VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSTART, VSTOP, VSUSP = 0, 1, 2, 3, 4, 5, 6, 8, 9, 10
NCCS = 32
TIOCGWINSZ, TIOCSWINSZ, TIOCSTI, FIONREAD = 0x5413, 0x5414, 0x5412, 0x541B


class error(Exception):
    """As in `termios`."""


def _not_a_terminal(*args: Any) -> NoReturn:
    raise error(errno.ENOTTY, os.strerror(errno.ENOTTY))


tcgetattr = tcsetattr = tcsendbreak = tcdrain = tcflush = tcflow = tcgetwinsize = tcsetwinsize = (
    _not_a_terminal
)
