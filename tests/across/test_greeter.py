"""Trusted tests: `test_…` pass across a border as they do without, `refuse_…` say why they cannot."""

import greeter
import pytest
from greeter import DEFAULT, Box, Error, greet


@pytest.mark.parametrize("name", greeter.NAMES)
def test_values(name):
    assert greet(name) == "Hello, %s!" % name
    assert greet() == "Hello, %s!" % DEFAULT


def test_errors():
    with pytest.raises(Error, match="no name") as caught:
        greet("")
    assert isinstance(caught.value, ValueError) and caught.value.code == 7
    with pytest.raises(TypeError):
        greet(1, 2)


def test_objects():
    box = Box(3)
    assert isinstance(box, Box) and type(box) is Box
    assert box.grow(2) is box and box.size == 5
    assert Box(1) is not Box(1)
    assert (len(box), list(box), box.double, Box.two().size) == (5, [0, 1, 2, 3, 4], 10, 2)
    box.size = 1
    assert len(box) == 1
    with pytest.raises(AttributeError):
        box.missing


def test_members():
    assert greeter.kind("Ann") == greeter.Kind.SHORT
    assert greeter.kind("Anna") is not greeter.Kind.SHORT
    assert [greeter.kind("Anna")] == [greeter.Kind.LONG]


def test_subclasses_of_values():
    name = greeter.name()
    assert name == "Ann" and isinstance(name, greeter.Name) and name.origin == "here"
    table = greeter.Table(a=1)
    assert table == {"a": 1} and not table == {"a": 2}


def test_changed_arguments():
    values = [1]
    assert greeter.fill(values) is values
    assert values == [1, {"deep": [1]}]


def test_functions_of_the_tests():
    seen = []

    def note(value):
        seen.append(greet(value))
        return value

    assert greeter.each(note, iter("ab")) == ["a", "b"]
    assert seen == ["Hello, a!", "Hello, b!"]
    assert greeter.each(str.upper, ["a"]) == ["A"]

    class Own(Exception):
        pass

    def fail(value):
        raise Own(value)

    with pytest.raises(Own):
        greeter.each(fail, [1])


def test_generators():
    assert list(greeter.count(20)) == list(range(20))
    endless = greeter.count(None)
    assert [next(endless) for _ in range(10)] == list(range(10))
    assert greeter.each(str, greeter.count(2)) == ["0", "1"]
    assert greeter.each(lambda pair: pair[0], zip(endless, "ab")) == [10, 11]


def test_classes_of_the_tests():
    class Twice(Box):
        def grow(self, by):
            super().grow(by)
            return super().grow(by)

    box = Twice(1)
    assert isinstance(box, Box) and box.grow(2).size == 5


def test_surroundings(tmp_path, monkeypatch, capsys):
    with pytest.warns(DeprecationWarning, match="another"):
        greeter.old()
    assert capsys.readouterr().out == "printed\n"
    (tmp_path / "in").write_text("text")
    greeter.copy(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "TEXT"
    monkeypatch.setenv("SETTING", "on")
    assert greeter.setting() == "on"
    monkeypatch.setattr(greeter, "DEFAULT", "You")
    assert greeter.DEFAULT == "You"


def refuse_comparing():
    assert Box(1) == Box(1)


def refuse_comparing_within():
    box = Box(1)
    assert [box.grow(0)] == [Box(1)]


def refuse_sorting():
    sorted([Box(1), Box(2)])


def refuse_hashing():
    {Box(1)}


def refuse_objects_of_the_tests():
    class Mine:
        pass

    greeter.each(str, [Mine()])
