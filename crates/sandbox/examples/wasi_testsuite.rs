//! Runs the public tests of WASI 0.1 in the sandbox: `wasi_testsuite FOLDER …`.
//!
//! Each folder holds `NAME.wasm`, perhaps with `NAME.json` beside it, as built from
//! <https://github.com/WebAssembly/wasi-testsuite>. The tests are not part of this
//! repository. What a test's folder holds is copied into the guest's own filesystem; the
//! host's is never touched.
//!
//! Prints one line for each test and ends with 0 only if every test passes, or fails for
//! the reason that [`OTHERWISE`] gives for it.

#![allow(
    clippy::print_stdout,
    reason = "the results are what this program is run for"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use probity_core::budget::Budget;
use probity_sandbox::fs::{Access, Mounts};
use probity_sandbox::output::Output;
use probity_sandbox::{Ending, Invocation, Sandbox, Trust};
use probity_worktree::{Ignored, Worktree};
use serde_json::Value;

type Failure = Box<dyn std::error::Error>;

/// Tests of something that we do otherwise on purpose, with the reason.
const OTHERWISE: [(&str, &str); 1] = [(
    "symlink_create",
    "a link to an absolute path can be made, as programs of POSIX expect; following it is \
     refused unless the root itself is granted",
)];

fn main() -> Result<ExitCode, Failure> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        println!("Usage: wasi_testsuite FOLDER …");
        return Ok(ExitCode::from(2));
    }
    let sandbox = Sandbox::in_process(None)?;
    let (mut passed, mut otherwise, mut failed) = (0, 0, 0);
    for folder in folders {
        let mut tests: Vec<PathBuf> = fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        tests.retain(|path| path.extension().is_some_and(|end| end == "wasm"));
        tests.sort();
        for test in tests {
            let name = test.file_stem().unwrap_or_default().to_string_lossy();
            let reason = OTHERWISE.iter().find(|(other, _)| *other == name);
            match (run(&sandbox, &test)?, reason) {
                (None, None) => {
                    passed += 1;
                    println!("pass     {name}");
                }
                (Some(_), Some((_, reason))) => {
                    otherwise += 1;
                    println!("differs  {name}: {reason}");
                }
                (None, Some((_, reason))) => {
                    failed += 1;
                    println!("FAIL     {name}: passes, though it should differ ({reason})");
                }
                (Some(problem), None) => {
                    failed += 1;
                    println!("FAIL     {name}: {problem}");
                }
            }
        }
    }
    println!("{passed} passed, {otherwise} differ on purpose, {failed} failed");
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// What a test is given and what it has to do.
#[derive(Default)]
struct Plan {
    args: Vec<String>,
    env: Vec<(String, String)>,
    root: Option<PathBuf>,
    exit_code: u64,
    stdout: Option<String>,
    stderr: Option<String>,
}

/// Reads a test's description: one object, or a list of steps.
fn plan(test: &Path) -> Result<Plan, Failure> {
    let file = test.with_extension("json");
    let mut plan = Plan::default();
    if !file.exists() {
        return Ok(plan);
    }
    let config: Value = serde_json::from_slice(&fs::read(file)?)?;
    let steps = match config.get("operations").and_then(Value::as_array) {
        Some(steps) => steps.clone(),
        None => vec![config],
    };
    for step in steps {
        if let Some(args) = step.get("args").and_then(Value::as_array) {
            plan.args = args
                .iter()
                .filter_map(|arg| arg.as_str().map(str::to_owned))
                .collect();
        }
        if let Some(env) = step.get("env").and_then(Value::as_object) {
            plan.env = env
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect();
        }
        if let Some(root) = step.get("root").and_then(Value::as_str) {
            plan.root = Some(test.with_file_name(root));
        }
        if let Some(code) = step.get("exit_code").and_then(Value::as_u64) {
            plan.exit_code = code;
        }
        let text = |name: &str| step.get(name).and_then(Value::as_str).map(str::to_owned);
        match (text("type").as_deref(), text("id").as_deref()) {
            (Some("read"), Some("stderr")) => plan.stderr = text("payload").or(plan.stderr),
            (Some("read"), _) => plan.stdout = text("payload").or(plan.stdout),
            _ => {
                plan.stdout = text("stdout").or(plan.stdout);
                plan.stderr = text("stderr").or(plan.stderr);
            }
        }
    }
    Ok(plan)
}

/// Runs a test; `Some` says what is wrong.
fn run(sandbox: &Sandbox, test: &Path) -> Result<Option<String>, Failure> {
    let plan = plan(test)?;
    let budget = Budget::check();
    let module = match sandbox.module(&fs::read(test)?, &budget, Trust::Untrusted)? {
        Ok(module) => module,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let mut preopens = Vec::new();
    let mut mounts = Mounts::default();
    if let Some(root) = &plan.root {
        let repo = Worktree::open(root)?.load(Ignored::Include)?.repo;
        preopens.push("/".to_owned());
        mounts.folder("/", repo.root(), Access::Writable);
    }
    let mut args = vec![
        test.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    ];
    args.extend(plan.args);
    let invocation = Invocation {
        env: plan.env,
        preopens,
        ..Invocation::command(args, mounts, budget)
    };
    let run = sandbox.run(invocation, &module)?;
    let code = match &run.ending {
        Ending::Exited(code) => u64::from(*code),
        other => {
            let said = text(&run.stderr);
            return Ok(Some(format!("ended with {other:?}: {}", said.trim_end())));
        }
    };
    if code != plan.exit_code {
        return Ok(Some(format!(
            "exit code {code}, expected {}: {}",
            plan.exit_code,
            text(&run.stderr).trim_end()
        )));
    }
    for (name, output, expected) in [
        ("stdout", &run.stdout, plan.stdout),
        ("stderr", &run.stderr, plan.stderr),
    ] {
        let output = text(output);
        if expected.is_some_and(|expected| expected != output) {
            return Ok(Some(format!("{name} is {output:?}")));
        }
    }
    Ok(None)
}

/// What was printed, as text.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.bytes).into_owned()
}
