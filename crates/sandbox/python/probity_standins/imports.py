"""Where modules come from: the project, then its wheels, then the runtime, then stand-in modules.

Invariants: `sys.path` holds only the project's and the wheels' folders. The runtime's archive is asked
last, and only for the standard library and for the packages of its own that the session names; packages it
merely bundles, also those linked into the interpreter, cannot be imported and have no metadata. A module
that was imported earlier and would now come from elsewhere is forgotten, together with everything that came
from wheels.
Absent: `.pth` files and editable installs.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# zoneinfo reads the time zones from this package where no folder of the system has them
SYSTEM = frozenset({"tzdata"})
# the parts of this harness that pytest is bound to
PYTEST_PARTS = {"probity_pytest", "probity_parts", "probity_ahead"}
_wheels: list[str] = []
STANDIN_MODULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules")


class Runtime:
    """The last finder: the interpreter's own archive and the stand-in modules."""

    def __init__(self, folders: Sequence[str], bundled: Iterable[str]) -> None:
        self.folders = list(folders)
        self.bundled = frozenset(bundled) | SYSTEM
        self.standins = frozenset(name.partition(".")[0] for name in os.listdir(STANDIN_MODULES))

    def allows(self, name: str) -> bool:
        """Whether the top-level name is the runtime's to give."""
        top = name.partition(".")[0]
        return (
            top in sys.stdlib_module_names
            or top.startswith("_sysconfigdata_")
            or top in self.bundled
            or "*" in self.bundled
        )

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's spec, if it is allowed, and top-level or a part that the archive lacks."""
        if not self.allows(name):
            return None
        if path is not None:
            within = any(str(entry).startswith(folder + "/") for entry in path for folder in self.folders)
            parents = name.split(".")[:-1]
            return PathFinder.find_spec(name, [os.path.join(STANDIN_MODULES, *parents)]) if within else None
        if name in self.standins and not self.works(name):
            return PathFinder.find_spec(name, [STANDIN_MODULES])
        return PathFinder.find_spec(name, self.folders)

    def works(self, name: str) -> bool:
        """Whether the runtime has the module itself; ssl is there but lacks its other half."""
        if name == "ssl":
            return "_ssl" in sys.builtin_module_names
        return PathFinder.find_spec(name, self.folders) is not None

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """The metadata of the bundled packages that the session names."""
        if not self.bundled - SYSTEM:
            return
        wanted = importlib.metadata.DistributionFinder.Context(
            name=getattr(context, "name", None), path=self.folders
        )
        for found in importlib.metadata.MetadataPathFinder.find_distributions(wanted):
            tops = {os.path.splitext(str(file).partition("/")[0])[0] for file in found.files or ()}
            if "*" in self.bundled or tops & self.bundled:
                yield found


class Hidden:
    """The first finder: refuses what is linked into the interpreter but not part of Python."""

    def __init__(self, runtime: Runtime) -> None:
        self.names = frozenset(n for n in sys.builtin_module_names if not runtime.allows(n))

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> None:
        """Nothing, or the error for a hidden module."""
        if name in self.names:
            raise ModuleNotFoundError("No module named %r" % name, name=name)


def set_order(project: list[str], site: list[str], bundled: Iterable[str]) -> None:
    """Set the import path and forget what was imported from elsewhere."""
    archives = [entry for entry in sys.path if entry.endswith(".zip")]
    for finder in list(sys.meta_path):
        if isinstance(finder, Runtime):
            archives = archives or finder.folders
        if isinstance(finder, (Runtime, Hidden)):
            sys.meta_path.remove(finder)
    runtime = Runtime(archives, bundled)
    sys.path[:] = [*project, *site]
    _wheels[:] = site
    sys.meta_path.insert(0, Hidden(runtime))
    sys.meta_path.append(runtime)
    forget(project, site, runtime)
    importlib.invalidate_caches()


def wheels() -> list[str]:
    """The folders with installed wheels."""
    return list(_wheels)


def is_runtime(name: str) -> bool:
    """Whether a module belongs to Python or to this harness, not to the project or a wheel."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top.startswith(
        ("_sysconfigdata_", "probity_", "_reactor", "_zip_")
    )


def forget(project: list[str], site: list[str], runtime: Runtime) -> None:
    """Drop imported modules that now belong to somebody else."""

    def within(folders: list[str], module: ModuleType) -> bool:
        file = getattr(module, "__file__", None) or ""
        return any(file.startswith(folder + "/") for folder in folders)

    tops = {
        name: module
        for name, module in list(sys.modules.items())
        if "." not in name and getattr(module, "__file__", None) and name != "__main__"
    }
    stale = {
        name for name, module in tops.items() if within(runtime.folders, module) and not runtime.allows(name)
    }
    third_party = {name for name in tops if name not in sys.stdlib_module_names and name not in stale}
    if any(
        PathFinder.find_spec(name, project)
        for name in third_party
        if not within(project, tops[name]) and not name.startswith("probity_")
    ):
        stale |= {name for name in third_party if within(site, tops[name])} | PYTEST_PARTS
    for name in list(sys.modules):
        if name.partition(".")[0] in stale:
            del sys.modules[name]
