"""The side of the border where trusted tests run: what stands there for the code under test, and how it is reached.

Modules named `across` do not exist here. Importing one yields a stand-in (probity_proxies.py), and every use of it is a
message to another interpreter (probity_candidate.py, which says what messages and answers look like). This one
cannot wait for an answer: where it has none, it reports the message as a record and ends, and the host begins it anew
with one answer more. So the same messages come in the same order, up to the one that is new:

    ask      message          an answer is wanted; the interpreter has ended
    refuse   reason           the test does what cannot be taken across; likewise
    broken   reason           an answer is not of the agreed form, which is the fault of the code under test; likewise

Invariants: nothing that comes in is executed; it is decoded to values, stand-ins, and error classes of the
standard library. Stand-ins are compared with nothing. An answer of the wrong form, or a refusal, ends the test at once,
whatever the test catches.
Absent: trust in what answers.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import io
import operator
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import probity_describe as describe
import probity_identity
import probity_proxies as proxies
from probity_wire import Decoder, Encoder, Malformed, TooDeep, encode_json, fill, parse

MODULES = 200  # most modules that are asked for at once
FILES = 200  # most files that go along with one message
FILE_BYTES = 1 << 20  # most bytes of them together


class Border:
    """All that is known of the other side."""

    def __init__(self, tops: Sequence[str], answers: Sequence[str], write: Callable[[dict[str, Any]], None]) -> None:
        self.tops = frozenset(tops)
        self.answers = list(answers)
        self.write = write
        self.at = 0
        self.collecting = True
        self.told: dict[int, dict[str, Any]] = {}  # descriptions by the number of an object
        self.made: dict[int, Any] = {}  # what stands for them
        self.numbers: dict[int, int] = {}
        self.noted: list[Any] = []
        self.ahead: dict[int, list[Any]] = {}  # what iterators of the other side gave before it was asked for
        self.named: set[int] = set()  # members of enumerations that tests have named
        self.kept: list[Any] = []  # what messages mention of ours; the place is its number
        self.kept_numbers: dict[int, int] = {}
        self.request: list[Any] = []
        self.env = dict(os.environ)
        self.folder = os.getcwd()
        self.files: dict[str, bytes | None] = {}
        self.loaded: dict[str, Any] = {}
        self.folders_along: set[str] = set()
        self.project: list[str] = []
        self.getters: dict[int, Any] = {}

    def proceed(self, answers: Sequence[str]) -> None:
        """Go on after collection, with the answers of one test."""
        self.answers, self.at = list(answers), 0
        self.collecting = False

    def end(self, record: dict[str, Any]) -> NoReturn:
        """Report why this interpreter ends here, and end it."""
        self.write(record)
        os._exit(0)

    def refuse(self, reason: str) -> NoReturn:
        """Leave the test: it does what cannot be taken across."""
        if self.collecting:
            import pytest

            pytest.skip("cannot be isolated: " + reason, allow_module_level=True)
        self.end({"event": "refuse", "reason": reason})

    # messages

    def ask(self, message: dict[str, Any], encoder: Encoder) -> Any:
        """What comes of a message; functions of the tests are called as it says meanwhile."""
        while True:
            answer = self.exchange(message)
            try:
                outcome = self.outcome(answer, encoder)
            except Malformed as error:
                self.end({"event": "broken", "reason": str(error)})
            if outcome[0] == "value":
                return outcome[1]
            if outcome[0] == "error":
                raise outcome[1]
            message = self.called(*outcome[1:])

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one message."""
        self.add_surroundings(message)
        if self.at >= len(self.answers):
            self.end({"event": "ask", "message": encode_json(message)})
        text = self.answers[self.at]
        self.at += 1
        try:
            answer = parse(text)
            if not isinstance(answer, dict):
                raise Malformed("an answer is no object")
            self.take_news(answer)
            return answer
        except Malformed as error:
            self.end({"event": "broken", "reason": str(error)})

    def take_news(self, answer: dict[str, Any]) -> None:
        """Take note of what comes with an answer."""
        for entry in listed(answer, "new"):
            number, description = pair(entry)
            if not isinstance(number, int) or not isinstance(description, dict) or number in self.told:
                raise Malformed("a description is none")
            self.told[number] = description
        for entry in listed(answer, "changed"):
            number, attributes = pair(entry)
            stand_in = self.made.get(number)
            if isinstance(stand_in, proxies.Module):
                proxies.bind(self, stand_in, attributes)
        for entry in listed(answer, "files"):
            path, digits = pair(entry)
            self.take_file(path, digits)
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            text = answer.get(name, "")
            if not isinstance(text, str):
                raise Malformed("what was printed is no text")
            if text:
                stream.write(text)
        for entry in listed(answer, "warned"):
            kind, text, file, line = entry if isinstance(entry, list) and len(entry) == 4 else (None,) * 4
            category = Decoder(self.known).value(kind)
            if not (isinstance(category, type) and issubclass(category, Warning)):
                raise Malformed("a warning is none")
            if not (isinstance(text, str) and isinstance(file, str) and isinstance(line, int)):
                raise Malformed("a warning is none")
            warnings.warn_explicit(text, category, file, line)

    def outcome(self, answer: dict[str, Any], encoder: Encoder) -> tuple[Any, ...]:
        """What an answer says: a value, an error, or which function to call."""
        self.request = encoder.held
        decoder = Decoder(self.known)
        if "call" in answer:
            args = [decoder.value(form) for form in listed(answer, "args")]
            named = answer.get("named", {})
            if not isinstance(named, dict):
                raise Malformed("named arguments are none")
            return "call", answer["call"], args, {name: decoder.value(form) for name, form in named.items()}
        result = decoder.value(answer["value"]) if "value" in answer else None
        error = decoder.value(answer["error"]) if "error" in answer else None
        for entry in listed(answer, "held"):
            place, form = pair(entry)
            if not isinstance(place, int) or not 0 <= place < len(encoder.held):
                raise Malformed("a container is none of the request's")
            self.refill(encoder.held[place], form)
        if "value" in answer:
            ahead = pair(answer.get("ahead", [0, []]))
            if not isinstance(ahead[0], int) or not isinstance(ahead[1], list):
                raise Malformed("what was read ahead is no list")
            if ahead[1]:
                self.ahead[ahead[0]] = [decoder.value(form) for form in ahead[1]]
            return "value", result
        if not isinstance(error, BaseException):
            raise Malformed("an answer says nothing")
        return "error", error

    def refill(self, held: Any, form: Any) -> None:
        """Let a container of the tests hold what the other side left in it."""
        value = Decoder(self.known).value(form)
        if type(value) is not type(held):
            raise Malformed("a container is of another type")
        if isinstance(held, (list, bytearray)):
            held[:] = value
        elif hasattr(held, "getvalue"):
            if value.closed:
                held.close()
            else:
                fill(held, (value.getvalue(), value.tell()))
        else:
            held.clear()
            (held.extend if hasattr(held, "extend") else held.update)(value)

    def called(self, number: Any, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Call a function of the tests; the message that says what came of it."""
        if not isinstance(number, int) or not 0 <= number < len(self.kept):
            self.end({"event": "broken", "reason": "it calls what it was not given"})
        target = self.kept[number]
        if isinstance(target, BaseException):
            self.end({"event": "broken", "reason": "it calls an error"})
        try:
            value = next(target) if isinstance(target, Iterator) else target(*args, **named)
        except Exception as error:
            return {"do": "raise", "error": self.encode(error, Encoder(self.other))}
        return {"do": "return", "value": self.encode(value, Encoder(self.other))}

    # what the tests ask for

    def foresee(self, root: str) -> None:
        """Ask at once for the modules that files of tests import as they are imported themselves."""
        pattern = re.compile(r"^(?:from|import)\s+((?:%s)\b[\w.]*)" % "|".join(sorted(self.tops)), re.MULTILINE)
        names: dict[str, None] = {}
        for folder, folders, files in os.walk(root):
            folders.sort()
            for file in sorted(files):
                if file.endswith(".py") and ("test" in file or file == "conftest.py"):
                    text = (read(os.path.join(folder, file)) or b"").decode("utf-8", "replace")
                    names.update(dict.fromkeys(name.rstrip(".") for name in pattern.findall(text)))
        if names:
            encoder = Encoder(self.other)
            found = self.ask({"do": "imports", "names": list(names)[:MODULES]}, encoder)
            if not isinstance(found, list):
                self.end({"event": "broken", "reason": "modules are no list"})
            self.loaded = {name: module for name, module in zip(names, found) if module is not None}

    def load(self, name: str) -> Any:
        """A module."""
        if name in self.loaded:
            return self.loaded[name]
        return self.ask({"do": "import", "name": name}, Encoder(self.other))

    def get(self, of: Any, name: str) -> Any:
        """An attribute."""
        encoder = Encoder(self.other)
        return self.ask({"do": "get", "of": self.encode(of, encoder), "name": name}, encoder)

    def set(self, of: Any, name: str, value: Any) -> None:
        """Bind an attribute."""
        encoder = Encoder(self.other)
        message = {"do": "set", "of": self.encode(of, encoder), "name": name, "value": self.encode(value, encoder)}
        self.ask(message, encoder)

    def delete(self, of: Any, name: str) -> None:
        """Take an attribute away."""
        encoder = Encoder(self.other)
        self.ask({"do": "del", "of": self.encode(of, encoder), "name": name}, encoder)

    def call(self, of: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """A call."""
        encoder = Encoder(self.other)
        message: dict[str, Any] = {"do": "call", "of": self.encode(of, encoder)}
        message["args"] = [self.encode(value, encoder) for value in args]
        message["named"] = {name: self.encode(value, encoder) for name, value in named.items()}
        self.add_files(message, [*args, *named.values()])
        return self.ask(message, encoder)

    def special(self, of: Any, name: str, args: Sequence[Any]) -> Any:
        """A call of a special method."""
        ahead = self.ahead.get(self.numbers.get(id(of), -1)) if name == "__next__" else None
        if ahead:
            return ahead.pop(0)
        encoder = Encoder(self.other)
        message: dict[str, Any] = {"do": "special", "of": self.encode(of, encoder), "name": name}
        message["args"] = [self.encode(value, encoder) for value in args]
        return self.ask(message, encoder)

    def derive(self, name: str, bases: list[type], parts: dict[str, Any], named: dict[str, Any]) -> int:
        """Have a class made there; its number."""
        encoder = Encoder(self.other)
        message: dict[str, Any] = {"do": "derive", "name": name, "bases": [self.encode(base, encoder) for base in bases]}
        message["parts"] = {key: self.part(value, encoder) for key, value in parts.items()}
        message["named"] = {key: self.encode(value, encoder) for key, value in named.items()}
        made = self.ask(message, encoder)
        if not isinstance(made, proxies.Class):
            self.end({"event": "broken", "reason": "a derived class is none"})
        return self.numbers[id(made)]

    def part(self, value: Any, encoder: Encoder) -> Any:
        """The form of an attribute of a class of the tests."""
        if isinstance(value, (staticmethod, classmethod)):
            return [type(value).__name__, self.encode(value.__func__, encoder)]
        if isinstance(value, property):
            return ["property", *(self.encode(part, encoder) for part in (value.fget, value.fset, value.fdel))]
        return ["", self.encode(value, encoder)]

    def is_standard(self, kind: type) -> bool:
        """Whether a class is one of the standard library, there as here."""
        return describe.named_standard(kind) is not None

    def folders(self, name: str) -> list[str]:
        """Where trusted modules may be that are within a package across: tests."""
        parts = name.split(".")
        return [path for path in (os.path.join(root, *parts) for root in self.project) if os.path.isdir(path)]

    def plain(self, of: Any) -> Any:
        """What a subclass of a container holds."""
        encoder = Encoder(self.other)
        return self.ask({"do": "plain", "of": self.encode(of, encoder)}, encoder)

    # values

    def encode(self, value: Any, encoder: Encoder) -> Any:
        """The form of a value of the tests."""
        try:
            return encoder.value(value)
        except (TooDeep, RecursionError):
            self.refuse("passes a value that is too deep")

    def other(self, value: Any, encoder: Encoder, depth: int) -> Any:
        """The form of what is not a plain value."""
        number = self.numbers.get(id(value))
        if number is not None:
            unread = len(self.ahead.pop(number, ()))
            return ["w", number, unread] if unread else ["h", number]
        if isinstance(value, (operator.itemgetter, operator.attrgetter, operator.methodcaller)):
            value = self.getters.setdefault(id(value), partial(value))
        if isinstance(value, proxies.Bound):
            of = encoder.value(value.of, depth + 1)
            if isinstance(of, list) and of[0] in ("h", "v") and not value.first:
                return ["m", of[-1], value.name]
        number = self.kept_numbers.get(id(value))
        if number is not None:
            return self.kept_form(value, number)
        known = describe.standard(value) or describe.named_standard(value)
        if known is not None:
            return known
        if isinstance(value, types.TracebackType):
            return None
        if isinstance(value, (io.TextIOWrapper, io.BufferedReader)) and value.readable():
            rest = value.read()  # an open file goes along as what is left of it
            return encoder.value(io.StringIO(rest) if isinstance(rest, str) else io.BytesIO(rest), depth)
        if isinstance(value, BaseException) and describe.standard(type(value)):
            return ["E", describe.standard(type(value)), *(encoder.value(part, depth + 1) for part in value.args)]
        functions = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, partial, proxies.Bound)
        if isinstance(value, (*functions, Iterator, BaseException)) and not isinstance(value, io.IOBase):
            self.kept_numbers[id(value)] = number = len(self.kept)
            self.kept.append(value)
            return self.kept_form(value, number)
        base = describe.base_value(value)
        if base is not None and isinstance(value, proxies.Standing):
            return encoder.value(base[0], depth + 1)
        kind = value if isinstance(value, type) else type(value)
        self.refuse("passes a%s of the tests (%s)" % (" class" if isinstance(value, type) else "n object", kind.__qualname__))

    def kept_form(self, value: Any, number: int) -> Any:
        """The form of something of the tests."""
        if isinstance(value, BaseException):
            return ["k", number, "error", type(value).__name__]
        if isinstance(value, Iterator):
            return ["k", number, "iterator", ""]
        return ["k", number, "function", str(getattr(value, "__name__", "function"))]

    def known(self, form: list[Any], decoder: Decoder, depth: int) -> Any:
        """What a form of ours stands for."""
        tag, rest = form[0], form[1:]
        if tag == "h":
            (number,) = rest
            return self.stand_in(number)
        if tag == "v":
            value, number = rest
            return proxies.of_value(self, decoder.value(value, depth + 1), number)
        if tag == "S":
            return error_or_type(*rest)
        if tag == "K" or tag == "a":
            (number,) = rest
            of = self.kept if tag == "K" else self.request
            if not isinstance(number, int) or not 0 <= number < len(of):
                raise Malformed("it names what it was not given")
            return of[number]
        raise Malformed("a value has the unknown form %r" % tag)

    def stand_in(self, number: Any) -> Any:
        """What stands for an object."""
        if number in self.made:
            return self.made[number]
        # Objects are made anew each time: two that were one would be equal in a list, whatever they hold.
        if not isinstance(number, int) or number not in self.told:
            raise Malformed("an object was not described")
        return proxies.make(self, number, self.told[number])

    def keep(self, number: int, stand_in: Any) -> Any:
        """Let something stand for an object from now on."""
        self.made[number] = stand_in
        return self.note(number, stand_in)

    def note(self, number: int, stand_in: Any) -> Any:
        """Remember what something stands for."""
        self.numbers[id(stand_in)] = number
        self.noted.append(stand_in)  # or another would get its address
        return stand_in

    def member(self, number: Any) -> Any:
        """A member of an enumeration that the tests name."""
        self.named.add(number)
        try:
            return self.stand_in(number)
        except Malformed as error:
            self.end({"event": "broken", "reason": str(error)})

    def same(self, one: Any, other: Any) -> bool:
        """`is`, also for what stands for one object."""
        if isinstance(one, proxies.Standing) and isinstance(other, proxies.Standing):
            return self.numbers.get(id(one)) == self.numbers.get(id(other))
        return one is other

    # environment and files

    def add_surroundings(self, message: dict[str, Any]) -> None:
        """Say what changed around the tests."""
        now = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        names = {name for name in now.keys() | self.env.keys() if not name.startswith("PYTEST_")}
        changed = {name: now.get(name) for name in sorted(names) if now.get(name) != self.env.get(name)}
        if changed:
            message["env"] = changed
        self.env = now
        folder = os.getcwd()
        if folder != self.folder:
            message["folder"] = self.folder = folder
            self.folders_along.add(folder)
            self.add_files(message, [folder])

    def add_files(self, message: dict[str, Any], args: Sequence[Any]) -> None:
        """Let the files go along whose paths are arguments, and those in folders that are."""
        found: list[list[Any]] = []
        size = 0
        for path in paths_in(args):
            content = read(path)
            if path in self.files and self.files[path] == content:
                continue
            size += len(content or b"")
            if len(found) >= FILES or size > FILE_BYTES:
                self.refuse("passes more files than go along")
            self.files[path] = content
            self.folders_along.add(os.path.dirname(path))
            found.append([path, None if content is None else content.hex()])
        if found:
            message["files"] = message.get("files", []) + found

    def take_file(self, path: Any, digits: Any) -> None:
        """Write a file that the other side left in a folder of ours below /tmp."""
        if not isinstance(path, str) or not (digits is None or isinstance(digits, str)):
            raise Malformed("a file is none")
        if not os.path.realpath(path).startswith("/tmp/"):
            return
        try:
            content = None if digits is None else bytes.fromhex(digits)
        except ValueError:
            raise Malformed("a file is not in hexadecimal") from None
        if os.path.dirname(path) not in self.folders_along or (path not in self.files and os.path.exists(path)):
            raise Malformed("it writes over a file of the tests")
        self.files[path] = content
        try:
            if content is None:
                os.remove(path)
            else:
                with open(path, "wb") as file:
                    file.write(content)
        except OSError:
            pass  # the test will miss it


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports stand-ins for the modules that are across."""

    def __init__(self, border: Border) -> None:
        self.border = border

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self.border.tops:
            return None
        if path and importlib.machinery.PathFinder.find_spec(name, path) is not None:
            return None  # a test within the package
        module = self.border.load(name)
        if not isinstance(module, types.ModuleType):
            raise ImportError("`%s` is no module" % name)
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.loader_state = module
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return spec.loader_state

    def exec_module(self, module: Any) -> None:
        """Nothing is left to do."""


def install(
    tops: Sequence[str], answers: Sequence[str], project: Sequence[str], write: Callable[[dict[str, Any]], None]
) -> Border:
    """Let the modules with these names be across. `project` are the folders that it is imported from."""
    border = Border(tops, answers, write)
    border.project = list(project)
    probity_identity.install(border.same)
    sys.meta_path.insert(0, Finder(border))
    border.foresee(os.getcwd())
    return border


def listed(answer: dict[str, Any], name: str) -> list[Any]:
    """A list in an answer."""
    value = answer.get(name, [])
    if not isinstance(value, list):
        raise Malformed("`%s` is no list" % name)
    return value


def pair(entry: Any) -> tuple[Any, Any]:
    """Two values."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise Malformed("a pair is none")
    return entry[0], entry[1]


def error_or_type(module: Any = None, name: Any = None) -> Any:
    """A type of plain values, or an error class of a module of the standard library that is loaded here."""
    if not isinstance(module, str) or not isinstance(name, str):
        raise Malformed("a type is none")
    for kind, named in describe.PLAIN_TYPES.items():
        if named == (module, name):
            return kind
    if (module, name) == ("types", "NoneType"):
        return type(None)
    value = getattr(importlib.import_module(module), name, None) if module in describe.ERROR_MODULES else None
    if not isinstance(value, type) or not issubclass(value, BaseException) or value.__module__ != module:
        raise Malformed("there is no error class `%s.%s` here" % (module, name))
    return value


def paths_in(args: Sequence[Any]) -> list[str]:
    """The files that arguments name: files, those in folders below /tmp, and those that could be made in such."""
    found: list[str] = []
    for value in args:
        if type(value) in (list, tuple):
            found.extend(paths_in(value))
        if not isinstance(value, (str, os.PathLike)) or isinstance(value, proxies.Standing):
            continue
        path = os.fspath(value)
        if not isinstance(path, str) or not path or len(path) > 1000 or "\0" in path or "\n" in path:
            continue
        path = os.path.abspath(path)
        if os.path.isfile(path):
            found.append(path)
        elif path.startswith("/tmp/") and os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                found.extend(os.path.join(folder, name) for name in sorted(names))
        elif path.startswith("/tmp/") and os.path.isdir(os.path.dirname(path)):
            found.append(path)
    return found


def read(path: str) -> bytes | None:
    """What a file holds."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
