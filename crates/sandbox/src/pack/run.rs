//! Running one check of a pack.

use probity_core::Repo;
use probity_core::budget::{Limit, LimitHit};
use probity_core::spec::{Check, PackCheck};
use probity_core::verify::{Assurance, Captured, Cause, CheckReport, Finding, Level};

use crate::engine::Module;
use crate::fs::{Access, Devices, Mounts};
use crate::guest::{Conditions, Ending, Invocation, Run};
use crate::output::Output;
use crate::sandbox::Sandbox;
use crate::text::clean;

/// Most findings kept of one check.
const MAX_FINDINGS: usize = 1000;

/// Runs `wanted` of the pack `module` on `repo` and reports for `check`.
#[must_use]
pub fn run_check(
    sandbox: &Sandbox,
    module: &Module,
    check: &Check,
    wanted: &PackCheck,
    repo: &Repo,
    conditions: &Conditions,
) -> CheckReport {
    let params = serde_json::Value::Object(wanted.params.clone()).to_string();
    let args = vec![
        wanted.pack.to_string(),
        "run".to_owned(),
        wanted.check.clone(),
        params,
    ];
    let mut mounts = Mounts::new(Devices::Usual);
    mounts.folder("/repo", repo.root(), Access::ReadOnly);
    mounts.empty("/tmp", Access::Writable);
    let mut invocation = Invocation::command(args, mounts, check.budget);
    invocation.preopens = vec!["/repo".to_owned(), "/tmp".to_owned()];
    invocation.depend_on(conditions);
    match sandbox.run(invocation, module) {
        Ok(run) => report(check, run),
        Err(error) => CheckReport::host_failed(check, error.to_string(), None),
    }
}

fn report(check: &Check, run: Run) -> CheckReport {
    let judged = judge(check, &run);
    let evidence = |output: &Output| (output.total > 0).then(|| captured(output));
    CheckReport {
        fuel: run.fuel,
        limits: run.limits.iter().copied().map(reproducible).collect(),
        // Standard output is the findings; it is evidence of its own only where it broke.
        stdout: match judged.cause {
            None | Some(Cause::Findings) => None,
            Some(_) => evidence(&run.stdout),
        },
        stderr: evidence(&run.stderr),
        wall_time: run.wall_time,
        ..judged
    }
}

fn judge(check: &Check, run: &Run) -> CheckReport {
    let stopped = |cause: Cause| {
        let message = cause.to_string();
        CheckReport::stopped(check, Assurance::Isolated, cause, message)
    };
    let passed = match &run.ending {
        Ending::Exited(0) => true,
        Ending::Exited(1) => false,
        other => return stopped(cause_of(other, &run.stderr)),
    };
    let findings = match findings(&run.stdout) {
        Ok(findings) => findings,
        Err(message) => return stopped(Cause::Protocol { message }),
    };
    let errors = findings
        .iter()
        .filter(|finding| finding.level == Level::Error)
        .count();
    match (passed, errors) {
        (true, 0) => CheckReport {
            findings,
            ..CheckReport::pass(check, Assurance::Isolated, "passed")
        },
        (true, _) => stopped(Cause::Protocol {
            message: "it ended with exit code 0 but reported an error".to_owned(),
        }),
        (false, _) => {
            let message = match findings.iter().find(|f| f.level == Level::Error) {
                Some(first) if errors == 1 => clean(&first.message),
                Some(first) => format!("{} (and {} more)", clean(&first.message), errors - 1),
                None => "the check failed without saying why".to_owned(),
            };
            CheckReport {
                findings,
                ..CheckReport::stopped(check, Assurance::Isolated, Cause::Findings, message)
            }
        }
    }
}

/// Why a guest that did not end by itself, or ended with an unagreed code, gave no answer.
pub(crate) fn cause_of(ending: &Ending, stderr: &Output) -> Cause {
    match ending {
        Ending::Exited(code) => {
            let said = clean(String::from_utf8_lossy(&stderr.bytes).trim());
            if said.is_empty() {
                Cause::Exit {
                    code: i32::try_from(*code).unwrap_or(i32::MAX),
                }
            } else {
                Cause::Broke {
                    message: format!("exit code {code}: {said}"),
                }
            }
        }
        Ending::Limit(hit) => Cause::Limit(reproducible(*hit)),
        Ending::Trapped(message) => Cause::Trap {
            message: message.clone(),
        },
        Ending::Refused(message) => Cause::Refused {
            message: message.clone(),
        },
    }
}

/// Real time is no part of a reproducible report: its use is given as its cap.
pub(crate) const fn reproducible(hit: LimitHit) -> LimitHit {
    match hit.limit {
        Limit::WallTime => LimitHit {
            used: hit.cap,
            ..hit
        },
        _ => hit,
    }
}

/// What was kept of a stream, as a report carries it.
pub(crate) fn captured(output: &Output) -> Captured {
    Captured {
        text: String::from_utf8_lossy(&output.bytes).into_owned(),
        bytes_total: output.total,
        dropped: output.dropped,
    }
}

/// The findings on standard output, one JSON object a line. If the middle of the output was
/// dropped, lines that it cut are passed over and a note says so.
fn findings(stdout: &Output) -> Result<Vec<Finding>, String> {
    let text = String::from_utf8_lossy(&stdout.bytes);
    let mut findings = Vec::new();
    let mut left_out = 0_usize;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Finding>(line) {
            Ok(_) if findings.len() >= MAX_FINDINGS => left_out += 1,
            Ok(finding) => findings.push(finding),
            Err(_) if stdout.dropped > 0 => {}
            Err(error) => {
                return Err(format!(
                    "line {} of its output is not a finding: {error}",
                    index + 1
                ));
            }
        }
    }
    let note = |message: String| Finding {
        level: Level::Note,
        path: None,
        line: None,
        message,
    };
    if left_out > 0 {
        findings.push(note(format!("{left_out} more findings were left out")));
    }
    if stdout.dropped > 0 {
        findings.push(note(format!(
            "{} bytes of findings were dropped",
            stdout.dropped
        )));
    }
    Ok(findings)
}
