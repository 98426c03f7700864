import sys
import unittest

import pytest

from shapes import area


def test_passes():
    print("seen on stdout")
    print("seen on stderr", file=sys.stderr)
    assert area(2, 3) == 6


def test_fails():
    assert area(2, 3) == 7


def test_raises():
    raise ValueError("lone surrogate: \udc80, control: \x1b[31m")


@pytest.fixture
def broken_setup():
    raise RuntimeError("set-up")


@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError("teardown")


def test_error_in_setup(broken_setup):
    pass


def test_error_in_teardown(broken_teardown):
    pass


def test_fails_and_error_in_teardown(broken_teardown):
    assert False


@pytest.mark.skip(reason="by a mark")
def test_skipped_by_mark():
    pass


def test_skipped_inside():
    pytest.skip("by a call")


@pytest.mark.xfail(reason="known")
def test_expected_failure():
    assert False


@pytest.mark.xfail(reason="known")
def test_unexpected_pass():
    pass


@pytest.mark.xfail(strict=True, reason="known")
def test_strict_unexpected_pass():
    pass


@pytest.mark.xfail(run=False, reason="not run")
def test_expected_failure_not_run():
    assert False


@pytest.mark.parametrize("text", ["plain", "ünï", "a::b", "[x]", "new\nline", ""])
def test_ids(text):
    pass


def test_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1


def test_calls_exit():
    sys.exit(0)


class Case(unittest.TestCase):
    def test_method(self):
        self.assertEqual(area(1, 1), 1)

    def test_part_fails(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertEqual(number, 0)

    def test_part_skipped(self):
        for number in range(2):
            with self.subTest(number=number):
                if number == 0:
                    self.skipTest("only this part")

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass

    @unittest.skip("by unittest")
    def test_skipped(self):
        pass


def test_same_id(runs=[]):
    """`conftest.py` collects it twice."""
    runs.append(1)
    assert len(runs) != 1


def test_captured_descriptor(capfd):
    print("text")
    assert capfd.readouterr().out == "text\n"


def test_much_output():
    print("x" * 100_000)
    assert False, "y" * 100_000
