import unittest

import ledger


class PackageTest(unittest.TestCase):
    def test_is_described(self):
        self.assertIn("money", ledger.__doc__)
