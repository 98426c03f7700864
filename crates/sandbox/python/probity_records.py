"""The results device: JSON records, one a line, each signed and written at once.

A line is 32 hexadecimal digits, a space and the record. The digits are the first half of HMAC-SHA-256 over
the record's number (from 0, eight bytes, the highest first) and the record, under a key that the host made
up and gave to this session alone. The host takes a line that was not signed so, is missing or comes twice
for tampering. Without a key (warm-ups) a line is the record alone.

Invariants: a record is a single line of ASCII that any JSON parser accepts (no lone surrogates); it is on
the device when `write` returns; a text is whole up to 4 MiB, and shorter only if the device comes near its
capacity, so that the results of later tests have room; what was left out is said and counted in the text.
`write` serves only this harness: called from other code it reports that. The key itself is in no Python
object after `Records` is made, and what signs is hidden.

Absent: buffering and reading. Whoever controls the interpreter wholly can still find what signs, which is
why such results count as `in-guest` only.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import platform
import sys
import traceback
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as quote
from types import CodeType, FunctionType, ModuleType
from typing import Any

from probity_hidden import DEPTH, hidden

# What code under test does to builtins is not seen by functions that are made from here on.
__builtins__ = dict(vars(builtins))

TEXT = 4 * 1024 * 1024  # most bytes of a text on the device
LEAST = 1024  # bytes that a text may always have
LONGEST = 12  # bytes of the longest escape of one character
TAG = 32  # digits of a signature
BLOCK = 64  # bytes of a block of SHA-256


class Records:
    """An open results device that takes `size` bytes.

    `key` is the secret in hexadecimal, or empty. `vouches` is asked of each test that passed whether it really
    ended. Once `admit` was called with what `codes_of` found, only these functions may write.
    """

    __slots__ = ("admit", "close", "room", "write")

    def __init__(
        self,
        path: str,
        size: int,
        key: str = "",
        vouches: Callable[[str], bool] | None = None,
    ) -> None:
        fd = os.open(path, os.O_WRONLY)
        self.write, self.room, self.admit = writer(fd, size, signer(bytes.fromhex(key)), vouches)
        self.close = closer(fd)

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

    def tampering(self, message: str) -> None:
        """Report that somebody laid hands on the runner."""
        self.write({"event": "tampering", "message": self.text(message)})

    def text(self, value: object) -> str:
        """The value as text that fits: an eighth of the room is for one text, so none fills it."""
        return bounded(value, min(TEXT, max(LEAST, self.room() // 8)))

    def describe(self, error: BaseException) -> str:
        """The traceback of an error."""
        return self.text("".join(traceback.format_exception(error)))


def signer(key: bytes) -> Callable[[int, bytes], str] | None:
    """What makes the digits for a numbered record; nothing without a key."""
    if not key:
        return None
    sha256 = hashlib.sha256
    inner = sha256(bytes(byte ^ 0x36 for byte in key.ljust(BLOCK, b"\0")))
    outer = sha256(bytes(byte ^ 0x5C for byte in key.ljust(BLOCK, b"\0")))

    def sign(number: int, record: bytes) -> str:
        within, around = inner.copy(), outer.copy()
        within.update(number.to_bytes(8, "big"))
        within.update(record)
        around.update(within.digest())
        return around.hexdigest()[:TAG]

    return sign


def writer(
    fd: int,
    size: int,
    sign: Callable[[int, bytes], str] | None,
    vouches: Callable[[str], bool] | None,
) -> tuple[Callable[[dict[str, Any]], None], Callable[[], int], Callable[[frozenset[int]], None]]:
    """What writes a record, what tells how many bytes there is room for, and what names who may write."""
    put, caller_of = os.write, sys._getframe
    left, reserve = size, size // 4  # for records without texts
    number = 0
    callers: frozenset[int] | None = None
    depth = 1 if sign is None else DEPTH

    def vouched(name: str) -> bool:
        return vouches is None or vouches(name)

    def write(record: dict[str, Any]) -> None:
        nonlocal left, number
        caller = caller_of(depth).f_code
        if callers is not None and id(caller) not in callers:
            message = "`%s` wrote to the results" % caller.co_qualname
            record = {"event": "tampering", "message": bounded(message, LEAST)}
        elif record["event"] == "result" and record["outcome"] == "passed" and not vouched(record["id"]):
            record = {**record, "outcome": "failed", "message": "reported as passed, but it did not return"}
        line = encode(record).encode("ascii")
        line = b"%s %s\n" % (sign(number, line).encode("ascii"), line) if sign else line + b"\n"
        number += 1
        left -= len(line)
        while line:
            line = line[put(fd, line) :]

    def room() -> int:
        return left - reserve

    def admit(codes: frozenset[int]) -> None:
        nonlocal callers
        if callers is None:
            callers = codes

    if sign is None:
        return write, room, admit
    return hidden(write), hidden(room), hidden(admit)


def closer(fd: int) -> Callable[[], None]:
    """What closes the device."""
    shut = os.close

    def close() -> None:
        shut(fd)

    return close


def codes_of(modules: tuple[ModuleType, ...]) -> frozenset[int]:
    """What identifies the code of all functions and methods of the modules."""
    found: set[int] = set()
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                for part in vars(value).values():
                    add_code(getattr(part, "__func__", part), found)
            else:
                add_code(value, found)
    return frozenset(found)


def add_code(value: object, found: set[int]) -> None:
    """Add a function's code, and that of what it defines."""
    waiting = [value.__code__] if isinstance(value, FunctionType) else []
    for code in waiting:
        found.add(id(code))
        waiting.extend(const for const in code.co_consts if isinstance(const, CodeType))


def encode(record: dict[str, Any]) -> str:
    """The record as JSON. It is made here, so that nobody else's encoder can change it."""
    return "{%s}" % ",".join(["%s:%s" % (quote(name), encode_value(value)) for name, value in record.items()])


def encode_value(value: Any) -> str:
    """A value made of standard types as JSON; numbers are finite, keys are texts."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, dict):
        return encode(value)
    return "[%s]" % ",".join([encode_value(item) for item in value])


def text(value: object) -> str:
    """The value as text without lone surrogates."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def bounded(value: object, limit: int) -> str:
    """The text, or its head and tail around a note, so that about `limit` bytes are written."""
    whole = text(value)
    if len(whole) * LONGEST <= limit:
        return whole
    size = len(quote(whole))
    if size <= limit:
        return whole
    half = len(whole) * limit // size // 2
    while half and len(quote(whole[:half])) + len(quote(whole[-half:])) > limit + LONGEST:
        half = half * 3 // 4
    head, tail = whole[:half], whole[len(whole) - half :]
    return "%s\n[… %d characters left out …]\n%s" % (head, len(whole) - 2 * half, tail)
