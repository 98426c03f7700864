"""Locks on files within one process, as on Linux."""

import fcntl

import pytest


def test_a_lock_belongs_to_an_open_file(tmp_path):
    with open(tmp_path / "file", "w") as one, open(tmp_path / "file", "w") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(one, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_closing_gives_it_back(tmp_path):
    one = open(tmp_path / "file", "w")
    fcntl.flock(one, fcntl.LOCK_EX)
    one.close()
    with open(tmp_path / "file", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_locks_of_the_process(tmp_path):
    with open(tmp_path / "file", "w") as one, open(tmp_path / "file", "w") as other:
        fcntl.lockf(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(ValueError):
            fcntl.lockf(one, 0)


def test_closed_files(tmp_path):
    file = open(tmp_path / "file", "w")
    number = file.fileno()
    file.close()
    with pytest.raises(OSError):
        fcntl.flock(number, fcntl.LOCK_EX)
    with pytest.raises(ValueError):
        fcntl.flock(-1, fcntl.LOCK_EX)
