import unittest


def tearDownModule():
    raise RuntimeError("late")


class A(unittest.TestCase):
    def test_a(self):
        pass
