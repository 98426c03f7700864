//! `probity demo`: a small project with a bug, judged as it is, with a patch that cheats,
//! one that is wrong, and one that is right.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use include_dir::{Dir, include_dir};

use super::{runtime, verify};
use crate::args::{PatchArgs, RepoArgs, RunningArgs, SuitesArgs, VerifyArgs};
use crate::failure::Failure;
use crate::report::{refusal, verdict_text};
use crate::ui::{Style, Ui};

static PROJECT: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/demo/project");

/// How a step of the demonstration must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Passed,
    Failed,
    Refused,
}

struct Step {
    about: &'static str,
    patch: Option<(&'static str, &'static str)>,
    end: End,
}

const STEPS: [Step; 4] = [
    Step {
        about: "The project as it is: greet() ignores the language it is asked for.",
        patch: None,
        end: End::Failed,
    },
    Step {
        about: "A patch that replaces the tests instead of fixing the bug.",
        patch: Some(("cheat.json", include_str!("../../demo/cheat.json"))),
        end: End::Refused,
    },
    Step {
        about: "A patch that fixes the bug but breaks another promise.",
        patch: Some(("wrong.json", include_str!("../../demo/wrong.json"))),
        end: End::Failed,
    },
    Step {
        about: "The right patch.",
        patch: Some(("fix.diff", include_str!("../../demo/fix.diff"))),
        end: End::Passed,
    },
];

pub(crate) fn run(ui: &Ui) -> Result<ExitCode, Failure> {
    runtime::ensure("python", ui)?;
    let folder = tempfile::tempdir().map_err(Failure::host)?;
    let project = folder.path().join("project");
    PROJECT
        .extract(prepared(&project)?)
        .context("cannot write the demonstration's project")
        .map_err(Failure::Host)?;
    for (index, step) in STEPS.iter().enumerate() {
        let number = index.saturating_add(1);
        let title = format!("\n[{number}/{}] {}", STEPS.len(), step.about);
        ui.out(&format!("{}\n", ui.paint(Style::Strong, &title)));
        let end = judge(step, folder.path(), &project, ui)?;
        if end != step.end {
            return Err(Failure::Host(anyhow!(
                "step {number} of the demonstration ended {end:?}, not {:?}",
                step.end
            )));
        }
    }
    ui.out("\nThe demonstration ended as it should: failed, refused, failed, passed.\n");
    Ok(ExitCode::SUCCESS)
}

fn prepared(project: &Path) -> Result<&Path, Failure> {
    fs::create_dir(project)
        .context("cannot make a folder for the demonstration")
        .map_err(Failure::Host)?;
    Ok(project)
}

fn judge(step: &Step, folder: &Path, project: &Path, ui: &Ui) -> Result<End, Failure> {
    let patch = match step.patch {
        None => None,
        Some((name, text)) => {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Failure::host)?;
            Some(path)
        }
    };
    let shown = step
        .patch
        .map_or(String::new(), |(name, _)| format!(" --patch {name}"));
    ui.out(&ui.paint(
        Style::Faint,
        &format!("$ probity verify --repo project{shown}\n"),
    ));
    let args = VerifyArgs {
        repo: RepoArgs {
            repo: project.to_owned(),
            no_ignore: false,
        },
        patch,
        reading: PatchArgs {
            format: "auto".to_owned(),
            bases: Vec::new(),
        },
        spec: None,
        suites: SuitesArgs::default(),
        tests_from: None,
        running: RunningArgs::default(),
        reports: Vec::new(),
        json: false,
    };
    match verify::judge(&args, ui) {
        Ok(document) => {
            ui.out(&verdict_text(ui.look(), &document));
            match document.exit_code {
                0 => Ok(End::Passed),
                1 => Ok(End::Failed),
                code => Err(Failure::Host(anyhow!(
                    "the verdict of the demonstration ended with exit code {code}"
                ))),
            }
        }
        Err(Failure::Refused { error, .. }) => {
            ui.out(&format!("{}\n", refusal(&error)));
            Ok(End::Refused)
        }
        Err(failure) => Err(failure),
    }
}
