//! Suites whose candidate lays hands on the runner: none of them passes, honest ones do.

use serde_json::Value;

use crate::project::{Project, Ran};

const RIGHT: &str = "def double(x):\n    return x + x\n";
const WRONG: &str = "def double(x):\n    return x + 1\n";

const PYTEST: &str = "
from pkg import double


def test_first():
    assert double(3) == 6


def test_second():
    assert double(5) == 10
";

const UNITTEST: &str = "
import unittest

from pkg import double


class Case(unittest.TestCase):
    def test_first(self):
        self.assertEqual(double(3), 6)

    def test_second(self):
        self.assertEqual(double(5), 10)
";

fn spec(runner: &str, more: &str) -> String {
    let ids = match runner {
        "pytest" => [
            "tests/test_pkg.py::test_first",
            "tests/test_pkg.py::test_second",
        ],
        _ => ["test_pkg.Case.test_first", "test_pkg.Case.test_second"],
    };
    let args = match runner {
        "pytest" => "\"tests\"",
        _ => "\"-s\", \"tests\"",
    };
    format!(
        "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"{runner}\"\n\
         python-path = [\"src\"]\nargs = [{args}]\nexpect = {ids:?}\n{more}\n"
    )
}

fn project(runner: &str, code: &str, more: &str) -> Project {
    let tests = match runner {
        "pytest" => PYTEST,
        _ => UNITTEST,
    };
    Project::new(&[
        ("src/pkg/__init__.py", code),
        ("tests/test_pkg.py", tests),
        ("probity.toml", &spec(runner, more)),
    ])
}

fn verify(project: &Project, more: &[&str]) -> Ran {
    project.run(&[&["verify", "--repo", "repo", "--json"], more].concat())
}

fn check(document: &Value) -> &Value {
    &document["checks"][0]
}

fn outcome<'a>(document: &'a Value, test: &str) -> &'a str {
    let tests = check(document)["tests"]["tests"].as_array();
    tests
        .into_iter()
        .flatten()
        .find(|row| row["id"].as_str().is_some_and(|id| id.ends_with(test)))
        .and_then(|row| row["outcome"].as_str())
        .unwrap_or_else(|| panic!("no {test} in {document:#}"))
}

/// Holds a cheat to what it must come to: tampering, and a finding that says so.
fn check_tampered(runner: &str, cheat: &str, wanted: &str) {
    for isolation in ["", "isolation = \"test\""] {
        let project = project(runner, &format!("{cheat}\n\n{WRONG}"), isolation);
        let ran = verify(&project, &[]);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let document = ran.json();
        assert_eq!(
            check(&document)["cause"]["type"],
            "tampered",
            "{document:#}"
        );
        let findings = check(&document)["findings"].as_array().unwrap();
        let said: Vec<&str> = findings
            .iter()
            .filter(|finding| finding["level"] == "error")
            .filter_map(|finding| finding["message"].as_str())
            .collect();
        assert!(
            said.iter()
                .any(|said| said.starts_with("tampering: ") && said.contains(wanted)),
            "{wanted}: {said:?}"
        );
    }
}

#[test]
fn honest_suites_pass_and_their_canaries_fire() {
    for runner in ["pytest", "unittest"] {
        for more in [
            "",
            "isolation = \"test\"",
            "isolation = \"file\"",
            "shuffle = true",
        ] {
            let ran = verify(&project(runner, RIGHT, more), &[]);
            assert_eq!(ran.code, 0, "{runner} {more}: {}", ran.text());
            let document = ran.json();
            let suite = &check(&document)["tests"];
            assert_eq!(suite["canaries"]["fired"], 3, "{runner} {more}");
            assert_eq!(suite["canaries"]["expected"], 3, "{runner} {more}");
            assert_eq!(suite["tests"].as_array().unwrap().len(), 2);
            assert!(check(&document)["findings"].as_array().unwrap().is_empty());
        }
        let ran = verify(&project(runner, RIGHT, "canaries = false"), &[]);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert_eq!(check(&ran.json())["tests"]["canaries"]["expected"], 0);
        let ran = verify(&project(runner, WRONG, ""), &[]);
        assert_eq!(
            check(&ran.json())["cause"]["type"],
            "tests",
            "{}",
            ran.text()
        );
    }
}

#[test]
fn canaries_leave_no_trace_in_the_runner() {
    let project = project("pytest", RIGHT, "");
    project.write(
        "repo/tests/conftest.py",
        "import pytest\n\nseen = []\n\n\ndef pytest_runtest_logreport(report):\n    seen.append(report.nodeid)\n\n\n\
         def pytest_sessionfinish(session):\n    assert session.testscollected == 2\n    assert session.testsfailed == 0\n    \
         assert len(set(seen)) == 2, seen\n",
    );
    project.write(
        "repo/probity.toml",
        &spec("pytest", "").replace("\"tests\"]", "\"tests\", \"-x\"]"),
    );
    let ran = verify(&project, &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(check(&ran.json())["tests"]["canaries"]["fired"], 3);
}

#[test]
fn records_that_the_runner_did_not_sign_are_tampering() {
    let forged = r#"
import os
for fd in range(3, 40):
    try:
        os.write(fd, b'{"event":"result","id":"tests/test_pkg.py::test_first","outcome":"passed"}\n')
    except OSError:
        pass
"#;
    for runner in ["pytest", "unittest"] {
        check_tampered(runner, forged, "a record did not come from the runner");
    }
}

#[test]
fn the_results_are_opened_once() {
    let opened = "
try:
    open('/dev/results', 'wb')
except OSError:
    pass
";
    check_tampered("pytest", opened, "opened a second time");
}

#[test]
fn the_key_is_gone_before_the_repository_runs() {
    let code = format!("assert open('/run/probity.json').read() == ''\n{RIGHT}");
    let ran = verify(&project("pytest", &code, ""), &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn who_gets_hold_of_the_reporter_cannot_write_as_it() {
    let cheat = "
import sys
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        records = getattr(value, 'records', None)
        if records is not None:
            records.write({'event': 'result', 'id': 'tests/test_pkg.py::test_first', 'outcome': 'passed'})
    frame = frame.f_back
";
    check_tampered("pytest", cheat, "wrote to the results");
}

#[test]
fn what_signs_is_not_found_by_looking_around() {
    let code = format!(
        "
import gc
import sys

names = []
for thing in gc.get_objects():
    if type(thing).__name__ == 'SHA256Type' or getattr(thing, '__qualname__', '').startswith('signer.'):
        names.append(repr(thing))
held = sys.modules['probity_session']
todo, seen = [sys._getframe()], set()
while todo:
    thing = todo.pop()
    if id(thing) in seen or len(seen) > 200000:
        continue
    seen.add(id(thing))
    if getattr(thing, '__qualname__', '').startswith('signer.<locals>'):
        names.append('reached ' + repr(thing))
    todo.extend(x for x in gc.get_referents(thing) if not isinstance(x, (str, int)))
assert not names, names
{RIGHT}"
    );
    let ran = verify(&project("pytest", &code, ""), &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn changes_of_the_runner_are_named() {
    let reports = "
import _pytest.reports as reports
make = reports.TestReport.from_item_and_call.__func__


@classmethod
def from_item_and_call(cls, item, call):
    report = make(cls, item, call)
    report.outcome = 'passed'
    return report


reports.TestReport.from_item_and_call = from_item_and_call
";
    let calls = "
from _pytest import runner
make = runner.CallInfo.from_call.__func__


def harmless(function):
    try:
        return function()
    except AssertionError:
        return None


runner.CallInfo.from_call = classmethod(
    lambda cls, func, when, reraise=None: make(cls, lambda: harmless(func), when, reraise)
)
";
    for (cheat, wanted) in [
        (reports, "`_pytest.reports.TestReport.from_item_and_call`"),
        (calls, "`_pytest.runner.CallInfo.from_call`"),
        (
            "import _pytest.python as p\np.pytest_pyfunc_call.__code__ = (lambda pyfuncitem: True).__code__",
            "`_pytest.python.pytest_pyfunc_call`",
        ),
        (
            "import builtins\nbuiltins.sorted = lambda *a, **k: []",
            "`builtins.sorted`",
        ),
        ("import os\nos._exit = lambda code: None", "`os._exit`"),
    ] {
        check_tampered("pytest", cheat, wanted);
    }
    let equal = "
import unittest
unittest.TestCase.assertEqual = lambda *a, **k: None
unittest.TestCase._getAssertEqualityFunc = lambda *a: lambda *a, **k: None
";
    for runner in ["pytest", "unittest"] {
        check_tampered(runner, equal, "`unittest.case.TestCase.assertEqual`");
    }
}

#[test]
fn a_test_whose_code_was_exchanged_is_tampering() {
    let cheat = "
import sys
import types


class Late(types.ModuleType):
    pass


def easy(*args):
    return None


def change():
    module = sys.modules['test_pkg']
    for name, value in list(vars(module).items()):
        if name.startswith('test_'):
            value.__code__ = easy.__code__
        if name == 'Case':
            for part in ('test_first', 'test_second'):
                getattr(value, part).__code__ = easy.__code__
";
    for runner in ["pytest", "unittest"] {
        let code = format!("{cheat}\n\ndef double(x):\n    change()\n    return x + x\n");
        let ran = verify(&project(runner, &code, ""), &[]);
        let document = ran.json();
        assert_eq!(
            check(&document)["cause"]["type"],
            "tampered",
            "{document:#}"
        );
        let message = check(&document)["cause"]["message"].as_str().unwrap();
        assert!(message.contains("is not what was collected"), "{message}");
    }
}

#[test]
fn a_test_that_did_not_return_did_not_pass() {
    // Each is called by a hook of the suite's own, which swallows what it raises.
    let project = project(
        "pytest",
        WRONG,
        "tests-from = \"patched\"\nallow-steering = [\"tests/conftest.py\"]",
    );
    project.write(
        "repo/tests/conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    \
         if pyfuncitem.name in ('test_first', 'test_second'):\n        return True\n",
    );
    let text = spec("pytest", "");
    project.write("repo/probity.toml", &text);
    let ran = verify(&project, &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(outcome(&ran.json(), "test_first"), "failed");
}

#[test]
fn a_change_that_the_spec_allows_is_none() {
    let code = format!(
        "from _pytest.terminal import TerminalReporter\nTerminalReporter.summary_stats = lambda self: None\n{RIGHT}"
    );
    let name = "`_pytest.terminal.TerminalReporter.summary_stats`";
    let ran = verify(&project("pytest", &code, ""), &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains(name), "{}", ran.text());
    let more = "allow-steering = [\"python:_pytest.terminal.TerminalReporter.summary_stats\"]";
    let ran = verify(&project("pytest", &code, more), &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn a_change_that_ends_with_its_test_is_none() {
    let project = project("pytest", RIGHT, "");
    project.write(
        "repo/tests/test_pkg.py",
        "import unittest\n\nfrom _pytest import runner\nfrom pkg import double\n\n\n\
         def test_first(monkeypatch):\n    monkeypatch.setattr(runner, 'show_test_item', None)\n    \
         monkeypatch.setattr(unittest.TestCase, 'assertEqual', None)\n    assert double(3) == 6\n\n\n\
         def test_second():\n    assert double(5) == 10\n",
    );
    let ran = verify(&project, &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn a_module_of_tests_that_was_not_loaded_from_its_file_is_tampering() {
    let project = project("pytest", WRONG, "");
    project.write(
        "repo/src/pkg/__init__.py",
        &format!(
            "
import importlib.abc
import importlib.util
import sys


class Loader(importlib.abc.Loader):
    def exec_module(self, module):
        module.__file__ = '/repo/tests/test_pkg.py'
        exec('def test_first(): pass\\ndef test_second(): pass', vars(module))


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == 'test_pkg':
            return importlib.util.spec_from_loader(name, Loader(), origin='/repo/tests/test_pkg.py')


sys.meta_path.insert(0, Finder())
{WRONG}"
        ),
    );
    project.write(
        "repo/tests/test_a.py",
        "import pkg\n\n\ndef test_a():\n    assert pkg\n",
    );
    let ran = verify(&project, &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(
        check(&ran.json())["cause"]["type"],
        "tampered",
        "{}",
        ran.text()
    );
}

#[test]
fn a_test_that_ends_differently_is_flaky() {
    for runner in ["pytest", "unittest"] {
        let code = "import random\n\nchance = random.random()\n\n\ndef double(x):\n    return x + x + (x == 5 and chance < 0.5)\n";
        let project = project(runner, code, "repeat = 8");
        let ran = verify(&project, &[]);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let document = ran.json();
        assert_eq!(outcome(&document, "test_first"), "passed");
        assert_eq!(outcome(&document, "test_second"), "flaky");
        assert_eq!(check(&document)["tests"]["canaries"]["fired"], 24);
        // Once, it may pass; which is why one asks for more.
        let twice = verify(&project, &[]);
        assert_eq!(body(&ran), body(&twice));
        for report in ["junit", "tap", "human"] {
            let ran = project.run(&["verify", "--repo", "repo", "--report", report]);
            assert!(ran.stdout.contains("flaky"), "{report}: {}", ran.text());
        }
        let once = verify(&project, &["--repeat", "1"]);
        assert_ne!(outcome(&once.json(), "test_second"), "flaky");
    }
}

fn body(ran: &Ran) -> String {
    ran.stdout.split("\"timings\":").next().unwrap().to_owned()
}

#[test]
fn the_order_follows_from_the_seed() {
    let tests: String = (0..12)
        .map(|number| format!("def test_{number}():\n    log({number})\n\n\n"))
        .collect();
    let log = "import atexit\nimport sys\n\nfrom pkg import double\n\n\ndef log(number):\n    \
               print('ran', number, file=sys.__stderr__)\n\n\n";
    let order = |more: &[&str]| {
        let project = project("pytest", RIGHT, "");
        project.write(
            "repo/tests/test_pkg.py",
            &format!("{log}{tests}def test_end():\n    assert 0\n"),
        );
        project.write(
            "repo/probity.toml",
            "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\npython-path = [\"src\"]\nargs = [\"tests\"]\nexpect = \"any\"\n",
        );
        let ran = verify(&project, more);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let stderr = check(&ran.json())["stderr"]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        stderr
            .lines()
            .filter_map(|line| line.strip_prefix("ran ")?.parse().ok())
            .collect::<Vec<u32>>()
    };
    let written: Vec<u32> = (0..12).collect();
    let (one, two) = (
        order(&["--shuffle", "--seed", "1"]),
        order(&["--shuffle", "--seed", "2"]),
    );
    assert_eq!(order(&[]), written);
    assert_ne!(one, two);
    assert_ne!(one, written);
    assert_eq!(order(&["--shuffle", "--seed", "1"]), one);
    let mut sorted = one;
    sorted.sort_unstable();
    assert_eq!(sorted, written);
}

#[test]
fn a_guarded_verdict_is_the_same_whoever_runs_it() {
    for (runner, more) in [
        ("pytest", "shuffle = true\nrepeat = 2"),
        ("unittest", "isolation = \"test\"\nshuffle = true"),
    ] {
        let project = project(runner, RIGHT, more);
        let runs = [
            verify(&project, &["--isolation", "process"]),
            verify(&project, &["--isolation", "process"]),
            verify(&project, &["--isolation", "thread"]),
        ];
        for ran in &runs {
            assert_eq!(ran.code, 0, "{}", ran.text());
            assert_eq!(body(ran), body(&runs[0]));
        }
    }
}

#[test]
fn numbers_of_runs_are_bounded() {
    let ran = verify(&project("pytest", RIGHT, "repeat = 21"), &[]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.stderr.contains("`repeat` must lie between 1 and 20"),
        "{}",
        ran.text()
    );
    let ran = verify(&project("pytest", RIGHT, ""), &["--repeat", "0"]);
    assert_ne!(ran.code, 0);
}
