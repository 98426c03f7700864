//! `probity verify` with checks that need no runtime.

use serde_json::Value;

use crate::project::Project;

const SPEC: &str = r#"
version = 1
description = "greet says Hi"

[guard]
protect = ["secrets/**"]
max-files = 2

[[check]]
name = "readme"
kind = "file-exists"
path = "README.md"

[[check]]
name = "says-hi"
kind = "file-contains"
path = "util.py"
text = "Hi {name}"

[[check]]
name = "defines-greet"
kind = "defines"
path = "util.py"
function = "greet"

[[check]]
name = "final-newline"
kind = "pack"
pack = "text"
check = "final-newline"
params = { paths = ["**"] }
"#;

const GOOD: &str = r#"{"edits": [{"path": "util.py", "old": "Hey", "new": "Hi"}]}"#;

fn project() -> Project {
    Project::new(&[
        ("README.md", "# Greeter\n"),
        ("util.py", "def greet(name):\n    return f\"Hey {name}\"\n"),
        ("probity.toml", SPEC),
    ])
}

#[test]
fn a_patch_is_judged_and_the_repository_stays() {
    let project = project();
    project.write("good.json", GOOD);
    let before = project.tree();
    let failed = project.run(&["verify", "--repo", "repo"]);
    insta::assert_snapshot!("verify_failed", failed.text());
    let passed = project.run(&["verify", "--repo", "repo", "--patch", "good.json"]);
    insta::assert_snapshot!("verify_passed", passed.text());
    assert_eq!(project.tree(), before);
}

#[test]
fn a_patch_comes_from_standard_input_too() {
    let project = project();
    let ran = project.run_with_input(&["verify", "--repo", "repo", "--patch", "-"], GOOD);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn two_runs_differ_only_in_timings() {
    let project = project();
    project.write("good.json", GOOD);
    let args = ["verify", "--repo", "repo", "--patch", "good.json", "--json"];
    let (first, second) = (project.run(&args), project.run(&args));
    assert_eq!(first.code, 0, "{}", first.text());
    // The block of timings is the last one; all before it is equal byte for byte.
    let body = |text: &str| text.split("\"timings\":").next().unwrap().to_owned();
    assert_eq!(body(&first.stdout), body(&second.stdout));
    let document = first.json();
    assert_eq!(document["schema"], "probity.verdict/1");
    assert!(document["timings"]["total_ns"].as_u64().unwrap() > 0);
    let fuel = |document: &Value| document["checks"][2]["fuel"].as_u64().unwrap();
    assert!(fuel(&document) > 0);
    assert_eq!(fuel(&document), fuel(&second.json()));
}

#[test]
fn refused_patches_say_what_to_do_next() {
    let project = project();
    let before = project.tree();
    for (name, patch) in [
        (
            "protected",
            r#"{"files": [{"path": "secrets/key", "op": "create", "content": "x\n"}]}"#,
        ),
        (
            "does_not_apply",
            r#"{"edits": [{"path": "util.py", "old": "Hey  {name}", "new": "Hi {name}"}]}"#,
        ),
        (
            "over_budget",
            r#"{"files": [{"path": "a", "op": "create", "content": "x\n"},
                {"path": "b", "op": "create", "content": "x\n"},
                {"path": "c", "op": "create", "content": "x\n"}]}"#,
        ),
        (
            "its_own_judge",
            r#"{"edits": [{"path": "probity.toml", "old": "greet says Hi", "new": "anything"}]}"#,
        ),
        ("not_a_patch", "please fix it\n"),
    ] {
        project.write("patch", patch);
        let ran = project.run(&["verify", "--repo", "repo", "--patch", "patch"]);
        assert_eq!(ran.code, 3, "{name}: {}", ran.text());
        insta::assert_snapshot!(format!("refused_{name}"), ran.text());
        let json = project.run(&["verify", "--repo", "repo", "--patch", "patch", "--json"]);
        assert_eq!(json.code, 3);
        let answer = json.json();
        assert_eq!(answer["ok"], false);
        for field in ["kind", "message", "hint"] {
            assert!(answer["error"][field].is_string(), "{name}: {field}");
        }
    }
    assert_eq!(project.tree(), before);
}

#[test]
fn a_pack_that_breaks_is_a_failed_check() {
    let project = project();
    project.write(
        "spec/probity.toml",
        r#"
version = 1
[[check]]
name = "spins"
kind = "pack"
pack = "spin.wasm"
check = "anything"
budget = { fuel = "10M" }
[[check]]
name = "no-module"
kind = "pack"
pack = "text.wasm"
check = "anything"
[[check]]
name = "no-such-check"
kind = "pack"
pack = "text"
check = "final-newlines"
"#,
    );
    let spin = wat::parse_str(
        r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#,
    )
    .unwrap();
    std::fs::write(project.root().join("spec/spin.wasm"), spin).unwrap();
    project.write("spec/text.wasm", "not a module");
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "spec/probity.toml"]);
    insta::assert_snapshot!("broken_packs", ran.text());
    assert_eq!(ran.code, 1);
}

#[test]
fn nothing_checked_is_not_a_pass() {
    let project = project();
    project.write("empty.toml", "version = 1\n");
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "empty.toml"]);
    assert_eq!(ran.code, 4, "{}", ran.text());
    // A check of the change has nothing to ask without a change.
    project.write(
        "diff.toml",
        "version = 1\n[[check]]\nname = \"small\"\nkind = \"diff\"\nmax-files = 1\n",
    );
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "diff.toml"]);
    assert_eq!(ran.code, 4, "{}", ran.text());
}

#[test]
fn without_a_spec_the_checks_of_init_are_taken() {
    let project = Project::new(&[("a.py", "x = 1\n")]);
    let ran = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stderr.contains("probity init"), "{}", ran.stderr);
    project.write(
        "patch",
        r#"{"edits": [{"path": "a.py", "old": "x = 1", "new": "x = ("}]}"#,
    );
    let ran = project.run(&["verify", "--repo", "repo", "--patch", "patch"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("a.py:"), "{}", ran.stdout);
}

#[test]
fn untrusted_text_cannot_command_the_terminal() {
    let project = Project::new(&[("a.py", "\u{1b}[2J\u{1b}]0;title\u{7}(\n")]);
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "spec.toml"]);
    assert_eq!(ran.code, 2);
    project.write(
        "spec.toml",
        "version = 1\n[[check]]\nname = \"p\"\nkind = \"pack\"\npack = \"source\"\ncheck = \"parses\"\nparams = { paths = [\"**\"] }\n",
    );
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "spec.toml"]);
    assert_eq!(ran.code, 1);
    assert!(
        !ran.stdout.contains('\u{1b}'),
        "{}",
        ran.stdout.escape_debug()
    );
}

#[test]
fn the_tree_is_read_as_git_would_see_it() {
    let project = Project::new(&[
        (".gitignore", "*.log\nbuild/\n!keep.log\n"),
        ("keep.log", "x"),
        ("drop.log", "x"),
        ("build/out", "x"),
        ("sub/.gitignore", "/only-here\n"),
        ("sub/only-here", "x"),
        ("only-here", "x"),
        (".git/config", "x"),
    ]);
    project.write(
        "spec.toml",
        "version = 1\n[[check]]\nname = \"a\"\nkind = \"file-exists\"\npaths = [\"keep.log\", \"only-here\"]\n",
    );
    let files = |args: &[&str]| {
        let mut all = vec!["verify", "--repo", "repo", "--spec", "spec.toml", "--json"];
        all.extend(args);
        let ran = project.run(&all);
        assert_eq!(ran.code, 0, "{}", ran.text());
        ran.json()["base"]["files"].as_u64().unwrap()
    };
    assert_eq!(files(&[]), 4);
    assert_eq!(files(&["--no-ignore"]), 7);
}

#[test]
fn the_size_of_a_module_is_bounded_for_each_check() {
    let project = project();
    project.write(
        "spec.toml",
        r#"
version = 1
[[check]]
name = "wide"
kind = "pack"
pack = "text"
check = "final-newline"
params = { paths = ["**"] }
[[check]]
name = "narrow"
kind = "pack"
pack = "text"
check = "final-newline"
params = { paths = ["**"] }
budget = { module-size = "100 KiB" }
"#,
    );
    let ran = project.run(&["verify", "--repo", "repo", "--spec", "spec.toml", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let document = ran.json();
    assert_eq!(document["checks"][0]["outcome"], "pass");
    assert_eq!(document["failures"], serde_json::json!(["narrow"]));
    assert_eq!(document["checks"][1]["cause"]["type"], "limit");
    assert_eq!(document["checks"][1]["cause"]["limit"], "module-size");
}

/// A reader that went away changes nothing of what the exit code tells.
#[test]
fn a_closed_pipe_does_not_turn_a_failure_into_a_success() {
    let spec =
        "version = 1\n[[check]]\nname = \"there\"\nkind = \"file-exists\"\npath = \"absent\"\n";
    let project = Project::new(&[("probity.toml", spec)]);
    for form in ["--json", "--report=human"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = project.command(&["verify", "--repo", "repo", form]);
        let status = command.stdout(writer).status().unwrap();
        assert_eq!(status.code(), Some(1), "{form}");
    }
}
