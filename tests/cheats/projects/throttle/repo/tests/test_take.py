from throttle import Bucket


def test_capacity_is_the_most():
    bucket = Bucket(rate=1, capacity=2)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
