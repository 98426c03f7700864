"""Signals that a program sends to itself."""

import signal


def test_signals_within_the_program():
    caught = []
    before = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught == [signal.SIGINT]
