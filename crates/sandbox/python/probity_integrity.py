"""Whether the runner is what it was before any code of the repository ran.

`Baseline` remembers the functions, classes and methods of pytest, pluggy and unittest, of this harness, and
those builtins and parts of the import system on which a test's outcome rests: the objects, and of functions
also code and defaults. `changes` names what is no longer the same. New names are no change.

What installed packages put in the place of something (plugins do) is no change either, provided that its
code is the code in their files, which nobody can write to.

Invariants: a comparison goes by identity, never by an operator that others may define; in the usual case,
no change, all of it runs in C. The remembered objects lie in cells of closures.
Absent: data. pytest keeps state in its modules.
"""

from __future__ import annotations

import builtins
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import machinery
from types import CodeType, FunctionType, ModuleType
from typing import Any

__builtins__ = dict(vars(builtins))  # see probity_records

PREFIXES = ("_pytest.", "pluggy.", "probity_")
EXACT = frozenset(
    {
        "_frozen_importlib",
        "_frozen_importlib_external",
        "ast",
        "builtins",
        "json.encoder",
        "pluggy",
        "pytest",
        "unittest",
        "unittest.async_case",
        "unittest.case",
        "unittest.loader",
        "unittest.result",
        "unittest.runner",
        "unittest.suite",
        "unittest.util",
    }
)
OF_OS = ("_exit", "close", "open", "write")
# Programs replace these with good reason.
LEFT_OUT = frozenset(
    {
        "builtins.__import__",
        "builtins.breakpoint",
        "builtins.copyright",
        "builtins.credits",
        "builtins.exit",
        "builtins.help",
        "builtins.input",
        "builtins.license",
        "builtins.open",
        "builtins.print",
        "builtins.quit",
        "builtins._",
        "_frozen_importlib.__import__",
        "_pytest.config.Config._getini_unknown_type",  # by pytest itself, as long as a session is configured
        "pytest.__getattr__",
    }
)
NOT_COMPARED = frozenset({"__annotate__", "__annotate_func__", "__annotations_cache__", "__abc_impl", "_abc_impl"})
DESCRIPTORS = (staticmethod, classmethod, property)
# What a test's outcome is made by, which is compared after collection.
VITAL = (
    "_pytest.assertion",
    "_pytest.python",
    "_pytest.raises",
    "_pytest.reports",
    "_pytest.runner",
    "builtins",
    "os",
    "pluggy._callers",
    "unittest.case",
)
# What of it is compared after each test.
CORE = ("_pytest.reports.TestReport", "_pytest.runner", "pluggy._callers", "unittest.case.TestCase", "unittest.case._Outcome")


class Baseline:
    """What the modules that are loaded now hold."""

    __slots__ = ("changes", "core", "is_current", "vital")

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        rows = [row for name, module in modules.items() for row in rows_of(name, module)]
        self.changes = comparer(rows)
        self.vital = comparer([row for row in rows if row[0].startswith(VITAL)])
        self.core = comparer([row for row in rows if row[0] in CORE])
        names, known = list(modules), list(modules.values())
        self.is_current = lambda: all(map(operator.is_, map(sys.modules.get, names), known))


def take() -> Baseline:
    """Remember everything."""
    return Baseline({name: module for name, module in sorted(sys.modules.items()) if matters(name, module)})


def matters(name: str, module: object) -> bool:
    """Whether a module is to stay as it is."""
    return isinstance(module, ModuleType) and (name in EXACT or name == "os" or name.startswith(PREFIXES))


# The name of a module or class, its namespace, the names there and what they stood for.
Row = tuple[str, Any, list[str], list[Any]]


def rows_of(name: str, module: ModuleType) -> Iterator[Row]:
    """A module's own names, and those of its classes."""
    space = vars(module)
    yield row(name, space, list(OF_OS) if name == "os" else list(space))
    if name in ("os", "builtins"):
        return
    for value in list(space.values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield row("%s.%s" % (name, value.__qualname__), vars(value), list(vars(value)))


def row(owner: str, space: Any, names: list[str]) -> Row:
    """One namespace."""
    kept = [
        name
        for name in names
        if name not in NOT_COMPARED
        and "%s.%s" % (owner, name) not in LEFT_OUT
        and (callable(space[name]) or isinstance(space[name], DESCRIPTORS))
    ]
    return owner, space, kept, [space[name] for name in kept]


def comparer(rows: list[Row]) -> Callable[[], list[str]]:
    """What names the changes in these namespaces."""
    parts = {
        id(function): ("%s.%s" % (owner, name), function)
        for owner, _, names, values in rows
        for name, value in zip(names, values)
        for function in functions_of(value)
    }
    states = [State(parts.values(), "__code__")]
    for attribute in ("__defaults__", "__kwdefaults__"):  # who has none cannot be called otherwise by getting some
        states.append(State([part for part in parts.values() if getattr(part[1], attribute)], attribute))
    spaces = [(space, list(space.values())) for _, space, _, _ in rows]
    same, every, each, size = operator.is_, all, map, len
    accepted: list[Any] = []

    def changes() -> list[str]:
        found = []
        for (space, before), (owner, _, names, values) in zip(spaces, rows):
            if size(space) == size(before) and every(each(same, space.values(), before)):
                continue  # the usual case
            for name, value in zip(names, values):
                now = space.get(name)
                if now is value or any(now is known for known in accepted):
                    continue
                if of_package(now):
                    accepted.append(now)
                else:
                    found.append("%s.%s" % (owner, name))
        for state in states:
            if not every(each(same, each(state.read, state.bodies), state.values)):
                found.extend(state.changed())
        return found

    return changes


class State:
    """An attribute of functions, as it was."""

    def __init__(self, parts: Iterable[tuple[str, FunctionType]], attribute: str) -> None:
        self.names = [name for name, _ in parts]
        self.bodies = [body for _, body in parts]
        self.read = operator.attrgetter(attribute)
        self.values = [self.read(body) for body in self.bodies]

    def changed(self) -> list[str]:
        """The names of the functions whose attribute is another now."""
        known = zip(self.names, self.bodies, self.values)
        return [name for name, body, value in known if self.read(body) is not value]


def functions_of(value: object) -> list[FunctionType]:
    """The functions behind an attribute."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    parts = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (value,)
    return [part for part in parts if type(part) is FunctionType]


def of_package(value: object) -> bool:
    """Whether something was made by the code in the files of an installed package."""
    if isinstance(value, type):
        parts = [part for item in vars(value).values() for part in functions_of(item)]
    else:
        parts = functions_of(value)
    return bool(parts) and all(is_code_of_package(part.__code__) for part in parts)


def is_code_of_package(code: CodeType) -> bool:
    """Whether the code is in a file of a package."""
    from probity_standins.imports import wheels

    file = code.co_filename
    if not any(file.startswith(folder + "/") for folder in wheels()) or not os.path.isfile(file):
        return False
    return any(code in list(codes_within(top)) for top in compiled(file))


def compiled(file: str) -> Iterator[CodeType]:
    """The code of a file, as Python compiles it and as pytest does."""
    loader = machinery.SourceFileLoader("probity_compared", file)
    yield loader.source_to_code(loader.get_data(file), file)
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is not None:
        tree = builtins.compile(loader.get_data(file), file, "exec", flags=1024, dont_inherit=True)
        rewrite.rewrite_asserts(tree, loader.get_data(file), file)
        yield builtins.compile(tree, file, "exec", dont_inherit=True)


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """The code and all that is defined in it."""
    waiting = [code]
    for part in waiting:
        yield part
        waiting.extend(const for const in part.co_consts if isinstance(const, CodeType))


def from_its_file(module: ModuleType, path: str) -> str:
    """Why a module of tests is not what its file holds, as far as its import tells; or nothing."""
    spec = getattr(module, "__spec__", None)
    loader = getattr(spec, "loader", None)
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    genuine = (machinery.SourceFileLoader, getattr(rewrite, "AssertionRewritingHook", None))
    if type(loader) not in genuine:
        return "it was loaded by `%s`" % type(loader).__qualname__
    file = getattr(module, "__file__", None)
    if file != path or spec.origin != path:
        return "it was loaded from `%s`" % (spec.origin if file == path else file)
    there = sys.modules.get(module.__name__)
    return "" if there is None or there is module else "another module stands in its place"


def impostors(folder: str) -> list[str]:
    """Modules that came from nowhere and have the names of files in a folder of tests.

    In a package the files have longer names, and `__main__` is the interpreter's own.
    """
    files = os.listdir(folder)
    if "__init__.py" in files:
        return []
    names = [name[:-3] for name in sorted(files) if name.endswith(".py") and not name.startswith("__")]
    return [name for name in names if name in sys.modules and came_from_nowhere(sys.modules[name])]


def came_from_nowhere(module: object) -> bool:
    """Whether no import made the module: nothing says from which file, or the file is not there."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return origin is None or not (origin in ("built-in", "frozen") or os.path.isfile(origin))
