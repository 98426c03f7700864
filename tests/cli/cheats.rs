//! Patches that try to score without solving, each beside an honest twin.
//!
//! `tests/cheats/README.md` says what a case consists of. No cheat ends `passed`; every twin
//! does, without a finding of tampering, by default settings and at most the one line that
//! its case names. All failures are collected before the test fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::project::Project;

/// Fewer cases mean that the folder was not found whole.
const LEAST: usize = 44;

/// What `case.toml` says.
struct Case {
    id: String,
    project: String,
    /// The check of `isolated.toml` that catches the cheat, if only that can.
    isolated: Option<String>,
    twin_line: Option<String>,
}

#[test]
fn no_cheat_passes_and_every_twin_does() {
    let cases = cases();
    assert!(cases.len() >= LEAST, "only {} cases", cases.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = cheat(case).into_iter().chain(twin(case));
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_project_passes_without_a_patch() {
    for entry in fs::read_dir(root().join("projects")).unwrap() {
        let project = entry.unwrap().path();
        for spec in ["probity.toml", "isolated.toml"] {
            let (code, document) = verdict(&project, &project.join(spec), None);
            assert_eq!(code, 1, "{}: {document:#}", project.join(spec).display());
            for check in document["checks"].as_array().unwrap() {
                assert_ne!(check["outcome"], "error", "{check:#}");
            }
        }
    }
}

/// What is wrong with the verdict on the cheat.
fn cheat(case: &Case) -> Option<String> {
    let project = root().join("projects").join(&case.project);
    let patch = case_folder(&case.id).join("cheat.diff");
    let spec = match case.isolated {
        None => "probity.toml",
        Some(_) => "isolated.toml",
    };
    let (code, document) = verdict(&project, &project.join(spec), Some(&patch));
    if !matches!(code, 1 | 3) {
        return Some(format!("{}: the cheat ended with {code}", case.id));
    }
    let check = case.isolated.as_ref()?;
    let caught = document["failures"].as_array().unwrap();
    (!caught.iter().any(|name| name == check))
        .then(|| format!("{}: `{check}` is not among {caught:?}", case.id))
}

/// What is wrong with the verdicts on the twin.
fn twin(case: &Case) -> Option<String> {
    let project = root().join("projects").join(&case.project);
    let patch = case_folder(&case.id).join("twin.diff");
    let folder = Project::new(&[]);
    let mut spec = project.join("probity.toml");
    if let Some(line) = &case.twin_line {
        copy(&project, &folder.root().join("project"));
        spec = folder.root().join("project/probity.toml");
        let text = fs::read_to_string(&spec).unwrap();
        fs::write(
            &spec,
            text.replace("kind = \"suite\"\n", &format!("kind = \"suite\"\n{line}\n")),
        )
        .unwrap();
    }
    let mut specs = vec![spec];
    if case.isolated.is_some() {
        specs.push(project.join("isolated.toml"));
    }
    for spec in specs {
        let (code, document) = verdict(&project, &spec, Some(&patch));
        let name = spec.file_name().unwrap().to_string_lossy().into_owned();
        if code != 0 {
            let why: Vec<&Value> = document["checks"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|check| check["outcome"] != "pass")
                .map(|check| &check["message"])
                .collect();
            return Some(format!(
                "{}: the twin ended with {code} under {name}: {why:?}",
                case.id
            ));
        }
        for check in document["checks"].as_array().unwrap() {
            for finding in check["findings"].as_array().into_iter().flatten() {
                let message = finding["message"].as_str().unwrap_or_default();
                if message.contains("tampering") {
                    return Some(format!("{}: of the twin it is said: {message}", case.id));
                }
            }
        }
    }
    None
}

/// The exit code and the document of a verdict; the document is null if the patch was refused.
fn verdict(project: &Path, spec: &Path, patch: Option<&Path>) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command
        .args(["verify", "--json", "--repo"])
        .arg(project.join("repo"))
        .arg("--spec")
        .arg(spec);
    if let Some(patch) = patch {
        command.arg("--patch").arg(patch);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code, 3, "{spec:?} {patch:?}: {error}: {told}");
        Value::Null
    });
    (code, document)
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = fs::read_dir(root().join("cases"))
        .unwrap()
        .map(|entry| case(&entry.unwrap().file_name().into_string().unwrap()))
        .collect();
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    cases
}

fn case(id: &str) -> Case {
    let text = fs::read_to_string(case_folder(id).join("case.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{id}: {error}"));
    let known = [
        "project",
        "technique",
        "source",
        "caught",
        "check",
        "twin-spec",
    ];
    for key in table.keys() {
        assert!(known.contains(&key.as_str()), "{id}: what is `{key}`?");
    }
    let text = |key: &str| {
        table
            .get(key)
            .map(|value| value.as_str().unwrap().to_owned())
    };
    assert!(text("technique").is_some(), "{id} has no technique");
    let isolated = match text("caught").as_deref() {
        Some("in-guest") => None,
        Some("isolated") => Some(text("check").unwrap_or_else(|| panic!("{id} names no check"))),
        other => panic!("{id}: caught is {other:?}"),
    };
    Case {
        id: id.to_owned(),
        project: text("project").unwrap_or_else(|| panic!("{id} has no project")),
        isolated,
        twin_line: text("twin-spec"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cheats")
}

fn case_folder(id: &str) -> PathBuf {
    root().join("cases").join(id)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
