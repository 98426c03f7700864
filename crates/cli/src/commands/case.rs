//! A repository with its spec, ready to be judged as often as is wanted.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use probity_core::Repo;
use probity_core::patch::{self, PatchError, PatchErrorKind, apply};
use probity_core::quantity::{ByteSize, WallTime};
use probity_core::spec::Spec;
use probity_core::verify::{
    ConditionsSummary, PatchSummary, SpecSource, VerdictDocument, VerifyInput, verify,
};
use probity_sandbox::{Conditions, Sandbox, SpecExecutor, SpecFiles, TrustedTests};

use super::input::{self, SpecInput};
use super::suggest;
use crate::args::{PatchArgs, RepoArgs, RunningArgs};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::RefusalAnswer;
use crate::ui::Ui;

/// Bytes of the judged diff kept in a verdict.
const DIFF_CAP: ByteSize = ByteSize::mib(1);

/// What is judged, by what, and where.
pub(crate) struct Case {
    pub(crate) base: Repo,
    pub(crate) spec: Spec,
    pub(crate) source: SpecSource,
    pub(crate) conditions: Conditions,
    files: Arc<SpecFiles>,
    trusted: Arc<TrustedTests>,
    sandbox: Sandbox,
    cache: Cache,
}

/// A patch on the base.
pub(crate) struct Change {
    pub(crate) repo: Repo,
    summary: Option<PatchSummary>,
}

impl Change {
    /// The base as it is, judged as if a patch had changed nothing.
    pub(crate) fn none(base: &Repo) -> Self {
        Self {
            repo: base.clone(),
            summary: None,
        }
    }
}

/// What flags say of a case.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) repo: &'a RepoArgs,
    pub(crate) spec: Option<&'a Path>,
    pub(crate) tests_from: Option<&'a Path>,
    pub(crate) running: &'a RunningArgs,
}

impl Case {
    /// Reads the repository and the spec: the one that is named, else the repository's own,
    /// else the checks that `probity init` would write.
    pub(crate) fn open(asked: Asked<'_>, ui: &Ui) -> Result<Self, Failure> {
        Self::open_with(asked, ui, &|files| files)
    }

    /// The same; what the spec names is read by what `reading` makes of the usual way.
    pub(crate) fn open_with(
        asked: Asked<'_>,
        ui: &Ui,
        reading: &dyn Fn(Arc<SpecFiles>) -> Arc<SpecFiles>,
    ) -> Result<Self, Failure> {
        let Asked { repo, running, .. } = asked;
        let base = input::repository(repo, ui)?;
        let cache = Cache::find()?;
        let sandbox = cache.sandbox(running.isolation)?;
        let SpecInput {
            mut spec,
            source,
            files,
            folder,
        } = match input::spec(asked.spec, &repo.repo, reading)? {
            Some(spec) => spec,
            None => {
                ui.note("note: there is no probity.toml; judging by the checks that `probity init` would write");
                suggest::spec_for(&base, &sandbox, &cache)?
            }
        };
        let trusted = input::trusted_tests(&mut spec, &folder, asked.tests_from, ui)?;
        Ok(Self {
            base,
            trusted: Arc::new(trusted),
            spec,
            source,
            conditions: running.conditions(),
            files,
            sandbox,
            cache,
        })
    }

    /// The patch that came in as `bytes`, applied in memory. One that is refused is a
    /// failure; with `json` its answer is printed now.
    pub(crate) fn change(
        &self,
        bytes: &[u8],
        reading: &PatchArgs,
        json: bool,
        ui: &Ui,
    ) -> Result<Change, Failure> {
        let mut repo = self.base.clone();
        let (format, patch) = input::parsed(bytes, reading, &self.spec.guard)?;
        let applied = patch.and_then(|patch| apply(&mut repo, &patch, &self.spec.guard));
        let plan = applied.map_err(|error| refuse(error, format, json, ui))?;
        let summary = format.map(|format| PatchSummary::new(bytes, format, &plan, DIFF_CAP));
        Ok(Change { repo, summary })
    }

    /// The verdict on a change, or on the base itself. Work began at `started`.
    pub(crate) fn verdict(
        &self,
        change: Option<&Change>,
        started: Instant,
        ui: &Ui,
    ) -> VerdictDocument {
        let summary = ConditionsSummary {
            seed: self.conditions.seed,
            start_time: self.conditions.start_time,
        };
        let mut executor = SpecExecutor::new(
            self.sandbox.clone(),
            self.cache.stores(),
            Arc::clone(&self.files),
            self.conditions.clone(),
        )
        .with_trusted_tests(Arc::clone(&self.trusted));
        let repo = change.map_or(&self.base, |change| &change.repo);
        let input = VerifyInput {
            repo,
            base: change.map(|_| &self.base),
        };
        let progress = Progress::new(ui);
        let verdict = verify(&self.spec, input, &mut executor, &mut |event| {
            progress.show(event)
        });
        progress.finish();
        VerdictDocument::new(
            &self.base,
            repo,
            change.and_then(|change| change.summary.clone()),
            (&self.spec, self.source.clone()),
            summary,
            &verdict,
            WallTime::from(started.elapsed()),
        )
    }
}

/// The failure of a refused patch; with `json`, its answer is printed now.
pub(crate) fn refuse(
    error: PatchError,
    format: Option<patch::Format>,
    json: bool,
    ui: &Ui,
) -> Failure {
    if error.kind == PatchErrorKind::Internal {
        return Failure::host(error);
    }
    if json && let Err(problem) = ui.out_json(&RefusalAnswer::new(&error, format)) {
        return problem;
    }
    Failure::Refused {
        error: Box::new(error),
        printed: json,
    }
}
