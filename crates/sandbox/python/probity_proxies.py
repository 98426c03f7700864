"""What stands for modules, classes, functions, errors and objects of the code under test.

A class of the other side becomes a class here, below the same bases, so that `isinstance`, `pytest.raises` and error
classes work as ever; its instances hold nothing. A subclass of `str`, `int`, `tuple` and the like has its value here.

Invariants: no stand-in says that it equals, or comes before, anything: what an object of the code under test claims about
that would be its own verdict. Compared are only members of an enumeration with one that the test has named, since
what has which name was told beforehand, and subclasses of list, dict and set that compare as these do, by what they
hold. Nor is identity a way around it: an object has a new stand-in each time. What is refused ends the test.
"""

from __future__ import annotations

import builtins
import collections.abc
import datetime
import sys
import types
import unittest
from typing import Any

from probity_describe import ABSTRACT, COMPARING, SPECIAL, TOLD, VALUES, named_standard
from probity_wire import Decoder, Malformed

_own: dict[type, tuple[Any, int, dict[str, Any]]] = {}  # classes that stand for others: border, number, description
_making = "__probity_made__"  # marks the classes that stand for others
STEERING = ("test", "pytest", "setup", "teardown")  # beginnings of names that pytest looks for in a file
REAL_BASES = (*VALUES, datetime.tzinfo)


def told_of(kind: type) -> tuple[Any, int, dict[str, Any]]:
    """What the other side told of a class."""
    known = _own.get(kind)
    if known is None:
        for base in kind.__mro__:
            if base in _own:
                _own[base][0].refuse("derives a class as it cannot be (%s)" % kind.__qualname__)
        raise TypeError("no class of the code under test")
    return known


def derive(kind: Any, name: str, bases: tuple[type, ...], parts: dict[str, Any], named: dict[str, Any]) -> None:
    """Have a class of the tests that derives from classes across made there, too; its methods stay here."""
    border = next(_own[base][0] for base in kind.__mro__ if base in _own)
    if issubclass(kind, (unittest.TestCase, *VALUES)):
        return
    there = [base for base in bases if base in _own or border.is_standard(base)]
    if len(there) != len(bases):
        return  # refused when it is used
    told = {key: value for key, value in parts.items() if key not in UNTOLD}
    number = border.derive(name, there, told, named)
    base = border.told[number]
    _own[kind] = border, number, {**base, "names": [*base["names"]]}
    border.keep(number, kind)


UNTOLD = frozenset(
    {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__classcell__", "__classdictcell__"}
    | {"__firstlineno__", "__static_attributes__", "__conditional_annotations__", "__annotations__", "__annotate__"}
    | {"__annotate_func__", "__annotations_cache__", "__orig_bases__", "__parameters__", "__type_params__"}
)


class Class(type):
    """The type of classes that stand for others."""

    def __new__(cls, name: str, bases: tuple[type, ...], parts: dict[str, Any], **named: Any) -> Any:
        return super().__new__(cls, name, bases, parts)

    def __init__(cls, name: str, bases: tuple[type, ...], parts: dict[str, Any], **named: Any) -> None:
        super().__init__(name, bases, parts)
        if _making not in parts and not issubclass(cls, BaseException):
            derive(cls, name, bases, parts, named)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if cls not in _own and issubclass(cls, BaseException):
            return super().__call__(*args, **named)  # an error class of the tests
        border, _, _ = told_of(cls)
        return border.call(cls, args, named)

    def __getattr__(cls, name: str) -> Any:
        if cls not in _own:
            raise AttributeError(name)
        border, _, told = _own[cls]
        if name in told["members"]:
            return border.member(told["members"][name])
        if name in told["names"] and not name.startswith("__") or told["dynamic"] and not name.startswith("_"):
            return border.get(cls, name)
        raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))

    def __setattr__(cls, name: str, value: Any) -> None:
        if cls in _own and not (name.startswith("__") and name.endswith("__")) and not name.startswith("_abc"):
            border, _, told = _own[cls]
            border.set(cls, name, value)
            told["names"].append(name)
        else:
            super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if cls in _own:
            _own[cls][0].delete(cls, name)
        else:
            super().__delattr__(name)

    def __iter__(cls) -> Any:
        return cls._of_class("__iter__")

    def __len__(cls) -> Any:
        return cls._of_class("__len__")

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        if cls in _own and "__getitem__" not in _own[cls][2]["of-class"]:
            return _own[cls][0].call(_Attribute(cls, "__class_getitem__"), (key,), {})
        return cls._of_class("__getitem__", key)

    def __contains__(cls, key: Any) -> Any:
        return cls._of_class("__contains__", key)

    def _of_class(cls, name: str, *args: Any) -> Any:
        border, _, told = told_of(cls)
        if name not in told["of-class"]:
            raise TypeError("type %r has no %s" % (cls.__name__, name))
        return border.special(cls, name, args)


class Standing:
    """What every object that stands for another has."""

    def __getattr__(self, name: str) -> Any:
        border, _, told = told_of(type(self))
        if name.startswith("__") and name.endswith("__") and name not in told["names"]:
            if name not in border.told.get(border.numbers.get(id(self)), {}).get("own", ()):
                raise AttributeError(name)
        if name.startswith("_pytest") or name in ("pytestmark", "mock_calls", "_pytestfixturefunction"):
            raise AttributeError(name)
        return border.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") and isinstance(self, BaseException):
            object.__setattr__(self, name, value)
        else:
            told_of(type(self))[0].set(self, name, value)

    def __delattr__(self, name: str) -> None:
        told_of(type(self))[0].delete(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        told_of(type(self))[0].refuse("pickles an object of the code under test")


class Bound:
    """A method, not called yet."""

    def __init__(self, of: Any, name: str, first: tuple[Any, ...] = ()) -> None:
        self.of, self.name, self.first = of, name, first
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        border = told_of(self.of if isinstance(self.of, type) else type(self.of))[0]
        return border.call(Bound(self.of, self.name) if self.first else self, (*self.first, *args), named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("pytestmark",):
            raise AttributeError(name)
        of = self.of if isinstance(self.of, type) else type(self.of)
        return told_of(of)[0].get(self, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self.of is other.of and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.of), self.name))


_Attribute = Bound


class Method:
    """A method in a class."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.owner: Any = None  # set once its class is made

    def __get__(self, of: Any, kind: Any = None) -> Any:
        if of is None:
            return Bound(kind, self.name)
        if _making not in vars(type(of)) and isinstance(self.owner, type):
            # Reached from a method of the tests by `super()`, or not overridden: the class's own.
            return Bound(self.owner, self.name, (of,))
        return Bound(of, self.name)


def special(name: str) -> Any:
    """A special method that asks the other side."""

    def method(self: Any, *args: Any) -> Any:
        border = told_of(type(self))[0]
        if _making not in vars(type(self)):
            owner = next(kind for kind in type(self).__mro__ if vars(kind).get(name) is method)
            return border.call(Bound(owner, name), (self, *args), {})
        return border.special(self, name, args)

    method.__name__ = name
    return method


def comparing(name: str) -> Any:
    """A comparison, which is not the other side's to make."""

    def method(self: Any, other: Any) -> Any:
        border, _, told = told_of(type(self))
        if name in ("__eq__", "__ne__"):
            same = compared(self, other, border, told)
            return same if name == "__eq__" else not same
        border.refuse("compares an object of the code under test (%s)" % type(self).__qualname__)

    method.__name__ = name
    return method


def compared(one: Any, other: Any, border: Any, told: dict[str, Any]) -> bool:
    """Whether two are equal, where that can be told."""
    if told["members"] and isinstance(other, Standing):
        numbers = {border.numbers.get(id(one)), border.numbers.get(id(other))}
        if numbers & border.named:  # the tests have named what they expect, and it was told before what has this name
            return len(numbers) == 1
    if told["container"] and not any(_own[kind][2]["compares"] for kind in type(one).__mro__ if kind in _own):
        if isinstance(other, Standing):
            other_told = told_of(type(other))[2]
            other = border.plain(other) if other_told["container"] else other
        if not isinstance(other, Standing):
            return bool(border.plain(one) == other)
    border.refuse("compares an object of the code under test (%s)" % type(one).__qualname__)


def hashing(self: Any) -> int:
    """The hash of an object: only members of enumerations are known by what they are."""
    border = told_of(type(self))[0]
    if border.numbers.get(id(self)) in border.named:
        return object.__hash__(self)
    border.refuse("hashes an object of the code under test (%s)" % type(self).__qualname__)


class Function:
    """A function."""

    def __init__(self, border: Any, told: dict[str, Any]) -> None:
        names = {"__module__": "module", "__name__": "name", "__qualname__": "qualname", "__doc__": "doc"}
        self.__dict__.update({name: told.get(key) for name, key in names.items()})
        self.__dict__["_probity"] = border, bool(told.get("binds")), told.get("standard"), told.get("own")

    def __eq__(self, other: object) -> bool:
        return self is other or self._probity[2] is not None and self._probity[2] == named_standard(other)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._probity[0].call(self, args, named)

    def __get__(self, of: Any, kind: Any = None) -> Any:
        return types.MethodType(self, of) if of is not None and self._probity[1] else self

    def __getattr__(self, name: str) -> Any:
        own = self._probity[3]
        if (name.startswith("_") or name == "pytestmark") and not (isinstance(own, list) and name in own):
            raise AttributeError(name)
        return self._probity[0].get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._probity[0].set(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._probity[0].delete(self, name)


class Module(types.ModuleType):
    """A module."""

    def __getattr__(self, name: str) -> Any:
        border, dynamic, names = self.__dict__["_probity"]
        if name == "__all__":
            public = [name for name in names if not name.startswith("_")]
            return starred(border.get(self, name) if name in names else public)
        if name in names or dynamic and not name.startswith("__"):
            return border.get(self, name)
        raise AttributeError("module %r has no attribute %r" % (self.__name__, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, Module) and value.__name__ == self.__name__ + "." + name:
            super().__setattr__(name, value)  # what importing does
        else:
            self.__dict__["_probity"][0].set(self, name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__["_probity"][0].delete(self, name)


def make(border: Any, number: int, told: dict[str, Any]) -> Any:
    """What stands for an object that was described so."""
    kind = told.get("kind")
    if kind == "module":
        module = Module(text(told, "name"))
        module.__dict__["_probity"] = border, bool(told.get("dynamic")), set()
        border.keep(number, module)
        if told.get("package"):
            module.__dict__["__path__"] = border.folders(module.__name__)
        bind(border, module, told.get("attributes"))
        return module
    if kind == "class":
        return make_class(border, number, told)
    if kind == "function":
        return border.keep(number, Function(border, told))
    decoder = Decoder(border.known)
    of = decoder.value(told.get("type"))
    if kind == "error":
        return make_error(border, number, told, of, decoder)
    if kind != "object" or not isinstance(of, Class):
        raise Malformed("an object is of no known kind")
    if issubclass(of, (BaseException, *VALUES)):
        raise Malformed("an object has no value")
    made = object.__new__(of)  # `tzinfo` has no memory of its own, so this holds for its subclasses too
    return border.keep(number, made) if number in _own[of][2]["members"].values() else border.note(number, made)


def bind(border: Any, module: Module, attributes: Any) -> None:
    """Give a module its attributes."""
    if not isinstance(attributes, dict):
        raise Malformed("a module binds nothing")
    names = module.__dict__["_probity"][2]
    for name in names:
        module.__dict__.pop(name, None)
    names.clear()
    for name, form in attributes.items():
        if name.startswith("__") and name not in TOLD or name == "_probity":
            raise Malformed("a module binds what it cannot")
        names.add(name)
        if isinstance(form, list) and form:
            module.__dict__[name] = Decoder(border.known).value(form[0])


def starred(names: Any) -> list[str]:
    """What `import *` may bind in a test file: no name that means something there already."""
    if not isinstance(names, list):
        return []
    plain = [name for name in names if isinstance(name, str) and name.isidentifier()]
    return [
        name
        for name in plain
        if not hasattr(builtins, name) and name not in sys.modules and not name.lower().startswith(STEERING)
    ]


def make_class(border: Any, number: int, told: dict[str, Any]) -> Any:
    """A class that stands for another."""
    decoder = Decoder(border.known)
    bases: list[type] = []
    for base in (decoder.value(form) for form in texts(told, "bases", forms=True)):
        if not isinstance(base, type):
            raise Malformed("a base is no class")
        if isinstance(base, Class) or issubclass(base, BaseException) or base in REAL_BASES:
            bases.append(base)
    if not any(issubclass(base, Standing) for base in bases):
        bases.insert(0, Standing)
    methods = texts(told, "methods")
    if any(not name.isidentifier() or name.startswith("__") for name in methods):
        raise Malformed("a method has no name that one can have")
    parts: dict[str, Any] = {name: Method(name) for name in methods}
    parts.update((name, special(name)) for name in texts(told, "special") if name in SPECIAL)
    parts["__init__"] = Method("__init__")
    parts[_making] = True
    valued = any(issubclass(base, VALUES) for base in bases)
    if not valued or told.get("compares"):
        parts.update((name, comparing(name)) for name in COMPARING)
        parts["__hash__"] = hashing
    if any(issubclass(base, BaseException) for base in bases):
        for name in (*COMPARING, "__hash__", "__str__", "__repr__", "__init__", "__new__"):
            parts.pop(name, None)
        parts["__str__"] = lambda self: self.__dict__.get("__text", BaseException.__str__(self))
    for name in ("names", "of-class", "abstract"):
        texts(told, name)
    members = told.get("members")
    if not isinstance(members, dict) or len(set(members.values())) != len(members):
        raise Malformed("an enumeration is none")
    parts["__module__"], parts["__qualname__"] = text(told, "module"), text(told, "name")
    parts["__doc__"] = told.get("doc") if isinstance(told.get("doc"), str) else None
    try:
        kind = Class(text(told, "name").rpartition(".")[2], tuple(bases), parts)
    except (TypeError, ValueError) as error:
        raise Malformed("a class cannot be: %s" % error) from None
    _own[kind] = border, number, told
    for part in parts.values():
        if isinstance(part, Method):
            part.owner = kind
    for name in told["abstract"]:
        if name in ABSTRACT:
            getattr(collections.abc, name).register(kind)
    return border.keep(number, kind)


def make_error(border: Any, number: int, told: dict[str, Any], of: Any, decoder: Decoder) -> Any:
    """An error that stands for another."""
    if not isinstance(of, type) or not issubclass(of, BaseException):
        raise Malformed("an error is none")
    args = tuple(decoder.value(form) for form in texts(told, "args", forms=True))
    try:
        error = of.__new__(of, *args)
        if not isinstance(of, Class) and type(error).__init__ in (UnicodeError.__init__, OSError.__init__):
            error.__init__(*args)
        error.args = args
    except Exception:
        error = of.__new__(of)
        error.args = args
    border.keep(number, error)
    fields = told.get("fields")
    if not isinstance(fields, dict):
        raise Malformed("an error has no fields")
    for name, form in fields.items():
        value = decoder.value(form)
        if not name.startswith("__"):
            try:
                object.__setattr__(error, name, value)
            except Exception:
                continue  # not to be set, or it is what it should be already
    error.__dict__["__text"] = text(told, "text")
    cause = told.get("cause")
    if cause is not None:
        cause = decoder.value(cause)
        if isinstance(cause, BaseException):
            object.__setattr__(error, "__cause__", cause)
    return error


def of_value(border: Any, value: Any, number: Any) -> Any:
    """What stands for an instance of a subclass of a value's type."""
    if number in border.made:
        return border.made[number]
    told = border.told.get(number) if isinstance(number, int) else None
    if told is None or told.get("kind") != "object":
        raise Malformed("a value was not described")
    kind = Decoder(border.known).value(told.get("type"))
    base = next((base for base in VALUES if isinstance(kind, Class) and issubclass(kind, base)), None)
    if base is None or type(value) is not base:
        raise Malformed("a value is not what it is a kind of")
    return border.keep(number, base.__new__(kind, value))


def text(told: dict[str, Any], name: str) -> str:
    """A text of a description."""
    value = told.get(name)
    if not isinstance(value, str):
        raise Malformed("`%s` of a description is no text" % name)
    return value


def texts(told: dict[str, Any], name: str, forms: bool = False) -> list[Any]:
    """A list of a description: of texts, or of forms."""
    value = told.get(name)
    if not isinstance(value, list) or not (forms or all(isinstance(item, str) for item in value)):
        raise Malformed("`%s` of a description is no list" % name)
    return value
