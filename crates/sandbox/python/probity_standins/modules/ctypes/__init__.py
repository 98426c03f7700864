"""The names of `ctypes` that other modules mention when they are imported; using them is unsupported.

Invariants: types can be named, compared, derived from and put together into other types; making a value,
measuring a type or loading a library raises `Unsupported`. Asking for any other name is an
`AttributeError`, as it is for what only Windows has.
Absent: foreign functions and memory.
"""

from __future__ import annotations

from typing import Any, NoReturn

from probity_standins.ledger import Unsupported

DEFAULT_MODE = RTLD_LOCAL = 0
RTLD_GLOBAL = 0x100


class ArgumentError(Exception):
    """As in `ctypes`."""


class _Type(type):
    """The type of types, of which arrays can be named."""

    def __mul__(cls, length: int) -> _Type:
        return _Type("%s_Array_%d" % (cls.__name__, length), (Array,), {"_type_": cls, "_length_": length})

    __rmul__ = __mul__


class _CData(metaclass=_Type):
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("ctypes.%s" % type(self).__name__)


class _SimpleCData(_CData):
    """As in `ctypes`."""


class _Pointer(_CData):
    """As in `ctypes`."""


class _CFuncPtr(_CData):
    """As in `ctypes`."""


class Array(_CData):
    """As in `ctypes`."""


class Structure(_CData):
    """As in `ctypes`."""


class Union(_CData):
    """As in `ctypes`."""


BigEndianStructure = LittleEndianStructure = Structure
BigEndianUnion = LittleEndianUnion = Union


class CDLL:
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported("ctypes.%s" % type(self).__name__)


class PyDLL(CDLL):
    """Cannot be made."""


class LibraryLoader:
    """Loads nothing."""

    def __init__(self, dlltype: type[CDLL]) -> None:
        self._dlltype = dlltype

    def __getattr__(self, name: str) -> CDLL:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._dlltype(name)

    def LoadLibrary(self, name: str) -> CDLL:
        """Unsupported."""
        return self._dlltype(name)


cdll, pydll = LibraryLoader(CDLL), LibraryLoader(PyDLL)


def POINTER(cls: Any) -> _Type:
    """The name of a pointer type."""
    return _Type("LP_%s" % getattr(cls, "__name__", cls), (_Pointer,), {"_type_": cls})


def CFUNCTYPE(restype: Any, *argtypes: Any, **kwargs: Any) -> _Type:
    """The name of a function type."""
    return _Type("CFunctionType", (_CFuncPtr,), {"_restype_": restype, "_argtypes_": argtypes})


PYFUNCTYPE = CFUNCTYPE


def _unsupported(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported("ctypes.%s" % name)

    function.__name__ = name
    return function


SIMPLE = (
    "c_bool",
    "c_byte",
    "c_char",
    "c_char_p",
    "c_double",
    "c_float",
    "c_int",
    "c_int16",
    "c_int32",
    "c_int64",
    "c_int8",
    "c_long",
    "c_longdouble",
    "c_longlong",
    "c_short",
    "c_size_t",
    "c_ssize_t",
    "c_time_t",
    "c_ubyte",
    "c_uint",
    "c_uint16",
    "c_uint32",
    "c_uint64",
    "c_uint8",
    "c_ulong",
    "c_ulonglong",
    "c_ushort",
    "c_void_p",
    "c_voidp",
    "c_wchar",
    "c_wchar_p",
    "py_object",
)
FUNCTIONS = (
    "addressof",
    "alignment",
    "byref",
    "cast",
    "create_string_buffer",
    "create_unicode_buffer",
    "get_errno",
    "memmove",
    "memset",
    "pointer",
    "resize",
    "set_errno",
    "sizeof",
    "string_at",
    "wstring_at",
)
globals().update((name, _Type(name, (_SimpleCData,), {})) for name in SIMPLE)
globals().update((name, _unsupported(name)) for name in FUNCTIONS)
