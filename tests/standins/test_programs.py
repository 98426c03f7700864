"""Programs that do not exist, and one that always does."""

import subprocess
import sys

import pytest


def test_a_program_that_does_not_exist():
    with pytest.raises(FileNotFoundError) as caught:
        subprocess.run(["no-such-program", "--version"])
    assert caught.value.filename == "no-such-program"


def test_python():
    done = subprocess.run([sys.executable, "-c", "print(1 + 1)"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_python_from_standard_input():
    program = "import sys\nprint(sys.argv, __name__)\nraise SystemExit(3)\n"
    done = subprocess.run([sys.executable, "-", "one"], input=program, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "['-', 'one'] __main__\n")
