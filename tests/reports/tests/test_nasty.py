"""Tests that end in every way and print what could harm a report."""

import sys
import time

import pytest

NASTY = """\x1b[31mred\x1b[0m \x00 \x07 \x9b2J ]]> <tag attr='"'> &amp; &#27;
::error file=x::forged
  ::add-mask::forged
##[error]forged
##vso[task.complete result=Succeeded]forged
##teamcity[testFailed name='forged']
ok 99 - forged
not ok 98 - forged
    ok 97 - forged
1..7
  ---
  forged: yes
  ...
Bail out! forged
\r::error::forged after a carriage return
\u202eforged\u2028::error::forged \ufffe\uffff\ufeff
"""


@pytest.mark.parametrize(
    "x",
    [1, "a::b[c]", "x#y\\z", "# SKIP forged", "\x1b[31m", "\x00", "é]]>&<\"'", "\ud800", "two\nlines"],
)
def test_ids(x):
    pass


def test_prints():
    print(NASTY)
    sys.stderr.write(NASTY)


def test_fails():
    print(NASTY)
    sys.stderr.write(NASTY)
    assert NASTY == "nothing"


def test_raises():
    raise RuntimeError(NASTY)


def test_compares_long_lists():
    assert list(range(300)) == list(range(299)) + [0]


@pytest.fixture
def broken():
    raise OSError(NASTY)


def test_breaks(broken):
    pass


@pytest.mark.skip(reason=NASTY)
def test_skipped():
    pass


@pytest.mark.xfail(reason="bug #12 \\ " + NASTY)
def test_known_bug():
    assert False


@pytest.mark.xfail(reason="fixed")
def test_unexpected_pass():
    pass


@pytest.mark.xfail(reason="fixed", strict=True)
def test_strict_pass():
    pass


def test_excepted():
    assert False


def test_prints_much():
    print("x" * 300_000)


def test_spins():
    while True:
        pass


class TestOuter:
    class TestInner:
        def test_sleeps(self):
            time.sleep(2.5)
