"""Host names and IPv6 addresses, as on a machine without a network.

Invariants: looking a name up fails as it does when there is no resolver. IPv6 addresses convert as RFC 4291
and RFC 5952 say (computed by `ipaddress`), which the interpreter's socket module refuses; other families go
to the original functions. The machine's own name is the one that `os.uname` tells.
Absent: names, interfaces, scopes; even "localhost" is unknown.
"""

from __future__ import annotations

import _socket
import ipaddress
import os
import socket
from typing import NoReturn

from .builtin import Builtin

AI_PASSIVE = 1
_pton = getattr(socket, "inet_pton", None)
_ntop = getattr(socket, "inet_ntop", None)


def inet_pton(address_family: int, ip_string: str, /) -> bytes:
    """The packed form of an address."""
    if address_family != socket.AF_INET6:
        return _pton(address_family, ip_string)
    try:
        if "%" in ip_string:
            raise ValueError
        return ipaddress.IPv6Address(ip_string).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(address_family: int, packed_ip: bytes, /) -> str:
    """The text form of a packed address."""
    if address_family != socket.AF_INET6:
        return _ntop(address_family, packed_ip)
    if len(packed_ip) != 16:
        raise ValueError("invalid length of packed IP address string")
    address = ipaddress.IPv6Address(bytes(packed_ip))
    if address.ipv4_mapped is not None:
        return "::ffff:%s" % address.ipv4_mapped
    return str(address)


def inet_ntoa(packed_ip: bytes, /) -> str:
    """The text form of a packed IPv4 address."""
    if len(packed_ip) != 4:
        raise OSError("packed IP wrong length")
    return str(ipaddress.IPv4Address(bytes(packed_ip)))


def gethostname() -> str:
    """The machine's name."""
    return os.uname().nodename


def gethostbyaddr(ip_address: str, /) -> NoReturn:
    """Unknown, as any address is here."""
    raise socket.herror(1, "Unknown host")


def gethostbyname(hostname: str, /) -> NoReturn:
    """Unknown, as any name is here."""
    raise socket.gaierror(-2, "Name or service not known")


def getaddrinfo(
    host: str | bytes | None,
    port: str | bytes | int | None,
    family: int = 0,
    type: int = 0,
    proto: int = 0,
    flags: int = 0,
) -> list[tuple[int, int, int, str, tuple]]:
    """The ways to reach a numeric address and port, or this machine itself; names are unknown."""
    try:
        number = int(port or 0)
    except ValueError:
        raise socket.gaierror(-8, "Servname not supported for ai_socktype") from None
    if host is None:
        found = ipaddress.ip_address("0.0.0.0" if flags & AI_PASSIVE else "127.0.0.1")
    else:
        try:
            found = ipaddress.ip_address(host.decode("ascii") if isinstance(host, bytes) else host)
        except ValueError:
            raise socket.gaierror(-2, "Name or service not known") from None
    own = socket.AF_INET if found.version == 4 else socket.AF_INET6
    if family not in (0, own):
        raise socket.gaierror(-9, "Address family for hostname not supported")
    place = (str(found), number) if found.version == 4 else (str(found), number, 0, 0)
    kinds = [(socket.SOCK_STREAM, 6), (socket.SOCK_DGRAM, 17)]
    return [
        (own, kind, protocol, "", place)
        for kind, protocol in kinds
        if type in (0, kind) and proto in (0, protocol)
    ]


def _works() -> bool:
    try:
        return _pton(socket.AF_INET6, "::1") == b"\0" * 15 + b"\1"
    except OSError:
        return False


def install() -> None:
    """Replace the conversions if they do not work, add the look-ups if there are none."""
    if _pton is not None and _ntop is not None and not _works():
        socket.inet_pton, socket.inet_ntop = Builtin(inet_pton), Builtin(inet_ntop)
    for lookup in (gethostbyaddr, gethostbyname, gethostname, inet_ntoa):
        if not hasattr(socket, lookup.__name__):
            setattr(socket, lookup.__name__, Builtin(lookup))
    if not hasattr(socket, "gethostbyname_ex"):
        socket.gethostbyname_ex = Builtin(gethostbyname, "gethostbyname_ex")
    if not hasattr(_socket, "getaddrinfo"):
        _socket.getaddrinfo = Builtin(getaddrinfo)  # `socket.getaddrinfo` is a wrapper
