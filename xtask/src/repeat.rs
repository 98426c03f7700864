//! `cargo xtask repeat`: one verdict many times, in every way in which it must be the same.
//!
//! The demonstration's project with its right patch — a parsed check, the patch's own size, a
//! Python suite — and two more checks: a built-in pack and a guest written in C. It is judged
//! in workers and in threads, on one processor and on all, several at a time. Everything
//! outside `timings` must come out the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{probity, root, say};

const TIMES: u32 = 40;

/// What is added to the demonstration's spec.
const MORE: &str = r#"
[[check]]
name = "final-newlines"
kind = "pack"
pack = "text"
check = "final-newline"
params = { paths = ["**"] }

[[check]]
name = "written-in-c"
kind = "pack"
pack = "./c.wasm"
check = "any"
"#;

/// A way to judge: its name, the one processor it may use, if not all, and the isolation.
type Way = (&'static str, Option<&'static str>, &'static str);

const WAYS: [Way; 4] = [
    ("workers, all processors", None, "process"),
    ("workers, one processor", Some("0"), "process"),
    ("threads, all processors", None, "thread"),
    ("threads, one processor", Some("0"), "thread"),
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let times = match args {
        [] => TIMES,
        [flag, number] if flag == "--times" => number.parse().context("--times needs a number")?,
        _ => anyhow::bail!("usage: cargo xtask repeat [--times N]"),
    };
    let binary = probity::build()?;
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    copy(&root().join("crates/cli/demo/project"), &project)?;
    let spec = fs::read_to_string(project.join("probity.toml"))?;
    fs::write(folder.path().join("spec.toml"), format!("{spec}{MORE}"))?;
    let c = root().join("guest-checks/built/hostile-c.wasm");
    fs::copy(c, folder.path().join("c.wasm"))?;
    let patch = root().join("crates/cli/demo/fix.diff");

    let (next, found) = (AtomicU32::new(0), Mutex::new(BTreeMap::new()));
    let judge_some = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= times {
                return Ok(());
            }
            let index = usize::try_from(number)? % WAYS.len();
            let way = WAYS.get(index).context("no such way")?;
            let verdict = judge(&binary, folder.path(), &patch, way)?;
            let mut found = found.lock().map_err(|_| anyhow::anyhow!("poisoned"))?;
            *found.entry((verdict, way.0)).or_insert(0_u32) += 1;
        }
    };
    std::thread::scope(|scope| -> Result<()> {
        for runner in [scope.spawn(judge_some), scope.spawn(judge_some)] {
            runner
                .join()
                .map_err(|_| anyhow::anyhow!("a runner panicked"))??;
        }
        Ok(())
    })?;
    let found = found
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a runner panicked"))?;
    let mut verdicts: Vec<&String> = found.keys().map(|(verdict, _)| verdict).collect();
    verdicts.dedup();
    for ((verdict, way), count) in &found {
        let number = verdicts.iter().position(|other| *other == verdict);
        say(&format!(
            "verdict {}: {count:5} times in {way}",
            number.unwrap_or_default() + 1
        ));
    }
    let verdict: Value = serde_json::from_str(verdicts.first().context("nothing was judged")?)?;
    let checks = verdict
        .get("checks")
        .and_then(Value::as_array)
        .context("no checks")?;
    for check in checks {
        say(&format!(
            "  {}: {}, {} fuel",
            field(check, "name"),
            field(check, "outcome"),
            field(check, "fuel")
        ));
    }
    say(&format!("{} distinct of {times}", verdicts.len()));
    // Verdicts that failed for want of a runtime would be the same, too.
    let passed = checks.iter().all(|check| field(check, "outcome") == "pass");
    Ok(verdicts.len() == 1 && passed)
}

/// One verdict, without what is measured in real time.
fn judge(binary: &Path, folder: &Path, patch: &Path, way: &Way) -> Result<String> {
    let (_, processor, isolation) = way;
    let mut command = match processor {
        Some(processor) => {
            let mut command = Command::new("taskset");
            command.args(["-c", processor]).arg(binary);
            command
        }
        None => Command::new(binary),
    };
    command
        .args(["verify", "--json", "--repo", "project", "--isolation"])
        .args([isolation, "--spec", "spec.toml", "--patch"])
        .arg(patch)
        .current_dir(folder);
    let (mut verdict, _) = probity::verdict(&mut command)?;
    let object = verdict.as_object_mut().context("no object")?;
    object.remove("timings");
    Ok(verdict.to_string())
}

fn field<'a>(check: &'a Value, name: &str) -> &'a Value {
    check.get(name).unwrap_or(&Value::Null)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
