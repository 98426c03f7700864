//! Suites whose tests, or files of tests, get a guest each.

use serde_json::Value;

use crate::project::{Project, Ran};
use crate::suite::has_python_312;

const LEAVES: &str = r#"
import os
import random

SEEN = []


def untouched():
    return not (SEEN or os.path.exists("/tmp/left") or os.path.exists("left") or "LEFT" in os.environ)


def test_leaves():
    assert untouched()
    SEEN.append(1)
    open("/tmp/left", "w").close()
    open("left", "w").close()
    os.environ["LEFT"] = "1"
    os.remove("tests/data.txt")


def test_finds_nothing():
    assert untouched()
    assert open("tests/data.txt").read() == "data"
"#;

const OTHER: &str = r#"
import os


def test_elsewhere():
    assert not os.path.exists("/tmp/left") and open("tests/data.txt").read() == "data"
"#;

/// A project whose suite of pytest is judged with this isolation.
fn project(isolation: &str, more: &str, files: &[(&str, &str)]) -> Project {
    project_of(
        "pytest",
        isolation,
        &format!("args = [\"tests\"]\n{more}"),
        files,
    )
}

fn project_of(runner: &str, isolation: &str, more: &str, files: &[(&str, &str)]) -> Project {
    let spec = format!(
        "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"{runner}\"\n\
         isolation = \"{isolation}\"\n{more}\nexpect = \"any\"\n"
    );
    let project = Project::new(&[("probity.toml", &spec)]);
    for (path, text) in files {
        project.write(&format!("repo/{path}"), text);
    }
    project
}

fn verify(project: &Project) -> Ran {
    project.run(&["verify", "--repo", "repo", "--json"])
}

fn outcomes(document: &Value) -> Vec<(&str, &str)> {
    let tests = document["checks"][0]["tests"]["tests"].as_array();
    tests
        .unwrap_or_else(|| panic!("{document:#}"))
        .iter()
        .map(|test| {
            let id = test["id"].as_str().unwrap();
            let name = id.split_once("::").map_or(id, |(_, name)| name);
            (name, test["outcome"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn what_a_test_leaves_reaches_only_its_own_guest() {
    let files = [
        ("tests/test_leaves.py", LEAVES),
        ("tests/test_other.py", OTHER),
        ("tests/data.txt", "data"),
    ];
    for (isolation, same_file, other_file) in [
        ("suite", "failed", "failed"),
        ("file", "failed", "passed"),
        ("test", "passed", "passed"),
    ] {
        let document = verify(&project(isolation, "", &files)).json();
        let wanted = [
            ("test_leaves", "passed"),
            ("test_finds_nothing", same_file),
            ("test_elsewhere", other_file),
        ];
        let mut found = outcomes(&document);
        found.sort_unstable();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{isolation}: {document:#}");
    }
}

#[test]
fn unittest_has_guests_for_its_modules_and_tests_too() {
    let tests = "import unittest\n\nSEEN = []\n\n\nclass Case(unittest.TestCase):\n    def test_a(self):\n        SEEN.append(1)\n\n    def test_b(self):\n        self.assertEqual(SEEN, [])\n";
    let other = "import unittest\n\nimport test_a\n\n\nclass Other(unittest.TestCase):\n    def test_c(self):\n        self.assertEqual(test_a.SEEN, [])\n";
    let files = [("tests/test_a.py", tests), ("tests/test_b.py", other)];
    let more = "python-path = [\"tests\"]\nargs = [\"-s\", \"tests\"]\n";
    for (isolation, same_file, other_file) in [
        ("suite", "failed", "failed"),
        ("file", "failed", "passed"),
        ("test", "passed", "passed"),
    ] {
        let document = verify(&project_of("unittest", isolation, more, &files)).json();
        let wanted = [
            ("test_a.Case.test_a", "passed"),
            ("test_a.Case.test_b", same_file),
            ("test_b.Other.test_c", other_file),
        ];
        assert_eq!(outcomes(&document), wanted, "{isolation}: {document:#}");
    }
}

/// Where no guest can be paused, each unit begins anew.
#[test]
fn a_runtime_without_snapshots_isolates_too() {
    if !has_python_312() {
        return;
    }
    let files = [
        ("tests/test_leaves.py", LEAVES),
        ("tests/test_other.py", OTHER),
        ("tests/data.txt", "data"),
    ];
    let more = "runtime = \"python-3.12\"\n";
    for (isolation, same_file) in [("file", "failed"), ("test", "passed")] {
        let document = verify(&project(isolation, more, &files)).json();
        let wanted = [
            ("test_finds_nothing", same_file),
            ("test_leaves", "passed"),
            ("test_elsewhere", "passed"),
        ];
        assert_eq!(outcomes(&document), wanted, "{isolation}: {document:#}");
    }
}

#[test]
fn a_test_that_ends_its_guest_costs_itself() {
    let tests = r#"
import os
import sys
import pytest


def test_before():
    pass


def test_never_ends():
    while True:
        pass


def test_leaves_the_process():
    os._exit(0)


def test_wants_too_much():
    held = []
    while True:
        held.append(bytearray(1 << 24))


def test_raises_exit():
    sys.exit(0)


@pytest.mark.parametrize("n", range(20))
def test_after(n):
    pass
"#;
    for isolation in ["file", "test"] {
        let more = "[check.budget]\ntest-fuel = \"3G\"\nmemory = \"256 MiB\"\n";
        let spec =
            "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\n";
        let project = Project::new(&[("tests/test_ends.py", tests)]);
        project.write(
            "repo/probity.toml",
            &format!(
                "{spec}args = [\"tests\"]\nisolation = \"{isolation}\"\nexpect = \"any\"\n{more}"
            ),
        );
        let ran = verify(&project);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let document = ran.json();
        let found = outcomes(&document);
        let outcome = |name: &str| found.iter().find(|(id, _)| *id == name).unwrap().1;
        assert_eq!(outcome("test_before"), "passed", "{isolation}");
        assert_eq!(outcome("test_never_ends"), "incomplete", "{isolation}");
        assert_eq!(
            outcome("test_leaves_the_process"),
            "incomplete",
            "{isolation}"
        );
        assert!(
            ["incomplete", "failed"].contains(&outcome("test_wants_too_much")),
            "{isolation}"
        );
        assert_eq!(outcome("test_raises_exit"), "failed", "{isolation}");
        let after = found
            .iter()
            .filter(|(id, outcome)| id.starts_with("test_after") && *outcome == "passed");
        assert_eq!(after.count(), 20, "{isolation}: {document:#}");
    }
}

#[test]
fn the_verdict_is_the_same_wherever_units_run() {
    let tests = r#"
import random
import time
import uuid
import pytest


@pytest.fixture(scope="session")
def number():
    return random.random()


@pytest.mark.parametrize("n", range(40))
def test_many(n, number, tmp_path):
    time.sleep(n)
    (tmp_path / str(n)).write_text(str(number))
    print(number, uuid.uuid4(), time.time())
    assert n % 7 != 3
"#;
    let project = project("test", "", &[("tests/test_many.py", tests)]);
    let body = |args: &[&str]| {
        let ran = project.run(args);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let text = ran.stdout;
        text.split("\"timings\":").next().unwrap().to_owned()
    };
    let first = body(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(first, body(&["verify", "--repo", "repo", "--json"]));
    let threads = [
        "verify",
        "--repo",
        "repo",
        "--json",
        "--isolation",
        "thread",
    ];
    assert_eq!(first, body(&threads));
    assert!(
        first.contains("34 passed") || first.contains("6 of 40"),
        "{first}"
    );
}

#[test]
fn a_suite_that_cannot_begin_says_why() {
    let broken = [("tests/test_broken.py", "import nothing_of_this_name\n")];
    let no_tests = [("tests/nothing.py", "")];
    let good = [("tests/test_good.py", "def test_good():\n    pass\n")];
    for (files, code, says) in [
        (&broken, 1, "error during collection"),
        (&no_tests, 1, "no test"),
        (&good, 0, "1 passed"),
    ] {
        for isolation in ["file", "test"] {
            let ran = project(isolation, "", files).run(&["verify", "--repo", "repo"]);
            assert_eq!(ran.code, code, "{isolation}: {}", ran.text());
            assert!(ran.text().contains(says), "{isolation}: {}", ran.text());
        }
    }
}

#[test]
fn fuel_counts_as_if_units_ran_one_after_the_other() {
    let tests = r#"
import pytest


@pytest.mark.parametrize("n", range(30))
def test_works(n):
    for _ in range(1_000_000):
        pass
"#;
    let project = project("test", "", &[("tests/test_works.py", tests)]);
    let spec = project.read("probity.toml");
    project.write(
        "repo/probity.toml",
        &format!("{spec}[check.budget]\nfuel = \"1G\"\n"),
    );
    let (first, second) = (verify(&project), verify(&project));
    assert_eq!(first.code, 1, "{}", first.text());
    let (first, second) = (first.json(), second.json());
    assert_eq!(first["checks"], second["checks"]);
    assert_eq!(first["checks"][0]["cause"]["limit"], "fuel", "{first:#}");
    let passed = outcomes(&first)
        .into_iter()
        .filter(|(_, outcome)| *outcome == "passed")
        .count();
    assert!((1..30).contains(&passed), "{passed} passed");
}

#[test]
fn a_test_that_its_runner_passes_over_is_lost() {
    // An id that is no text cannot be asked for again.
    let tests = "import pytest\n\n\n@pytest.mark.parametrize(\"x\", [1], ids=[\"\\ud800\"])\ndef test_odd(x):\n    assert x == 2\n\n\ndef test_good():\n    pass\n";
    let settings =
        "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n";
    for isolation in ["suite", "file", "test"] {
        let files = [("tests/test_odd.py", tests), ("pytest.ini", settings)];
        let ran = verify(&project(isolation, "", &files));
        assert_eq!(ran.code, 1, "{isolation}: {}", ran.text());
    }
}

#[test]
fn what_a_guest_says_of_other_tests_helps_none() {
    // Each test tells of the other, or of one that there is not, and ends its process.
    let tell = |id: &str, outcome: &str| {
        format!(
            "    with open('/dev/results', 'w') as out:\n        out.write('{{\"event\":\"start\",\"id\":\"{id}\"}}\\n{{\"event\":\"result\",\"id\":\"{id}\",\"outcome\":\"{outcome}\"}}\\n')\n"
        )
    };
    let forged = format!(
        "def test_forges():\n{}\n\ndef test_fails():\n    assert False\n",
        tell("tests/test_f.py::test_fails", "passed")
    );
    let ran = verify(&project("test", "", &[("tests/test_f.py", &forged)]));
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(ran.json()["checks"][0]["cause"]["type"], "tampered");

    let endless = "import os\n\n\ndef test_begins_another():\n    with open('/dev/results', 'w') as out:\n        out.write('{\"event\":\"start\",\"id\":\"other\"}\\n')\n    os._exit(0)\n";
    for isolation in ["file", "test"] {
        let ran = verify(&project(isolation, "", &[("tests/test_e.py", endless)]));
        assert_eq!(ran.code, 1, "{isolation}: {}", ran.text());
    }
}
