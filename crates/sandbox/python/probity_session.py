"""One pytest session from its configuration to its exit code.

Invariants: nothing of the repository is imported before the session record is written; whatever goes wrong
before that is a `runner-error` record. The results device is closed at the end.
Absent: reading the configuration (main.py), the records of tests (probity_pytest.py).
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

import probity_records
import probity_standins
from probity_standins import imports

SETUP_FAILED = 3
OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:faulthandler",
    "--capture=sys",
    "--color=no",
    "--no-header",
    "--no-summary",
    "--basetemp=/tmp/pytest",
)
STEERING = (
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTEST_THEME",
    "PYTEST_THEME_MODE",
    "PYTEST_DEBUG",
    "FORCE_COLOR",
    "PY_COLORS",
)


@dataclass(frozen=True)
class Config:
    """What the host asks for; main.py describes the fields."""

    root: str
    results: str
    python_path: list[str] = field(default_factory=list)
    site: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    results_size: int = 64 * 1024 * 1024
    seed: int = 0
    skip: list[str] = field(default_factory=list)
    bundled: list[str] = field(default_factory=list)

    @property
    def project_folders(self) -> list[str]:
        """The absolute folders that the project's modules are imported from."""
        return [os.path.normpath(os.path.join(self.root, part)) for part in self.python_path]


def run(config: Config, here: str) -> int:
    """Run the session; `here` is the folder of this harness."""
    records = probity_records.Records(config.results, config.results_size)
    try:
        try:
            prepare(config)
            sys.path.append(here)
            import probity_pytest

            sys.path.remove(here)
            names = shadowed(config.project_folders + config.site)
        except BaseException as error:
            records.write({"event": "runner-error", "message": records.describe(error)})
            return SETUP_FAILED
        args = [*OPTIONS, "--rootdir=" + config.root, *config.args]
        return probity_pytest.run(records, args, names, frozenset(config.skip))
    finally:
        records.close()


def prepare(config: Config) -> None:
    """Stand-ins, import order, environment, working folder, seed."""
    probity_standins.install()
    imports.set_order(config.project_folders, config.site, config.bundled)
    for name in STEERING:
        os.environ.pop(name, None)
    os.environ["PYTHONPATH"] = os.pathsep.join(config.project_folders)  # for child programs
    os.environ.setdefault("COLUMNS", "80")
    os.chdir(config.root)
    import random

    random.seed(config.seed)


def shadowed(folders: list[str]) -> list[str]:
    """The standard library's names that a folder of the project or of its wheels also claims."""
    found: set[str] = set()
    for folder in folders:
        if os.path.isdir(folder):
            found.update(name.partition(".")[0] for name in os.listdir(folder))
    return sorted(found & sys.stdlib_module_names)
