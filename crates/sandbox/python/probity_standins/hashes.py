"""`hashlib.pbkdf2_hmac`, which OpenSSL usually brings, computed here.

Invariants: the result is that of RFC 8018, for every hash that `hashlib.new` knows; wrong arguments raise what
they raise there.
Absent: `scrypt`, which would take too long in Python.
"""

from __future__ import annotations

import hashlib
from typing import Any

from .builtin import Builtin

INNER, OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


def pbkdf2_hmac(hash_name: str, password: Any, salt: Any, iterations: int, dklen: int | None = None) -> bytes:
    """A key of so many bytes (default: as many as the hash has), derived from the password."""
    if not isinstance(hash_name, str):
        raise TypeError("pbkdf2_hmac() argument 'hash_name' must be str, not %s" % type(hash_name).__name__)
    plain = hashlib.new(hash_name)
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    length = plain.digest_size if dklen is None else dklen
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    secret = bytes(memoryview(password))
    if len(secret) > plain.block_size:
        secret = hashlib.new(hash_name, secret).digest()
    secret = secret.ljust(plain.block_size, b"\0")
    inner = hashlib.new(hash_name, secret.translate(INNER))
    outer = hashlib.new(hash_name, secret.translate(OUTER))

    def keyed(message: bytes) -> bytes:
        first, second = inner.copy(), outer.copy()
        first.update(message)
        second.update(first.digest())
        return second.digest()

    key, number = b"", 0
    while len(key) < length:
        number += 1
        block = keyed(bytes(memoryview(salt)) + number.to_bytes(4, "big"))
        total = int.from_bytes(block, "big")
        for _ in range(iterations - 1):
            block = keyed(block)
            total ^= int.from_bytes(block, "big")
        key += total.to_bytes(plain.digest_size, "big")
    return key[:length]


def install() -> None:
    """Add it if it is missing."""
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = Builtin(pbkdf2_hmac)
