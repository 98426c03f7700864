//! `probity selftest` and `probity suite record`.

use serde_json::Value;

use crate::project::{Project, Ran};

const TESTS: &str = r#"
import random

import pytest
from pkg import add, multiply


def test_add():
    assert add(1, 2) == 3


def test_multiply():
    assert multiply(2, 3) == 6


@pytest.mark.skip
def test_skipped():
    pass


def test_by_chance():
    assert random.random() < 0.5
"#;
const GOLD: &str = "--- a/pkg.py\n+++ b/pkg.py\n@@ -1,3 +1,3 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n \n";
const SPEC: &str = "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\n\
                    expect-from = [\"pass.txt\"]\nfail-to-pass-from = [\"fix.txt\"]\n";

fn project() -> Project {
    let project = Project::new(&[
        (
            "pkg.py",
            "def add(a, b):\n    return a - b\n\n\ndef multiply(a, b):\n    return a * b\n",
        ),
        ("tests/test_pkg.py", TESTS),
    ]);
    project.write("spec.toml", SPEC);
    project.write("gold.diff", GOLD);
    project
}

fn record(project: &Project) -> Ran {
    project.run(&[
        "suite",
        "record",
        "--repo",
        "repo",
        "--spec",
        "spec.toml",
        "--patch",
        "gold.diff",
        "--runs",
        "5",
        "--out",
        "pass.txt",
        "--fail-to-pass",
        "fix.txt",
    ])
}

fn selftest(project: &Project, more: &[&str]) -> Ran {
    let mut args = vec![
        "selftest",
        "--repo",
        "repo",
        "--spec",
        "spec.toml",
        "--gold",
        "gold.diff",
        "--runs",
        "2",
    ];
    args.extend(more);
    project.run(&args)
}

fn text(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.root().join(name)).unwrap()
}

/// Name and fitness of each trial that does not hold.
fn doubts(selftest: &Value) -> Vec<(String, String)> {
    selftest["trials"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|trial| trial["fitness"] != "holds")
        .map(|trial| {
            let of = |key: &str| trial[key].as_str().unwrap().to_owned();
            (of("name"), of("fitness"))
        })
        .collect()
}

#[test]
fn what_is_recorded_passes_each_time_and_splits_by_the_patch() {
    let project = project();
    let ran = record(&project);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        text(&project, "pass.txt"),
        "tests/test_pkg.py::test_multiply\n"
    );
    assert_eq!(text(&project, "fix.txt"), "tests/test_pkg.py::test_add\n");
    assert!(
        ran.stderr.contains("test_by_chance (") && ran.stderr.contains("then"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("test_skipped (skipped)"),
        "{}",
        ran.stderr
    );

    let ran = selftest(&project, &["--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let selftest = ran.json();
    assert_eq!(selftest["fit"], true);
    assert_eq!(
        doubts(&selftest),
        [("assurance".to_owned(), "doubtful".to_owned())]
    );
}

#[test]
fn an_unfit_spec_is_told_why() {
    let project = project();
    let unfit = |spec: &str, pass: &str, fix: &str| {
        project.write("spec.toml", spec);
        project.write("pass.txt", pass);
        project.write("fix.txt", fix);
        let ran = selftest(&project, &["--json"]);
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        let mut names: Vec<String> = doubts(&ran.json())
            .into_iter()
            .filter(|(_, fitness)| fitness == "unfit")
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names
    };
    let (add, multiply) = (
        "tests/test_pkg.py::test_add\n",
        "tests/test_pkg.py::test_multiply\n",
    );
    // It passes on the base, so it tells nothing apart.
    assert_eq!(
        unfit(SPEC, multiply, multiply),
        ["empty-patch-fails", "fail-to-pass-fails"]
    );
    // A test that is skipped can be nobody's proof.
    let skipped = format!("{multiply}tests/test_pkg.py::test_skipped\n");
    assert_eq!(
        unfit(SPEC, &skipped, add),
        ["gold-patch-passes", "no-expected-test-is-skipped"]
    );
    // A gold patch that is none.
    project.write(
        "gold.diff",
        &GOLD.replace("+    return a + b", "+    return a * b"),
    );
    assert_eq!(unfit(SPEC, multiply, add), ["gold-patch-passes"]);
}

#[test]
fn a_selftest_is_readable_and_refuses_what_a_verdict_would() {
    let project = project();
    project.write("pass.txt", "tests/test_pkg.py::test_multiply\n");
    project.write("fix.txt", "tests/test_pkg.py::test_add\n");
    let ran = selftest(&project, &[]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains("holds  empty-patch-fails"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .ends_with("the spec is fit to judge, by 2 runs of the gold patch\n")
    );
    project.write("gold.diff", "nonsense");
    assert_eq!(selftest(&project, &[]).code, 3);
}

#[test]
fn record_names_what_is_missing() {
    let project = project();
    let ran = project.run(&[
        "suite",
        "record",
        "--repo",
        "repo",
        "--spec",
        "spec.toml",
        "--fail-to-pass",
        "x.txt",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--patch"), "{}", ran.stderr);
    let ran = project.run(&[
        "suite",
        "record",
        "--repo",
        "repo",
        "--spec",
        "spec.toml",
        "--check",
        "no",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there are: tests"), "{}", ran.stderr);
}
