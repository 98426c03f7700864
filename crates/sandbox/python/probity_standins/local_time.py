"""`time.tzset()`: local time in the zone that the environment variable TZ names.

WASI's local time is always UTC. The functions of `time` that speak of local time, and the methods of
`datetime` that do, are computed here from `zoneinfo` as long as TZ names another zone; otherwise the
interpreter's own are used.

Invariants: TZ has POSIX's meaning (a zone's name, a file, or a rule such as `EST5EDT,M3.2.0,M11.1.0`);
`time` and `datetime` agree, since `datetime`'s methods are replaced in the types themselves, where every
reference sees them.
Absent: leap seconds, the `datetime` types' functions in C code that bypasses their methods, TZ rules that
`zoneinfo` refuses (`Unsupported`).
"""

from __future__ import annotations

import datetime
import gc
import io
import os
import re
import struct
import sys
import time
import warnings
from typing import Any

from .builtin import Builtin
from .ledger import Unsupported, note


class Real:
    """The types and the clock as they are now; libraries that freeze time replace the modules' own names."""

    datetime, date, time = datetime.datetime, datetime.date, time.time


_zone: datetime.tzinfo | None = None
_system = {name: getattr(time, name) for name in ("localtime", "mktime", "strftime", "asctime", "ctime")}
_EPOCH = Real.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_SECOND = datetime.timedelta(seconds=1)
HOUR = 3600  # what a zone without summer time is taken to gain by it
DEFAULT_RULE = ",M3.2.0,M11.1.0"
_methods: dict[tuple[type, str], Any] = {}


def zone_of(value: str | None) -> datetime.tzinfo | None:
    """The zone that TZ names; None is UTC."""
    import zoneinfo

    name = (value or "").removeprefix(":")
    if name in ("", "UTC", "UTC0", "Etc/UTC", "/etc/localtime"):
        return None
    if name.startswith("/"):
        with open(name, "rb") as file:
            return zoneinfo.ZoneInfo.from_file(file)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        pass
    if not re.search(r"\d", name):  # not a rule: UTC under that name, unless it may be that of a zone
        if not zoneinfo.available_timezones():
            raise Unsupported("TZ=%r without time zones" % value)
        letters = re.match(r"[A-Za-z]{3,}|", name)[0]
        return datetime.timezone(datetime.timedelta(0), letters)
    rule = (
        name
        if "," in name or not re.fullmatch(r"(?:<[^>]+>|[A-Za-z]+)[-+:\d]+(?:<[^>]+>|[A-Za-z]+).*", name)
        else name + DEFAULT_RULE
    )
    try:
        return zoneinfo.ZoneInfo.from_file(io.BytesIO(zone_file(rule)))
    except ValueError:
        raise Unsupported("TZ=%r" % value) from None


def zone_file(rule: str) -> bytes:
    """A TZif file (RFC 8536) without transitions and with the rule in its footer."""
    header = b"TZif2" + bytes(15) + struct.pack(">6I", 0, 0, 0, 0, 1, 4)
    block = struct.pack(">iBB", 0, 0, 0) + b"UTC\0"
    return (header + block) * 2 + b"\n" + rule.encode("ascii") + b"\n"


def _in_zone(seconds: float) -> datetime.datetime:
    whole = int(seconds // 1)
    try:
        return (_EPOCH + whole * _SECOND).astimezone(_zone)
    except OverflowError:
        raise OverflowError("timestamp out of range for platform time_t") from None


def _fields(moment: datetime.datetime) -> time.struct_time:
    offset, saving = moment.utcoffset(), moment.dst()
    return time.struct_time((*moment.timetuple()[:8], int(bool(saving)), moment.tzname(), offset // _SECOND))


def localtime(seconds: float | None = None, /) -> time.struct_time:
    """As in `time`."""
    if _zone is None:
        return _system["localtime"](seconds)
    return _fields(_in_zone(Real.time() if seconds is None else seconds))


def mktime(t: Any, /) -> float:
    """As in `time`."""
    if _zone is None:
        seconds = _system["mktime"](t)
        return seconds - HOUR if t[8] > 0 else seconds
    year, month, day, hour, minute, second, _, _, saving = tuple(t)[:9]
    months = year * 12 + month - 1
    naive = Real.datetime(months // 12, months % 12 + 1, 1) + datetime.timedelta(
        days=day - 1, hours=hour, minutes=minute, seconds=second
    )
    local = naive.replace(tzinfo=_zone)
    if saving >= 0 and bool(local.dst()) != bool(saving):
        other = local.replace(fold=1)
        if bool(other.dst()) == bool(saving):
            local = other
        else:
            gain = (time.timezone - time.altzone) or HOUR
            local -= datetime.timedelta(seconds=gain if saving else -gain)
    return (local - _EPOCH) / _SECOND


def strftime(format: str, t: Any = None, /) -> str:
    """As in `time`."""
    if _zone is None and t is None:
        return _system["strftime"](format)
    moment = localtime() if t is None else t
    if _zone is not None and isinstance(moment, time.struct_time) and moment.tm_zone is not None:
        format = _with_zone(format, moment)
    return _system["strftime"](format, moment)


def _with_zone(format: str, moment: time.struct_time) -> str:
    """Fill in what the system, which knows no zones, would write as UTC."""
    sign, offset = ("-" if moment.tm_gmtoff < 0 else "+"), abs(moment.tm_gmtoff) // 60
    values = {"%Z": moment.tm_zone.replace("%", "%%"), "%z": "%s%02d%02d" % (sign, *divmod(offset, 60))}
    return re.sub("%.", lambda found: values.get(found[0], found[0]), format, flags=re.DOTALL)


def asctime(t: Any = None, /) -> str:
    """As in `time`."""
    return _system["asctime"](localtime() if t is None else t)


def ctime(seconds: float | None = None, /) -> str:
    """As in `time`."""
    return _system["asctime"](localtime(seconds))


def tzset() -> None:
    """Take the zone from the environment."""
    global _zone
    note("local-time")
    _zone = zone_of(os.environ.get("TZ"))
    if _zone is None:
        time.tzname, time.timezone, time.altzone, time.daylight = ("UTC", "UTC"), 0, 0, 0
    else:
        year = Real.datetime.now(datetime.timezone.utc).year
        january, july = (Real.datetime(year, month, 1, tzinfo=_zone) for month in (1, 7))
        winter, summer = (january, july) if january.utcoffset() <= july.utcoffset() else (july, january)
        time.tzname = (winter.tzname(), summer.tzname())
        time.timezone, time.altzone = (-(moment.utcoffset() // _SECOND) for moment in (winter, summer))
        time.daylight = int(january.utcoffset() != july.utcoffset())


def _now(cls: type, tz: Any = None) -> datetime.datetime:
    now = _methods[Real.datetime, "now"].__get__(None, cls)
    return now(tz) if tz is not None or _zone is None else now(_zone).replace(tzinfo=None)


def _datetime_fromtimestamp(cls: type, timestamp: float, tz: Any = None) -> datetime.datetime:
    fromtimestamp = _methods[Real.datetime, "fromtimestamp"].__get__(None, cls)
    if tz is not None or _zone is None:
        return fromtimestamp(timestamp, tz)
    return fromtimestamp(timestamp, _zone).replace(tzinfo=None)


def _timestamp(self: datetime.datetime) -> float:
    local = self if _zone is None or self.utcoffset() is not None else self.replace(tzinfo=_zone)
    return _methods[Real.datetime, "timestamp"](local)


def _astimezone(self: datetime.datetime, tz: Any = None) -> datetime.datetime:
    astimezone = _methods[Real.datetime, "astimezone"]
    if _zone is None:
        return astimezone(self, tz)
    aware = self if self.utcoffset() is not None else self.replace(tzinfo=_zone)
    if tz is None:
        local = astimezone(aware, _zone)
        tz = datetime.timezone(local.utcoffset(), local.tzname())
    return astimezone(aware, tz)


def _date_fromtimestamp(cls: type, timestamp: float, /) -> datetime.date:
    if _zone is None:
        return _methods[Real.date, "fromtimestamp"].__get__(None, cls)(timestamp)
    return cls(*localtime(timestamp)[:3])


def _date_today(cls: type) -> datetime.date:
    return cls.fromtimestamp(Real.time())


REPLACEMENTS = {
    (Real.datetime, "now"): classmethod(_now),
    (Real.datetime, "fromtimestamp"): classmethod(_datetime_fromtimestamp),
    (Real.datetime, "timestamp"): _timestamp,
    (Real.datetime, "astimezone"): _astimezone,
    (Real.date, "fromtimestamp"): classmethod(_date_fromtimestamp),
    (Real.date, "today"): classmethod(_date_today),
}


def exchange() -> None:
    """Put the methods into the `datetime` types.

    The types refuse assignment, so this reaches their dictionaries through the garbage collector. It
    must happen once and early: code that has called a method often keeps a shortcut to it.
    """
    for (kind, name), method in REPLACEMENTS.items():
        (members,) = gc.get_referents(kind.__dict__)  # the mapping proxy refers to the dictionary itself
        _methods[kind, name] = members[name]
        members[name] = method
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("_clear_internal_caches", "_clear_type_cache"):
            getattr(sys, name, int)()


def install() -> None:
    """Add `tzset`, and route the other functions through here, if the interpreter lacks it."""
    if not hasattr(time, "tzset"):
        for function in (localtime, mktime, strftime, asctime, ctime, tzset):
            setattr(time, function.__name__, Builtin(function))
        exchange()
