"""Tests of ours among the real ones: some must fail, some must pass.

Each is made when its turn comes, in the module of a real test, under a name made of that module's own words,
and goes through the machinery that the real tests go through. What it came to is a record of its own; it is
not collected, counted, printed or part of any report of the runner.

    canary   fails: whether it must fail, outcome, rewritten: whether a report denied what it raised
    canaries expected: how many were to come in this session

Invariants: which there are, where, and their names follow from a seed that nobody in the session is told.
Absent: the judgement, which is the host's.
"""

from __future__ import annotations

import ast
import builtins
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

__builtins__ = dict(vars(builtins))  # see probity_records

MUST_FAIL = 2
MUST_PASS = 1
UNITS = 16  # of so many units about one has canaries
WORDS = (
    "accepts", "adds", "after", "basic", "before", "case", "copy", "default", "double", "empty", "equal",
    "first", "handles", "index", "input", "inner", "keeps", "large", "last", "length", "list", "many",
    "mixed", "name", "nested", "none", "number", "order", "outer", "pair", "part", "path", "plain", "range",
    "result", "returns", "round", "same", "second", "shape", "simple", "single", "size", "sorted", "string",
    "text", "twice", "unicode", "update", "valid", "value", "zero",
)  # fmt: skip

FAILING = {
    "pytest": (
        "def canary():\n    left, right = [1, 2, 7], [1, 2, 8]\n    assert left == right\n",
        "def canary():\n    value = 7\n    assert not value, 'value'\n",
        "def canary():\n    raise AssertionError(7)\n",
        "def canary():\n    {}[7]\n",
        "def canary():\n    unittest.TestCase().assertEqual(7, 8)\n",
        "def canary():\n    unittest.TestCase().assertTrue(7 < 0)\n",
        "def canary():\n    with pytest.raises(ValueError):\n        str(7)\n",
        "def canary():\n    assert pytest.approx(7.5) == 7\n",
        "def canary(request):\n    request.addfinalizer(lambda: [][7])\n",
    ),
    "unittest": (
        "def canary(self):\n    self.assertEqual([1, 7], [1, 8])\n",
        "def canary(self):\n    self.assertTrue(7 < 0)\n",
        "def canary(self):\n    self.assertIn(7, ())\n",
        "def canary(self):\n    with self.assertRaises(ValueError):\n        str(7)\n",
        "def canary(self):\n    with self.subTest(number=7):\n        self.assertFalse(7)\n",
        "def canary(self):\n    assert 7 < 0\n",
        "def canary(self):\n    {}[7]\n",
        "def canary(self):\n    self.fail('7')\n",
        "def canary(self):\n    self.addCleanup([].__getitem__, 7)\n",
    ),
}
PASSING = {
    "pytest": (
        "def canary():\n    assert sorted([7, 1]) == [1, 7]\n",
        "def canary():\n    with pytest.raises(KeyError):\n        {}[7]\n",
    ),
    "unittest": (
        "def canary(self):\n    self.assertEqual(sorted([7, 1]), [1, 7])\n",
        "def canary(self):\n    with self.assertRaises(KeyError):\n        {}[7]\n",
    ),
}


@dataclass(frozen=True)
class Canary:
    """One of them: the source of a function called `canary`, and what must become of it."""

    name: str
    source: str
    fails: bool


class Canaries:
    """Those of one session, to be taken out one by one."""

    __slots__ = ("are_due", "places", "take")

    def __init__(self, runner: str, seed: str) -> None:
        self.places, self.take = planner(runner, seed)
        self.are_due = sampler(seed)


def planner(
    runner: str, seed: str
) -> tuple[Callable[[list[int]], int], Callable[[int, Iterable[str]], list[Canary]]]:
    """What spreads them over the places that there are, and what makes those of a place."""
    dice = random.Random(seed)
    kinds = [(source, True) for source in dice.sample(FAILING[runner], MUST_FAIL)]
    kinds += [(source, False) for source in dice.sample(PASSING[runner], MUST_PASS)]
    planned: dict[int, list[tuple[str, bool]]] = {}

    def places(free: list[int]) -> int:
        planned.clear()
        for kind in kinds if free else ():
            planned.setdefault(dice.choice(free), []).append(kind)
        return sum(map(len, planned.values()))

    def take(place: int, names: Iterable[str]) -> list[Canary]:
        due = planned.pop(place, None)
        if due is None:
            return []
        taken, words = set(names), words_of(names)
        return [
            Canary(new_name(dice, words, taken), source, fails)
            for source, fails in due
        ]

    return places, take


def sampler(seed: str) -> Callable[[str], bool]:
    """What chooses some of many units, by the name of their first test."""

    def are_due(name: str) -> bool:
        return random.Random(seed + name).random() * UNITS < 1

    return are_due


def words_of(names: Iterable[str]) -> list[str]:
    """The words of a module's names that a test's name could have, and some more."""
    found = {word for name in names for word in re.findall("[a-z]{3,12}", name)} - {"test", "tests"}
    return sorted(found)[:40] + list(WORDS)


def new_name(dice: random.Random, words: list[str], taken: set[str]) -> str:
    """A name of a test that no other has."""
    while True:
        name = "test_" + "_".join(dice.sample(words, dice.randint(2, 3)))
        if name not in taken:
            taken.add(name)
            return name


Rewrite = Callable[[ast.AST, bytes], None]
_compiled: dict[tuple[str, bool], CodeType] = {}


def prepare(runner: str, rewrite: Rewrite | None) -> None:
    """Compile all that a runner may be given, for sessions that begin in a snapshot of this interpreter."""
    for source in FAILING[runner] + PASSING[runner]:
        compiled(source, rewrite)


def compiled(source: str, rewrite: Rewrite | None) -> CodeType:
    """The code of the function in the source, its assertions rewritten if that is how tests are."""
    key = source, rewrite is not None
    if key not in _compiled:
        tree = ast.parse(source)
        if rewrite is not None:
            rewrite(tree, source.encode())
        whole = compile(tree, "canary.py", "exec", dont_inherit=True)
        _compiled[key] = next(const for const in whole.co_consts if isinstance(const, CodeType))
    return _compiled[key]


def function_of(canary: Canary, space: dict[str, Any], file: str, rewrite: Rewrite | None) -> FunctionType:
    """The canary as a function that seems to come from `file`."""
    code = compiled(canary.source, rewrite)
    code = code.replace(co_filename=file, co_name=canary.name, co_qualname=canary.name)
    return FunctionType(code, space, canary.name)
