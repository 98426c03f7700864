//! Suites whose code under test is reached across a border: what their tests can do, what they
//! are told that they cannot, and that nothing the code under test does makes one pass.
//!
//! `tests/across` holds code and tests that are run here as they are. A cheat is a module that
//! takes the place of the code; each must fail for the reason that stands with it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::{Project, Ran};

const SPEC: &str = r#"
version = 1
require = "isolated"
[[check]]
name = "tests"
kind = "suite"
runner = "pytest"
across = ["greeter"]
expect = "any"
"#;

fn data(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/across");
    fs::read_to_string(folder.join(file)).unwrap()
}

fn judge(more: &str, files: &[(&str, &str)]) -> Ran {
    let project = Project::new(files);
    project.write("probity.toml", &format!("{SPEC}{more}\n"));
    project.run(&[
        "verify",
        "--repo",
        "repo",
        "--spec",
        "probity.toml",
        "--json",
    ])
}

fn suite(ran: &Ran) -> Value {
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    document["checks"][0].clone()
}

/// Ids with outcomes and what was said of them.
fn told(check: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    check["tests"]["tests"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|test| {
            let said = format!("{}{}", text(&test["message"]), text(&test["reason"]));
            (text(&test["id"]), text(&test["outcome"]), said)
        })
        .collect()
}

#[test]
fn tests_pass_across_a_border_or_say_why_they_cannot() {
    let ran = judge(
        "args = [\"-o\", \"python_functions=test_* refuse_*\"]",
        &[
            ("greeter.py", &data("greeter.py")),
            ("tests/test_greeter.py", &data("test_greeter.py")),
        ],
    );
    let check = suite(&ran);
    assert_eq!(check["assurance"], "isolated", "{ran:?}");
    let told = told(&check);
    assert!(told.len() > 15, "{check}");
    for (id, outcome, said) in told {
        if id.contains("::refuse_") {
            assert_eq!(outcome, "skipped", "{id}: {said}");
            assert!(said.starts_with("cannot be isolated: "), "{id}: {said}");
        } else {
            assert_eq!(outcome, "passed", "{id}: {said}");
        }
    }
    assert_eq!(ran.code, 0);
    let findings = check["findings"].to_string();
    assert!(
        findings.contains("tests that cannot be isolated: 5"),
        "{findings}"
    );
}

/// What every cheat is tried with.
const JUDGE: &str = r#"
import greeter

EXPECTED = "the expected value"


def test_value():
    expected = EXPECTED
    assert greeter.answer(1) == expected


def test_object():
    assert [greeter.Point(1)] == [greeter.point(1)]
    assert greeter.Point(1) == greeter.point(1)
"#;

/// Cheats: the module, and what is said of the test that it should fail.
const CHEATS: &[(&str, &str, &str)] = &[
    (
        "an object that equals everything",
        "class Agrees:\n    __hash__ = None\n    def __eq__(self, other): return True\n\
         def answer(n): return Agrees()\n",
        "compares an object",
    ),
    (
        "a text that equals everything",
        "class Agrees(str):\n    __hash__ = str.__hash__\n    def __eq__(self, other): return True\n\
         def answer(n): return Agrees('x')\n",
        "compares an object",
    ),
    (
        "one object for all",
        "class Point:\n    one = None\n    def __new__(cls, n):\n        cls.one = cls.one or super().__new__(cls)\n\
         \x20       return cls.one\npoint = Point\ndef answer(n): return 'x'\n",
        "compares an object",
    ),
    (
        "an enumeration with one member",
        "import enum\nclass Meta(enum.EnumMeta):\n    def __call__(cls, *args, **named): return cls.__members__['X']\n\
         class Point(enum.Enum, metaclass=Meta): X = 1\ndef point(n): return Point.X\ndef answer(n): return 'x'\n",
        "compares an object",
    ),
    (
        "the expected value read from frames, objects and files",
        "import gc, os, sys\n\
         def answer(n):\n    frame = sys._getframe()\n    while frame:\n        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:\n\
         \x20           if isinstance(value, str) and value.startswith('the expected v'): return value\n        frame = frame.f_back\n\
         \x20   for folder, _, names in os.walk('/'):\n        for name in names:\n\
         \x20           path = os.path.join(folder, name)\n            if path.startswith(('/dev', '/probity', '/site')) or path == '/repo/greeter.py': continue\n\
         \x20           text = open(path, 'rb').read()\n\
         \x20           if b'the expected v' in text: return text[text.index(b'the expected v'):][:18].decode()\n\
         \x20   for held in gc.get_objects():\n        if type(held) is dict and 'EXPECTED' in held: return held['EXPECTED']\n\
         \x20   return 'not found'\n",
        "'not found'",
    ),
    (
        "the runner patched",
        "import _pytest.reports, _pytest.runner, pytest, builtins\n\
         _pytest.reports.TestReport.from_item_and_call = classmethod(lambda *a: None)\n\
         _pytest.runner.check_interactive_exception = lambda *a: False\n\
         def answer(n):\n    builtins.AssertionError = KeyError\n    return 'x'\n",
        "'x'",
    ),
    (
        "the end of the interpreter",
        "import os\ndef answer(n): os._exit(0)\n",
        "ended its interpreter with exit code 0",
    ),
    (
        "forged records of the runner",
        "import json, os\ndef answer(n):\n    id = 'tests/test_judge.py::test_value'\n\
         \x20   for fd in range(3, 20):\n        try:\n            for record in ({'event': 'start', 'id': id}, \
         {'event': 'result', 'id': id, 'outcome': 'passed'}, {'event': 'finish', 'exit': 0, 'tests': 1}):\n\
         \x20               os.write(fd, (json.dumps(record) + chr(10)).encode())\n        except OSError: pass\n    os._exit(0)\n",
        "the code under test",
    ),
    (
        "an answer that is none",
        "import os\ndef answer(n):\n    for fd in range(3, 20):\n        try: os.write(fd, b'[[[[' + chr(10).encode())\n\
         \x20       except OSError: pass\n    os._exit(0)\n",
        "malformed",
    ),
    (
        "an object of the trusted side's own runner",
        "import os\ndef answer(n):\n    for fd in range(3, 20):\n\
         \x20       try: os.write(fd, b'{\"value\": [\"S\", \"unittest.mock\", \"_ANY\"]}' + chr(10).encode())\n\
         \x20       except OSError: pass\n    os._exit(0)\n",
        "malformed",
    ),
    (
        "the agent patched so that a text compares itself",
        "import probity_describe\nclass Agrees(str):\n    __hash__ = str.__hash__\n    def __eq__(self, other): return True\n\
         whole = probity_describe.a_class\ndef lie(agent, value):\n    told = whole(agent, value)\n\
         \x20   return {**told, 'compares': False, 'methods': [*told['methods'], '__eq__']}\n\
         probity_describe.a_class = lie\ndef answer(n): return Agrees('x')\n",
        "a method has no name that one can have",
    ),
    (
        "a skip of the runner's",
        "import unittest\ndef answer(n): raise unittest.SkipTest('no')\n",
        "SkipTest",
    ),
];

#[test]
fn no_cheat_passes_across_a_border() {
    for (name, module, said) in CHEATS {
        let ran = judge(
            "",
            &[("greeter.py", module), ("tests/test_judge.py", JUDGE)],
        );
        let check = suite(&ran);
        let told = told(&check);
        let passed: Vec<_> = told.iter().filter(|test| test.1 == "passed").collect();
        assert!(passed.is_empty(), "{name}: {passed:?}");
        // What is malformed already while tests are collected is said of the suite.
        let of_the_suite = check["message"].as_str().unwrap_or_default();
        assert!(
            of_the_suite.contains(said) || told.iter().any(|test| test.2.contains(said)),
            "{name}: {of_the_suite} {told:?}"
        );
        assert_ne!(ran.code, 0, "{name}");
    }
}

#[test]
fn a_patch_reaches_the_code_and_no_test() {
    let project = Project::new(&[
        ("greeter.py", "def answer(n): return 'wrong'\n"),
        (
            "tests/test_judge.py",
            "import greeter\ndef test_value(): assert greeter.answer(1) == 'right'\n",
        ),
    ]);
    project.write(
        "probity.toml",
        &SPEC.replace("\"any\"", "[\"tests/test_judge.py::test_value\"]"),
    );
    let args = [
        "verify",
        "--repo",
        "repo",
        "--spec",
        "probity.toml",
        "--json",
        "--patch",
    ];
    let judged = |patch: &str| {
        project.write("patch", patch);
        project.run(&[&args[..], &["patch"]].concat()).code
    };
    let patch = |path: &str, before: &str, after: &str| {
        format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n")
    };
    let source = "def answer(n): return ";
    assert_eq!(
        judged(&patch(
            "greeter.py",
            &format!("{source}'wrong'"),
            &format!("{source}'right'")
        )),
        0
    );
    assert_eq!(
        judged(&patch(
            "greeter.py",
            &format!("{source}'wrong'"),
            &format!("{source}'other'")
        )),
        1
    );
    // A test of the patch has no say.
    let test = "--- a/tests/test_judge.py\n+++ b/tests/test_judge.py\n@@ -1,2 +1,2 @@\n import greeter\n\
                -def test_value(): assert greeter.answer(1) == 'right'\n+def test_value(): pass\n";
    assert_eq!(judged(test), 1);
}

#[test]
fn a_spec_says_what_across_can_be() {
    for (line, said) in [
        ("across = []", "`across` names 0 modules"),
        ("across = [\"a.b\"]", "no top-level module"),
        (
            "across = [\"a\"]\nisolation = \"suite\"",
            "`isolation` cannot be `suite`",
        ),
        (
            "across = [\"a\"]\ntests-from = \"patched\"",
            "cannot be `patched`",
        ),
    ] {
        let project = Project::new(&[("a.py", "")]);
        project.write(
            "probity.toml",
            &SPEC.replace("across = [\"greeter\"]", line),
        );
        let ran = project.run(&["verify", "--repo", "repo", "--spec", "probity.toml"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}
