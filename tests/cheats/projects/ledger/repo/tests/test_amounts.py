import unittest

from ledger.amounts import parse, share, show


class ParseTest(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(parse("7"), 700)

    def test_negative(self):
        self.assertEqual(parse("-0.05"), -5)
        self.assertEqual(parse("-2.50"), -250)

    def test_other_text(self):
        for text in ["", "1.2.3", "1.234", "x"]:
            with self.subTest(text), self.assertRaises(ValueError):
                parse(text)


class ShowTest(unittest.TestCase):
    def test_positive(self):
        self.assertEqual(show(1230), "12.30")

    def test_negative(self):
        self.assertEqual(show(-5), "-0.05")


class ShareTest(unittest.TestCase):
    def test_nothing_is_lost(self):
        self.assertEqual(sum(share(100, 3)), 100)

    def test_larger_parts_come_first(self):
        self.assertEqual(share(11, 4), [3, 3, 3, 2])
