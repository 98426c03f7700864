"""What a session is to do, and the guard over its runner.

Invariants: each change of the runner is reported once, by the name of what was changed.
Absent: what belongs to one runner (probity_pytest.py, probity_unittest.py).
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from probity_integrity import Baseline
from probity_records import Records
from probity_witness import Witness

__builtins__ = dict(vars(builtins))  # see probity_records

REPORTED = 10  # most changes that are named


class Guard:
    """Compares the runner with what it was, if somebody who could change it runs beside it."""

    __slots__ = ("changed", "check", "glance", "look")

    def __init__(self, records: Records, baseline: Baseline | None, allowed: frozenset[str]) -> None:
        tampering, told = records.tampering, set(allowed)

        def report(changed: list[str]) -> None:
            new = [name for name in changed if name not in told]
            told.update(new)
            for name in sorted(new)[:REPORTED]:
                tampering("`%s` was replaced" % name)

        def check() -> None:
            """Compare everything."""
            if baseline is not None:
                report(baseline.changes())

        def look() -> None:
            """Compare what outcomes are made by."""
            if baseline is not None:
                report(baseline.vital())

        def glance() -> None:
            """Compare the core of that."""
            if baseline is not None:
                report(baseline.core())

        self.changed, self.check, self.look, self.glance = tampering, check, look, glance


@dataclass(frozen=True)
class Task:
    """What a runner is to do of a suite."""

    witness: Witness
    guard: Guard
    skip: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    order: int | None = None
    canaries: str | None = None
    pauses: bool = False

    def wants(self, name: str) -> bool:
        """Whether the test is to run in this session."""
        return name not in self.skip and (self.only is None or name in self.only)


def shuffled(items: Iterable[Any], path_of: Callable[[Any], tuple[Hashable, ...]], seed: int) -> list[Any]:
    """The items in another order. Those whose paths begin alike stay together, as those of a file or class."""
    dice = random.Random("order %d" % seed)

    def mixed(part: list[Any], depth: int) -> list[Any]:
        groups: dict[Hashable, list[Any]] = {}
        for index, item in enumerate(part):
            path = path_of(item)
            key = path[depth] if depth < len(path) else (index,)
            groups.setdefault(key, []).append(item)
        if len(groups) == len(part):
            dice.shuffle(part)
            return part
        ordered = list(groups.values())
        dice.shuffle(ordered)
        return [item for group in ordered for item in mixed(group, depth + 1)]

    return mixed(list(items), 0)
