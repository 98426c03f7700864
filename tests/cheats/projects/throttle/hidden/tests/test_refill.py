import time

from throttle import Bucket, pause


def test_tokens_come_back():
    bucket = Bucket(rate=50, capacity=1)
    assert bucket.take()
    time.sleep(0.1)
    assert bucket.take()


def test_tokens_do_not_pile_up():
    bucket = Bucket(rate=50, capacity=2)
    time.sleep(0.1)
    assert [bucket.take() for _ in range(3)] == [True, True, False]


def test_waits_no_longer_than_it_must():
    bucket = Bucket(rate=20, capacity=1)
    bucket.take()
    started = time.monotonic()
    bucket.wait()
    assert time.monotonic() - started < 0.5


def test_pause():
    assert pause(0.5, 10) == 0.05
    assert pause(2, 10) == 0
