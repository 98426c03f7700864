import unittest


def setUpModule():
    raise RuntimeError("module")


class A(unittest.TestCase):
    def test_a(self):
        pass


class B(unittest.TestCase):
    def test_b(self):
        pass
