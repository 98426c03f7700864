"""Calls of one function, each answered by a record. A candidate runs here and nothing that judges it.

Records (fields beside `event`):

    session   python, runner ("call"), runner_version (""), shadowed
    ready                             the function was found
    unfit     message                 it was not: why
    start     id                      a call begins
    answer    id, value               it returned something with a JSON form
    raised    id, types, message      it raised: the names of the class and its bases, and its text
    formless  id, message             what it returned has no JSON form: why
    finish    exit, tests

Invariants: a value crosses by its exact standard type, and a subclass of one as what it holds, so that
nothing the candidate defines takes part in a comparison; a tuple becomes a list, as in JSON.
Absent: expected values, and any defence: whatever a guest writes here is the candidate's answer.
"""

from __future__ import annotations

import functools
import importlib
import math
import random
from collections.abc import Callable
from typing import Any

from probity_records import Records, text

MAX_DEPTH = 100
RANDOM = "$random"  # the key of a table that stands for a generator with that seed


class Formless(Exception):
    """A value that has no JSON form."""


class Run:
    """One session: the function is looked up, then called."""

    def __init__(self, records: Records, target: list[str], shadowed: list[str]) -> None:
        self.records, self.target = records, target
        self.function: Callable[..., Any] | None = None
        self.answers = 0
        records.begin("call", "", shadowed)

    def collect(self) -> int | None:
        """Find the function; the exit code if there is none."""
        module, name = self.target
        try:
            holder = importlib.import_module(module)
            self.function = functools.reduce(getattr, name.split("."), holder)
        except BaseException as error:
            self.records.write({"event": "unfit", "message": self.records.describe(error)})
            return self.records.finish(1, 0)
        self.records.write({"event": "ready"})
        return None

    def proceed(self, calls: list[list[Any]]) -> int:
        """Make the calls, each an id with its arguments by place and by name."""
        for call_id, args, kwargs in calls:
            self.records.write({"event": "start", "id": call_id})
            self.records.write({"id": call_id, **self.answer(given(args), given(kwargs))})
            self.answers += 1
        return self.records.finish(0, self.answers)

    def whole(self, calls: list[list[Any]]) -> int:
        """Find the function and make the calls."""
        code = self.collect()
        return self.proceed(calls) if code is None else code

    def answer(self, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What came of one call."""
        assert self.function is not None
        try:
            value = self.function(*args, **kwargs)
        except BaseException as error:
            names = [name for kind in type(error).__mro__ for name in class_names(kind)]
            return {"event": "raised", "types": names[:100], "message": self.records.text(saying(error))}
        try:
            return {"event": "answer", "value": plain(value)}
        except Formless as error:
            return {"event": "formless", "message": text(error)}
        except BaseException as error:  # such as a class that passes itself off as another
            return {"event": "formless", "message": text(type(error).__qualname__) + ": it cannot be read"}


def class_names(kind: type) -> list[str]:
    """The names by which a class can be asked for: short, and with its module."""
    name, module = str(kind.__qualname__), str(kind.__module__)
    return [name] if module == "builtins" else [name, "%s.%s" % (module, name)]


def saying(error: BaseException) -> str:
    """The text of an exception. One that cannot be had is the candidate's business."""
    try:
        return str(error)
    except BaseException:
        return ""


def given(value: Any) -> Any:
    """An argument as it was meant: `{"$random": n}` becomes a generator."""
    if isinstance(value, dict):
        if len(value) == 1 and RANDOM in value:
            return random.Random(value[RANDOM])
        return {key: given(item) for key, item in value.items()}
    if isinstance(value, list):
        return [given(item) for item in value]
    return value


def plain(value: Any, depth: int = 0) -> Any:
    """The value by standard types only."""
    if depth > MAX_DEPTH:
        raise Formless("it is nested more than %d levels deep" % MAX_DEPTH)
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return text(str.__str__(value))
    if isinstance(value, int):
        number = int.__index__(value)
        if -(2**63) <= number < 2**64:
            return number
        raise Formless("an integer of %d bits has no JSON form here" % number.bit_length())
    if isinstance(value, float):
        number = float.__float__(value)
        if not math.isfinite(number):
            raise Formless("%r has no JSON form" % number)
        return number
    if isinstance(value, list):
        return [plain(item, depth + 1) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return [plain(item, depth + 1) for item in tuple.__iter__(value)]
    if isinstance(value, dict):
        return {key_of(key): plain(item, depth + 1) for key, item in dict.items(value)}
    raise Formless("%s has no JSON form" % type(value).__qualname__)


def key_of(key: Any) -> str:
    """The key of a table as JSON has it."""
    if isinstance(key, str):
        return text(str.__str__(key))
    raise Formless("a key that is %s has no JSON form" % type(key).__qualname__)
