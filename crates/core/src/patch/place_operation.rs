//! Placing the operations of a patch, one file after another.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ordinal;
use super::place_edit::{Numbered, Work, place_edits};
use super::place_hunk::place_hunks;
use super::plan::{Results, not_a_file};
use super::search::SearchBudget;
use super::splice::{ResultBudget, splice};
use super::{Action, Edit, FileDiff, Operation, Patch, PatchError, PatchErrorKind, claims};
use super::{near_miss, text_view};
use crate::Digest;
use crate::repo::{Child, Directory, File, FileMode, Kind, Repo, RepoPath};

/// A patch on its way onto a tree.
pub(super) struct Placing<'a> {
    repo: &'a Repo,
    patch: &'a Patch,
    /// The tree without the files that the patch takes away.
    remaining: Repo,
    search: SearchBudget,
    result: ResultBudget,
}

impl<'a> Placing<'a> {
    pub(super) fn new(repo: &'a Repo, patch: &'a Patch) -> Self {
        let mut remaining = repo.clone();
        for path in patch.operations.iter().filter_map(Operation::removed) {
            remaining.remove(path);
        }
        Self {
            repo,
            patch,
            remaining,
            search: SearchBudget::new(),
            result: ResultBudget::new(),
        }
    }

    /// The result of every operation.
    pub(super) fn place_all(mut self) -> Result<Results, PatchError> {
        let patch = self.patch;
        let operations = &patch.operations;
        let read: BTreeSet<&RepoPath> = operations.iter().filter_map(Operation::read).collect();
        for (path, digest) in &patch.bases {
            if !read.contains(path) {
                check_base(path, self.repo.get(path), digest)?;
            }
        }
        let mut edits: BTreeMap<&RepoPath, Vec<Numbered<'_>>> = BTreeMap::new();
        for (index, operation) in operations.iter().enumerate() {
            match &operation.action {
                Action::Edit(edit) => edits
                    .entry(&operation.path)
                    .or_default()
                    .push((ordinal(index), edit)),
                Action::Create { .. }
                | Action::Replace { .. }
                | Action::Delete { .. }
                | Action::Diff(_) => {}
            }
        }
        let mut results = Results::new();
        for (index, operation) in operations.iter().enumerate() {
            let place = |error: PatchError| {
                let error = match error.path {
                    Some(_) => error,
                    None => error.with_path(&operation.path),
                };
                match error.operation {
                    Some(_) => error,
                    None => error.with_operation(ordinal(index)),
                }
            };
            if let Some(from) = operation.removed() {
                results.entry(from.clone()).or_insert((index, None));
            }
            if let Some(after) = self.place(operation, &mut edits).map_err(place)? {
                results.insert(operation.path.clone(), (index, Some(after)));
            }
        }
        Ok(results)
    }

    /// The file that the operation makes, if it makes one that no earlier one has made.
    fn place(
        &mut self,
        operation: &Operation,
        edits: &mut BTreeMap<&RepoPath, Vec<Numbered<'_>>>,
    ) -> Result<Option<File>, PatchError> {
        let path = &operation.path;
        match &operation.action {
            Action::Create { content, mode } => {
                self.check_free(path)?;
                self.result.charge(content.len())?;
                Ok(Some(File::new(content.clone(), *mode)))
            }
            Action::Replace { content } => {
                let file = self.source(path)?;
                self.result.charge(content.len())?;
                Ok(Some(File::new(content.clone(), file.mode())))
            }
            Action::Delete { expected, mode } => {
                let file = self.source(path)?;
                check_mode(path, &file, *mode)?;
                match expected {
                    Some(expected) if **expected != *file.bytes() => {
                        Err(other_content(&file, expected))
                    }
                    Some(_) | None => Ok(None),
                }
            }
            Action::Edit(_) => match edits.remove(path) {
                Some(edits) => self.edited(path, &edits).map(Some),
                None => Ok(None),
            },
            Action::Diff(diff) => self.changed(operation, diff).map(Some),
        }
    }

    fn edited(&mut self, path: &RepoPath, edits: &[(u32, &Edit)]) -> Result<File, PatchError> {
        let file = self.source(path)?;
        let mut work = Work {
            search: &mut self.search,
            result: &mut self.result,
        };
        let spans = place_edits(file.bytes(), edits, &mut work)?;
        self.result.charge(file.bytes().len())?;
        Ok(File::new(splice(file.bytes(), &spans)?, file.mode()))
    }

    fn changed(&mut self, operation: &Operation, diff: &FileDiff) -> Result<File, PatchError> {
        claims::check_hunks(diff)?;
        let path = &operation.path;
        let from = operation.read().unwrap_or(path);
        let file = self.source(from)?;
        if from != path {
            self.check_free(path)?;
        }
        check_mode(from, &file, diff.old_mode)?;
        let mode = diff.new_mode.unwrap_or_else(|| file.mode());
        if diff.hunks.is_empty() {
            return Ok(file.with_mode(mode));
        }
        let spans = place_hunks(file.bytes(), &diff.hunks, &mut self.search)?;
        let added: usize = diff.hunks.iter().map(|hunk| hunk.new.len()).sum();
        self.result
            .charge(file.bytes().len().saturating_add(added))?;
        Ok(File::new(splice(file.bytes(), &spans)?, mode))
    }

    /// The original file at `path`, as the patch expects it.
    fn source(&self, path: &RepoPath) -> Result<File, PatchError> {
        let file = match self.repo.kind(path) {
            Some(Kind::File | Kind::Symlink) => self.repo.get(path),
            Some(Kind::Directory) => {
                return Err(refuse(
                    PatchErrorKind::NotAFile,
                    path,
                    format!("`{path}` is a folder"),
                    "name a file",
                ));
            }
            None => None,
        };
        let Some(file) = file else {
            return Err(self.missing(path));
        };
        if let Some(digest) = self.patch.bases.get(path) {
            check_base(path, Some(file), digest)?;
        }
        Ok(file.clone())
    }

    fn missing(&self, path: &RepoPath) -> PatchError {
        let above = path
            .parents()
            .find(|parent| self.repo.kind(parent) == Some(Kind::File));
        if let Some(parent) = above {
            return refuse(
                PatchErrorKind::NotAFile,
                path,
                format!("`{path}` cannot exist: `{parent}` is a file"),
                "name a file that exists",
            );
        }
        let mut namesakes = Vec::new();
        find_namesakes(self.repo.root(), "", path.name(), &mut namesakes);
        let hint = if namesakes.is_empty() {
            "name a file that exists, or create it".to_owned()
        } else {
            format!("files of this name: `{}`", namesakes.join("`, `"))
        };
        refuse(
            PatchErrorKind::Missing,
            path,
            format!("`{path}` does not exist"),
            hint,
        )
    }

    /// Refuses to create a file where something will stand.
    fn check_free(&self, path: &RepoPath) -> Result<(), PatchError> {
        match self.remaining.kind(path) {
            None => {}
            Some(Kind::File | Kind::Symlink) => {
                return Err(refuse(
                    PatchErrorKind::Exists,
                    path,
                    format!("`{path}` exists already"),
                    "edit or replace the file, or choose another name",
                ));
            }
            Some(Kind::Directory) => {
                return Err(refuse(
                    PatchErrorKind::NotAFile,
                    path,
                    format!("`{path}` is a folder"),
                    "choose another name",
                ));
            }
        }
        // The tree itself knows which parents stand in the way.
        let mut trial = self.remaining.clone();
        trial
            .insert(path, File::new([], FileMode::Regular))
            .map_err(|error| not_a_file(path, &error))
    }
}

fn refuse(
    kind: PatchErrorKind,
    path: &RepoPath,
    message: String,
    hint: impl Into<String>,
) -> PatchError {
    PatchError::new(kind, message)
        .with_path(path)
        .with_hint(hint)
}

fn check_base(path: &RepoPath, file: Option<&File>, digest: &Digest) -> Result<(), PatchError> {
    let found = file.map(|file| Digest::of(file.bytes()));
    if found.as_ref() == Some(digest) {
        return Ok(());
    }
    let found = found.map_or_else(|| "no file".to_owned(), |found| found.to_string());
    Err(refuse(
        PatchErrorKind::Stale,
        path,
        format!("`{path}` is not as the patch expects it: {found} instead of {digest}"),
        "read the file again and make the patch for its present content",
    ))
}

fn check_mode(path: &RepoPath, file: &File, stated: Option<FileMode>) -> Result<(), PatchError> {
    match stated {
        Some(mode) if mode != file.mode() => Err(refuse(
            PatchErrorKind::Stale,
            path,
            format!(
                "`{path}` has mode {}, not {} as the patch states",
                file.mode().as_git(),
                mode.as_git()
            ),
            "make the diff again from the present file",
        )),
        Some(_) | None => Ok(()),
    }
}

fn other_content(file: &File, expected: &[u8]) -> PatchError {
    let error = PatchError::new(
        PatchErrorKind::NotFound,
        "the deleted lines are not the whole content of the file",
    );
    let near = if expected.is_empty() || text_view::without_bom(file.bytes()) == Some(expected) {
        None
    } else {
        near_miss::explain(file.bytes(), expected, b"")
    };
    match near {
        Some((line, hint)) => error.with_lines(vec![line]).with_hint(hint),
        None => error.with_hint("a deletion has to show every line of the file"),
    }
}

/// At most this many files of the same name are named.
const MAX_NAMESAKES: usize = 3;

fn find_namesakes(folder: &Directory, prefix: &str, name: &str, found: &mut Vec<String>) {
    for (entry, child) in folder.entries() {
        if found.len() >= MAX_NAMESAKES {
            return;
        }
        match child {
            Child::File(_) if **entry == *name => found.push(format!("{prefix}{entry}")),
            Child::File(_) => {}
            Child::Directory(inner) => {
                find_namesakes(inner, &format!("{prefix}{entry}/"), name, found);
            }
        }
    }
}
