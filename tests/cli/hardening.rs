//! What a patch cannot do to the tests that judge it.

use serde_json::Value;

use crate::project::Project;

const SPEC: &str = "version = 1
[[check]]
name = \"tests\"
kind = \"suite\"
runner = \"pytest\"
python-path = [\"src\"]
args = [\"tests\"]
expect = [\"tests/test_a.py::test_a\", \"tests/test_b.py::test_b\"]
";
const WRONG: &str = "def double(x):\n    return x + 1\n";
const RIGHT: &str = "def double(x):\n    return 2 * x\n";
const TEST_B: &str = "from pkg import double\n\n\ndef test_b():\n    assert double(5) == 10\n";

/// A repository whose code is wrong, and beside it files that a patch would make of it.
fn project() -> Project {
    let test_a = TEST_B
        .replace("test_b", "test_a")
        .replace("5) == 10", "3) == 6");
    Project::new(&[
        ("src/pkg/__init__.py", WRONG),
        ("tests/test_a.py", &test_a),
        ("tests/test_b.py", TEST_B),
        ("tests/data.txt", "data\n"),
        (
            "pyproject.toml",
            "[project]\nversion = \"1\"\n[tool.pytest.ini_options]\n",
        ),
        ("probity.toml", SPEC),
    ])
}

/// What a verdict says: its status, the cause, and the findings as level, path, message.
struct Judged {
    status: String,
    cause: Value,
    findings: Vec<(String, String, String)>,
}

impl Judged {
    /// The paths of the findings, all of them warnings.
    fn warned(&self) -> Vec<&str> {
        let found = self.findings.iter();
        found
            .map(|(level, path, _)| {
                assert_eq!(level, "warning");
                path.as_str()
            })
            .collect()
    }
}

/// Judges a patch that writes these files (or deletes them: `None`), with more arguments.
fn judge(project: &Project, writes: &[(&str, Option<&str>)], more: &[&str]) -> Judged {
    let entry = |(path, text): &(&str, Option<&str>)| match text {
        None => serde_json::json!({ "path": path, "op": "delete" }),
        Some(text) => {
            let is_there = project.repo().join(path).exists();
            let op = if is_there { "replace" } else { "create" };
            serde_json::json!({ "path": path, "op": op, "content": text })
        }
    };
    let files: Vec<Value> = writes.iter().map(entry).collect();
    let patch = serde_json::json!({ "files": files }).to_string();
    project.write("patch.json", &patch);
    let mut args = vec![
        "verify",
        "--repo",
        "repo",
        "--patch",
        "patch.json",
        "--json",
    ];
    args.extend(more);
    let ran = project.run(&args);
    let document = ran.json();
    let check = &document["checks"][0];
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let findings = check["findings"].as_array();
    let findings = findings.unwrap_or_else(|| panic!("{document:#}")).iter();
    Judged {
        status: text(&document["status"]),
        cause: check["cause"].clone(),
        findings: findings
            .map(|found| {
                (
                    text(&found["level"]),
                    text(&found["path"]),
                    text(&found["message"]),
                )
            })
            .collect(),
    }
}

const FIX: (&str, Option<&str>) = ("src/pkg/__init__.py", Some(RIGHT));
const PASS: &str = "def test_b():\n    pass\n";

#[test]
fn an_honest_patch_is_not_found_fault_with() {
    let new = "def test_new():\n    pass\n";
    let version = "[project]\nversion = \"2\"\n[tool.pytest.ini_options]\n";
    for isolation in ["process", "thread"] {
        let writes = [
            FIX,
            ("tests/test_new.py", Some(new)),
            ("pyproject.toml", Some(version)),
        ];
        let judged = judge(&project(), &writes, &["--isolation", isolation]);
        assert_eq!(judged.status, "passed");
        assert!(judged.findings.is_empty(), "{:?}", judged.findings);
    }
}

#[test]
fn weakened_and_deleted_tests_are_put_back() {
    let project = project();
    let test_a = PASS.replace("test_b", "test_a");
    let weaker = [
        ("tests/test_a.py", Some(test_a.as_str())),
        ("tests/test_b.py", Some(PASS)),
    ];
    let judged = judge(&project, &weaker, &[]);
    assert_eq!(judged.status, "failed");
    assert_eq!(judged.warned(), ["tests/test_a.py", "tests/test_b.py"]);
    let judged = judge(&project, &[FIX, ("tests/test_b.py", None)], &[]);
    assert_eq!(judged.status, "passed");
    assert_eq!(judged.warned(), ["tests/test_b.py"]);

    let own = SPEC.replace("runner", "tests-from = \"patched\"\nrunner");
    project.write("repo/probity.toml", &own);
    let judged = judge(&project, &weaker, &[]);
    assert_eq!(judged.status, "passed", "{:?}", judged.findings);
    assert!(judged.findings.is_empty());
}

#[test]
fn what_steers_is_pinned_unless_one_line_allows_it() {
    // It mends the code instead of the outcome, so that nothing speaks against it but its place.
    let hook = "def pytest_runtest_setup(item):\n    item.module.double = lambda x: 2 * x\n";
    let plugin = "[pytest11]\nevil = pkg.evil\n";
    let options = "[tool.pytest.ini_options]\naddopts = \"-p pkg.evil\"\n";
    for (allowed, path, writes) in [
        (
            "tests/conftest.py",
            "tests/conftest.py",
            &[("tests/conftest.py", hook)][..],
        ),
        (
            "src/evil.dist-info/**",
            "src/evil.dist-info/entry_points.txt",
            &[
                ("src/evil.dist-info/entry_points.txt", plugin),
                ("src/pkg/evil.py", hook),
            ],
        ),
        (
            "pyproject.toml",
            "pyproject.toml",
            &[("pyproject.toml", options), ("src/pkg/evil.py", hook)],
        ),
    ] {
        let project = project();
        let writes: Vec<_> = writes
            .iter()
            .map(|(path, text)| (*path, Some(*text)))
            .collect();
        let judged = judge(&project, &writes, &[]);
        assert_eq!(judged.status, "failed", "{path}");
        assert_eq!(judged.warned(), [path]);
        assert!(judged.findings[0].2.starts_with("steering: "));
        let line = format!("allow-steering = [\"{allowed}\"]\nrunner");
        project.write("repo/probity.toml", &SPEC.replace("runner", &line));
        let judged = judge(&project, &writes, &[]);
        assert_eq!(judged.status, "passed", "{path}: {:?}", judged.cause);
        assert!(judged.findings.is_empty(), "{:?}", judged.findings);
    }
}

#[test]
fn modules_in_the_place_of_others_are_left_out() {
    let project = project();
    for (path, text) in [
        ("src/pluggy.py", "raise SystemExit(0)\n"),
        ("src/unittest/__init__.py", ""),
        ("tests/test_b/__init__.py", PASS),
        ("src/test_b.py", PASS),
    ] {
        let judged = judge(&project, &[FIX, (path, Some(text))], &[]);
        assert_eq!(judged.status, "passed", "{path}");
        assert_eq!(judged.warned(), [path]);
    }
}

#[test]
fn a_folder_of_tests_is_laid_over_what_waits_for_them() {
    let project = project();
    project.write(
        "hidden/tests/test_c.py",
        &TEST_B.replace("test_b", "test_c"),
    );
    project.write("hidden/tests/__pycache__/test_c.cpython-315.pyc", "stale");
    let spec = SPEC.replace("tests/test_b.py::test_b", "tests/test_c.py::test_c");
    project.write("repo/probity.toml", &spec);
    let waiting = PASS.replace("test_b", "test_c");
    let writes = [
        ("tests/test_c.py", Some(waiting.as_str())),
        ("tests/test_c/__init__.py", Some(waiting.as_str())),
        ("tests/test_a.py", Some("def test_a():\n    pass\n")),
    ];
    let given = ["--tests-from", "hidden"];
    let judged = judge(&project, &writes, &given);
    assert_eq!(judged.status, "failed");
    assert_eq!(
        judged.warned(),
        [
            "tests/test_a.py",
            "tests/test_c/__init__.py",
            "tests/test_c.py"
        ]
    );
    assert_eq!(judge(&project, &[FIX], &given).status, "passed");
    // The same from the spec, relative to its folder.
    let line = "tests-from = \"../hidden\"\nrunner";
    project.write("repo/probity.toml", &spec.replace("runner", line));
    assert_eq!(judge(&project, &writes, &[]).status, "failed");
    assert_eq!(judge(&project, &[FIX], &[]).status, "passed");

    let ran = project.run(&["verify", "--repo", "repo", "--tests-from", "nowhere"]);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(
        ran.stderr
            .contains("cannot read the trusted tests `nowhere`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_test_that_is_to_come_cannot_be_rewritten() {
    let rewrite = format!(
        "import os\n\n\ndef attack():\n    for call in [\n        lambda: \
         open('/repo/tests/test_b.py', 'w').write({PASS:?}),\n        lambda: \
         os.replace('/repo/tests', '/repo/old'),\n    ]:\n        try:\n            call()\n        \
         except OSError:\n            pass\n\n\nattack()\n\n\n{RIGHT}"
    );
    for (process, isolation) in [
        ("process", "suite"),
        ("thread", "suite"),
        ("process", "test"),
    ] {
        let project = project();
        let line = format!("isolation = \"{isolation}\"\nrunner");
        project.write("repo/probity.toml", &SPEC.replace("runner", &line));
        let writes = [("src/pkg/__init__.py", Some(rewrite.as_str()))];
        let judged = judge(&project, &writes, &["--isolation", process]);
        assert_eq!(judged.status, "failed");
        assert_eq!(judged.cause["type"], "tampered", "{:?}", judged.cause);
        let paths: Vec<&str> = judged
            .findings
            .iter()
            .map(|(_, path, _)| path.as_str())
            .collect();
        assert_eq!(paths, ["tests", "tests/test_b.py"], "{isolation}");
        for (level, _, message) in &judged.findings {
            assert_eq!(level, "error");
            assert!(message.starts_with("tampering: "), "{message}");
        }
    }
}

#[test]
fn tests_may_write_to_their_data() {
    let project = project();
    let test = "import os\n\n\ndef test_b():\n    with open(os.path.join(os.path.dirname(__file__), \
        'data.txt'), 'a') as file:\n        file.write('more')\n    open('/repo/tests/new.py', \
        'w').close()\n    os.makedirs('/repo/tests/out/test_a')\n";
    project.write("repo/tests/test_b.py", test);
    let judged = judge(&project, &[FIX], &[]);
    assert_eq!(judged.status, "passed", "{:?}", judged.cause);
    assert!(judged.findings.is_empty());
}
