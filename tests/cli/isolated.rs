//! Checks whose judgement is made outside the instance in which the candidate runs: call,
//! oracle, program; the level that a spec requires.

use serde_json::{Value, json};

use crate::project::{Project, Ran};

const CALC: &str = r#"
import os
import sys


class Odd(ValueError):
    pass


class Agrees(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


counter = 0


def add(a, b=0):
    return a + b


def divide(a, b):
    if b == 0:
        raise Odd("nothing goes into nothing")
    return a / b


def count():
    global counter
    counter += 1
    return counter


def agrees():
    return Agrees("wrong")


def poses():
    class Poser:
        __class__ = str

    return Poser()


def leaves():
    os._exit(0)


def loops():
    while True:
        pass


def forges():
    """Writes answers to every descriptor, and leaves before the real one."""
    record = b'{"event":"answer","id":0,"value":"right"}\n{"event":"answer","id":0,"value":"right"}\n'
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, record)
        except OSError:
            pass
    os._exit(0)


def searches():
    """Looks for the expected value, of which it knows the beginning, in all that is here."""
    import gc
    import re

    pattern = re.compile(b"the hidden answer is ([0-9]+)")
    held = [thing for thing in gc.get_objects() if type(thing) in (list, tuple, dict)]
    held += [frame.f_locals for frame in sys._current_frames().values()]
    for thing in held:
        for text in thing.values() if type(thing) is dict else thing:
            found = type(text) is str and pattern.search(text.encode("utf-8", "replace"))
            if found:
                return found[0].decode()
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders.remove("dev")  # some of it has no end
        for name in files:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    found = pattern.search(file.read())
            except OSError:
                continue
            if found:
                return found[0].decode()
    return "not found"
"#;

/// A project with `calc.py` and a spec beside the repository.
fn project(checks: &str) -> Project {
    let project = Project::new(&[("calc.py", CALC)]);
    project.write("spec.toml", &format!("version = 1\n{checks}"));
    project
}

fn call(function: &str, more: &str) -> String {
    format!(
        "[[check]]\nname = \"{function}\"\nkind = \"call\"\nfunction = \"calc:{function}\"\n{more}\n"
    )
}

fn judge(project: &Project, more: &[&str]) -> Ran {
    let mut args = vec!["verify", "--repo", "repo", "--spec", "spec.toml", "--json"];
    args.extend(more);
    project.run(&args)
}

fn check<'v>(verdict: &'v Value, name: &str) -> &'v Value {
    verdict["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no check {name}"))
}

/// Outcome and message of each case of a check.
fn cases<'v>(verdict: &'v Value, name: &str) -> Vec<(&'v str, &'v str)> {
    check(verdict, name)["tests"]["tests"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", check(verdict, name)))
        .iter()
        .map(|test| {
            (
                test["outcome"].as_str().unwrap(),
                test["message"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

#[test]
fn calls_are_judged_by_value_and_exception() {
    let checks = [
        call(
            "add",
            "case = [{ args = [1, 2], returns = 3 }, { args = [0.1, 0.2], returns = 0.3, tolerance = 1e-9 },\n\
             { kwargs = { a = [1], b = [2] }, returns = [1, 2] }, { args = [1, 2], returns = 4 }]",
        ),
        call(
            "divide",
            "case = [{ args = [1, 0], raises = \"ValueError\", message = \"^nothing\" },\n\
             { args = [1, 0], raises = \"calc.Odd\" }, { args = [1, 0], raises = \"KeyError\" },\n\
             { args = [1, 2], raises = \"ValueError\" }]",
        ),
    ];
    let ran = judge(&project(&checks.concat()), &[]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let verdict = ran.json();
    assert_eq!(
        cases(&verdict, "add"),
        [
            ("passed", ""),
            ("passed", ""),
            ("passed", ""),
            ("failed", "it returned 3, not 4")
        ]
    );
    assert_eq!(
        cases(&verdict, "divide"),
        [
            ("passed", ""),
            ("passed", ""),
            (
                "failed",
                "it raised Odd: nothing goes into nothing, not KeyError"
            ),
            ("failed", "it returned 0.5, ValueError was to be raised"),
        ]
    );
    assert_eq!(
        verdict["assurance"],
        json!({"required": "in-guest", "reached": "isolated", "isolated": 2, "in_guest": 0})
    );
}

#[test]
fn an_instance_is_fresh_for_each_call_or_shared_by_all() {
    let twice = "case = [{ returns = 1 }, { returns = 1 }]";
    let counts = "instance = \"shared\"\ncase = [{ returns = 1 }, { returns = 2 }]";
    for more in [twice, counts] {
        let ran = judge(&project(&call("count", more)), &[]);
        assert_eq!(ran.code, 0, "{more}: {}", ran.stdout);
    }
}

#[test]
fn a_candidate_can_do_no_more_than_answer() {
    let case = "case = [{ returns = \"right\" }]\n";
    let hidden = "case = [{ returns = \"the hidden answer is 4711\" }]\n";
    let loops = "case = [{ returns = 1 }]\nbudget = { test-fuel = \"500M\" }\n";
    let checks = [
        call("agrees", case),
        call("poses", case),
        call("leaves", case),
        call("forges", case),
        call("searches", hidden),
        call("loops", loops),
    ];
    for shared in [false, true] {
        let checks: Vec<String> = checks
            .iter()
            .map(|check| {
                if shared {
                    check.replace("case = [", "instance = \"shared\"\ncase = [")
                } else {
                    check.clone()
                }
            })
            .collect();
        let verdict = judge(&project(&checks.concat()), &[]).json();
        assert_eq!(verdict["status"], "failed");
        for name in ["agrees", "poses", "leaves", "forges", "searches", "loops"] {
            let report = check(&verdict, name);
            assert_ne!(report["outcome"], "pass", "{report}");
            assert_ne!(report["cause"]["type"], "host", "{report}");
        }
        assert_eq!(
            cases(&verdict, "agrees"),
            [("failed", "it returned \"wrong\", not \"right\"")]
        );
        assert_eq!(
            cases(&verdict, "searches"),
            [(
                "failed",
                "it returned \"not found\", not \"the hidden answer is 4711\""
            )]
        );
    }
}

#[test]
fn a_call_that_is_lost_costs_itself() {
    let project = Project::new(&[(
        "calc.py",
        "import os\n\n\ndef leave(n):\n    if n == 2:\n        os._exit(0)\n    return n\n",
    )]);
    let cases_of = "case = [{ args = [1], returns = 1 }, { args = [2], returns = 2 }, { args = [3], returns = 3 }]";
    for instance in ["each", "shared"] {
        let more = format!("instance = \"{instance}\"\n{cases_of}");
        project.write(
            "spec.toml",
            &format!("version = 1\n{}", call("leave", &more)),
        );
        let verdict = judge(&project, &[]).json();
        let outcomes: Vec<&str> = cases(&verdict, "leave")
            .into_iter()
            .map(|(outcome, _)| outcome)
            .collect();
        assert_eq!(outcomes, ["passed", "incomplete", "passed"], "{instance}");
    }
}

#[test]
fn hidden_values_stay_hidden() {
    let hidden =
        "hidden = true\ncase = [{ args = [\"in-put\", \"\"], returns = \"the hidden answer\" }]\n";
    let project = project(&call("add", hidden));
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 1);
    assert!(!ran.stdout.contains("hidden answer"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("in-put"), "{}", ran.stdout);
}

#[test]
fn cases_come_from_files_too_and_their_mistakes_have_a_place() {
    let project = project(&call("add", "cases-from = [\"cases.json\"]"));
    project.write(
        "cases.json",
        r#"{"case": [{"args": [1, 2], "returns": 3}, {"name": "words", "args": ["a", "b"], "returns": "ab"}]}"#,
    );
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(ran.json()["checks"][0]["tests"]["tests"][1]["id"], "words");
    project.write(
        "cases.json",
        "{\"case\": [\n{\"args\": [1], \"retruns\": 3}]}",
    );
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cases.json:2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("returns"), "{}", ran.stderr);
}

#[test]
fn an_oracle_agrees_or_names_the_arguments() {
    let oracle = "[[check]]\nname = \"oracle\"\nkind = \"oracle\"\nfunction = \"calc:add\"\n\
                  reference = \"reference.py\"\ncases = 60\ntolerance = 1e-12\n";
    let project = project(oracle);
    let reference = |body: &str| {
        format!(
            "def add(a, b=0):\n    {body}\n\n\ndef generate(random, index):\n    return [random.randint(-9, 9), index]\n"
        )
    };
    project.write("reference.py", &reference("return sum([a, b])"));
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let again = judge(&project, &["--isolation", "thread"]);
    let without_times = |ran: &Ran| {
        let mut verdict = ran.json();
        verdict["timings"] = Value::Null;
        verdict
    };
    assert_eq!(without_times(&ran), without_times(&again));

    project.write("reference.py", &reference("return a + b + (b == 7)"));
    let verdict = judge(&project, &[]).json();
    let wrong: Vec<_> = cases(&verdict, "oracle")
        .into_iter()
        .filter(|(outcome, _)| *outcome != "passed")
        .collect();
    assert_eq!(wrong.len(), 1);
    assert!(
        wrong[0].1.contains("arguments: [") && wrong[0].1.contains(",7]"),
        "{wrong:?}"
    );

    // A reference that breaks is the spec's fault, not the candidate's.
    project.write(
        "reference.py",
        &reference("raise SystemExit(3)").replace("random.randint", "no.such"),
    );
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 5, "{}", ran.stdout);
    assert!(ran.stdout.contains("reference.py"), "{}", ran.stdout);
}

const TOOL: &str = r#"
import json
import sys

if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:] + sys.stdin.read().split()]
    with open("extra.txt", encoding="utf-8") as file:
        print(file.read().strip())
    print("sum", sum(numbers))
    with open("out.json", "w", encoding="utf-8") as file:
        json.dump({"count": len(numbers)}, file)
    sys.exit(0 if numbers else "nothing to add")
"#;

#[test]
fn programs_are_judged_by_what_they_print_write_and_return() {
    let project = Project::new(&[("tool.py", TOOL)]);
    let spec = |argv: &str| {
        format!(
            "version = 1\n[[check]]\nname = \"tool\"\nkind = \"program\"\nargv = {argv}\n\
             [[check.case]]\nargv = [\"1\", \"2.5\"]\nstdin = \"3 4\"\nfiles = {{ \"extra.txt\" = \"hello\" }}\n\
             stdout = {{ text = \"hello sum 10.50000001\", tolerance = 1e-6 }}\n\
             expect-files = {{ \"out.json\" = {{ json = {{ count = 4 }} }} }}\n\
             [[check.case]]\nfiles = {{ \"extra.txt\" = \"x\" }}\nexit-code = 1\nstderr = {{ pattern = \"^nothing to add$\" }}\n\
             [[check.case]]\nname = \"wrong\"\nargv = [\"1\"]\nfiles = {{ \"extra.txt\" = \"x\" }}\nexit-code = 2\n\
             stdout = \"x\\nsum 2.0\\n\"\nexpect-files = {{ \"none.txt\" = \"\" }}\n"
        )
    };
    for argv in ["[\"tool.py\"]", "[\"-m\", \"tool\"]"] {
        project.write("spec.toml", &spec(argv));
        let ran = judge(&project, &[]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let verdict = ran.json();
        let cases = cases(&verdict, "tool");
        assert_eq!(cases[0], ("passed", ""));
        assert_eq!(cases[1], ("passed", ""));
        assert_eq!(cases[2].0, "failed");
        for part in [
            "the exit code is 0, not 2",
            "standard output: line 2 is \"sum 1.0\\n\", not \"sum 2.0\\n\"",
            "`none.txt`: there is no such file",
        ] {
            assert!(cases[2].1.contains(part), "{}", cases[2].1);
        }
    }
}

#[test]
fn a_module_of_the_repository_is_a_program_too() {
    let project = Project::new(&[]);
    let module = wat::parse_str(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (data (i32.const 8) "\10\00\00\00\03\00\00\00")
            (data (i32.const 16) "hi\n")
            (func (export "_start")
                (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 0)))
                (call $exit (i32.const 7))))"#,
    )
    .unwrap();
    std::fs::write(project.repo().join("tool.wasm"), module).unwrap();
    project.write(
        "spec.toml",
        "version = 1\n[[check]]\nname = \"tool\"\nkind = \"program\"\nmodule = \"tool.wasm\"\n\
         [[check.case]]\nexit-code = 7\nstdout = \"hi\\n\"\n",
    );
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_level_that_cannot_be_reached_is_named_before_anything_runs() {
    let suite =
        "[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\nexpect = \"any\"\n";
    let project = project(&format!("require = \"isolated\"\n{suite}"));
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("spec.toml:3") && ran.stderr.contains("isolated is required"),
        "{}",
        ran.stderr
    );
    // One check can be excepted, and the verdict says so.
    let excepted = suite.replace("expect =", "require = \"in-guest\"\nexpect =");
    let calls = call("add", "case = [{ args = [1], returns = 1 }]");
    project.write(
        "spec.toml",
        &format!("version = 1\nrequire = \"isolated\"\n{excepted}{calls}"),
    );
    project.write("repo/test_calc.py", "def test_true():\n    assert True\n");
    let ran = judge(&project, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        ran.json()["assurance"],
        json!({"required": "isolated", "reached": "in-guest", "isolated": 1, "in_guest": 1})
    );
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "spec.toml"]);
    assert!(
        ran.stdout
            .contains("assurance: 1 of 2 checks isolated; isolated is required"),
        "{}",
        ran.stdout
    );
}
