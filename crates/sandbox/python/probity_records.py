"""The results device: JSON records, one a line, each written at once.

Invariants: a record is a single line of ASCII that any JSON parser accepts (no lone surrogates); it is on
the device when `write` returns; a text is whole up to 4 MiB, and shorter only if the device comes near its
capacity, so that the results of later tests have room; what was left out is said and counted in the text.

Absent: buffering and reading. Nothing here is secret: code under test shares the interpreter and could
write to the device too, which is why such results count as `in-guest` only.
"""

from __future__ import annotations

import json
import os
import platform
import traceback
from typing import Any

_write = os.write
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode

TEXT = 4 * 1024 * 1024  # most bytes of a text on the device
LEAST = 1024  # bytes that a text may always have
LONGEST = 12  # bytes of the longest escape of one character


class Records:
    """An open results device that takes `size` bytes."""

    def __init__(self, path: str, size: int) -> None:
        self._fd = os.open(path, os.O_WRONLY)
        self._left = size
        self._reserve = size // 4  # for records without texts

    def write(self, record: dict[str, Any]) -> None:
        """Write one record and a newline."""
        left = (_encode(record) + "\n").encode("ascii")
        self._left -= len(left)
        while left:
            left = left[_write(self._fd, left) :]

    def begin(self, runner: str, version: str, shadowed: list[str]) -> None:
        """Write the first record of a session."""
        self.write(
            {
                "event": "session",
                "python": platform.python_version(),
                "runner": runner,
                "runner_version": version,
                "shadowed": shadowed,
            }
        )

    def finish(self, code: int, tests: int) -> int:
        """Write its last record: the exit code, which is returned, and the number of results."""
        self.write({"event": "finish", "exit": code, "tests": tests})
        return code

    def text(self, value: object) -> str:
        """The value as text that fits: an eighth of the room is for one text, so none fills it."""
        return bounded(value, min(TEXT, max(LEAST, (self._left - self._reserve) // 8)))

    def describe(self, error: BaseException) -> str:
        """The traceback of an error."""
        return self.text("".join(traceback.format_exception(error)))

    def close(self) -> None:
        """Close the device."""
        os.close(self._fd)


def text(value: object) -> str:
    """The value as text without lone surrogates."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def bounded(value: object, limit: int) -> str:
    """The text, or its head and tail around a note, so that about `limit` bytes are written."""
    whole = text(value)
    if len(whole) * LONGEST <= limit:
        return whole
    size = len(_encode(whole))
    if size <= limit:
        return whole
    half = len(whole) * limit // size // 2
    while half and len(_encode(whole[:half])) + len(_encode(whole[-half:])) > limit + LONGEST:
        half = half * 3 // 4
    head, tail = whole[:half], whole[len(whole) - half :]
    return "%s\n[… %d characters left out …]\n%s" % (head, len(whole) - 2 * half, tail)
