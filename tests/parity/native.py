"""Run one pytest session on this machine's Python and write each test's outcome: `native.py CONFIG`.

CONFIG is a JSON file: `root` (working folder and pytest's rootdir), `args` (pytest's arguments), `results`
(file that gets one JSON record a line).

Records: {"id", "outcome", "message"} for each test, {"collect": path, "message"} for what could not be
collected and {"finish": exit code} at the end. Outcomes are passed, failed, error, skipped, xfailed and
xpassed; by the same rules as in the sandbox: an error in set-up or teardown is an `error`; a failed subtest makes its test
`failed`; an id that several tests share gets the worst of their outcomes.

This is the oracle that the sandbox's own plugin is compared with, so it shares no code with it.
Absent: stand-ins, options that change what pytest does. The caller sets the environment.
"""

from __future__ import annotations

import json
import os
import random
import sys

RANK = ["error", "failed", "skipped", "xpassed", "xfailed", "passed"]


class Recorder:
    """The plugin: gathers reports by id, settles them when a test ends."""

    def __init__(self, file) -> None:
        self.file = file
        self.reports: dict[str, list] = {}
        self.settled: dict[str, tuple[str, str]] = {}

    def write(self, record: dict) -> None:
        """One line."""
        self.file.write(json.dumps(record, ensure_ascii=True) + "\n")
        self.file.flush()

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.write({"collect": clean(report.nodeid), "message": clean(report.longreprtext)[-4000:]})

    def pytest_runtest_logreport(self, report) -> None:
        self.reports.setdefault(report.nodeid, []).append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self.reports.pop(nodeid, [])
        if reports:
            found = outcome(reports)
            before = self.settled.get(nodeid)
            if before is None or RANK.index(found[0]) < RANK.index(before[0]):
                self.settled[nodeid] = found

    def finish(self, code: int) -> None:
        """Write what was settled."""
        for nodeid, (result, message) in self.settled.items():
            self.write({"id": clean(nodeid), "outcome": result, "message": clean(message)[-4000:]})
        self.write({"finish": code})


def clean(value: object) -> str:
    """Text without lone surrogates."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def outcome(reports: list) -> tuple[str, str]:
    """What the reports of one run of a test come to, and why."""
    subtests = [report for report in reports if hasattr(report, "context")]
    whole = {report.when: report for report in reports if not hasattr(report, "context")}
    text = "\n".join(report.longreprtext for report in reports if report.failed)
    setup, call, teardown = (whole.get(when) for when in ("setup", "call", "teardown"))
    if setup is None or teardown is None or setup.failed or teardown.failed:
        return "error", text
    decisive = setup if setup.skipped else call
    if decisive is None:
        return "error", "no report of the call"
    if decisive.failed or any(report.failed for report in subtests):
        return "failed", text
    expected = hasattr(decisive, "wasxfail")
    if decisive.skipped:
        return ("xfailed" if expected else "skipped"), str(decisive.longrepr)
    return ("xpassed" if expected else "passed"), ""


def main(config_path: str) -> int:
    """Run the session."""
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    root = os.path.realpath(config["root"])
    os.chdir(root)
    random.seed(0)  # as in the sandbox, so that generated data is the same
    import pytest

    with open(config["results"], "w", encoding="ascii") as results:
        recorder = Recorder(results)
        args = ["-p", "no:cacheprovider", "--rootdir=" + root, *config["args"]]
        code = int(pytest.main(args, plugins=[recorder]))
        recorder.finish(code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
