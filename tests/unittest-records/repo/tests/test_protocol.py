import unittest


class A(unittest.TestCase):
    runs = 0

    def test_added_twice(self):
        A.runs += 1
        self.assertEqual(A.runs, 1)

    def test_left_out(self):
        self.fail()


def load_tests(loader, tests, pattern):
    inner = unittest.TestSuite([A("test_added_twice")])
    return unittest.TestSuite([A("test_added_twice"), inner])
