"""Code under test with a bit of everything that may be asked across a border."""

import enum
import os
import warnings

DEFAULT = "World"
NAMES = ["Ann", "Bob"]


class Error(ValueError):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Kind(enum.Enum):
    SHORT = 1
    LONG = 2


class Box:
    def __init__(self, size):
        self.size = size

    def grow(self, by):
        self.size += by
        return self

    def __len__(self):
        return self.size

    def __iter__(self):
        return iter(range(self.size))

    @property
    def double(self):
        return self.size * 2

    @classmethod
    def two(cls):
        return cls(2)


class Name(str):
    origin = "here"


class Table(dict):
    pass


def greet(name=DEFAULT):
    if not name:
        raise Error("no name", 7)
    return f"Hello, {name}!"


def kind(text):
    return Kind.SHORT if len(text) < 4 else Kind.LONG


def name():
    return Name("Ann")


def fill(values):
    values.append({"deep": [1]})
    return values


def each(function, values):
    return [function(value) for value in values]


def count(limit):
    number = 0
    while limit is None or number < limit:
        yield number
        number += 1


def old():
    warnings.warn("use another", DeprecationWarning)
    print("printed")


def copy(source, target):
    with open(source) as file, open(target, "w") as out:
        out.write(file.read().upper())


def setting():
    return os.environ.get("SETTING")
