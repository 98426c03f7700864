"""`conftest.py` turns the reports of these into passes, at two places."""


def test_report_changed_when_made():
    assert False


def test_report_changed_when_logged():
    assert False


def test_raised_hidden_from_report():
    assert False
