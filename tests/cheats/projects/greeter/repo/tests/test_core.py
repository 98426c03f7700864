import pytest

from greeter.core import greet, initials


def test_greets_in_english():
    assert greet("Ada") == "Hello, Ada!"


@pytest.mark.parametrize(
    "language, expected",
    [("de", "Hallo, Ada!"), ("fr", "Bonjour, Ada !")],
    ids=["de", "fr"],
)
def test_greets_in_other_languages(language, expected):
    assert greet("Ada", language) == expected


def test_name_is_trimmed():
    assert greet("  Ada ", "de") == "Hallo, Ada!"


def test_blank_name_is_refused():
    with pytest.raises(ValueError):
        greet("  ")


def test_unknown_language_is_refused():
    with pytest.raises(KeyError):
        greet("Ada", language="tlh")


def test_initials():
    assert initials("ada king lovelace") == "AKL"
