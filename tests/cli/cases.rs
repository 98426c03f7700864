//! The conformance cases of `tests/patch-cases` on disk, through the binary: exactly the
//! expected files are left, with their modes; nothing outside the repository changes.
//!
//! The shape of a case is told in `crates/core/tests/patch_cases.rs`, which runs the same
//! cases in memory. Links of a case may lead to `../outside`, where `secret.txt` lies.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::project::Project;

type Files = BTreeMap<String, Vec<u8>>;

fn files(value: &Value) -> Files {
    let mut out = Files::new();
    for (path, text) in value["files"].as_object().into_iter().flatten() {
        out.insert(path.clone(), text.as_str().unwrap().as_bytes().to_vec());
    }
    for (path, text) in value["files_b64"].as_object().into_iter().flatten() {
        out.insert(
            path.clone(),
            STANDARD.decode(text.as_str().unwrap()).unwrap(),
        );
    }
    out
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let rows = value.as_object().into_iter().flatten();
    rows.map(|(key, text)| (key.clone(), text.as_str().unwrap().to_owned()))
        .collect()
}

fn set_up(case: &Value) -> Project {
    let project = Project::new(&[]);
    project.write("outside/secret.txt", "secret\n");
    let modes = texts(&case["modes"]);
    for (path, bytes) in files(case) {
        let target = project.repo().join(&path);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(&target, bytes).unwrap();
        let mode = modes.get(&path).map_or("644", String::as_str);
        let mode = u32::from_str_radix(mode, 8).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (link, target) in texts(&case["symlinks"]) {
        let link = project.repo().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    project
}

/// Every name below `folder` that is no folder, with what it holds or leads to.
fn found(root: &Path, folder: &Path, out: &mut BTreeMap<String, (Vec<u8>, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap().to_str().unwrap().to_owned();
            out.insert(name, (target.into_bytes(), "link".to_owned()));
        } else if metadata.is_dir() {
            found(root, &path, out);
        } else {
            let mode = if metadata.permissions().mode() & 0o111 == 0 {
                "644"
            } else {
                "755"
            };
            out.insert(name, (fs::read(&path).unwrap(), mode.to_owned()));
        }
    }
}

fn check(case: &Value) -> Result<(), String> {
    let project = set_up(case);
    let patch = match case["patch_b64"].as_str() {
        Some(encoded) => STANDARD.decode(encoded).unwrap(),
        None => case["patch"].as_str().unwrap().as_bytes().to_vec(),
    };
    fs::write(project.root().join("patch"), patch).unwrap();
    let format = case["format"].as_str().unwrap().replace('_', "-");
    let ran = project.run(&[
        "apply", "--repo", "repo", "--json", "--format", &format, "patch",
    ]);
    let expect = &case["expect"];
    let (code, kind) = match expect["kind"].as_str() {
        Some(kind) => (3, kind),
        None => (0, ""),
    };
    if ran.code != code {
        return Err(format!(
            "exit code {} instead of {code}: {}",
            ran.code,
            ran.text()
        ));
    }
    let answer = ran.json();
    if code == 3 && answer["error"]["kind"] != kind {
        return Err(format!("another kind than {kind}: {}", ran.text()));
    }
    let default_modes = texts(&case["modes"]);
    let modes = match &expect["modes"] {
        Value::Null => default_modes,
        modes => texts(modes),
    };
    let mut wanted: BTreeMap<String, (Vec<u8>, String)> = files(expect)
        .into_iter()
        .map(|(path, bytes)| {
            let mode = modes
                .get(&path)
                .cloned()
                .unwrap_or_else(|| "644".to_owned());
            (path, (bytes, mode))
        })
        .collect();
    for (link, target) in texts(&case["symlinks"]) {
        wanted.insert(link, (target.into_bytes(), "link".to_owned()));
    }
    let mut there = BTreeMap::new();
    found(&project.repo(), &project.repo(), &mut there);
    if there != wanted {
        let names: Vec<&String> = there.keys().collect();
        return Err(format!("another tree: {names:?} after {}", ran.text()));
    }
    let outside: Vec<_> = fs::read_dir(project.root().join("outside"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    let secret = fs::read_to_string(project.root().join("outside/secret.txt")).unwrap();
    if outside != ["secret.txt"] || secret != "secret\n" {
        return Err(format!("something outside changed: {outside:?}"));
    }
    Ok(())
}

#[test]
fn every_case_leaves_exactly_what_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/patch-cases");
    let mut cases: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    let run = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let failure = |path: &std::path::PathBuf| {
            let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let why = check(&case).err()?;
            Some(format!("{}: {why}", case["name"]))
        };
        paths.iter().filter_map(failure).collect()
    };
    let half = cases.split_at(cases.len() / 2);
    let failures = std::thread::scope(|scope| {
        let first = scope.spawn(|| run(half.0));
        let mut failures = run(half.1);
        failures.extend(first.join().unwrap());
        failures
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
