"""What several tests assert."""


def check_order(titles, expected):
    if list(titles) != expected:
        raise AssertionError("%r is not %r" % (titles, expected))


def check_sorted(titles):
    bare = [title.removeprefix("The ").removeprefix("A ") for title in titles]
    if bare != sorted(bare):
        raise AssertionError("%r is not sorted" % (titles,))
