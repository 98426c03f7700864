"""Reading, writing and sharing amounts."""


def parse(text):
    """The cents of an amount such as `12.30`, `-0.05` or `7`; other text is a ValueError."""
    units, _, cents = text.partition(".")
    return int(units) * 100 + int(cents or 0)


def show(cents):
    """The amount with two decimals."""
    return "%d.%02d" % (cents // 100, cents % 100)


def share(cents, people):
    """Fair parts, the larger first, which add up to the amount."""
    return [cents // people] * people
