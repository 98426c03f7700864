"""Values as JSON, for the border between trusted tests and the code that they test.

    null, true, 1, "text"      None, bool, int (below 2**53), str
    ["i", "-1f"]               int in hexadecimal
    ["f", "0x1.8p+1"]          float as `float.hex` writes it, so also "nan", "inf"
    ["c", "…", "…"]            complex
    ["b", "00ff"]              bytes
    ["t", …] ["z", …]          tuple, frozenset
    ["l", …] ["s", …]          list, set
    ["d", [key, value], …]     dict; "o" OrderedDict, "n" Counter
    ["B", "00ff"]              bytearray
    ["q", maxlen, …]           deque
    ["u", text, place]         io.StringIO; "y" io.BytesIO with its bytes in hexadecimal
    ["r", name, …]             one of `MADE` with what it is made from
    ["x", n]                   the n-th container of this message (list, set, dict, … as they begin)

Other tags are left to whoever speaks: see probity_candidate.py and probity_across.py.

Invariants: only the exact types cross as values; what is not one is handed to `other`. Decoding is strict, bounded in
depth, calls nothing but the types named here, and raises `Malformed` for everything else.
Absent: pickle, names of code, classes of anybody.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import io
import json
import pathlib
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

DEPTH = 100  # most values around a value
EXACT = 2**53  # JSON numbers are exact below

encode_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


class Malformed(Exception):
    """What came is not of the agreed form."""


class TooDeep(Exception):
    """A value holds too many others around each other."""


MADE: dict[str, tuple[type, Callable[[Any], tuple[Any, ...]]]] = {
    "date": (datetime.date, lambda v: (v.year, v.month, v.day)),
    "time": (datetime.time, lambda v: (v.hour, v.minute, v.second, v.microsecond, v.tzinfo, v.fold)),
    "datetime": (
        datetime.datetime,
        lambda v: (v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.tzinfo, v.fold),
    ),
    "timedelta": (datetime.timedelta, lambda v: (v.days, v.seconds, v.microseconds)),
    "timezone": (datetime.timezone, lambda v: v.__getinitargs__()),
    "decimal": (decimal.Decimal, lambda v: (str(v),)),
    "fraction": (fractions.Fraction, lambda v: (v.numerator, v.denominator)),
    "uuid": (uuid.UUID, lambda v: (str(v),)),
    "path": (pathlib.PosixPath, lambda v: (str(v),)),
    "pure-path": (pathlib.PurePosixPath, lambda v: (str(v),)),
    "windows-path": (pathlib.PureWindowsPath, lambda v: (str(v),)),
    "range": (range, lambda v: (v.start, v.stop, v.step)),
    "slice": (slice, lambda v: (v.start, v.stop, v.step)),
    "pattern": (re.Pattern, lambda v: (v.pattern, v.flags)),
}
NAMES = {kind: name for name, (kind, _) in MADE.items()}
SINGLE = {"ellipsis": Ellipsis, "not-implemented": NotImplemented}


def make(name: str, parts: list[Any]) -> Any:
    """The value of a type of `MADE` from its parts."""
    if name in SINGLE:
        return SINGLE[name]
    kind = MADE[name][0]
    if name in ("time", "datetime"):
        return kind(*parts[:-1], fold=parts[-1])
    if name == "pattern":
        return re.compile(*parts)
    return kind(*parts)


class Encoder:
    """One message on its way out. `other` encodes what is not a value here."""

    def __init__(self, other: Callable[[Any, Encoder, int], Any], given: Sequence[Any] = ()) -> None:
        self.other = other
        self.held: list[Any] = []  # containers that can change, as they begin
        self.places: dict[int, int] = {}
        self.given = {id(value): place for place, value in enumerate(given)}  # those of the message that is answered

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if depth > DEPTH:
            raise TooDeep
        if kind is int:
            return value if -EXACT < value < EXACT else ["i", "%x" % value]
        if kind is float:
            return ["f", value.hex()]
        if kind is complex:
            return ["c", value.real.hex(), value.imag.hex()]
        if kind is bytes:
            return ["b", value.hex()]
        if kind is tuple:
            return ["t", *(self.value(item, depth + 1) for item in value)]
        if kind is frozenset:
            return ["z", *self.sorted(value, depth)]
        if kind in HELD:
            return self.container(value, kind, depth)
        if kind in NAMES:
            parts = MADE[NAMES[kind]][1](value)
            return ["r", NAMES[kind], *(self.value(part, depth + 1) for part in parts)]
        for name, single in SINGLE.items():
            if value is single:
                return ["r", name]
        return self.other(value, self, depth)

    def container(self, value: Any, kind: type, depth: int) -> Any:
        """A container that can change, or where it began in this message."""
        given = self.given.get(id(value))
        if given is not None:
            return ["a", given]
        place = self.places.get(id(value))
        if place is not None:
            return ["x", place]
        self.places[id(value)] = len(self.held)
        self.held.append(value)
        return self.content(value, kind, depth)

    def content(self, value: Any, kind: type, depth: int) -> Any:
        """What is in a container."""
        if kind is list:
            return ["l", *(self.value(item, depth + 1) for item in value)]
        if kind is set:
            return ["s", *self.sorted(value, depth)]
        if kind in PAIRS:
            pairs = ([self.value(key, depth + 1), self.value(item, depth + 1)] for key, item in value.items())
            return [PAIRS[kind], *pairs]
        if kind is collections.deque:
            return ["q", value.maxlen, *(self.value(item, depth + 1) for item in value)]
        if kind is bytearray:
            return ["B", value.hex()]
        if value.closed:
            return ["u" if kind is io.StringIO else "y", None, 0]
        if kind is io.StringIO:
            return ["u", value.getvalue(), value.tell()]
        return ["y", value.getvalue().hex(), value.tell()]

    def sorted(self, values: Any, depth: int) -> list[Any]:
        """The members of a set in an order that does not depend on addresses."""
        return sorted((self.value(item, depth + 1) for item in values), key=encode_json)


PAIRS = {dict: "d", collections.OrderedDict: "o", collections.Counter: "n"}
OF_PAIRS = {tag: kind for kind, tag in PAIRS.items()}
HELD = frozenset({list, set, bytearray, collections.deque, io.StringIO, io.BytesIO, *PAIRS})


class Decoder:
    """One message that came in. `other` decodes the tags that are not known here."""

    def __init__(self, other: Callable[[list[Any], Decoder, int], Any]) -> None:
        self.other = other
        self.held: list[Any] = []

    def value(self, form: Any, depth: int = 0) -> Any:
        """The value that a form stands for."""
        if form is None or isinstance(form, (bool, str)):
            return form
        if isinstance(form, int):
            return form
        if not isinstance(form, list) or not form or not isinstance(form[0], str) or depth > DEPTH:
            raise Malformed("a value is of no known form")
        try:
            return self.tagged(form, depth)
        except Malformed:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, re.error) as error:
            raise Malformed("a value of form %r cannot be: %s" % (form[0], error)) from None

    def tagged(self, form: list[Any], depth: int) -> Any:
        """The value of a form with a tag."""
        tag, rest = form[0], form[1:]
        if tag == "i":
            (digits,) = rest
            return int(digits, 16)
        if tag == "f":
            (digits,) = rest
            return float.fromhex(digits)
        if tag == "c":
            real, imaginary = rest
            return complex(float.fromhex(real), float.fromhex(imaginary))
        if tag == "b":
            (digits,) = rest
            return bytes.fromhex(digits)
        if tag == "t":
            return tuple(self.value(item, depth + 1) for item in rest)
        if tag == "z":
            return frozenset(self.value(item, depth + 1) for item in rest)
        if tag == "r":
            name, *parts = rest
            return make(name, [self.value(part, depth + 1) for part in parts])
        if tag == "x":
            (place,) = rest
            if not isinstance(place, int) or place < 0:
                raise Malformed("a place is no number")
            return self.held[place]
        if tag in CONTAINERS:
            value = self.empty(tag, rest)
            self.held.append(value)
            fill(value, self.parts(tag, rest, depth))
            return value
        return self.other(form, self, depth)

    def empty(self, tag: str, rest: list[Any]) -> Any:
        """A container to be filled."""
        if tag == "q":
            return collections.deque(maxlen=rest[0])
        return CONTAINERS[tag]()

    def parts(self, tag: str, rest: list[Any], depth: int) -> Any:
        """What a container is filled with."""
        if tag in OF_PAIRS:
            return [(self.value(key, depth + 1), self.value(item, depth + 1)) for key, item in rest]
        if tag in ("u", "y", "B"):
            content = rest[0]
            if content is not None and not isinstance(content, str):
                raise Malformed("a text is none")
            place = rest[1] if tag != "B" else 0
            return (content if tag == "u" or content is None else bytes.fromhex(content)), place
        return [self.value(item, depth + 1) for item in (rest[1:] if tag == "q" else rest)]


CONTAINERS: dict[str, type] = {
    "l": list,
    "s": set,
    "B": bytearray,
    "q": collections.deque,
    "u": io.StringIO,
    "y": io.BytesIO,
    **OF_PAIRS,
}


def fill(value: Any, parts: Any) -> None:
    """Let a container hold these parts and nothing else."""
    kind = type(value)
    if kind is list:
        value[:] = parts
    elif kind is bytearray:
        value[:] = parts[0]
    elif kind in (io.StringIO, io.BytesIO):
        content, place = parts
        if content is None:
            value.close()
            return
        value.seek(0)
        value.truncate()
        value.write(content)
        value.seek(place)
    else:
        value.clear()
        if kind is collections.deque:
            value.extend(parts)
        else:
            value.update(dict(parts) if kind in PAIRS else parts)


def parse(text: str) -> Any:
    """The JSON of a message; `Malformed` if it is none."""
    try:
        return json.loads(text, parse_float=refuse_number, parse_constant=refuse_number)
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON: %s" % type(error).__name__) from None


def refuse_number(text: str) -> Any:
    """Floats have a form of their own."""
    raise ValueError(text)
