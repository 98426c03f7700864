"""The results device: JSON records, one a line, each written at once.

Invariants: a record is a single line of ASCII that any JSON parser accepts (no lone surrogates); it is on
the device when `write` returns; texts are bounded before they are written, and what was left out is
counted.

Absent: buffering and reading. Nothing here is secret: code under test shares the interpreter and could
write to the device too, which is why such results count as `in-guest` only.
"""

from __future__ import annotations

import json
import os
import traceback
from typing import Any

_write = os.write
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode

MESSAGE = 64 * 1024
STREAM = 16 * 1024


class Records:
    """An open results device."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY)

    def write(self, record: dict[str, Any]) -> None:
        """Write one record and a newline."""
        left = (_encode(record) + "\n").encode("ascii")
        while left:
            left = left[_write(self._fd, left) :]

    def close(self) -> None:
        """Close the device."""
        os.close(self._fd)


def text(value: object) -> str:
    """The value as text without lone surrogates."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def bounded(value: object, limit: int) -> str:
    """The text, or its head and tail around a note, so that about `limit` characters remain."""
    whole = text(value)
    if len(whole) <= limit:
        return whole
    half = limit // 2
    return "%s\n[… %d characters left out …]\n%s" % (whole[:half], len(whole) - 2 * half, whole[-half:])


def describe(error: BaseException) -> str:
    """The traceback of an error, bounded."""
    return bounded("".join(traceback.format_exception(error)), MESSAGE)
