import unittest

raise unittest.SkipTest("the whole module")
