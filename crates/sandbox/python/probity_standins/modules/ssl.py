"""The names of `ssl` that other modules mention when they are imported; using them is unsupported.

Invariants: classes can be named and compared; making a context or a socket raises `Unsupported`. Asking for
any other name is an `AttributeError`.
Absent: cryptography.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from probity_standins.ledger import Unsupported

HAS_SNI = HAS_ALPN = HAS_NPN = HAS_TLSv1_3 = False
OPENSSL_VERSION = "unsupported"
OPENSSL_VERSION_INFO = (0, 0, 0, 0, 0)
OPENSSL_VERSION_NUMBER = 0


class SSLError(OSError):
    """As in `ssl`."""


class SSLZeroReturnError(SSLError):
    """As in `ssl`."""


class SSLWantReadError(SSLError):
    """As in `ssl`."""


class SSLWantWriteError(SSLError):
    """As in `ssl`."""


class SSLSyscallError(SSLError):
    """As in `ssl`."""


class SSLEOFError(SSLError):
    """As in `ssl`."""


class SSLCertVerificationError(SSLError, ValueError):
    """As in `ssl`."""


CertificateError = SSLCertVerificationError


class VerifyMode(enum.IntEnum):
    """As in `ssl`."""

    CERT_NONE = 0
    CERT_OPTIONAL = 1
    CERT_REQUIRED = 2


class Purpose(enum.Enum):
    """As in `ssl`, without the object identifiers."""

    SERVER_AUTH = "serverAuth"
    CLIENT_AUTH = "clientAuth"


class _SSLMethod(enum.IntEnum):
    PROTOCOL_TLS = 2
    PROTOCOL_TLS_CLIENT = 16
    PROTOCOL_TLS_SERVER = 17


globals().update(VerifyMode.__members__)
globals().update(_SSLMethod.__members__)


class SSLContext:
    """Cannot be made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported("ssl.SSLContext")


class SSLSocket:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("ssl.SSLSocket")


class SSLObject:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("ssl.SSLObject")


class MemoryBIO:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("ssl.MemoryBIO")


def create_default_context(*args: Any, **kwargs: Any) -> NoReturn:
    """Unsupported."""
    raise Unsupported("ssl.create_default_context")


_create_default_https_context = _create_unverified_context = _create_stdlib_context = create_default_context
