"""Parts of pytest's start that are the same for every repository, done before the snapshot.

`prepare` leaves in pytest a configuration with the default plugins registered, which the next session takes
instead of making one, and the names of the fixtures of plugin modules, so that they are not searched again.
It also puts a quicker walk over syntax trees in place of the one that assertions are rewritten by.

Invariants: a session that asks for other plugins than the prepared ones makes its own configuration; a
module whose namespace has changed since is searched as usual.
Absent: anything that depends on a repository: its settings, its conftest files, its root.
"""

from __future__ import annotations

import ast
import builtins
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

_fixture_names: dict[int, tuple[object, int, list[str]]] = {}


def prepare(options: Sequence[str]) -> None:
    """Prepare for a session whose arguments begin with `options`."""
    from _pytest import config, fixtures
    from _pytest.assertion import rewrite

    fixtures.dir = quick_dir  # the name that its loops look up; before it counts as a change
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and is_plugin(module):
            remember(module)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    remember(value)
    config.get_config = Prepared(config, options)
    if hasattr(rewrite, "traverse_node"):
        rewrite.traverse_node = all_nodes


def is_plugin(module: ModuleType) -> bool:
    """Whether pytest may look for fixtures in the module."""
    return module.__name__.startswith(("_pytest.", "probity_pytest"))


def remember(holder: ModuleType | type) -> None:
    """Note which of the names in a module or class may be fixtures."""
    names = [name for name in dir(holder) if may_be_fixture(holder, name)]
    _fixture_names[id(holder)] = (holder, len(vars(holder)), names)


def may_be_fixture(holder: ModuleType | type, name: str) -> bool:
    """Whether pytest could find a fixture under the name, or complain about one."""
    if isinstance(holder, ModuleType):
        raw = vars(holder).get(name)
    else:
        raw = next((vars(base)[name] for base in holder.__mro__ if name in vars(base)), None)
    while not isinstance(raw, type):
        if type(raw).__name__ == "FixtureFunctionDefinition" or hasattr(raw, "_pytestfixturefunction"):
            return True
        if not hasattr(raw, "__wrapped__"):
            return False
        raw = raw.__wrapped__
    return False


def quick_dir(*holder: object) -> list[str]:
    """`dir`, but for known modules and objects of known classes only the names that matter."""
    if len(holder) != 1:
        return builtins.dir(*holder)
    key = holder[0] if isinstance(holder[0], (ModuleType, type)) else type(holder[0])
    known = _fixture_names.get(id(key))
    if known is None or known[0] is not key:
        return builtins.dir(*holder)
    if isinstance(key, ModuleType) and known[1] != len(vars(key)):
        return builtins.dir(*holder)
    return known[2]


def all_nodes(node: ast.AST) -> list[ast.AST]:
    """The node and all below it that have a place in the source, which is all that is asked for."""
    found = [node]
    for parent in found:
        for value in vars(parent).values():
            if isinstance(value, ast.AST):
                if value._attributes or value._fields:
                    found.append(value)
            elif type(value) is list:
                found.extend(inner for inner in value if isinstance(inner, ast.AST))
    return found


class Prepared:
    """Stands for `get_config`: gives the prepared configuration away once."""

    def __init__(self, module: ModuleType, options: Sequence[str]) -> None:
        from probity_parts import as_main

        self.make: Callable[..., Any] = module.get_config
        self.parameters: Callable[..., Any] = module.Config.InvocationParams
        self.plugins = plugin_options(options)
        self.more = as_main(self.make)
        self.ready: Any = self.make(list(options), None, **self.more)

    def __call__(
        self, args: Iterable[str] | None = None, plugins: Sequence[object] | None = None, **more: object
    ) -> Any:
        config, self.ready = self.ready, None
        given = list(args or ())
        if config is None or plugin_options(given) != self.plugins or more != self.more:
            return self.make(given, plugins, **more)
        config.invocation_params = self.parameters(args=given, plugins=plugins, dir=pathlib.Path.cwd())
        return config


def plugin_options(args: Sequence[str]) -> list[str]:
    """The values of the options `-p`, in order."""
    found = []
    for index, arg in enumerate(args):
        if arg == "-p":
            found.extend(args[index + 1 : index + 2])
        elif arg.startswith("-p"):
            found.append(arg[2:])
    return found
