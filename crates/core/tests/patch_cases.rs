//! Runs the conformance cases of `tests/patch-cases`: one JSON file per case, all content
//! invented.
//!
//! A case has `name`, `format`, `inspired_by`, `files` (path → text) or `files_b64` (path →
//! base64), `patch` (or `patch_b64`), `expect` = `{ok, kind?, files | files_b64, modes?}`, and
//! optionally `symlinks` (link → target), `modes` (path → octal) and `note`. After a refusal
//! the expected files are the unchanged input. To add a case, add a file; the expected result
//! is written by hand, never blessed.
//!
//! Here the tree is in memory: links and modes are file modes, and there is nothing outside.
//! Files that no tree can hold (below `.git`) are left out of the tree and must be expected
//! unchanged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, which clippy.toml cannot tell"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use probity_core::guard::Guard;
use probity_core::patch::{Format, FormatChoice, apply_bytes, detect, parse, plan, render_plan};
use probity_core::repo::{File, FileMode, Repo, RepoPath};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    format: String,
    #[serde(rename = "inspired_by")]
    _inspired_by: String,
    files: Option<BTreeMap<String, String>>,
    files_b64: Option<BTreeMap<String, String>>,
    patch: Option<String>,
    patch_b64: Option<String>,
    #[serde(default)]
    symlinks: BTreeMap<String, String>,
    #[serde(default)]
    modes: BTreeMap<String, String>,
    expect: Expect,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    ok: bool,
    kind: Option<String>,
    files: Option<BTreeMap<String, String>>,
    files_b64: Option<BTreeMap<String, String>>,
    modes: Option<BTreeMap<String, String>>,
}

type Texts = Option<BTreeMap<String, String>>;
type Files = BTreeMap<String, Vec<u8>>;

fn files(text: &Texts, encoded: &Texts) -> Files {
    match (text, encoded) {
        (Some(text), None) => text
            .iter()
            .map(|(path, text)| (path.clone(), text.clone().into_bytes()))
            .collect(),
        (None, Some(encoded)) => encoded
            .iter()
            .map(|(path, text)| (path.clone(), STANDARD.decode(text).unwrap()))
            .collect(),
        (Some(_), Some(_)) | (None, None) => panic!("exactly one of `files` and `files_b64`"),
    }
}

fn tree(files: &Files, modes: &BTreeMap<String, String>, links: &BTreeMap<String, String>) -> Repo {
    let mut repo = Repo::new();
    for (path, bytes) in files {
        let Ok(path) = RepoPath::new(path) else {
            continue;
        };
        let mode = match modes.get(path.as_str()).map(String::as_str) {
            Some("755") => FileMode::Executable,
            Some("644") | None => FileMode::Regular,
            Some(other) => panic!("mode {other}"),
        };
        repo.insert(&path, File::new(bytes.as_slice(), mode))
            .unwrap();
    }
    for (path, target) in links {
        let path = RepoPath::new(path).unwrap();
        let file = File::new(target.as_bytes(), FileMode::Symlink);
        repo.insert(&path, file).unwrap();
    }
    repo
}

fn held_out(files: &Files) -> Files {
    files
        .iter()
        .filter(|(path, _)| RepoPath::new(path).is_err())
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

fn format(name: &str) -> Format {
    match name {
        "search_replace" => Format::SearchReplace,
        "whole_file" => Format::WholeFile,
        "edit_block" => Format::EditBlock,
        "apply_patch" => Format::ApplyPatch,
        "unified_diff" => Format::UnifiedDiff,
        other => panic!("format {other}"),
    }
}

/// Runs one case; the error says what went otherwise than expected.
fn check(case: &Case) -> Result<(), String> {
    let input = files(&case.files, &case.files_b64);
    let expected = files(&case.expect.files, &case.expect.files_b64);
    let bytes = match (&case.patch, &case.patch_b64) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(text)) => STANDARD.decode(text).unwrap(),
        (Some(_), Some(_)) | (None, None) => panic!("exactly one of `patch` and `patch_b64`"),
    };
    assert_eq!(held_out(&input), held_out(&expected), "{}", case.name);
    let before = tree(&input, &case.modes, &case.symlinks);
    let modes = case.expect.modes.as_ref().unwrap_or(&case.modes);
    let wanted = tree(&expected, modes, &case.symlinks);

    let format = format(&case.format);
    let mut repo = before.clone();
    let choice = FormatChoice::Exactly(format);
    let outcome = apply_bytes(&mut repo, choice, &bytes, &Guard::default());
    if repo.digest() != wanted.digest() {
        let shown: Vec<String> = repo
            .files()
            .iter()
            .map(|(path, file)| format!("{path}: {:?}", String::from_utf8_lossy(file.bytes())))
            .collect();
        return Err(format!("another tree: {shown:?} after {outcome:?}"));
    }
    match (outcome, &case.expect.kind) {
        (Ok(done), None) if case.expect.ok => {
            if detect(&bytes) != Ok(format) {
                return Err("the format is not detected".to_owned());
            }
            // The rendered plan is a patch for the same change.
            let diff = render_plan(&done);
            let again = parse(Format::UnifiedDiff, &diff).and_then(|patch| plan(&before, &patch));
            match again {
                Ok(again) if again == done => Ok(()),
                other => Err(format!(
                    "the rendered diff gives {other:?}:\n{}",
                    String::from_utf8_lossy(&diff)
                )),
            }
        }
        (Err(error), Some(kind)) if !case.expect.ok => {
            if error.kind.as_str() != kind {
                return Err(format!("kind {} instead of {kind}: {error:?}", error.kind));
            }
            if error.message.is_empty() || error.hint.as_ref().is_none_or(String::is_empty) {
                return Err(format!("no message or hint: {error:?}"));
            }
            Ok(())
        }
        (outcome, _) => Err(format!("unexpected: {outcome:?}")),
    }
}

#[test]
fn every_case_gives_what_it_expects() {
    let folder = match std::env::var_os("PATCH_CASES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/patch-cases"),
    };
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let case: Case = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(
            Some(case.name.as_str()),
            path.file_stem().and_then(|stem| stem.to_str()),
            "a case is named like its file"
        );
        *counts.entry(case.format.clone()).or_default() += 1;
        if let Err(why) = check(&case) {
            failures.push(format!("{}: {why}", case.name));
        }
    }
    for format in [
        "search_replace",
        "whole_file",
        "edit_block",
        "apply_patch",
        "unified_diff",
    ] {
        assert!(counts.contains_key(format), "no case of {format}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
