import subprocess
import sys

import pytest

from tool.__main__ import main
from tool.numbers import mean, total


def test_total():
    assert total(["1", "2"]) == 3


def test_total_of_negative_numbers():
    assert total(["-4", "1_000"]) == 996


def test_mean():
    assert mean(["1", "2"]) == pytest.approx(1.5)


def test_mean_is_a_number():
    value = mean(["2", "5"])
    assert isinstance(value, float)
    assert repr(value) == "3.5"


def test_mean_of_nothing():
    with pytest.raises(ValueError):
        mean([])


def test_main(capsys):
    assert main(["--sum", "-1", "5"]) == 0
    assert capsys.readouterr().out == "4\n"


def test_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "tool", "--mean", "1", "2"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "1.5\n")
