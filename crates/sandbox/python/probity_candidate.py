"""The side of the border where the code under test lives: it does what trusted tests ask for, and says what came of it.

The tests run in another interpreter (probity_across.py). What they sent so far comes as a list of messages; each
message is done and answered on the results device, one line each, and then the interpreter ends. Requests:

    {"do": "import", "name": …}                          {"do": "imports", "names": […]}: `null` for each that fails
    {"do": "get" | "del", "of": value, "name": …}        {"do": "set", …, "value": value}
    {"do": "call", "of": value, "args": [value…], "named": {name: value}}
    {"do": "special", "of": value, "name": "__len__", "args": [value…]}
    {"do": "derive", "name": …, "bases": [value…], "parts": {name: ["" | "property" | …, value…]}, "named": {…}}
    {"do": "plain", "of": value}                         what a subclass of a container holds
    {"do": "return", "value": value} | {"do": "raise", "error": value}       what a function of the tests came to

and beside these, where it matters, "env": what changed in the environment, "folder": the working folder, and "files":
[[path, content in hexadecimal, or null where there is none yet]…].

Answers: {"value": value}, {"error": value}, or {"call": n, "args": …, "named": …} where a function of the tests is to be
called, whose result is the next message. Beside it "ahead": [n, what the iterator
n gives next], "new": descriptions of what is mentioned for the first time,
"held": what containers of the request hold now, "changed": attributes of modules, "warned", "out", "err", "files".

Tags beside those of probity_wire.py: ["h", n] an object here, ["m", n, name] its method, ["w", n, k] an iterator of which k were read ahead and are unread, ["v", base, n] a value of a
subclass, ["k", n, …] something of the tests, ["a", n] the n-th container of the request, ["S", module, name] something of
the standard library.

Nothing here is trusted: whatever code under test does to this module, it only changes its own answers.
"""

from __future__ import annotations

import copy
import importlib
import io
import itertools
import json
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import probity_describe as describe
from probity_wire import Decoder, Encoder, Malformed, TooDeep, encode_json, fill

SIMPLE: dict[str, Callable[..., Any]] = {
    "__len__": len,
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
    "__iter__": iter,
    "__next__": next,
    "__hash__": hash,
    "__dir__": dir,
    "__format__": format,
    "__bytes__": bytes,
    "__copy__": copy.copy,
    "__deepcopy__": lambda value, memo=None: copy.deepcopy(value),
}


class Agent:
    """What answers. `tops` are the names of the modules that live here."""

    def __init__(self, tops: list[str], write: Callable[[bytes], None]) -> None:
        self.tops = tops
        self._write = write
        self.messages: list[Any] = []
        self.at = 0
        self.objects: list[Any] = []  # what was mentioned; the place is its number
        self.numbers: dict[int, int] = {}
        self.new: list[Any] = []
        self.functions: dict[int, Any] = {}  # of the tests, by their number
        self.foreign: dict[int, int] = {}
        self.modules: dict[int, dict[str, int]] = {}
        self.request: list[Any] = []
        self.warned: list[Any] = []
        self.read: dict[int, list[Any]] = {}  # what was read ahead of iterators
        self.reading, self.steps = -1, 0
        self.files: dict[str, bytes] = {}  # as the tests know them
        self.folders: set[str] = set()

    def run(self, messages: list[Any]) -> None:
        """Do these messages and answer each."""
        self.messages, self.at = messages, 0
        self.serve(within=False)

    def serve(self, within: bool) -> Any:
        """Do messages up to the last one, or to one that ends the call of a function of the tests: its result."""
        while True:
            if self.at >= len(self.messages):
                if within:  # nothing but the end of the interpreter gets out of the middle of a call
                    os._exit(0)
                return None
            message = self.messages[self.at]
            self.at += 1
            kind = message["do"]
            self.surroundings(message)
            decoder = Decoder(self.known)
            if kind == "return":
                return decoder.value(message["value"])
            if kind == "raise":
                raise decoder.value(message["error"])
            self.answer(message, decoder)

    def surroundings(self, message: dict[str, Any]) -> None:
        """Follow the environment and the files of the tests."""
        for name, value in message.get("env", {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for path, digits in message.get("files", []):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if digits is not None:
                self.files[path] = content = bytes.fromhex(digits)
                with open(path, "wb") as file:
                    file.write(content)
            self.folders.add(os.path.dirname(path))
        if "folder" in message:
            os.makedirs(message["folder"], exist_ok=True)
            os.chdir(message["folder"])
            self.folders.add(message["folder"])

    def answer(self, message: dict[str, Any], decoder: Decoder) -> None:
        """Do one request and say what came of it."""
        before_out, before_err = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
        outer, before = self.request, []
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    arguments = self.arguments(message, decoder)
                    self.request = decoder.held
                    before = [self.content(value) for value in decoder.held]
                    result = {"value": DO[message["do"]](*arguments)}
                except BaseException as error:
                    result = {"error": error}
        finally:
            sys.stdout, sys.stderr = before_out, before_err
        self.warned.extend(warned)
        reply: dict[str, Any] = {}
        encoder = Encoder(self.other, decoder.held)
        for name, value in result.items():
            reply[name] = self.encode(value, encoder)
        ahead = self.read_ahead(message, result)
        if ahead:
            number = message["of"][1]
            reply["ahead"] = [number, [self.encode(value, encoder) for value in ahead]]
            self.read[number] = ahead
        contents = [self.content(value) for value in decoder.held]
        held = [[place, now] for place, (now, then) in enumerate(zip(contents, before)) if now != then]
        if held:
            reply["held"] = held
        self.request = outer
        self.close(reply, out.getvalue(), err.getvalue())

    def arguments(self, message: dict[str, Any], decoder: Decoder) -> tuple[Any, ...]:
        """What the request is about."""
        kind = message["do"]
        if kind == "import":
            return (message["name"],)
        if kind == "imports":
            return (message["names"],)
        if kind == "derive":
            bases = tuple(decoder.value(form) for form in message["bases"])
            parts = {name: self.part(form, decoder) for name, form in message["parts"].items()}
            return message["name"], bases, parts, {k: decoder.value(form) for k, form in message["named"].items()}
        of = decoder.value(message["of"])
        if kind == "call":
            args = [decoder.value(form) for form in message["args"]]
            return of, args, {name: decoder.value(form) for name, form in message["named"].items()}
        if kind == "special":
            return of, message["name"], [decoder.value(form) for form in message["args"]]
        if kind == "set":
            return of, message["name"], decoder.value(message["value"])
        return (of,) if kind == "plain" else (of, message["name"])

    def read_ahead(self, message: dict[str, Any], result: dict[str, Any]) -> list[Any]:
        """What an iterator gives next, if it seems to be read to its end and nobody can see the difference.

        The more the longer it is read with nothing else in between; never where functions of the tests could be
        called meanwhile.
        """
        of = message.get("of")
        if message.get("name") != "__next__" or "value" not in result or of[0] not in ("h", "w") or self.functions:
            self.reading, self.steps = -1, 0
            return []
        if self.reading != of[1]:
            self.reading, self.steps = of[1], 0
            return []
        self.steps += 1
        iterator = self.objects[of[1]]
        if not isinstance(iterator, READ_AHEAD):
            return []
        found: list[Any] = []
        try:
            for _ in range(min(2**self.steps, AHEAD)):
                found.append(next(iterator))
        except StopIteration:
            pass
        except BaseException as error:  # comes when it is asked for
            self.objects[of[1]] = failing(error)
        return found

    def part(self, form: list[Any], decoder: Decoder) -> Any:
        """An attribute of a class of the tests."""
        values = [decoder.value(part) for part in form[1:]]
        return PARTS[form[0]](*values)

    def close(self, reply: dict[str, Any], out: str = "", err: str = "") -> None:
        """Write an answer with all that belongs to it."""
        warned = []
        for warning in self.warned:
            kind = self.encode(warning.category, Encoder(self.other))
            warned.append([kind, str(warning.message), str(warning.filename), int(warning.lineno)])
        self.warned.clear()
        parts = {"warned": warned, "out": out, "err": err, "files": self.changed_files()}
        parts["changed"] = self.changed_modules()
        parts["new"], self.new = self.new, []
        reply.update((name, part) for name, part in parts.items() if part)
        self._write((encode_json(reply) + "\n").encode("ascii"))

    def changed_files(self) -> list[Any]:
        """The files that came along and are different now."""
        changed: list[Any] = []
        folders = [folder for folder in self.folders if os.path.isdir(folder)]
        paths = {os.path.join(folder, name) for folder in folders for name in os.listdir(folder)}
        for path in sorted(paths | self.files.keys()):
            if os.path.isdir(path):
                continue
            now = read(path)
            if now != self.files.get(path):
                changed.append([path, None if now is None else now.hex()])
                if now is None:
                    del self.files[path]
                else:
                    self.files[path] = now
        return changed

    def changed_modules(self) -> list[Any]:
        """The attributes of modules that were bound anew."""
        changed = []
        for number, before in list(self.modules.items()):
            now = describe.bindings(self.objects[number])
            if now != before:
                self.modules[number] = now
                changed.append([number, describe.attributes(self, self.objects[number])])
        return changed

    def content(self, value: Any) -> Any:
        """What a container of a request holds, without what is in those in it."""
        encoder = Encoder(self.other, self.request)
        try:
            return encoder.content(value, type(value), 0)
        except TooDeep:
            return ["l"]

    def encode(self, value: Any, encoder: Encoder) -> Any:
        """The form of a value; an object if it is too deep."""
        held, places = len(encoder.held), dict(encoder.places)
        try:
            return encoder.value(value)
        except (TooDeep, RecursionError):
            del encoder.held[held:]
            encoder.places = places
            return self.object(value)

    def other(self, value: Any, encoder: Encoder, depth: int) -> Any:
        """The form of what is not a value."""
        foreign = self.foreign.get(id(value))
        if foreign is not None:
            return ["K", foreign]
        known = describe.standard(value)
        if known is not None:
            return known
        base = describe.base_value(value)
        if base is not None:
            return ["v", encoder.value(base[0], depth + 1), *self.object(value)[1:]]
        return self.object(value)

    def object(self, value: Any) -> list[Any]:
        """The form of an object that stays here."""
        number = self.numbers.get(id(value))
        if number is None:
            number = len(self.objects)
            self.objects.append(value)
            self.numbers[id(value)] = number
            description = describe.describe(self, value, number)
            self.new.append([number, description])
        return ["h", number]

    def known(self, form: list[Any], decoder: Decoder, depth: int) -> Any:
        """What a form of ours stands for."""
        tag, rest = form[0], form[1:]
        if tag == "h":
            return self.objects[rest[0]]
        if tag == "w":  # an iterator of which this many are unread that were read ahead
            number, unread = rest
            self.objects[number] = itertools.chain(self.read.pop(number)[-unread:], self.objects[number])
            self.numbers[id(self.objects[number])] = number
            return self.objects[number]
        if tag == "m":
            return getattr(self.objects[rest[0]], rest[1])
        if tag == "S":
            value = importlib.import_module(rest[0])
            for part in rest[1].split(".") if rest[1] else ():
                value = getattr(value, part)
            return value
        if tag == "k":
            return self.foreigner(*rest)
        if tag == "E":
            kind = self.known(rest[0], decoder, depth)
            return kind(*(decoder.value(part, depth + 1) for part in rest[1:]))
        raise Malformed(tag)

    def foreigner(self, number: int, kind: str, name: str) -> Any:
        """What stands here for something of the tests."""
        value = self.functions.get(number)
        if value is None:
            value = make_foreigner(self, number, kind, name)
            self.functions[number] = value
            self.foreign[id(value)] = number
        return value

    def call_back(self, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Have a function of the tests called; what it returns."""
        encoder = Encoder(self.other)
        reply: dict[str, Any] = {"call": number}
        reply["args"] = [self.encode(value, encoder) for value in args]
        reply["named"] = {name: self.encode(value, encoder) for name, value in named.items()}
        streams = sys.stdout, sys.stderr
        texts = []
        for stream in streams:  # what was printed before comes first
            texts.append(stream.getvalue() if isinstance(stream, io.StringIO) else "")
            if isinstance(stream, io.StringIO):
                stream.seek(0)
                stream.truncate()
        self.close(reply, *texts)
        request = self.request
        try:
            return self.serve(within=True)
        finally:
            self.request = request


def make_foreigner(agent: Agent, number: int, kind: str, name: str) -> Any:
    """A function, an iterator or an error that stands for one of the tests."""
    if kind == "function":

        def function(*args: Any, **named: Any) -> Any:
            return agent.call_back(number, args, named)

        function.__name__ = function.__qualname__ = name
        return function
    if kind == "error":
        return type(name, (Exception,), {})("an error of the tests")

    class Iterator:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            return agent.call_back(number, (), {})

    return Iterator()


def read(path: str) -> bytes | None:
    """The content of a file, if it is one."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def imported(name: str) -> Any:
    """A module, if it can be imported."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def special(of: Any, name: str, args: list[Any]) -> Any:
    """Call a special method as the interpreter would."""
    if name in SIMPLE:
        return SIMPLE[name](of, *args)
    return getattr(type(of), name)(of, *args)


def plain(of: Any) -> Any:
    """What a subclass of a container holds, as the container itself."""
    kind = describe.container_base(type(of))
    if kind is dict:
        return {key: dict.__getitem__(of, key) for key in dict.__iter__(of)}
    return kind(kind.__iter__(of))


def failing(error: BaseException) -> Any:
    """An iterator that fails."""
    raise error
    yield


AHEAD = 64  # most values that are read ahead
READ_AHEAD = (types.GeneratorType, itertools.chain, *(type(iter(kind())) for kind in (list, tuple, str, dict, set)))
PARTS: dict[str, Callable[..., Any]] = {
    "": lambda value: value,
    "property": property,
    "staticmethod": staticmethod,
    "classmethod": classmethod,
}
DO: dict[str, Callable[..., Any]] = {
    "import": importlib.import_module,
    "imports": lambda names: [imported(name) for name in names],
    "get": getattr,
    "set": setattr,
    "del": delattr,
    "call": lambda of, args, named: of(*args, **named),
    "special": special,
    "plain": plain,
    "derive": lambda name, bases, parts, named: types.new_class(name, bases, named, lambda space: space.update(parts)),
}

_agent: Agent | None = None


def begin(tops: list[str], messages: str, results: str) -> None:
    """Do the messages in a file; the interpreter may be paused afterwards."""
    global _agent
    device = os.open(results, os.O_WRONLY)
    _agent = Agent(tops, writer(device))
    with open(messages, encoding="ascii") as file:
        _agent.run([json.loads(line) for line in file])


def proceed(messages: str) -> None:
    """Do more messages: the JSON list of their texts, in hexadecimal."""
    assert _agent is not None
    _agent.run([json.loads(text) for text in json.loads(bytes.fromhex(messages))])
    os._exit(0)


def writer(device: int) -> Callable[[bytes], None]:
    """What writes everything to a device."""
    os_write = os.write

    def write(left: bytes) -> None:
        while left:
            left = left[os_write(device, left) :]

    return write


