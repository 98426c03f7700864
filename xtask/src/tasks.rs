//! Real bug fixes of released Python packages, judged three ways.
//!
//! A task is two consecutive releases of a package, rebuilt from PyPI with checked hashes:
//! the old source with the new tests, and the source change as the patch. The verdict must
//! be `passed` with the patch, without a finding, and `failed` without it naming exactly the
//! tests that the fix is for. With one test file deleted by the patch, too, it is `passed`
//! with a warning, since the file is put back, and `failed` where the patch's tests count.

#![allow(
    clippy::indexing_slicing,
    reason = "indexing a JSON value yields null where there is nothing"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{probity, root, say};

/// The runtime that the tasks' exclusions are for.
const USUAL: &str = "python";
/// How many ids a message names.
const NAMED: usize = 40;

/// What one verdict came to.
struct Judged {
    status: String,
    /// Expected tests that did not pass.
    not_passed: BTreeSet<String>,
    /// What was said of the check, for people.
    message: String,
    /// Paths of its findings.
    findings: Vec<String>,
    seconds: f64,
}

struct Task {
    id: String,
    facts: Value,
    /// Ids that must pass: FAIL_TO_PASS and PASS_TO_PASS without the excluded ones.
    expected: BTreeSet<String>,
    fail_to_pass: BTreeSet<String>,
    excluded: usize,
    lock: PathBuf,
}

/// Judges the tasks with the given ids, or all, on the usual runtime or the one that follows
/// `--runtime`.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let (mut ids, mut runtime) = (Vec::new(), USUAL.to_owned());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--runtime" {
            runtime.clone_from(args.next().context("`--runtime` needs a name")?);
        } else {
            ids.push(arg.clone());
        }
    }
    let binary = probity::build()?;
    let tasks = load(&ids, &runtime)?;
    let mut add = Command::new(&binary);
    add.args(["runtime", "add", &runtime]);
    let locks: BTreeSet<&PathBuf> = tasks.iter().map(|task| &task.lock).collect();
    for lock in locks {
        add.arg("--lock").arg(lock);
    }
    crate::run(&mut add)?;
    let work = work_folder()?;
    let (mut held, mut unjudged, mut excluded, mut expected) = (0, 0, 0, 0);
    let mut passed = Passed::default();
    for task in &tasks {
        if task.fail_to_pass.is_empty() {
            // Without a test that the fix is for, nothing tells the base from the patched tree.
            unjudged += 1;
            say(&format!(
                "{}: cannot be judged here, every test that the fix is for is excluded",
                task.id
            ));
            continue;
        }
        excluded += task.excluded;
        expected += task.expected.len();
        match judge(task, &binary, &work, &runtime, &mut passed) {
            Ok(problems) if problems.is_empty() => held += 1,
            Ok(problems) => {
                for problem in problems {
                    say(&format!("    DOES NOT HOLD: {problem}"));
                }
            }
            Err(error) => say(&format!("{}\n    DOES NOT HOLD: {error:#}", task.id)),
        }
    }
    let judged = tasks.len() - unjudged;
    say(&format!(
        "with the patch, FAIL_TO_PASS hold in {} of {judged} tasks, and {} of {expected} expected tests pass",
        passed.tasks, passed.tests
    ));
    say(&format!(
        "{held} of {judged} tasks hold ({expected} tests expected, {excluded} excluded); {unjudged} cannot be judged here"
    ));
    Ok(held == judged && held > 0)
}

fn work_folder() -> Result<PathBuf> {
    let folder = crate::cache()?.join("tasks");
    fs::create_dir_all(folder.join("sdists"))?;
    Ok(folder)
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("`{}` is not JSON", path.display()))
}

fn strings(value: &Value) -> BTreeSet<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn load(ids: &[String], runtime: &str) -> Result<Vec<Task>> {
    let folder = root().join("tests/tasks");
    // On another runtime other tests differ from native ones, and none is left out.
    let exclusions = if runtime == USUAL {
        read_json(&folder.join("exclusions.json"))?
    } else {
        Value::Null
    };
    let locks = read_json(&folder.join("locks.json"))?;
    let known = locks.as_object().context("locks.json is not an object")?;
    for id in ids {
        ensure!(known.contains_key(id), "there is no task `{id}`");
    }
    let mut tasks = Vec::new();
    for (id, lock) in known {
        if !ids.is_empty() && !ids.contains(id) {
            continue;
        }
        let facts = read_json(&folder.join(format!("{id}.json")))?;
        let fail_to_pass = strings(&facts["FAIL_TO_PASS"]);
        let pass_to_pass = match facts["PASS_TO_PASS"]["file"].as_str() {
            Some(file) => strings(&read_json(&folder.join(file))?),
            None => strings(&facts["PASS_TO_PASS"]),
        };
        let excluded: BTreeSet<String> = exclusions[id]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| strings(&group["ids"]))
            .collect();
        let wanted: BTreeSet<String> = fail_to_pass.union(&pass_to_pass).cloned().collect();
        let unknown: Vec<&String> = excluded.difference(&wanted).collect();
        ensure!(
            unknown.is_empty(),
            "{id}: excluded but not expected: {unknown:?}"
        );
        tasks.push(Task {
            id: id.clone(),
            expected: wanted.difference(&excluded).cloned().collect(),
            fail_to_pass: fail_to_pass.difference(&excluded).cloned().collect(),
            excluded: excluded.len(),
            lock: folder.join(lock.as_str().context("a lock is not a name")?),
            facts,
        });
    }
    Ok(tasks)
}

/// What came out with the patches.
#[derive(Default)]
struct Passed {
    /// Tasks in which every test passed that the fix is for.
    tasks: usize,
    /// Expected tests that passed.
    tests: usize,
}

/// Judges one task three ways and returns what does not hold.
fn judge(
    task: &Task,
    binary: &Path,
    work: &Path,
    runtime: &str,
    passed: &mut Passed,
) -> Result<Vec<String>> {
    let folder = work.join(&task.id);
    rebuild(task, &folder, &work.join("sdists"))?;
    write_spec(task, &folder, runtime, "base")?;
    let gold = folder.join("gold.patch");
    let cut = folder.join("gold-and-deleted-test.patch");
    let deleted = delete_a_test_file(task, &folder, &gold, &cut)?;
    let mut problems = Vec::new();

    let with = verdict(binary, &folder, Some(&gold))?;
    if !with.findings.is_empty() {
        problems.push(format!(
            "the patch is found fault with: {:?}",
            with.findings
        ));
    }
    passed.tests += task.expected.len() - with.not_passed.len();
    passed.tasks += usize::from(task.fail_to_pass.is_disjoint(&with.not_passed));
    if with.status != "passed" {
        problems.push(format!(
            "with the patch it is `{}` ({}), {} of FAIL_TO_PASS and {} of PASS_TO_PASS do not pass: {:?}",
            with.status,
            with.message,
            with.not_passed.intersection(&task.fail_to_pass).count(),
            with.not_passed.difference(&task.fail_to_pass).count(),
            with.not_passed.iter().take(NAMED).collect::<Vec<_>>()
        ));
    }
    let without = verdict(binary, &folder, None)?;
    if without.status != "failed" || without.not_passed != task.fail_to_pass {
        let surplus: Vec<_> = without
            .not_passed
            .difference(&task.fail_to_pass)
            .take(NAMED)
            .collect();
        let lacking: Vec<_> = task
            .fail_to_pass
            .difference(&without.not_passed)
            .take(NAMED)
            .collect();
        problems.push(format!(
            "without the patch it is `{}` ({}), {} of {} named; surplus {surplus:?}, lacking {lacking:?}",
            without.status,
            without.message,
            without.not_passed.len(),
            task.fail_to_pass.len(),
        ));
    }
    let restored = verdict(binary, &folder, Some(&cut))?;
    if restored.status != with.status || restored.findings != [deleted.clone()] {
        problems.push(format!(
            "with `{deleted}` deleted and put back it is `{}` ({}), findings {:?}",
            restored.status, restored.message, restored.findings
        ));
    }
    write_spec(task, &folder, runtime, "patched")?;
    let less = verdict(binary, &folder, Some(&cut))?;
    let of_deleted: BTreeSet<String> = task
        .expected
        .iter()
        .filter(|id| id.split("::").next() == Some(deleted.as_str()))
        .cloned()
        .collect();
    if less.status != "failed" || !of_deleted.is_subset(&less.not_passed) {
        problems.push(format!(
            "with `{deleted}` deleted it is `{}` ({})",
            less.status, less.message
        ));
    }
    say(&format!(
        "{}: {} tests expected, {} excluded; patched {} {:.1} s, base {} {:.1} s naming {}, test deleted {} {:.1} s",
        task.id,
        task.expected.len(),
        task.excluded,
        with.status,
        with.seconds,
        without.status,
        without.seconds,
        without.not_passed.len(),
        less.status,
        less.seconds,
    ));
    Ok(problems)
}

fn rebuild(task: &Task, folder: &Path, sdists: &Path) -> Result<()> {
    let tasks = root().join("tests/tasks");
    let output = Command::new("python3")
        .arg(tasks.join("make_task.py"))
        .arg(tasks.join(format!("{}.json", task.id)))
        .arg(folder)
        .arg("--sdists")
        .arg(sdists)
        .output()
        .context("cannot start python3")?;
    if !output.status.success() {
        bail!(
            "the task cannot be rebuilt: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

fn write_spec(task: &Task, folder: &Path, runtime: &str, tests_from: &str) -> Result<()> {
    let facts = &task.facts;
    let spec = json!({
        "version": 1,
        "description": format!("{} {} to {}", facts["package"], facts["old"], facts["new"]),
        "guard": {"max-changed-lines": 100_000},
        "check": [{
            "name": "tests",
            "kind": "suite",
            "runner": "pytest",
            "runtime": runtime,
            "lock": "requirements.lock",
            "python-path": facts["python_path"],
            "args": facts["pytest_args"],
            "tests-from": tests_from,
            "expect-from": ["expected.json"],
        }],
    });
    fs::write(
        folder.join("probity.json"),
        serde_json::to_vec_pretty(&spec)?,
    )?;
    fs::write(
        folder.join("expected.json"),
        serde_json::to_vec(&task.expected)?,
    )?;
    fs::copy(&task.lock, folder.join("requirements.lock"))?;
    Ok(())
}

/// Writes the patch with the deletion of one file of expected tests added, and names it:
/// the one with the fewest.
fn delete_a_test_file(task: &Task, folder: &Path, gold: &Path, to: &Path) -> Result<String> {
    let files: BTreeSet<&str> = task
        .expected
        .iter()
        .filter_map(|id| id.split("::").next())
        .collect();
    let count = |file: &str| {
        task.expected
            .iter()
            .filter(|id| id.split("::").next() == Some(file))
            .count()
    };
    let patch = fs::read(gold)?;
    let touched =
        |file: &str| String::from_utf8_lossy(&patch).contains(&format!("diff --git a/{file} "));
    let file = files
        .into_iter()
        .filter(|file| file.is_ascii() && !touched(file))
        .min_by_key(|file| count(file))
        .context("no file of tests can be deleted")?;
    let content = fs::read(folder.join("base").join(file))?;
    let mut out = patch;
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    out.extend_from_slice(
        format!(
            "diff --git a/{file} b/{file}\ndeleted file mode 100644\n--- a/{file}\n+++ /dev/null\n@@ -1,{} +0,0 @@\n",
            lines.len()
        )
        .as_bytes(),
    );
    for line in &lines {
        out.push(b'-');
        out.extend_from_slice(line);
    }
    if !content.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    fs::write(to, out)?;
    Ok(file.to_owned())
}

fn verdict(binary: &Path, folder: &Path, patch: Option<&Path>) -> Result<Judged> {
    let mut command = Command::new(binary);
    command
        .args(["verify", "--json", "--no-ignore", "--repo"])
        .arg(folder.join("base"))
        .arg("--spec")
        .arg(folder.join("probity.json"));
    if let Some(patch) = patch {
        command.arg("--patch").arg(patch);
    }
    let (document, seconds) = probity::verdict(&mut command)?;
    if let Some(error) = document.get("error") {
        bail!("the patch was refused: {error}");
    }
    let check = document.pointer("/checks/0").cloned().unwrap_or_default();
    let tests = check.pointer("/tests/tests").cloned().unwrap_or_default();
    Ok(Judged {
        status: document["status"].as_str().unwrap_or("").to_owned(),
        not_passed: tests
            .as_array()
            .into_iter()
            .flatten()
            .filter(|test| test["expected"] == true && test["outcome"] != "passed")
            .filter_map(|test| test["id"].as_str())
            .map(str::to_owned)
            .collect(),
        message: check["message"].as_str().unwrap_or("").to_owned(),
        findings: check["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|finding| finding["path"].as_str().unwrap_or("").to_owned())
            .collect(),
        seconds,
    })
}
