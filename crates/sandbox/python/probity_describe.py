"""What the side of the code under test says about an object that it mentions for the first time.

    {"kind": "module", "name", "package", "dynamic", "attributes"}
    {"kind": "class", "module", "name", "bases": [value…], "methods", "special", "of-class", "names", "compares",
     "abstract": names in collections.abc, "members": {name: n}, "container", "dynamic"}
    {"kind": "function", "module", "name", "qualname", "doc", "binds", "own", "standard": its form in the standard library}
    {"kind": "error", "type", "args", "text", "fields", "cause"}
    {"kind": "object", "type", "own": names that look like the language's}

Invariants: describing runs none of an object's own methods, but for `str` of an error.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import types
import uuid
from typing import Any

from probity_wire import NAMES, Encoder

# Types that tests may get as such: they do nothing of their own accord.
PLAIN_TYPES: dict[type, tuple[str, str]] = {
    kind: (kind.__module__, kind.__qualname__)
    for kind in (
        *(int, str, float, bool, bytes, list, dict, tuple, set, frozenset, complex, bytearray, object),
        *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone, datetime.tzinfo),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PosixPath, pathlib.PurePosixPath),
        *(collections.OrderedDict, collections.Counter, collections.deque),
    )
}
# Modules of the standard library whose error classes tests may get as such.
ERROR_MODULES = frozenset(
    """
    _csv _pickle _queue _socket argparse ast asyncio.exceptions asyncio.queues binascii builtins concurrent.futures._base
    configparser copy csv dataclasses datetime decimal email.errors getopt html.parser http.client http.cookies
    io ipaddress json.decoder locale pickle plistlib pyexpat queue re re._constants shutil socket sqlite3 ssl
    statistics string struct subprocess tarfile tokenize tomllib unicodedata urllib.error uuid xml.etree.ElementTree
    xml.parsers.expat zipfile zlib zoneinfo zoneinfo._common
    """.split()
)
VALUES = (bool, int, float, complex, str, bytes, tuple, frozenset)  # subclasses cross with their value
CONTAINERS = (dict, list, set)
SPECIAL = frozenset(
    """
    __len__ __bool__ __str__ __repr__ __iter__ __next__ __getitem__ __setitem__ __delitem__ __contains__ __call__
    __enter__ __exit__ __int__ __float__ __complex__ __index__ __bytes__ __format__ __reversed__ __fspath__ __neg__
    __pos__ __abs__ __invert__ __round__ __trunc__ __floor__ __ceil__ __copy__ __deepcopy__ __dir__ __length_hint__
    __add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ __lshift__ __rshift__
    __and__ __xor__ __or__ __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__
    __rpow__ __rlshift__ __rrshift__ __rand__ __rxor__ __ror__ __iadd__ __isub__ __imul__ __imatmul__ __itruediv__
    __ifloordiv__ __imod__ __ipow__ __ilshift__ __irshift__ __iand__ __ixor__ __ior__
    """.split()
)
METHODS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    classmethod,
    staticmethod,
)
COMPARING = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
ABSTRACT = tuple(name for name in collections.abc.__all__ if name not in ("Hashable", "ByteString", "Buffer"))
# What of a module's own names is told.
TOLD = frozenset({"__all__", "__version__", "__doc__", "__author__", "__file__"})
# What a class makes known that is no attribute to ask for.
OWN = frozenset({"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__init__", "__new__"})


def describe(agent: Any, value: Any, number: int) -> dict[str, Any]:
    """The description of an object."""
    if isinstance(value, types.ModuleType):
        return module(agent, value, number)
    if isinstance(value, type):
        return a_class(agent, value)
    if isinstance(value, BaseException):
        return error(agent, value)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return {
            "kind": "function",
            "module": text(getattr(value, "__module__", None)),
            "name": text(value.__name__),
            "qualname": text(value.__qualname__),
            "doc": text(value.__doc__),
            "standard": named_standard(value),
            "binds": isinstance(value, types.FunctionType),
            "own": own(value),
        }
    return {"kind": "object", "type": agent.object(type(value)), "own": own(value)}


def own(value: Any) -> list[str]:
    """The attributes of an object that look like the language's, such as `__wrapped__`."""
    try:
        return sorted(str(name) for name in object.__getattribute__(value, "__dict__") if str(name).startswith("__"))
    except Exception:
        return []


def form(agent: Any, value: Any) -> Any:
    """The form of a part of a description."""
    return agent.encode(value, Encoder(agent.other))


def text(value: object) -> str | None:
    """A text as such, or nothing."""
    return str(value) if isinstance(value, str) else None


def module(agent: Any, value: types.ModuleType, number: int) -> dict[str, Any]:
    """A module; what it binds is told only if it is one of the modules under test."""
    name = str(value.__name__)
    within = name.partition(".")[0] in agent.tops
    if within:
        agent.modules[number] = bindings(value)
    return {
        "kind": "module",
        "name": name,
        "package": hasattr(value, "__path__"),
        "dynamic": not within or "__getattr__" in vars(value),
        "attributes": attributes(agent, value) if within else {},
    }


def bindings(value: types.ModuleType) -> list[Any]:
    """What a module's names are bound to, to be compared at each message."""
    bound = vars(value)
    return [*bound, *map(id, bound.values())]


def attributes(agent: Any, value: types.ModuleType) -> dict[str, Any]:
    """What a module binds: the form of what stays as it is; `null` in a list for what may change inside."""
    found: dict[str, Any] = {}
    for name, bound in list(vars(value).items()):
        if name.startswith("__") and name not in TOLD:
            continue
        found[str(name)] = [form(agent, bound)] if lasting(bound) else []
    return found


def lasting(value: Any) -> bool:
    """Whether a value is what it is as long as it is bound to a name."""
    if type(value) in (tuple, frozenset):
        return all(lasting(item) for item in value)
    plain = type(value) in (type(None), bool, int, float, complex, str, bytes) or type(value) in NAMES
    kinds = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
    return plain or isinstance(value, kinds) or not isinstance(value, (*CONTAINERS, collections.deque, bytearray))


def a_class(agent: Any, value: type) -> dict[str, Any]:
    """A class."""
    own = dict(vars(value))
    methods = sorted(
        name
        for name, bound in own.items()
        if isinstance(bound, METHODS)
        and name not in OWN
        and not (name.startswith("__") and name.endswith("__"))
    )
    meta = type(value)
    return {
        "kind": "class",
        "module": str(value.__module__),
        "name": str(value.__qualname__),
        "doc": text(own.get("__doc__")),
        "bases": [form(agent, base) for base in value.__bases__],
        "methods": methods,
        "special": sorted(name for name in own if name in SPECIAL and own[name] is not None),
        "of-class": sorted(
            name for name in SPECIAL if meta is not type and any(name in vars(kind) for kind in meta.__mro__[:-2])
        ),
        "names": sorted({str(name) for kind in value.__mro__ for name in vars(kind)} - OWN),
        "compares": any(name in COMPARING for name in own) and value not in CONTAINERS,
        "abstract": [name for name in ABSTRACT if is_a(value, getattr(collections.abc, name))],
        "members": members(agent, value),
        "container": getattr(container_base(value), "__name__", None),
        "dynamic": any("__getattr__" in vars(kind) for kind in meta.__mro__),
    }


def members(agent: Any, value: type) -> dict[str, int]:
    """The members of an enumeration, whose names are the tests' way to name what they expect."""
    if not isinstance(value, enum.EnumType) or issubclass(value, VALUES):
        return {}
    return {name: agent.object(member)[1] for name, member in value.__members__.items() if type(member) is value}


def is_a(value: type, base: type) -> bool:
    """`issubclass`, whatever hooks it has."""
    try:
        return issubclass(value, base)
    except Exception:
        return False


def error(agent: Any, value: BaseException) -> dict[str, Any]:
    """An error."""
    fields = {name: bound for name, bound in vars(value).items() if not name.startswith("__")}
    if isinstance(value, OSError):
        fields |= {"errno": value.errno, "strerror": value.strerror, "filename": value.filename}
    if isinstance(value, SystemExit):
        fields["code"] = value.code
    return {
        "kind": "error",
        "type": form(agent, type(value)),
        "args": [form(agent, part) for part in value.args],
        "text": str(value),
        "fields": {str(name): form(agent, bound) for name, bound in fields.items()},
        "cause": None if value.__cause__ is None else form(agent, value.__cause__),
        "context": None if value.__context__ is None else form(agent, value.__context__),
    }


def standard(value: Any) -> list[Any] | None:
    """The form of a type or error class of the standard library that tests may have as such."""
    if not isinstance(value, type):
        return None
    named = PLAIN_TYPES.get(value)
    if named is not None:
        return ["S", *named]
    if value is type(None):
        return ["S", "types", "NoneType"]
    name = value.__module__
    if issubclass(value, BaseException) and isinstance(name, str):
        if name in ERROR_MODULES and getattr(sys.modules.get(name), value.__qualname__, None) is value:
            return ["S", name, value.__qualname__]
    return None


def base_value(value: Any) -> tuple[Any] | None:
    """The value of an instance of a subclass of a value's type."""
    for kind in VALUES:
        if isinstance(value, kind) and type(value) is not kind:
            if kind in (tuple, frozenset):
                return (kind(list(kind.__iter__(value))),)
            if kind is str:
                return (str.__str__(value),)
            if kind is bytes:
                return (bytes.__getitem__(value, slice(None)),)
            return (kind.__pos__(value),)
    return None


def container_base(kind: type) -> Any:
    """The container that a class derives from."""
    return next((base for base in CONTAINERS if issubclass(kind, base)), None)


def named_standard(value: Any) -> list[Any] | None:
    """The form of a class, function or module of the standard library, to be looked up on the other side."""
    if isinstance(value, enum.Enum):
        name, parts = type(value).__module__, "%s.%s" % (type(value).__qualname__, value._name_)
    elif isinstance(value, types.ModuleType):
        name, parts = value.__name__, ""
    else:
        if not isinstance(value, (type, types.BuiltinFunctionType, types.FunctionType)) and type(value).__name__ not in (
            "method_descriptor",
            "wrapper_descriptor",
            "classmethod_descriptor",
        ):
            return None
        owner = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
        owner = owner if isinstance(owner, type) else None
        name = getattr(value, "__module__", None) or getattr(owner, "__module__", None)
        parts = getattr(value, "__qualname__", "")
    if not isinstance(name, str) or name.partition(".")[0] not in sys.stdlib_module_names:
        return None
    found: Any = sys.modules.get(name)
    for part in parts.split(".") if parts else ():
        found = getattr(found, part, None)
    return ["S", name, parts] if found is value or (found is not None and found == value) else None
