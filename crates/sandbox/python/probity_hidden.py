"""Functions that cannot be reached from what calls them.

Code under test can look into everything that it can get hold of: attributes, closures, frames, what the
collector lists. `hidden` gives a function away to a place of the interpreter that has no reader, its list of
functions that are asked for unknown encodings, and returns a relay that holds nothing but the way there.

Invariants: what a hidden function holds is reachable by no attribute from the relay; before code under test
runs, `gc.freeze` takes it out of what the collector lists; nobody who traces calls sees it run.
Absent: protection against `gc.unfreeze`, or against who replaces the code of the interpreter.
"""

from __future__ import annotations

import builtins
import codecs
import encodings
import sys
from collections.abc import Callable
from typing import Any

__builtins__ = dict(vars(builtins))  # see probity_records

DEPTH = 3  # frames from a hidden function to the caller of its relay

_made = 0


def hidden(function: Callable[..., Any]) -> Callable[..., Any]:
    """A relay to the function, which is hidden. It takes positional arguments."""
    global _made
    _made += 1
    name = "probity%d" % _made
    calls: list[list[Any]] = []
    lookup, tracer, trace = codecs.lookup, sys.gettrace, sys.settrace

    def answer(asked: str) -> None:
        if asked == name and calls:
            call = calls.pop()
            try:
                call.extend((function(*call[0]), None))
            except BaseException as error:
                call.extend((None, error))

    def relay(*arguments: Any) -> Any:
        call: list[Any] = [arguments]
        traced = tracer()
        if traced is not None:
            trace(None)
        try:
            calls.append(call)
            lookup(name)
        except LookupError:
            pass
        finally:
            if traced is not None:
                trace(traced)
        if call[2] is not None:
            raise call[2]
        return call[1]

    encodings._cache[name] = None  # nobody needs to look for a module of that name
    codecs.register(answer)
    return relay
