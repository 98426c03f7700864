"""Compile every Python file below the given folders: `compile_site.py RESULTS FOLDER…`.

Writes to the results device one zip archive of `.pyc` files, named by their absolute paths without the leading
slash. The files are of the unchecked-hash kind, so that importing them reads no source and no clock.

Invariants: same sources, same bytes. A file that does not compile is left out; importing it then fails as it
would have. Absent: optimisation levels.
"""
from __future__ import annotations

import importlib._bootstrap_external as bootstrap
import importlib.util
import io
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator

EPOCH = (1980, 1, 1, 0, 0, 0)


def sources(folder: str) -> Iterator[str]:
    """The Python files below a folder, sorted."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith(".py"))


def compiled(path: str) -> bytes | None:
    """The content of the file's `.pyc`, or nothing if it is not valid Python."""
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return bytes(bootstrap._code_to_hash_pyc(code, importlib.util.source_hash(source), checked=False))


def main(results: str, folders: list[str]) -> None:
    """Compile, pack and write."""
    warnings.simplefilter("ignore")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as zip_file:
        for folder in folders:
            for path in sources(folder):
                data = compiled(path)
                if data is not None:
                    name = importlib.util.cache_from_source(path).lstrip("/")
                    zip_file.writestr(zipfile.ZipInfo(name, EPOCH), data)
    left = memoryview(archive.getvalue())
    device = os.open(results, os.O_WRONLY)
    while left:
        left = left[os.write(device, left):]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
