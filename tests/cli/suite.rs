//! Suites: the repository's own tests, in a guest.

use serde_json::Value;

use crate::project::{Project, Ran};

const CODE: &str = "def double(x):\n    return x + x\n";

const TESTS: &str = r#"
import os
import pytest
from pkg import double


@pytest.mark.parametrize("x", [1, 2])
def test_double(x):
    assert double(x) == 2 * x


def test_text(tmp_path, capsys):
    (tmp_path / "f").write_text("ab")
    print((tmp_path / "f").read_text())
    assert capsys.readouterr().out == "ab\n"


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.xfail
def test_known_bug():
    assert double(1) == 3
"#;

fn spec(expect: &str) -> String {
    format!(
        "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\n\
         python-path = [\"src\"]\nargs = [\"tests\"]\n{expect}\n"
    )
}

const EXPECTED: &str = r#"expect = [
    "tests/test_pkg.py::test_double[1]",
    "tests/test_pkg.py::test_double[2]",
    "tests/test_pkg.py::test_text",
]"#;

fn project(code: &str, tests: &str, expect: &str) -> Project {
    Project::new(&[
        ("src/pkg/__init__.py", code),
        ("tests/test_pkg.py", tests),
        ("probity.toml", &spec(expect)),
    ])
}

fn outcomes(document: &Value) -> Vec<(String, String)> {
    document["checks"][0]["tests"]["tests"]
        .as_array()
        .unwrap_or_else(|| panic!("{document:#}"))
        .iter()
        .map(|test| {
            let text = |field: &str| test[field].as_str().unwrap().to_owned();
            let id = text("id").replace("tests/test_pkg.py::", "");
            (id, text("outcome"))
        })
        .collect()
}

fn outcome(document: &Value, id: &str) -> String {
    outcomes(document)
        .into_iter()
        .find(|(name, _)| name == id)
        .unwrap_or_else(|| panic!("no {id} in {document:#}"))
        .1
}

#[test]
fn every_test_has_a_result_of_its_own() {
    let project = project(CODE, TESTS, EXPECTED);
    let ran = project.run(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let document = ran.json();
    for (id, wanted) in [
        ("test_double[1]", "passed"),
        ("test_double[2]", "passed"),
        ("test_text", "passed"),
        ("test_skipped", "skipped"),
        ("test_known_bug", "xfailed"),
    ] {
        assert_eq!(outcome(&document, id), wanted, "{id}");
    }
    let check = &document["checks"][0];
    assert_eq!(check["assurance"], "in-guest");
    assert_eq!(check["tests"]["runtime"], "python 3.15.0");
    assert_eq!(check["tests"]["runner"], "pytest 9.2.0");
    let environment = check["tests"]["environment"].as_str().unwrap();
    assert!(environment.starts_with("sha256:"), "{environment}");
}

#[test]
fn two_runs_burn_the_same_fuel() {
    let project = project(CODE, TESTS, EXPECTED);
    let args = ["verify", "--repo", "repo", "--json"];
    let (first, second) = (project.run(&args), project.run(&args));
    let body = |text: &str| text.split("\"timings\":").next().unwrap().to_owned();
    assert_eq!(body(&first.stdout), body(&second.stdout));
    assert!(first.json()["checks"][0]["fuel"].as_u64().unwrap() > 1_000_000);
}

#[test]
fn a_failing_test_is_named_with_its_traceback() {
    let project = project("def double(x):\n    return x + 1\n", TESTS, EXPECTED);
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!("suite_failed", ran.text());
}

#[test]
fn what_does_not_run_does_not_pass() {
    // Missing, skipped, deselected by configuration, never finished: none is a pass.
    for (tests, outcome_of_text) in [
        (TESTS.replace("def test_text", "def other_text"), "missing"),
        (
            TESTS.replace("def test_text", "@pytest.mark.skip\ndef test_text"),
            "skipped",
        ),
        (
            TESTS.replace("    (tmp_path", "    os._exit(0)\n    (tmp_path"),
            "incomplete",
        ),
        (format!("import absent_module\n{TESTS}"), "missing"),
    ] {
        let project = project(CODE, &tests, EXPECTED);
        let ran = project.run(&["verify", "--repo", "repo", "--json"]);
        assert_eq!(ran.code, 1, "{outcome_of_text}: {}", ran.text());
        assert_eq!(outcome(&ran.json(), "test_text"), outcome_of_text);
    }
}

#[test]
fn exit_code_zero_alone_is_not_a_pass() {
    let tests = "import os\nos._exit(0)\n";
    let project = project(CODE, tests, "expect = \"any\"");
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let project = self::project(CODE, "x = 1\n", "expect = \"any\"");
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
}

#[test]
fn a_test_that_never_ends_costs_itself_only() {
    let tests = format!(
        "{TESTS}\n\ndef test_endless():\n    while True:\n        pass\n\n\ndef test_zz_last():\n    pass\n"
    );
    let expect = "expect = \"any\"\nbudget = { test-fuel = \"5G\" }";
    let project = project(CODE, &tests, expect);
    let ran = project.run(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let document = ran.json();
    assert_eq!(outcome(&document, "test_endless"), "incomplete");
    assert_eq!(outcome(&document, "test_zz_last"), "passed");
    assert_eq!(outcome(&document, "test_text"), "passed");
}

#[test]
fn nothing_of_the_host_is_in_reach() {
    let tests = r#"
import os, socket, subprocess, sys, time
import pytest


def test_no_files():
    for path in ("/etc/passwd", "/proc/self/environ", "/repo/../etc/passwd"):
        with pytest.raises(OSError):
            open(path)


def test_no_network():
    with pytest.raises((OSError, AttributeError)):
        socket.create_connection(("127.0.0.1", 80), timeout=1)


def test_no_processes():
    with pytest.raises(OSError):
        subprocess.run(["/bin/true"])


def test_no_waiting():
    before = time.time()
    time.sleep(3600)
    assert time.time() - before >= 3600


def test_support_is_read_only():
    with pytest.raises(OSError):
        open("/probity/probity_pytest.py", "w")
    with pytest.raises(OSError):
        open("/site/pytest/__init__.py", "w")
"#;
    let project = project(CODE, tests, "expect = \"any\"");
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn a_missing_package_says_how_to_get_it() {
    let project = project(
        CODE,
        TESTS,
        "expect = \"any\"\nlock = \"requirements.lock\"",
    );
    project.write(
        "repo/requirements.lock",
        &format!("pytest==9.2.0 --hash=sha256:{}\n", "0".repeat(64)),
    );
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 5, "{}", ran.text());
    insta::assert_snapshot!("suite_missing_package", ran.text());
}

/// Judges a folder of `tests/` by its suite, with what `more` says of the check.
fn judge_data(folder: &str, more: Value) -> Ran {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let project = Project::new(&[]);
    let mut check = serde_json::json!({"name": "tests", "kind": "suite", "expect": "any"});
    let more = more.as_object().unwrap().clone();
    check.as_object_mut().unwrap().extend(more);
    let spec = serde_json::json!({"version": 1, "check": [check]});
    project.write("spec.json", &spec.to_string());
    let repo = data.join(folder);
    let repo = repo.to_str().unwrap();
    project.run(&["verify", "--json", "--spec", "spec.json", "--repo", repo])
}

/// Every kind of outcome that a runner knows, and some tricks, as data in a folder of `tests/`.
fn check_every_outcome(folder: &str, runner: &str, runtime: &str) {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(folder);
    let expected = std::fs::read(data.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let ran = judge_data(
        &format!("{folder}/repo"),
        serde_json::json!({
            "runner": runner,
            "runtime": runtime,
            "python-path": expected["config"]["python_path"],
            "args": expected["config"]["args"],
        }),
    );
    assert_eq!(ran.code, 1, "{}", ran.text());
    let document = ran.json();
    let suite = &document["checks"][0]["tests"];
    let mut outcomes = serde_json::Map::new();
    for test in suite["tests"].as_array().unwrap() {
        outcomes.insert(
            test["id"].as_str().unwrap().to_owned(),
            test["outcome"].clone(),
        );
    }
    assert_eq!(Value::Object(outcomes), expected["outcomes"]);
    let mut errors: Vec<&Value> = suite["collect_errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["id"])
        .collect();
    errors.sort_by_key(|id| id.to_string());
    assert_eq!(
        errors,
        expected["collect_errors"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    );
    for (field, of_tests) in [("reason", "reasons"), ("standins", "standins")] {
        for (id, wanted) in expected[of_tests].as_object().into_iter().flatten() {
            let mut tests = suite["tests"].as_array().unwrap().iter();
            let test = tests.find(|test| test["id"] == id.as_str()).unwrap();
            assert_eq!(&test[field], wanted, "{id}");
        }
    }
}

#[test]
fn each_test_has_its_fuel_and_virtual_time_and_they_add_up() {
    let tests = "import time\n\n\ndef test_quick():\n    pass\n\n\n\
        def test_busy():\n    sum(range(100_000))\n\n\n\
        def test_sleeps():\n    time.sleep(2)\n\n\n\
        def test_spins():\n    while True:\n        pass\n\n\n\
        def test_zz_in_another_guest():\n    time.sleep(1)\n";
    let expect = "expect = \"any\"\nbudget = { test-fuel = \"3G\" }";
    let project = project(CODE, tests, expect);
    let args = ["verify", "--repo", "repo", "--json"];
    let document = project.run(&args).json();
    let check = &document["checks"][0];
    let of = |name: &str, field: &str| {
        let mut tests = check["tests"]["tests"].as_array().unwrap().iter();
        let id = format!("tests/test_pkg.py::{name}");
        let test = tests.find(|test| test["id"] == id.as_str()).unwrap();
        test[field].as_u64().unwrap()
    };
    assert!(of("test_busy", "fuel") > 10 * of("test_quick", "fuel"));
    assert!(of("test_quick", "fuel") > 10_000);
    assert_eq!(of("test_quick", "duration_ns"), of("test_quick", "fuel"));
    let slept = |name| of(name, "duration_ns") - of(name, "fuel");
    assert_eq!(slept("test_busy"), 0);
    // The last nanoseconds of a sleep pass by work.
    assert!(slept("test_sleeps").abs_diff(2_000_000_000) < 10_000_000);
    assert!(slept("test_zz_in_another_guest").abs_diff(1_000_000_000) < 10_000_000);
    assert!(of("test_spins", "fuel") >= 3_000_000_000);
    let tests = check["tests"]["tests"].as_array().unwrap().iter();
    let sum: u64 = tests.map(|test| test["fuel"].as_u64().unwrap()).sum();
    assert!(sum < check["fuel"].as_u64().unwrap(), "{sum}");
}

#[test]
fn tracebacks_and_output_are_whole_in_the_document_and_what_is_left_out_is_said() {
    let tests = r#"
import sys


def deep(n):
    if n:
        deep(n - 1)
    raise ValueError("x" * 100_000)


def test_deep():
    deep(50)


def test_lists():
    assert list(range(1000)) == list(range(1, 1001))


def test_loud():
    print("y" * 1_000_000)


def test_too_loud():
    print("z" * 5_000_000, "the end")


def test_flood():
    sys.stderr.write("\x1b" * 20_000_000)
"#;
    let project = project(CODE, tests, "expect = \"any\"");
    let ran = project.run(&["verify", "--repo", "repo", "--json"]);
    let document = ran.json();
    let of = |name: &str, field: &str| {
        let mut tests = document["checks"][0]["tests"]["tests"]
            .as_array()
            .unwrap()
            .iter();
        let id = format!("tests/test_pkg.py::{name}");
        let test = tests.find(|test| test["id"] == id.as_str()).unwrap();
        test[field].as_str().unwrap_or_default().to_owned()
    };
    let deep = of("test_deep", "message");
    assert!(deep.contains(&"x".repeat(100_000)), "{} bytes", deep.len());
    assert!(deep.matches("deep(n - 1)").count() >= 50);
    let lists = of("test_lists", "message");
    assert!(lists.contains("999,") && !lists.contains("truncated"));
    assert_eq!(of("test_loud", "stdout").trim_end(), "y".repeat(1_000_000));
    let cut = of("test_too_loud", "stdout");
    assert!(
        cut.len() < 4_200_000 && cut.len() > 4_000_000,
        "{}",
        cut.len()
    );
    assert!(
        cut.ends_with(
            "the end
"
        ) && cut.contains("characters left out")
    );
    let flood = of("test_flood", "stderr");
    assert!(flood.contains("characters left out"), "{}", flood.len());
    assert_eq!(outcome(&document, "test_flood"), "passed");
}

/// What stand-ins promise, as tests in `tests/standins` that also pass on Linux.
fn check_standins(runtime: &str) {
    let wanted = serde_json::json!({"runner": "pytest", "runtime": runtime});
    let ran = judge_data("standins", wanted);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let outcomes = outcomes(&ran.json());
    assert!(outcomes.len() > 8, "{outcomes:?}");
    for (id, outcome) in outcomes {
        assert_eq!(outcome, "passed", "{id}");
    }
}

#[test]
fn standins_do_what_linux_does() {
    check_standins("python");
}

#[test]
fn standins_do_what_linux_does_on_python_312() {
    if has_python_312() {
        check_standins("python-3.12");
    }
}

#[test]
fn every_kind_of_outcome_of_pytest_is_told_apart() {
    check_every_outcome("pytest-records", "pytest", "python");
}

#[test]
fn every_kind_of_outcome_of_unittest_is_told_apart() {
    check_every_outcome("unittest-records", "unittest", "python");
}

/// Whether CPython 3.12 is installed; if not, says how to get it.
#[allow(
    clippy::print_stderr,
    reason = "a test that does not run says why to whoever runs it"
)]
pub(crate) fn has_python_312() -> bool {
    let listed = Project::new(&[]).run(&["runtime", "list", "--json"]);
    let there = listed.json()["runtimes"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|runtime| runtime["name"] == "python-3.12" && runtime["installed"] == true);
    if !there {
        eprintln!("not tested: run `probity runtime add python-3.12` (`cargo xtask test` does)");
    }
    there
}

#[test]
fn every_kind_of_outcome_is_told_apart_on_python_312() {
    if has_python_312() {
        check_every_outcome("pytest-records", "pytest", "python-3.12");
        check_every_outcome("unittest-records", "unittest", "python-3.12");
    }
}

#[test]
fn python_312_runs_suites() {
    if !has_python_312() {
        return;
    }
    let tests = r#"
import asyncio
import concurrent.futures
import ctypes.util
import multiprocessing
import socket
import subprocess
import sys
import threading
import unittest

import pytest
from pkg import double


@pytest.mark.parametrize("x", [1, 2])
def test_double(x):
    assert double(x) == 2 * x


def test_text(tmp_path, capsys):
    (tmp_path / "f").write_text("ab")
    print((tmp_path / "f").read_text())
    assert capsys.readouterr().out == "ab\n"


def test_threads():
    names = []
    thread = threading.Thread(target=lambda: names.append(threading.current_thread().name))
    thread.start()
    thread.join()
    assert names == [thread.name] and not thread.is_alive()


def test_pool():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert list(pool.map(double, [1, 2])) == [2, 4]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 / 0).result()
        (worker,) = pool._threads
        assert worker.is_alive()
    assert not worker.is_alive()


def test_event_loop():
    async def main():
        await asyncio.sleep(1)
        return await asyncio.to_thread(double, 2)

    assert asyncio.run(main()) == 4


def test_program():
    done = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True)
    assert done.stdout == b"1\n"


def test_names():
    assert socket.gethostname() and socket.inet_ntoa(b"\x7f\0\0\1") == "127.0.0.1"
    with pytest.raises(OSError):
        socket.getaddrinfo("example.org", 80)


def test_missing_processes():
    assert multiprocessing.current_process().name == "MainProcess"
    multiprocessing.Process(target=double)


def test_missing_library():
    assert ctypes.POINTER(ctypes.c_int) and ctypes.util.find_library("c") is None
    ctypes.CDLL(None)


def test_missing_pool():
    concurrent.futures.ProcessPoolExecutor()


def test_waits_for_its_starter():
    errors = []

    def body():
        try:
            threading.main_thread().join()
        except RuntimeError as error:
            errors.append(error)

    threading.Thread(target=body).start()
    raise errors[0]


def test_fails():
    assert double(1) == 3


class Case(unittest.TestCase):
    def test_method(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(double(part), 2 * part)
"#;
    let expect = "expect = \"any\"\nruntime = \"python-3.12\"";
    let ran = project(CODE, tests, expect).run(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let document = ran.json();
    let suite = &document["checks"][0]["tests"];
    assert_eq!(suite["runtime"], "python 3.12.0");
    for test in suite["tests"].as_array().unwrap() {
        let id = test["id"].as_str().unwrap();
        let message = test["message"].as_str().unwrap_or("");
        let wanted = match id.rsplit("::").next().unwrap() {
            "test_missing_library"
            | "test_missing_processes"
            | "test_missing_pool"
            | "test_waits_for_its_starter" => {
                assert!(message.contains("unsupported: "), "{id}: {message}");
                "failed"
            }
            "test_fails" => "failed",
            _ => "passed",
        };
        assert_eq!(test["outcome"], wanted, "{id}: {message}");
    }
    assert_eq!(suite["tests"].as_array().unwrap().len(), 14);
}

fn unittest_project(tests: &str, more: &str) -> Project {
    let spec = format!(
        "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"unittest\"\n\
         python-path = [\"src\"]\n{more}\n"
    );
    Project::new(&[
        ("src/pkg/__init__.py", CODE),
        ("tests/test_pkg.py", tests),
        ("probity.toml", &spec),
    ])
}

const CASES: &str = r#"
import unittest
from pkg import double


class Case(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(1), 2)

    def test_last(self):
        print("last")
"#;

#[test]
fn unittest_runs_names_and_discovers() {
    for (args, id) in [
        ("[\"-s\", \"tests\"]", "test_pkg.Case.test_double"),
        ("[\"discover\", \"tests\"]", "test_pkg.Case.test_double"),
        ("[\"tests.test_pkg\"]", "tests.test_pkg.Case.test_double"),
        ("[\"tests/test_pkg.py\"]", "tests.test_pkg.Case.test_double"),
        (
            "[\"-k\", \"double\", \"tests.test_pkg\"]",
            "tests.test_pkg.Case.test_double",
        ),
    ] {
        let more = format!("args = {args}\nexpect = [\"{id}\"]\npython-path = [\"src\", \".\"]");
        let project = unittest_project(CASES, "expect = \"any\"");
        let spec = project
            .read("probity.toml")
            .replace("python-path = [\"src\"]\nexpect = \"any\"", &more);
        project.write("repo/probity.toml", &spec);
        let ran = project.run(&["verify", "--repo", "repo", "--json"]);
        assert_eq!(ran.code, 0, "{args}: {}", ran.text());
        let suite = &ran.json()["checks"][0]["tests"];
        assert_eq!(suite["runner"], "unittest 3.15.0");
    }
}

#[test]
fn what_unittest_does_not_run_does_not_pass() {
    let expect = "args = [\"-s\", \"tests\"]\n\
        expect = [\"test_pkg.Case.test_double\", \"test_pkg.Case.test_last\"]";
    for (tests, wanted) in [
        (CASES.replace("def test_last", "def other_last"), "missing"),
        (
            CASES.replace("        print", "        self.skipTest('')\n        print"),
            "skipped",
        ),
        (
            CASES.replace(
                "        print",
                "        __import__('os')._exit(0)\n        print",
            ),
            "incomplete",
        ),
        (format!("import absent_module\n{CASES}"), "missing"),
    ] {
        let project = unittest_project(&tests, expect);
        let ran = project.run(&["verify", "--repo", "repo", "--json"]);
        assert_eq!(ran.code, 1, "{wanted}: {}", ran.text());
        assert_eq!(outcome(&ran.json(), "test_pkg.Case.test_last"), wanted);
    }
    // An unexpected success fails a run of unittest, and a run of nothing is no success.
    for tests in [
        CASES.replace(
            "    def test_last",
            "    @unittest.expectedFailure\n    def test_last",
        ),
        "import unittest\n".to_owned(),
    ] {
        let project = unittest_project(&tests, "args = [\"-s\", \"tests\"]\nexpect = \"any\"");
        let ran = project.run(&["verify", "--repo", "repo"]);
        assert_eq!(ran.code, 1, "{}", ran.text());
    }
}

#[test]
fn a_unittest_or_a_fixture_that_never_ends_costs_itself_only() {
    let tests = format!(
        "{CASES}\n    def test_endless(self):\n        while True:\n            pass\n\n\n\
         class EndlessClass(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        \
         while True:\n            pass\n\n    def test_one(self):\n        pass\n\n\n\
         class Last(unittest.TestCase):\n    def test_one(self):\n        pass\n"
    );
    let more = "args = [\"-s\", \"tests\"]\nexpect = \"any\"\nbudget = { test-fuel = \"5G\" }";
    let ran = unittest_project(&tests, more).run(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let document = ran.json();
    for (id, wanted) in [
        ("Case.test_endless", "incomplete"),
        ("EndlessClass.test_one", "incomplete"),
        ("Case.test_double", "passed"),
        ("Case.test_last", "passed"),
        ("Last.test_one", "passed"),
    ] {
        assert_eq!(
            outcome(&document, &format!("test_pkg.{id}")),
            wanted,
            "{id}"
        );
    }
}

#[test]
fn unittest_needs_no_pytest() {
    let lock = include_str!("../../crates/sandbox/python/pytest.lock");
    let (at, _) = lock.match_indices("iniconfig==").next().unwrap();
    let lock: String = lock[at..].lines().take(2).collect::<Vec<_>>().join("\n");
    let tests = format!("import iniconfig\nimport importlib.util\n{CASES}").replace(
        "        print",
        "        self.assertIsNone(importlib.util.find_spec(\"pytest\"))\n        print",
    );
    let more = "args = [\"-s\", \"tests\"]\nexpect = \"any\"\nlock = \"requirements.lock\"";
    let project = unittest_project(&tests, more);
    project.write("repo/requirements.lock", &lock);
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}
