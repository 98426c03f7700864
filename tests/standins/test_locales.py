"""Locales on a machine on which none is installed."""

import locale

import pytest


@pytest.mark.parametrize("name", ["C", "POSIX", "C.UTF-8"])
def test_those_that_are_everywhere(name):
    try:
        locale.setlocale(locale.LC_ALL, name)
        now = locale.setlocale(locale.LC_ALL)
        assert locale.setlocale(locale.LC_ALL, now) == now
    finally:
        locale.setlocale(locale.LC_ALL, "C")


@pytest.mark.parametrize("name", ["xx_XX.UTF-8", "nonsense", ("xx_XX", "UTF-8")])
def test_others_are_refused(name):
    with pytest.raises(locale.Error, match="unsupported locale setting"):
        locale.setlocale(locale.LC_NUMERIC, name)


def test_the_environment(monkeypatch):
    try:
        for variable in ("LC_ALL", "LC_TIME", "LANG"):
            monkeypatch.delenv(variable, raising=False)
        locale.setlocale(locale.LC_TIME, "")
        monkeypatch.setenv("LC_TIME", "xx_XX.UTF-8")
        with pytest.raises(locale.Error):
            locale.setlocale(locale.LC_TIME, "")
    finally:
        locale.setlocale(locale.LC_ALL, "C")
