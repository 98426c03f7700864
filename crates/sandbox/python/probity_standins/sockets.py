"""`socket.socketpair()`: two stream sockets that are connected in memory.

Event loops make such a pair to wake themselves up. The sockets are real `socket.socket` objects around a
made-up descriptor that only this module and `readiness` know.

Invariants: bytes arrive in order and never beyond the peer's buffer; reading past the end of a closed peer
gives nothing, writing to one gives EPIPE. A wait with a timeout takes that long on the (virtual) clock and
fails, as nobody else runs meanwhile; a wait without one raises `Unsupported`.
Absent: every other way to make a socket, names, datagrams, ancillary data, and files of the system under
the descriptor's number.
"""

from __future__ import annotations

import errno
import functools
import itertools
import os
import signal
import socket
import weakref
from time import sleep as _sleep
from typing import Any, NoReturn

from .ledger import Unsupported, note, unsupported_call

BUFFER = 212_992  # what Linux gives a new pair
FIRST_DESCRIPTOR = 1 << 20

_descriptors = itertools.count(FIRST_DESCRIPTOR)
by_descriptor: weakref.WeakValueDictionary[int, MemorySocket] = weakref.WeakValueDictionary()
_set_wakeup_fd = getattr(signal, "set_wakeup_fd", None)
_wakeup_fd = -1
_system_init = socket.socket.__init__


def _fail(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))


class MemorySocket(socket.socket):
    """One end of a pair."""

    def __init__(self, kind: int) -> None:
        descriptor = next(_descriptors)
        super().__init__(socket.AF_INET, kind, 0, fileno=descriptor)
        by_descriptor[descriptor] = self
        self._received = bytearray()
        self._peer: MemorySocket | None = None
        self._no_more_in = self._no_more_out = False
        self._wait: float | None = socket.getdefaulttimeout()
        self._options: dict[tuple[int, int], Any] = {}

    def readable(self) -> bool:
        """Whether a read would return at once."""
        return bool(self._received) or self._no_more_in or self._peer is None

    def writable(self) -> bool:
        """Whether a write would return at once."""
        return self._peer is None or self._no_more_out or self._room() > 0

    def hung_up(self) -> bool:
        """Whether the peer is gone."""
        return self._peer is None

    def _room(self) -> int:
        return BUFFER - len(self._peer._received) if self._peer is not None else 0

    def _block(self, ready: Any) -> None:
        """Wait until `ready()`, which only time could change."""
        if self._wait == 0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        note("sockets")
        if self._wait is None:
            raise Unsupported("waiting for a socket whose peer does not run")
        _sleep(self._wait)
        if not ready():
            raise TimeoutError("timed out")

    def _check_open(self) -> None:
        if self.fileno() == -1:
            _fail(errno.EBADF)

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Read up to so many bytes."""
        self._check_open()
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        if not self.readable():
            self._block(self.readable)
        data = bytes(self._received[:bufsize])
        if not flags & socket.MSG_PEEK:
            del self._received[:bufsize]
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0, /) -> int:
        """Read into a buffer."""
        with memoryview(buffer).cast("B") as view:
            data = self.recv(nbytes or len(view), flags)
            view[: len(data)] = data
        return len(data)

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Any]:
        """Read, with the peer's (empty) name."""
        return self.recv(bufsize, flags), None

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Write what fits into the peer's buffer."""
        self._check_open()
        if self._no_more_out or self._peer is None or self._peer._no_more_in:
            _fail(errno.EPIPE)
        if not self.writable():
            self._block(self.writable)
        with memoryview(data).cast("B") as view:
            part = view[: self._room()]
            self._peer._received += part
            return len(part)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Write everything."""
        with memoryview(data).cast("B") as view:
            sent = 0
            while sent < len(view):
                sent += self.send(view[sent:], flags)

    def shutdown(self, how: int, /) -> None:
        """End one direction or both."""
        self._check_open()
        if how not in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR):
            _fail(errno.EINVAL)
        if how != socket.SHUT_WR:
            self._no_more_in = True
        if how != socket.SHUT_RD:
            self._no_more_out = True
            if self._peer is not None:
                self._peer._no_more_in = True

    def _real_close(self) -> None:
        if self.fileno() != -1:
            self.detach()
            if self._peer is not None:
                self._peer._peer = None
                self._peer = None

    def __del__(self) -> None:
        super().detach()  # the number means nothing to the system, which must not close it
        if self._peer is not None:
            self._peer._peer = None

    def settimeout(self, value: float | None, /) -> None:
        """How long to wait."""
        if value is not None and value < 0:
            raise ValueError("Timeout value out of range")
        self._wait = value

    def gettimeout(self) -> float | None:
        """How long to wait."""
        return self._wait

    def setblocking(self, flag: bool, /) -> None:
        """Wait without end, or not at all."""
        self._wait = None if flag else 0.0

    def getblocking(self) -> bool:
        """Whether it waits at all."""
        return self._wait != 0

    timeout = property(gettimeout)

    def setsockopt(self, *args: Any) -> None:
        """Remember an option of the socket level; others are not known here."""
        self._check_open()
        if args[0] != socket.SOL_SOCKET:
            _fail(errno.ENOPROTOOPT)
        self._options[args[0], args[1]] = args[2]

    def getsockopt(self, level: int, option: int, buflen: int = 0, /) -> Any:
        """An option's value."""
        self._check_open()
        if level == socket.SOL_SOCKET and option == getattr(socket, "SO_TYPE", None):
            return int(self.type)
        return self._options.get((level, option), 0)

    def getsockname(self) -> str:
        """No name."""
        self._check_open()
        return ""

    def getpeername(self) -> str:
        """No name."""
        self._check_open()
        if self._peer is None:
            _fail(errno.ENOTCONN)
        return ""


def _unsupported(name: str) -> Any:
    def method(self: socket.socket, *args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported("socket.%s" % name)

    method.__name__ = name
    return method


NETWORK = (
    "accept",
    "bind",
    "connect",
    "connect_ex",
    "dup",
    "listen",
    "recvfrom_into",
    "recvmsg",
    "recvmsg_into",
    "sendfile",
    "sendmsg",
    "sendto",
)
PAIRS_ONLY = ("getpeername", "getsockname", "recvfrom", "setsockopt")
OPTIONS = {
    "SO_REUSEADDR": 2,
    "SO_ERROR": 4,
    "SO_BROADCAST": 6,
    "SO_SNDBUF": 7,
    "SO_RCVBUF": 8,
    "SO_KEEPALIVE": 9,
    "SO_LINGER": 13,
    "SO_REUSEPORT": 15,
}
for _name in NETWORK:
    setattr(MemorySocket, _name, _unsupported(_name))


def socketpair(
    family: int | None = None, type: int = socket.SOCK_STREAM, proto: int = 0
) -> tuple[MemorySocket, MemorySocket]:
    """Two connected sockets."""
    if type != socket.SOCK_STREAM:
        raise Unsupported("socket pairs other than streams")
    one, other = MemorySocket(type), MemorySocket(type)
    one._peer, other._peer = other, one
    return one, other


def _init(self: socket.socket, *args: Any, **kwargs: Any) -> None:
    try:
        _system_init(self, *args, **kwargs)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        raise unsupported_call("sockets") from None


def set_wakeup_fd(fd: int, /, *, warn_on_full_buffer: bool = True) -> int:
    """Remember whom a signal would wake; none comes from outside."""
    global _wakeup_fd
    if fd != -1 and fd not in by_descriptor:
        return _set_wakeup_fd(fd, warn_on_full_buffer=warn_on_full_buffer)
    _wakeup_fd, old = fd, _wakeup_fd
    return old


def install() -> None:
    """Replace `socketpair` and what needs to know its descriptors; name what sockets lack."""
    for name in (*NETWORK, *PAIRS_ONLY):
        if not hasattr(socket.socket, name):
            setattr(socket.socket, name, _unsupported(name))
    for name, value in OPTIONS.items():
        if not hasattr(socket, name):
            setattr(socket, name, value)
    socket.socketpair = socketpair
    socket.socket.__init__ = functools.wraps(_system_init)(_init)
    if _set_wakeup_fd is not None:
        signal.set_wakeup_fd = set_wakeup_fd
