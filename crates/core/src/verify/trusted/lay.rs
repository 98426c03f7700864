//! Makes the tree that a suite runs on.
//!
//! In order: what steers is pinned to the base, tests of the base are restored, tests of a
//! folder are laid over. Each step wins over the ones before it, and whatever stands in the
//! way of a trusted file gives way. Every path that was put back is named.

use std::collections::{BTreeMap, BTreeSet};

use super::conventions::Tests;
use super::steering::{Steering, Steers, is_bytecode};
use crate::Repo;
use crate::guard::{GuardError, Patterns};
use crate::repo::{File, Kind, RepoPath};
use crate::spec::{SuiteCheck, TestsFrom};
use crate::verify::{Finding, Level, VerifyInput};

/// Most findings that are listed.
pub(super) const LISTED: usize = 100;

/// What the trees are held against beside each other.
#[derive(Debug, Clone, Copy)]
pub struct Trusting<'a> {
    /// The folder of trusted tests, if the suite takes them from one.
    pub folder: Option<&'a Repo>,
    /// Top-level names of the modules that are installed beside the tree.
    pub installed: &'a BTreeSet<String>,
}

/// The tree that a suite runs on, and what was put back to make it.
#[derive(Debug, Clone)]
pub struct Laid {
    /// The tree.
    pub repo: Repo,
    /// What was put back, as warnings; at most 101.
    pub findings: Vec<Finding>,
    /// Files that nothing may write to while the suite runs: modules of trusted tests, and
    /// what steers the runner, but for what the spec lets a patch change.
    pub sealed: BTreeSet<RepoPath>,
    /// Names of steering files that no new file may get while the suite runs.
    pub closed_names: BTreeSet<String>,
}

/// Lays trusted tests over the tree under test and pins what steers the runner.
///
/// Without a base there is no patch, and nothing is put back.
///
/// # Errors
/// Names a pattern of the spec that is not a glob; one that was read is.
pub fn lay_trusted(
    input: VerifyInput<'_>,
    wanted: &SuiteCheck,
    trusting: Trusting<'_>,
) -> Result<Laid, GuardError> {
    let base = input.base.unwrap_or(input.repo);
    let trees: Vec<&Repo> = [Some(base), trusting.folder]
        .into_iter()
        .flatten()
        .collect();
    let tests = match (&wanted.trust.tests_from, wanted.trust.tests()?) {
        (TestsFrom::Patched, _) => Tests::None,
        (_, Some(listed)) => Tests::Listed(listed),
        (_, None) => Tests::find(wanted, &trees),
    };
    let allowed = wanted.trust.allowed()?;
    let mut laying = Laying {
        base,
        repo: input.repo.clone(),
        put_back: BTreeMap::new(),
    };
    let changed = base.changed_paths(input.repo);
    if !changed.is_empty() {
        let by_name = Tests::find(wanted, &trees);
        let modules = match &tests {
            // Names of modules are taken even where the patch's own tests count.
            Tests::None => &by_name,
            tests => tests,
        };
        let pair = (base, input.repo);
        let steering = Steering::new(pair, trusting.folder, wanted, modules, trusting.installed);
        laying.pin(&changed, &steering, &tests, &allowed);
    }
    if let Some(folder) = trusting.folder {
        laying.lay_over(folder, &changed);
    }
    let Laying { repo, put_back, .. } = laying;
    let sealed = sealed(&repo, &trees, &tests, &allowed);
    Ok(Laid {
        sealed,
        closed_names: closed_names(wanted),
        findings: findings(put_back),
        repo,
    })
}

/// Why a path was put back.
enum Why {
    Steers(Steers),
    Test { deleted: bool },
    Overlaid,
}

struct Laying<'a> {
    base: &'a Repo,
    repo: Repo,
    put_back: BTreeMap<RepoPath, Why>,
}

impl Laying<'_> {
    /// Puts back what steers, and tests that the base has.
    fn pin(
        &mut self,
        changed: &[RepoPath],
        steering: &Steering<'_>,
        tests: &Tests,
        allowed: &Patterns,
    ) {
        // What takes a file of the base away is found before anything is put back.
        let mut whys: Vec<(&RepoPath, Why)> = Vec::new();
        for path in changed {
            let steers = steering.of(path);
            if steers.is_some() && allowed.find(path).is_some() {
                continue;
            }
            let why = match steers {
                Some(steers) => Why::Steers(steers),
                None if self.base.get(path).is_some() && tests.includes(path) => Why::Test {
                    deleted: self.repo.kind(path).is_none(),
                },
                None => continue,
            };
            whys.push((path, why));
        }
        // First goes what was added, so that it cannot stand in the way.
        for (path, _) in &whys {
            if self.base.get(path).is_none() {
                self.repo.remove(path);
            }
        }
        for (path, why) in whys {
            if let Some(file) = self.base.get(path).cloned() {
                put(&mut self.repo, path, file);
            }
            self.put_back.insert(path.clone(), why);
        }
    }

    /// Lays a folder of tests over the tree.
    fn lay_over(&mut self, folder: &Repo, changed: &[RepoPath]) {
        for (path, file) in folder.files() {
            // What a run of these tests elsewhere has left is of no use.
            if is_bytecode(&path) {
                continue;
            }
            if self.repo.get(&path) == Some(file) {
                continue;
            }
            put(&mut self.repo, &path, file.clone());
            let gave_way =
                |other: &RepoPath| *other == path || other.is_below(&path) || path.is_below(other);
            if changed.iter().any(gave_way) {
                self.put_back.entry(path).or_insert(Why::Overlaid);
            }
        }
    }
}

/// Puts a file into the tree; what stands in its way goes.
pub(super) fn put(tree: &mut Repo, path: &RepoPath, file: File) {
    if let Some(in_the_way) = tree.file_on_the_way(path) {
        tree.remove(&in_the_way);
    }
    if tree.kind(path) == Some(Kind::Directory) {
        let below: Vec<RepoPath> = tree
            .files()
            .into_iter()
            .map(|(inside, _)| inside)
            .filter(|inside| inside.is_below(path))
            .collect();
        for inside in below {
            tree.remove(&inside);
        }
    }
    // Nothing is in the way any more.
    let _ = tree.insert(path, file);
}

/// The files that nothing may write to.
fn sealed(repo: &Repo, trusted: &[&Repo], tests: &Tests, allowed: &Patterns) -> BTreeSet<RepoPath> {
    repo.files()
        .into_iter()
        .filter(|(path, file)| {
            let steers = Steering::is_steering_file(path);
            let is_module = || path.as_str().ends_with(".py") && tests.includes(path);
            let is_trusted = || trusted.iter().any(|tree| tree.get(path) == Some(*file));
            (steers || (is_module() && is_trusted())) && allowed.find(path).is_none()
        })
        .map(|(path, _)| path)
        .collect()
}

/// Names that no new file may get, but for those of files that the spec lets a patch change.
fn closed_names(wanted: &SuiteCheck) -> BTreeSet<String> {
    Steering::CLOSED_NAMES
        .into_iter()
        .filter(|name| {
            !wanted.trust.steering_globs().any(|glob| {
                let last = glob.rsplit('/').next().unwrap_or(glob);
                last == *name || last.contains('*')
            })
        })
        .map(str::to_owned)
        .collect()
}

/// One warning for each path that was put back.
fn findings(put_back: BTreeMap<RepoPath, Why>) -> Vec<Finding> {
    let more = put_back.len().saturating_sub(LISTED);
    let mut findings: Vec<Finding> = put_back
        .into_iter()
        .take(LISTED)
        .map(|(path, why)| warning(message(&path, &why)).at(&path))
        .collect();
    if more > 0 {
        findings.push(warning(format!("{more} more paths were put back")));
    }
    findings
}

fn warning(message: String) -> Finding {
    Finding {
        level: Level::Warning,
        ..Finding::error(message)
    }
}

fn message(path: &RepoPath, why: &Why) -> String {
    match why {
        Why::Steers(steers) => {
            let line = quoted(&glob_of(path, steers));
            format!(
                "steering: {}; the patch's version was left out. The line `allow-steering = [{line}]` \
                 in the spec allows it",
                steers.effect()
            )
        }
        Why::Test { deleted } => {
            let what = if *deleted { "deleted" } else { "changed" };
            format!(
                "the patch {what} this test; it was restored from the base. The line `tests-from = \
                 \"patched\"` in the spec lets the patch's own tests count"
            )
        }
        Why::Overlaid => "the patch's file gave way to the trusted one of the same path".to_owned(),
    }
}

/// The glob that allows a path and what belongs to it.
fn glob_of(path: &RepoPath, steers: &Steers) -> String {
    let folder = match steers {
        Steers::Shadow(name, _) => {
            let at = path.parts().position(|part| part == name);
            at.map(|depth| {
                path.parts()
                    .take(depth.saturating_add(1))
                    .collect::<Vec<_>>()
            })
            .filter(|parts| parts.len() < path.parts().count())
        }
        Steers::Conftest
        | Steers::Settings(_)
        | Steers::StartUp
        | Steers::Metadata
        | Steers::Bytecode
        | Steers::TestPackage
        | Steers::ImportPath => None,
    };
    match folder {
        Some(parts) => format!("{}/**", escaped(&parts.join("/"))),
        None => escaped(path.as_str()),
    }
}

/// A path as a glob that matches nothing else.
fn escaped(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

/// A text as TOML's basic string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
