//! One diff, applied by git and by Probity, where it applies and where it does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::features::Section;
use super::git::Repository;
use super::stale;
use super::tree::Tree;

/// Everything may be touched, and no real diff comes near the limits.
const SPEC: &str = "version = 1

[guard]
allow = [\"**\"]
protect-defaults = false
max-files = 100_000
max-changed-lines = 10_000_000
max-patch-bytes = \"64 MiB\"
max-file-bytes = \"64 MiB\"
";
/// The exit code of a refusal.
const REFUSED: i32 = 3;
/// Most of a message that is shown.
const MAX_SHOWN: usize = 600;

/// Who applies diffs, and where.
pub(super) struct Trial {
    probity: PathBuf,
    git: Repository,
    spec: PathBuf,
    patch: PathBuf,
    of_git: PathBuf,
    of_probity: PathBuf,
}

/// What is applied to what.
pub(super) struct Case<'a> {
    pub(super) diff: &'a [u8],
    pub(super) sections: &'a [Section<'a>],
    pub(super) base: &'a Tree,
    pub(super) target: &'a Tree,
    /// Decides which file gets an altered line.
    pub(super) turn: usize,
}

/// How a diff fared.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// What the two disagree about.
    pub(super) problems: Vec<String>,
    /// Trees in which git refused the diff, and Probity was asked.
    pub(super) must_refuse: usize,
    /// Trees in which git applied the diff although it was not made for them.
    pub(super) not_counted: usize,
}

impl Trial {
    /// Prepares a folder.
    pub(super) fn prepare(folder: &Path, probity: PathBuf) -> Result<Self> {
        let spec = folder.join("probity.toml");
        fs::write(&spec, SPEC)?;
        Ok(Self {
            probity,
            git: Repository::create(folder.join("git"))?,
            spec,
            patch: folder.join("patch.diff"),
            of_git: folder.join("by-git"),
            of_probity: folder.join("by-probity"),
        })
    }

    /// Tries one diff.
    pub(super) fn run(&self, case: &Case<'_>) -> Result<Outcome> {
        fs::write(&self.patch, case.diff)?;
        let mut outcome = Outcome::default();
        case.base.write(&self.of_git)?;
        case.base.write(&self.of_probity)?;
        if let Err(refusal) = self.git.apply(&self.of_git, &self.patch, &[])? {
            outcome
                .problems
                .push(format!("git refuses its own diff: {refusal}"));
            return Ok(outcome);
        }
        let by_git = Tree::read(&self.of_git)?;
        if let Some(difference) = by_git.difference(case.target) {
            let problem = format!("git does not make the release: {difference}");
            outcome.problems.push(problem);
        }
        let (code, message) = self.probity()?;
        let by_probity = Tree::read(&self.of_probity)?;
        if code != Some(0) {
            let problem = format!("git applies it, Probity {}: {message}", ended(code));
            outcome.problems.push(problem);
        } else if let Some(difference) = by_probity.difference(&by_git) {
            let problem = format!("Probity does not make git's tree: {difference} {message}");
            outcome.problems.push(problem);
        }
        if !outcome.problems.is_empty() {
            return Ok(outcome);
        }
        self.refusal(case.target, "to the changed tree", &mut outcome)?;
        let altered = [
            stale::alter_line(case.base, case.sections, case.turn),
            stale::alter_binary(case.base, case.sections),
        ];
        for (tree, path) in altered.into_iter().flatten() {
            tree.write(&self.of_probity)?;
            let place = format!("to the base with `{}` altered", path.escape_debug());
            self.refusal(&tree, &place, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Tries the diff on the tree that lies in Probity's folder and that it was not made for.
    fn refusal(&self, tree: &Tree, place: &str, outcome: &mut Outcome) -> Result<()> {
        let verdict = self
            .git
            .apply(&self.of_probity, &self.patch, &["--check"])?;
        let Err(refusal) = verdict else {
            outcome.not_counted += 1;
            return Ok(());
        };
        outcome.must_refuse += 1;
        let (code, message) = self.probity()?;
        let refusal = refusal.lines().next().unwrap_or_default();
        if code != Some(REFUSED) {
            outcome.problems.push(format!(
                "applied {place}, git refuses ({refusal}), Probity {}: {message}",
                ended(code)
            ));
        } else if let Some(difference) = Tree::read(&self.of_probity)?.difference(tree) {
            outcome.problems.push(format!(
                "applied {place}, Probity refuses but changes the tree: {difference}"
            ));
        }
        Ok(())
    }

    /// `probity apply` in its folder: the exit code and the message.
    fn probity(&self) -> Result<(Option<i32>, String)> {
        let output = Command::new(&self.probity)
            .args(["apply", "--no-ignore", "--format", "unified-diff", "--repo"])
            .arg(&self.of_probity)
            .arg("--spec")
            .arg(&self.spec)
            .arg(&self.patch)
            .env("NO_COLOR", "1")
            .output()
            .with_context(|| format!("cannot start `{}`", self.probity.display()))?;
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.trim().chars().take(MAX_SHOWN).collect();
        Ok((output.status.code(), message))
    }
}

fn ended(code: Option<i32>) -> String {
    match code {
        Some(0) => "applies it".to_owned(),
        Some(REFUSED) => "refuses it".to_owned(),
        Some(code) => format!("ends with {code}"),
        None => "is killed".to_owned(),
    }
}
