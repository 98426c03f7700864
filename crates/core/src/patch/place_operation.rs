//! Placing the operations of a patch, one file after another.

use std::collections::{BTreeMap, BTreeSet};

use super::delta::Delta;
use super::error::ordinal;
use super::place_chunk::place_chunks;
use super::place_edit::{Numbered, Request, Work, place_edits};
use super::place_hunk::place_hunks;
use super::plan::{Results, not_a_file};
use super::search::SearchBudget;
use super::splice::{ResultBudget, splice};
use super::{
    Action, BinaryData, BinaryDiff, BlobId, Content, Expected, FileDiff, Operation, Patch,
    PatchError, PatchErrorKind, Update,
};
use super::{near_miss, text_view};
use crate::Digest;
use crate::repo::{File, FileMode, InsertError, Kind, Repo, RepoPath};

/// A patch on its way onto a tree.
pub(super) struct Placing<'a> {
    repo: &'a Repo,
    patch: &'a Patch,
    /// The tree without the files that the patch takes away.
    remaining: Repo,
    /// The files whose bases have been compared.
    checked: BTreeSet<RepoPath>,
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
            checked: BTreeSet::new(),
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
            let request = match &operation.action {
                Action::Edit(edit) => Request::Edit(edit),
                Action::Insert(insert) => Request::Insert(insert),
                Action::Create { .. }
                | Action::Replace { .. }
                | Action::Delete { .. }
                | Action::Diff(_)
                | Action::Update(_) => continue,
            };
            edits
                .entry(&operation.path)
                .or_default()
                .push((ordinal(index), request));
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
                Ok(Some(File::new(content.to_vec(), *mode)))
            }
            Action::Replace { content } => {
                let file = self.source(path)?;
                self.result.charge(content.len())?;
                Ok(Some(File::new(content.to_vec(), file.mode())))
            }
            Action::Delete { expected, mode } => {
                let file = self.source(path)?;
                check_mode(path, &file, *mode)?;
                match expected {
                    Some(Expected::Bytes(expected)) if **expected != *file.bytes() => {
                        Err(other_content(&file, expected))
                    }
                    Some(Expected::Blob(id)) if !id.names(file.bytes()) => {
                        Err(other_blob(path, id))
                    }
                    Some(_) | None => Ok(None),
                }
            }
            Action::Edit(_) | Action::Insert(_) => match edits.remove(path) {
                Some(edits) => self.edited(path, &edits).map(Some),
                None => Ok(None),
            },
            Action::Diff(diff) => self.changed(operation, diff).map(Some),
            Action::Update(update) => self.updated(operation, update).map(Some),
        }
    }

    const fn work(&mut self) -> Work<'_> {
        Work {
            search: &mut self.search,
            result: &mut self.result,
        }
    }

    fn edited(&mut self, path: &RepoPath, edits: &[Numbered<'_>]) -> Result<File, PatchError> {
        let file = self.source(path)?;
        let spans = place_edits(file.bytes(), edits, &mut self.work())?;
        self.result.charge(file.bytes().len())?;
        Ok(File::new(splice(file.bytes(), &spans)?, file.mode()))
    }

    fn updated(&mut self, operation: &Operation, update: &Update) -> Result<File, PatchError> {
        let path = &operation.path;
        let from = operation.read().unwrap_or(path);
        let file = self.source(from)?;
        if from != path {
            self.check_free(path)?;
        }
        let spans = place_chunks(file.bytes(), &update.chunks, &mut self.work())?;
        self.result.charge(file.bytes().len())?;
        Ok(File::new(splice(file.bytes(), &spans)?, file.mode()))
    }

    fn changed(&mut self, operation: &Operation, diff: &FileDiff) -> Result<File, PatchError> {
        let path = &operation.path;
        let from = operation.read().unwrap_or(path);
        let file = self.source(from)?;
        if from != path {
            self.check_free(path)?;
        }
        check_mode(from, &file, diff.old_mode)?;
        // What is read counts as well: a file may be copied many times.
        self.result.charge(file.bytes().len())?;
        let mode = diff.new_mode.unwrap_or_else(|| file.mode());
        let hunks = match &diff.content {
            Content::Hunks(hunks) => hunks,
            Content::Binary(binary) => {
                return Ok(File::new(self.binary(from, &file, binary)?, mode));
            }
        };
        if hunks.is_empty() {
            return Ok(file.with_mode(mode));
        }
        let spans = place_hunks(file.bytes(), hunks, &mut self.search)?;
        self.result
            .charge(hunks.iter().map(|hunk| hunk.new.len()).sum())?;
        Ok(File::new(splice(file.bytes(), &spans)?, mode))
    }

    fn binary(
        &mut self,
        from: &RepoPath,
        file: &File,
        binary: &BinaryDiff,
    ) -> Result<Vec<u8>, PatchError> {
        if !binary.old.names(file.bytes()) {
            return Err(other_blob(from, &binary.old));
        }
        let contradiction = || {
            PatchError::syntax("the binary data does not make what its `index` line names")
                .with_hint("make the diff again with `git diff --binary`, and keep it as it is")
        };
        let result = match &binary.data {
            BinaryData::Literal(bytes) => {
                self.result.charge(bytes.len())?;
                bytes.to_vec()
            }
            BinaryData::Delta(bytes) => {
                let delta = Delta::parse(bytes).ok_or_else(contradiction)?;
                self.result.charge(delta.result)?;
                delta.apply(file.bytes()).ok_or_else(contradiction)?
            }
        };
        if binary.new.names(&result) {
            Ok(result)
        } else {
            Err(contradiction())
        }
    }

    /// The original file at `path`, as the patch expects it.
    fn source(&mut self, path: &RepoPath) -> Result<File, PatchError> {
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
        let file = file.clone();
        if let Some(digest) = self.patch.bases.get(path)
            && self.checked.insert(path.clone())
        {
            check_base(path, Some(&file), digest)?;
        }
        Ok(file)
    }

    fn missing(&self, path: &RepoPath) -> PatchError {
        if let Some(parent) = self.repo.file_on_the_way(path) {
            return refuse(
                PatchErrorKind::NotAFile,
                path,
                format!("`{path}` cannot exist: `{parent}` is a file"),
                "name a file that exists",
            );
        }
        refuse(
            PatchErrorKind::Missing,
            path,
            format!("`{path}` does not exist"),
            "name a file that exists, or create it",
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
        match self.remaining.file_on_the_way(path) {
            None => Ok(()),
            Some(parent) => Err(not_a_file(
                path,
                &InsertError::ParentNotDirectory {
                    path: path.clone(),
                    parent,
                },
            )),
        }
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
    error.with_near(near, "a deletion has to show every line of the file")
}

fn other_blob(path: &RepoPath, id: &BlobId) -> PatchError {
    refuse(
        PatchErrorKind::Stale,
        path,
        format!("`{path}` is not as the binary diff expects it: its content is not blob {id}"),
        "make the diff again from the present file",
    )
}
