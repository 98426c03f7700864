import asyncio
import sys
import unittest


class Plain(unittest.TestCase):
    def test_passes(self):
        print("to stdout")
        print("to stderr", file=sys.stderr)

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_raises(self):
        raise ValueError("no")

    @unittest.skip("not today")
    def test_skipped_by_mark(self):
        pass

    def test_skipped_inside(self):
        self.skipTest("inside")

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass

    def test_part_fails(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_part_raises(self):
        with self.subTest("the part"):
            raise KeyError("x")

    def test_part_skipped(self):
        for number in range(2):
            with self.subTest(number=number):
                if number:
                    self.skipTest("a part")

    def test_part_fails_and_part_skipped(self):
        with self.subTest(number=1):
            self.skipTest("a part")
        with self.subTest(number=2):
            self.fail()

    def test_calls_exit(self):
        sys.exit(0)

    def test_cleanup_raises(self):
        self.addCleanup(lambda: 1 / 0)

    def test_replaces_stdout(self):
        sys.stdout = None

    def test_says_that_it_passed(self):
        print("ok", file=sys.stderr)
        self.fail()


class TearDown(unittest.TestCase):
    def tearDown(self):
        raise OSError("down")

    def test_passes(self):
        pass

    def test_fails(self):
        self.fail()


class SetUp(unittest.TestCase):
    def setUp(self):
        raise OSError("up")

    def test_not_run(self):
        pass


class ClassNotSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("class")

    def test_one(self):
        pass

    def test_two(self):
        pass


class ClassSkipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("the whole class")

    def test_one(self):
        pass


@unittest.skip("marked")
class ClassMarked(unittest.TestCase):
    def test_one(self):
        pass


class ClassNotTornDown(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("late")

    def test_one(self):
        pass


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.ready = True

    async def test_passes(self):
        await asyncio.sleep(0.01)
        self.assertTrue(self.ready)

    async def test_fails(self):
        await asyncio.sleep(0.01)
        self.fail()
