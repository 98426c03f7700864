import greeter


def test_version_has_three_parts():
    assert len(greeter.__version__.split(".")) == 3
