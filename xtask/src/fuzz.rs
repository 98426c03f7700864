//! `cargo xtask fuzz`: the fuzz targets of `fuzz/`, through cargo-fuzz.
//!
//! Seeds are made from the conformance cases, so that a short run starts where it matters.
//! What the fuzzer finds is kept beside them, outside the checkout. The targets are built
//! without a sanitizer: our code is safe Rust, with overflow checks and assertions on, and
//! so no nightly toolchain is needed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{root, run as run_command, say};

/// The version of cargo-fuzz that is installed where there is none.
const CARGO_FUZZ: &str = "0.13.2";
/// The targets, with the format of the cases that are their seeds.
const TARGETS: [(&str, Seeds); 8] = [
    ("search_replace", Seeds::Patches("search_replace")),
    ("whole_file", Seeds::Patches("whole_file")),
    ("edit_block", Seeds::Patches("edit_block")),
    ("apply_patch", Seeds::Patches("apply_patch")),
    ("unified_diff", Seeds::Patches("unified_diff")),
    ("detect", Seeds::AllPatches),
    ("pipeline", Seeds::TreesAndPatches),
    ("round_trip", Seeds::TwoTrees),
];
/// The formats in the order in which the pipeline's target numbers them.
const FORMATS: [&str; 5] = [
    "search_replace",
    "whole_file",
    "edit_block",
    "apply_patch",
    "unified_diff",
];

#[derive(Clone, Copy)]
enum Seeds {
    Patches(&'static str),
    AllPatches,
    TreesAndPatches,
    TwoTrees,
}

/// Runs the targets named in `args`, or all of them, each for `--seconds` (default: 60).
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut seconds = 60_u32;
    let mut chosen = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                seconds = args
                    .next()
                    .and_then(|text| text.parse().ok())
                    .context("`--seconds` needs a whole number")?;
            }
            name => match TARGETS.iter().find(|(target, _)| *target == name) {
                Some(target) => chosen.push(*target),
                None => bail!("there is no fuzz target `{name}`"),
            },
        }
    }
    if chosen.is_empty() {
        chosen.extend(TARGETS);
    }
    let cache = crate::cache()?;
    let tool = cargo_fuzz(&cache)?;
    let cases = read_cases(&root().join("tests/patch-cases"))?;
    for (target, seeds) in chosen {
        say(&format!("== {target}: {seconds} s"));
        let corpus = cache.join("fuzz-corpus").join(target);
        write_seeds(&corpus, seeds, &cases)?;
        let mut command = Command::new(&tool);
        command
            .args(["fuzz", "run", "--sanitizer", "none", target])
            .arg(&corpus)
            .args([
                "--",
                "-timeout=20",
                "-rss_limit_mb=4096",
                "-print_final_stats=1",
            ])
            .arg(format!("-max_total_time={seconds}"))
            .env("CARGO_TARGET_DIR", cache.join("fuzz-target"))
            .current_dir(root().join("fuzz"));
        run_command(&mut command).with_context(|| {
            format!("the target `{target}` found something; the input is in fuzz/artifacts")
        })?;
    }
    say(&format!("fuzzing found nothing in {seconds} s per target"));
    Ok(true)
}

/// cargo-fuzz as it is installed, or installed into the cache.
fn cargo_fuzz(cache: &Path) -> Result<PathBuf> {
    let own = cache.join("tools");
    let binary = own.join("bin/cargo-fuzz");
    if !binary.is_file() {
        say("installing cargo-fuzz");
        run_command(
            Command::new("cargo")
                .args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ])
                .arg("--root")
                .arg(&own)
                .env("CARGO_TARGET_DIR", cache.join("tools-target")),
        )?;
    }
    Ok(binary)
}

struct Case {
    name: String,
    format: String,
    patch: Vec<u8>,
    files: Files,
    expected: Files,
}

type Files = BTreeMap<String, Vec<u8>>;

fn read_cases(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let case: Value = serde_json::from_slice(&fs::read(&path)?)
            .with_context(|| format!("{} is no case", path.display()))?;
        let text = |key: &str| field(&case, key).as_str().unwrap_or_default().to_owned();
        let patch = match field(&case, "patch_b64").as_str() {
            Some(encoded) => STANDARD.decode(encoded)?,
            None => text("patch").into_bytes(),
        };
        cases.push(Case {
            name: text("name"),
            format: text("format"),
            patch,
            files: files(&case)?,
            expected: files(field(&case, "expect"))?,
        });
    }
    ensure!(!cases.is_empty(), "no case in {}", folder.display());
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// A member of an object, or null.
fn field<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn files(value: &Value) -> Result<Files> {
    let mut out = Files::new();
    for (key, encoded) in [("files", false), ("files_b64", true)] {
        for (path, content) in field(value, key).as_object().into_iter().flatten() {
            let content = content.as_str().unwrap_or_default();
            let bytes = if encoded {
                STANDARD.decode(content)?
            } else {
                content.as_bytes().to_vec()
            };
            out.insert(path.clone(), bytes);
        }
    }
    Ok(out)
}

fn write_seeds(corpus: &Path, seeds: Seeds, cases: &[Case]) -> Result<()> {
    fs::create_dir_all(corpus)?;
    for case in cases {
        let bytes = match seeds {
            Seeds::Patches(format) if case.format == format => case.patch.clone(),
            Seeds::Patches(_) => continue,
            Seeds::AllPatches => case.patch.clone(),
            Seeds::TreesAndPatches => {
                let Some(format) = FORMATS.iter().position(|format| *format == case.format) else {
                    continue;
                };
                [
                    tree(&case.files),
                    vec![u8::try_from(format).unwrap_or(0)],
                    case.patch.clone(),
                ]
                .concat()
            }
            Seeds::TwoTrees => [tree(&case.files), tree(&case.expected)].concat(),
        };
        fs::write(corpus.join(format!("case-{}", case.name)), bytes)?;
    }
    Ok(())
}

/// A tree in the encoding of the fuzz targets (`fuzz/src/lib.rs`).
fn tree(files: &Files) -> Vec<u8> {
    let fits: Vec<(&String, &Vec<u8>, [u8; 2], u8)> = files
        .iter()
        .filter_map(|(name, content)| {
            let length = u16::try_from(content.len()).ok()?.to_le_bytes();
            Some((name, content, length, u8::try_from(name.len()).ok()?))
        })
        .take(15)
        .collect();
    let mut out = vec![u8::try_from(fits.len()).unwrap_or(0)];
    for (name, content, length, name_length) in fits {
        out.push(name_length);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(&length);
        out.extend_from_slice(content);
    }
    out
}
