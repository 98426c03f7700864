"""`setlocale()` as on a machine on which no locale is installed.

The C library of WASI takes any name for a locale and behaves as for `C`. A program that asks for a language
would believe it has it.

Invariants: only the names of `C`, `POSIX` and `C.UTF-8` are locales; any other is refused as unknown.
Absent: languages.
"""

from __future__ import annotations

import _locale
import locale
import os

from .builtin import Builtin

KNOWN = frozenset({"C", "POSIX", "C.UTF-8", "C.utf8"})
VARIABLES = {
    locale.LC_COLLATE: "LC_COLLATE",
    locale.LC_CTYPE: "LC_CTYPE",
    locale.LC_MESSAGES: "LC_MESSAGES",
    locale.LC_MONETARY: "LC_MONETARY",
    locale.LC_NUMERIC: "LC_NUMERIC",
    locale.LC_TIME: "LC_TIME",
}
_system = _locale.setlocale


def setlocale(category: int, locale: str | None = None, /) -> str:
    """As in `_locale`."""
    if locale is None:
        return _system(category)
    if "\0" not in locale and not all(name in KNOWN for name in names(category, locale)):
        raise _locale.Error("unsupported locale setting")
    return _system(category, locale)


def names(category: int, setting: str) -> list[str]:
    """The locales that a setting names: one, one for each category, or those of the environment."""
    if setting == "":
        return [from_environment(number) for number in VARIABLES if category in (number, locale.LC_ALL)]
    return [part.rpartition("=")[2] for part in setting.split(";")]


def from_environment(category: int) -> str:
    """The locale that the environment names for a category."""
    found = (os.environ.get(name) for name in ("LC_ALL", VARIABLES[category], "LANG"))
    return next(filter(None, found), "C")


def install() -> None:
    """Replace the function if it takes any name."""
    before = _system(locale.LC_TIME)
    try:
        _system(locale.LC_TIME, "xx_XX")
    except locale.Error:
        return
    _system(locale.LC_TIME, before)
    _locale.setlocale = locale._setlocale = Builtin(setlocale)
