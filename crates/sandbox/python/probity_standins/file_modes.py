"""Permission bits of files, which WASI has none of: remembered here for as long as the file exists.

`chmod`, `mkdir` and `os.open` set them, `stat` and its kin show them. Nobody is kept from anything by them,
as on a machine whose user is 0; `access` needs some execute bit to call a file executable, as it does there.

Invariants: a file has 0o644 until somebody says otherwise, a folder 0o755, a link 0o777. Bits follow a file
when it is renamed and end with its last name.
Absent: the bits that files of the repository had (they count as 0o644), owners, and a umask's effect on
what the built-in `open` makes.
"""

from __future__ import annotations

import os
import stat as kinds
from collections.abc import Callable
from typing import Any

from .builtin import Builtin
from .identity import current_umask
from .ledger import note

NAMES = ("stat", "lstat", "fstat", "chmod", "mkdir", "open", "access", "scandir", "unlink", "remove", "rmdir")
CAPABILITIES = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids)
OWN = {kinds.S_IFDIR: 0o755, kinds.S_IFLNK: 0o777, kinds.S_IFCHR: 0o666}
_system: dict[str, Callable[..., Any]] = {}
_modes: dict[tuple[int, int], int] = {}


def _key(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _bits(found: os.stat_result) -> int:
    return _modes.get(_key(found), OWN.get(kinds.S_IFMT(found.st_mode), 0o644))


def _shown(found: os.stat_result) -> os.stat_result:
    """The result with the file's bits."""
    kind, (fields, further) = found.__reduce__()
    return kind((fields[0] | _bits(found), *fields[1:]), further)


def stat(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    """As in `os`."""
    return _shown(_system["stat"](path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))


def lstat(path: Any, *, dir_fd: int | None = None) -> os.stat_result:
    """As in `os`."""
    return _shown(_system["lstat"](path, dir_fd=dir_fd))


def fstat(fd: int) -> os.stat_result:
    """As in `os`."""
    return _shown(_system["fstat"](fd))


def chmod(path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    """As in `os`."""
    if isinstance(path, int):
        found = _system["fstat"](path)
    else:
        _system["chmod"](path, mode, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        found = _system["stat"](path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    note("file-modes")
    _modes[_key(found)] = mode & 0o7777


def fchmod(fd: int, mode: int) -> None:
    """As in `os`."""
    chmod(fd, mode)


def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    """As in `os`."""
    _system["mkdir"](path, mode, dir_fd=dir_fd)
    _modes[_key(_system["stat"](path, dir_fd=dir_fd))] = mode & 0o7777 & ~current_umask()


def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """As in `os`."""
    fresh = flags & os.O_CREAT and not _exists(path, dir_fd)
    fd = _system["open"](path, flags, mode, dir_fd=dir_fd)
    if fresh:
        _modes[_key(_system["fstat"](fd))] = mode & 0o7777 & ~current_umask()
    return fd


def _exists(path: Any, dir_fd: int | None) -> bool:
    try:
        _system["stat"](path, dir_fd=dir_fd)
    except (OSError, ValueError):
        return False
    return True


def access(
    path: Any,
    mode: int,
    *,
    dir_fd: int | None = None,
    effective_ids: bool = False,
    follow_symlinks: bool = True,
) -> bool:
    """As in `os`."""
    options = {"dir_fd": dir_fd, "effective_ids": effective_ids, "follow_symlinks": follow_symlinks}
    if not _system["access"](path, mode, **options):
        return False
    if not mode & os.X_OK:
        return True
    found = _system["stat"](path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    return kinds.S_ISDIR(found.st_mode) or bool(_bits(found) & 0o111)


class Entry:
    """What `os.scandir` gives for a name."""

    __slots__ = ("_entry", "name", "path")

    def __init__(self, entry: os.DirEntry) -> None:
        self._entry, self.name, self.path = entry, entry.name, entry.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return self._entry.is_symlink()

    def is_junction(self) -> bool:
        """Never: only Windows has junctions."""
        return False

    def inode(self) -> int:
        """The file's number."""
        return self._entry.inode()

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As `os.stat`."""
        return _shown(self._entry.stat(follow_symlinks=follow_symlinks))

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return "<DirEntry %r>" % self.name


Entry.__module__, Entry.__name__, Entry.__qualname__ = "posix", "DirEntry", "DirEntry"


class Scan:
    """The iterator that `os.scandir` returns."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries

    def __iter__(self) -> Scan:
        return self

    def __next__(self) -> Entry:
        return Entry(next(self._entries))

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._entries.close()


def scandir(path: Any = None) -> Scan:
    """As in `os`."""
    return Scan(_system["scandir"](path if path is not None else "."))


def _forgetting(name: str) -> Callable[..., None]:
    """A function that takes away a name, and with the last one the bits."""

    def call(path: Any, *, dir_fd: int | None = None) -> None:
        try:
            found = _system["lstat"](path, dir_fd=dir_fd)
        except (OSError, ValueError, TypeError):
            found = None
        _system[name](path, dir_fd=dir_fd)
        if found is not None and (found.st_nlink <= 1 or kinds.S_ISDIR(found.st_mode)):
            _modes.pop(_key(found), None)

    return call


def install() -> None:
    """Replace the functions of `os`, if files have no bits here."""
    if _system:
        _modes.clear()  # another session has other files
        return
    if kinds.S_IMODE(os.stat("/").st_mode):
        return
    _system.update((name, getattr(os, name)) for name in NAMES)
    new = {"stat": stat, "lstat": lstat, "fstat": fstat, "chmod": chmod, "mkdir": mkdir, "open": open}
    new |= {
        "access": access,
        "scandir": scandir,
        **{name: _forgetting(name) for name in ("unlink", "remove", "rmdir")},
    }
    for name, function in new.items():
        wrapped = Builtin(function, name)
        setattr(os, name, wrapped)
        for capability in CAPABILITIES:
            if _system[name] in capability:
                capability.add(wrapped)
    os.supports_fd.add(os.chmod)
    os.fchmod, os.DirEntry = Builtin(fchmod), Entry
