//! Suites: the repository's own tests, in a guest.

use serde_json::Value;

use crate::project::Project;

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

/// Every kind of outcome that pytest knows, and some tricks, as data in `tests/pytest-records`.
#[test]
fn every_kind_of_outcome_is_told_apart() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/pytest-records");
    let expected = std::fs::read(data.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let project = Project::new(&[]);
    let spec = serde_json::json!({
        "version": 1,
        "check": [{
            "name": "tests",
            "kind": "suite",
            "runner": "pytest",
            "python-path": expected["config"]["python_path"],
            "args": expected["config"]["args"],
            "expect": "any",
        }],
    });
    project.write("spec.json", &spec.to_string());
    let repo = data.join("repo");
    let ran = project.run(&[
        "verify",
        "--json",
        "--spec",
        "spec.json",
        "--repo",
        repo.to_str().unwrap(),
    ]);
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
    for (id, reason) in expected["reasons"].as_object().unwrap() {
        let test = suite["tests"].as_array().unwrap().iter();
        let message = test
            .filter(|test| test["id"] == id.as_str())
            .find_map(|test| test["message"].as_str());
        assert_eq!(message, reason.as_str(), "{id}");
    }
}

/// What stand-ins promise, as tests in `tests/standins` that also pass on Linux.
#[test]
fn standins_do_what_linux_does() {
    let repo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins");
    let project = Project::new(&[]);
    let spec = serde_json::json!({
        "version": 1,
        "check": [{
            "name": "tests",
            "kind": "suite",
            "runner": "pytest",
            "expect": "any",
        }],
    });
    project.write("spec.json", &spec.to_string());
    let ran = project.run(&[
        "verify",
        "--json",
        "--spec",
        "spec.json",
        "--repo",
        repo.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let outcomes = outcomes(&ran.json());
    assert!(outcomes.len() > 8, "{outcomes:?}");
    for (id, outcome) in outcomes {
        assert_eq!(outcome, "passed", "{id}");
    }
}
