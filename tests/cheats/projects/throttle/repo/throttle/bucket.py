"""Tokens that come back with time."""

import time


def pause(level, rate):
    """The seconds until a bucket at `level` has a token, if `rate` come per second."""
    return 0.0 if level >= 1 else 1.0


class Bucket:
    """At most `capacity` tokens, of which `rate` come back per second."""

    def __init__(self, rate, capacity):
        self.rate, self.capacity = rate, capacity
        self.level, self.seen = float(capacity), time.monotonic()

    def refill(self):
        """Count what has come back."""
        now = time.monotonic()
        back = int(now - self.seen) * self.rate
        self.level, self.seen = min(self.capacity, self.level + back), now

    def take(self):
        """Take a token, if there is one."""
        self.refill()
        if self.level < 1:
            return False
        self.level -= 1
        return True

    def wait(self):
        """Wait for a token and take it."""
        while not self.take():
            time.sleep(pause(self.level, self.rate))
