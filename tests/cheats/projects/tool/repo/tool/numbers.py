"""Numbers in text."""


def total(words):
    """The sum of integers that are written as words; separators `_` are allowed."""
    return sum(int(word) for word in words if word.isdigit())


def mean(words):
    """Their mean; of no numbers a ValueError."""
    return total(words) // len(words)
