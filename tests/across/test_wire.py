"""What crosses a border arrives as it was, and what is malformed is refused and nothing else.

`wire` is a copy of probity_wire.py.
"""

import collections
import datetime
import decimal
import fractions
import io
import pathlib
import random
import re
import sys
import uuid

import pytest
import wire

ROUNDS = 2000
SINGLES = (
    *(None, True, False, "", "\ud800\0\n\"\U0010ffff", b"\x00\xff", 0.0, -0.0, 1.5, 1e-300, float("inf"), complex(1, -0.0)),
    *(range(1, 9, 2), slice(1, None, 2), Ellipsis, NotImplemented, uuid.UUID(int=5), re.compile("a.b", re.I)),
    *(pathlib.PurePosixPath("a/b"), decimal.Decimal("1.50"), decimal.Decimal("NaN"), fractions.Fraction(-3, 4)),
    *(datetime.date(1, 1, 1), datetime.timedelta(1, 2, 3), datetime.time(1, 2, fold=1)),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone(datetime.timedelta(hours=2), "x"), fold=1),
)
TAGS = (*"ifcbtzlsdonBquyrxhvSKamwk", "", 5, None)
PARTS = (None, True, 1, -1, 10**30, "x", "date", "decimal", "pattern", "0x1", "ff", "nan", "(", [], {}, ["t", ["l"]])


def none_else(form, *_):
    raise wire.Malformed(str(form))


def encoded(value):
    return wire.encode_json(wire.Encoder(none_else).value(value))


def decoded(text):
    return wire.Decoder(none_else).value(wire.parse(text))


def any_value(random, depth=0):
    kind = random.randrange(4 if depth > 3 else 9)
    if kind < 2:
        return random.choice(SINGLES)
    if kind == 2:
        return random.randrange(-(10 ** random.randrange(1, 500)), 10 ** random.randrange(1, 500))
    if kind == 3:
        return random.choice((random.random(), frozenset("abc"), {1, 2}, bytearray(b"ab")))
    parts = [any_value(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 4:
        return tuple(parts)
    if kind == 5:
        return collections.deque(parts, random.choice((None, 9)))
    if kind == 6:
        return collections.OrderedDict(enumerate(parts))
    return parts if kind == 7 else dict(zip(("a", 1, None, (1, 2)), parts))


def any_form(random, depth=0):
    if depth < 4 and random.randrange(8) < 3:
        return [random.choice(TAGS), *(any_form(random, depth + 1) for _ in range(random.randrange(4)))]
    return random.choice(PARTS)


def test_values_arrive_as_they_were():
    source = random.Random(1)
    for value in (*SINGLES, *(any_value(source) for _ in range(ROUNDS))):
        text = encoded(value)
        again = decoded(text)
        assert type(again) is type(value) and encoded(again) == text


def test_containers_stay_one_and_may_hold_themselves():
    inner = [1]
    first, second = decoded(encoded([inner, inner]))
    assert first is second
    inner.append(inner)
    again = decoded(encoded(inner))
    assert again[1] is again
    text = io.StringIO("text")
    text.seek(2)
    assert decoded(encoded(text)).read() == "xt"


def test_what_is_malformed_is_refused():
    source = random.Random(2)
    refused = 0
    for _ in range(ROUNDS):
        try:
            wire.Decoder(none_else).value(any_form(source))
        except wire.Malformed:
            refused += 1
    assert refused > ROUNDS // 4
    deep = "[" * 100_000
    for text in ("", "{", "1.5", "NaN", deep, '["t",' * 150 + "1" + "]" * 150):
        with pytest.raises(wire.Malformed):
            decoded(text)


def test_no_subclass_passes_for_a_value():
    class Text(str):
        pass

    class List(list):
        pass

    for value in (Text("x"), List(), collections.defaultdict(list), sys.flags):
        with pytest.raises(wire.Malformed):
            encoded(value)
