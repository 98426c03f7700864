def load_tests(loader, tests, pattern):
    raise ValueError("cannot")
