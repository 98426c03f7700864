//! Where the files of a plan and their temporary names go.
//!
//! A temporary name stands in its change's *home*: the deepest folder above the file that
//! exists and stays. So a folder can give way to a file of the same name, and a file to a
//! folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use probity_core::RepoPath;
use probity_core::patch::Change;
use probity_core::repo::FileMode;

use crate::error::CommitError;
use crate::folder::Kind;
use crate::folders::{Folders, Way, parent, parents, prefix};
use crate::journal::{Entry, RemovedFolder};

/// A plan's changes with their places.
pub(crate) struct Layout {
    pub(crate) entries: Vec<Entry>,
    pub(crate) removed: Vec<RemovedFolder>,
}

impl Layout {
    /// Finds the places for `changes`, which are sorted by path.
    ///
    /// # Errors
    /// When the folders are not as the plan was made on them, or a change is one that is
    /// never made.
    pub(crate) fn new(folders: &mut Folders, changes: &[Change]) -> Result<Self, CommitError> {
        let paths_where = |wanted: fn(&Change) -> bool| -> BTreeSet<&str> {
            let found = changes.iter().filter(|change| wanted(change));
            found.map(|change| change.path.as_str()).collect()
        };
        let mut finder = Finder {
            folders,
            created: paths_where(|change| change.before.is_none()),
            deleted: paths_where(|change| change.after.is_none()),
            removed: BTreeMap::new(),
        };
        let mut entries = Vec::with_capacity(changes.len());
        for change in changes {
            entries.push(finder.entry(change)?);
        }
        let removed = finder.removed.into_iter();
        Ok(Self {
            entries,
            removed: removed
                .map(|(path, mode)| RemovedFolder { path, mode })
                .collect(),
        })
    }
}

struct Finder<'a> {
    folders: &'a mut Folders,
    created: BTreeSet<&'a str>,
    deleted: BTreeSet<&'a str>,
    removed: BTreeMap<RepoPath, u32>,
}

impl Finder<'_> {
    fn entry(&mut self, change: &Change) -> Result<Entry, CommitError> {
        let path = &change.path;
        let files = [&change.before, &change.after];
        let mut modes = files.into_iter().flatten().map(|file| file.mode());
        if modes.any(|mode| mode == FileMode::Symlink) {
            return Err(CommitError::Link { path: path.clone() });
        }
        let existing = self.existing(change)?;
        let giving_way = (1..=existing).find(|depth| self.created.contains(prefix(path, *depth)));
        if let Some(first) = giving_way {
            for depth in first..=existing {
                self.remove(prefix(path, depth))?;
            }
        }
        let home = giving_way.map_or(existing, |first| first.saturating_sub(1));
        Ok(Entry::new(change, home, existing))
    }

    /// How many of the folders that lead to the file are there.
    fn existing(&mut self, change: &Change) -> Result<usize, CommitError> {
        let path = &change.path;
        let stale = || CommitError::Stale { path: path.clone() };
        let failed = |source| CommitError::Io {
            action: "open the folder of",
            path: path.to_string(),
            source,
        };
        match self.folders.walk(parent(path)).map_err(failed)? {
            Way::Open(_) => Ok(parents(path)),
            Way::Absent { depth, .. } if change.before.is_none() => Ok(depth),
            Way::Absent { .. } => Err(stale()),
            Way::Blocked {
                depth,
                folder,
                name,
            } => {
                let at = prefix(path, depth.saturating_add(1));
                let found = folder.metadata(name).map_err(failed)?;
                let is_file = found.is_some_and(|metadata| metadata.kind == Kind::File);
                // A file may give way to the folder if the plan takes it away.
                if is_file && change.before.is_none() && self.deleted.contains(at) {
                    return Ok(depth);
                }
                Err(CommitError::InTheWay {
                    path: path.clone(),
                    at: at.to_owned(),
                })
            }
        }
    }

    /// Notes that the folder at `path` gives way to a file.
    fn remove(&mut self, path: &str) -> Result<(), CommitError> {
        let failed = |source| CommitError::Io {
            action: "look at",
            path: path.to_owned(),
            source,
        };
        let path = RepoPath::new(path).map_err(|error| failed(io::Error::other(error)))?;
        if self.removed.contains_key(&path) {
            return Ok(());
        }
        if let Some(folder) = self.folders.find(path.as_str()).map_err(failed)? {
            let mode = folder.own_metadata().map_err(failed)?.mode;
            self.removed.insert(path, mode);
        }
        Ok(())
    }
}
