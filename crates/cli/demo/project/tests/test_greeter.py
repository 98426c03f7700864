import pytest

from greeter import greet, languages


def test_default_language():
    assert greet("Ada") == "Hi, Ada!"


@pytest.mark.parametrize(("language", "expected"), [("de", "Hallo, Ada!"), ("fr", "Salut, Ada!")])
def test_other_languages(language, expected):
    assert greet("Ada", language) == expected


def test_unknown_language_is_an_error():
    with pytest.raises(KeyError):
        greet("Ada", "xx")


def test_languages_are_sorted():
    assert languages() == ["de", "en", "fr"]
