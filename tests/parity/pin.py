#!/usr/bin/env python3
"""Pin what the suites of `packages/` need: `pin.py [NAME …]`, without names all.

Reads `needs` of each `packages/NAME.toml`, lets pip resolve it and writes `packages/NAME.lock`. The package
under test is in its own lock only if it stands in `needs`: its wheel then gives its metadata, while its tree
is imported. How wheels are chosen stands in `../tasks/make_locks.py`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tasks"))
sys.dont_write_bytecode = True

import make_locks  # noqa: E402


def main(names: list[str]) -> None:
    """Write the locks."""
    wheels = make_locks.Wheels()
    for path in sorted((HERE / "packages").glob("*.toml")):
        if names and path.stem not in names:
            continue
        facts = tomllib.loads(path.read_text())
        found = make_locks.resolve(facts["needs"], make_locks.TARGET)
        if not found:
            raise SystemExit("%s: pip finds no set of wheels" % path.stem)
        pins = sorted((make_locks.normal(i["metadata"]["name"]), i["metadata"]["version"]) for i in found)
        own = make_locks.normal(facts["package"])
        if not any(need.startswith(own + "==") for need in facts["needs"]):
            pins = [pin for pin in pins if pin[0] != own]
        text = make_locks.text_of(pins, wheels).replace("make_locks.py", "pin.py")
        path.with_suffix(".lock").write_text(text)
        print("%s: %d wheels" % (path.stem, len(pins)))


if __name__ == "__main__":
    main(sys.argv[1:])
