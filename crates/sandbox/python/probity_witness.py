"""Evidence that a test ran to its end, beside what its runner says.

The interpreter itself tells (`sys.monitoring`) when the code of a test returns. A result that says `passed`
is believed only if the code that was collected for the test returned since the test was begun. Whoever
catches what a test raises, or does not call it, leaves it without this evidence, and who takes the
monitoring away leaves all tests without.

Invariants: only the code objects of tests are instrumented, each once; a test without Python code (a
doctest, an item of a plugin) needs no evidence. What was seen is hidden.
Absent: evidence that the test's assertions are what they seem to be.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any

from probity_hidden import DEPTH, hidden

__builtins__ = dict(vars(builtins))  # see probity_records

TOOLS = (4, 3)  # numbers that no known tool takes


class Witness:
    """What was seen of the tests of one session."""

    __slots__ = ("begin", "expect", "release", "vouches")

    def __init__(self, hide: bool) -> None:
        tool = free_tool()
        self.expect, self.begin, self.vouches = watcher(tool, hide)
        self.release = releaser(tool)


def free_tool() -> int | None:
    """A number to monitor under; nothing if the interpreter cannot, or they are taken."""
    monitoring = getattr(sys, "monitoring", None)
    for tool in TOOLS if monitoring else ():
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "probity")
            return tool
    return None


def watcher(
    tool: int | None,
    hide: bool,
) -> tuple[Callable[[Iterable[tuple[str, Any]]], None], Callable[[str, Any], bool], Callable[[str], bool]]:
    """What to call of a test that was collected, of one that begins, of one that is said to have passed."""
    frame = sys._getframe
    known: dict[str, dict[int, CodeType] | None] = {}
    ended: set[str] = set()
    watched: dict[int, CodeType] = {}
    open_id: str | None = None
    open_codes: dict[int, CodeType] = {}
    depth = DEPTH if hide else 1

    def returned(code: CodeType, offset: int, value: object) -> None:
        nonlocal open_id
        if open_id is not None and id(code) in open_codes and frame(depth).f_code is code:
            ended.add(open_id)
            open_id = None

    if tool is not None:
        events = sys.monitoring.events.PY_RETURN
        sys.monitoring.register_callback(tool, events, hidden(returned) if hide else returned)
        watch = sys.monitoring.set_local_events

    def expect(tests: Iterable[tuple[str, Any]]) -> None:
        for name, test in tests:
            code = code_of(test)
            codes = known.setdefault(name, {})
            if code is None or codes is None:
                known[name] = None
            else:
                codes[id(code)] = code

    def begin(name: str, test: Any) -> bool:
        """Whether the test still has the code that was collected."""
        nonlocal open_id, open_codes
        ended.discard(name)
        if name not in known:
            expect([(name, test)])
        codes = known[name]
        open_id, open_codes = name, codes or {}
        for key, code in open_codes.items():
            if tool is not None and key not in watched:
                watched[key] = code
                watch(tool, code, events)
        return codes is None or id(code_of(test)) in codes

    def vouches(name: str) -> bool:
        """Whether the test returned since it was begun last."""
        return name in known and (tool is None or known[name] is None or name in ended)

    if hide:
        return hidden(expect), hidden(begin), hidden(vouches)
    return expect, begin, vouches


def releaser(tool: int | None) -> Callable[[], None]:
    """What gives the number back."""

    def release() -> None:
        if tool is not None:
            sys.monitoring.free_tool_id(tool)

    return release


def code_of(test: Any) -> CodeType | None:
    """The code that runs when a test is called, if it is Python's."""
    if type(test) is MethodType:
        test = test.__func__
    return test.__code__ if type(test) is FunctionType else None
