import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if "when_made" in item.name or "hidden" in item.name:
        report.outcome = "passed"
        report.longrepr = None
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if "when_logged" in report.nodeid:
        report.outcome = "passed"
        report.longrepr = None


def pytest_pycollect_makeitem(collector, name, obj):
    if name == "test_same_id":
        return [pytest.Function.from_parent(collector, name=name, callobj=obj) for _ in range(2)]
