//! What is written down before a commit begins, so that it can be undone or ended by
//! whoever comes next.
//!
//! A journal that is read back is untrusted: it may have been checked in, copied here with
//! the rest of a tree, or damaged. It counts only if its own file and the root have the
//! inode numbers that it states, which nobody can know who has not written it here. (The
//! numbers of devices are not compared: some change when the machine starts again.) All
//! paths are valid and unique, and everything else is a count within them, so that nothing
//! outside the root can be meant.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use probity_core::patch::Change;
use probity_core::{Digest, RepoPath};
use serde::{Deserialize, Serialize};

use crate::commit::Durability;
use crate::error::JournalProblem;
use crate::folder::Kind;
use crate::folders::{parents, prefix};
use crate::metadata::Metadata;

/// The version of the format.
const VERSION: u32 = 1;

/// A commit, as far as it has to be known to undo it or to end it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    version: u32,
    /// 32 random hexadecimal digits, part of every temporary name.
    id: String,
    /// The inode of the root folder.
    root: String,
    /// The inode of the journal's own file.
    own: String,
    pub(crate) durability: Durability,
    /// The changes, sorted by path.
    pub(crate) entries: Vec<Entry>,
    /// The folders that give way to files, sorted by path.
    pub(crate) removed: Vec<RemovedFolder>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The file.
    pub(crate) path: RepoPath,
    /// How many of the path's folders lead to the one that holds the temporary names.
    home: usize,
    /// How many of the path's folders were there; the others are made.
    pub(crate) existing: usize,
    /// What happens to it.
    pub(crate) action: Action,
    /// The file with the new content, once it is written; nothing is moved before that.
    pub(crate) staged: Option<Staged>,
}

/// By what a file with new content is known again, wherever it is: its inode. That nobody
/// has written to it since shows only its content; times may be as coarse as seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Staged {
    inode: String,
    size: u64,
    /// As [`File::digest`](probity_core::repo::File::digest).
    digest: Digest,
}

impl Staged {
    pub(crate) fn new(file: &Metadata, digest: Digest) -> Self {
        Self {
            inode: file.inode.to_string(),
            size: file.size,
            digest,
        }
    }

    /// Whether `file` is the one that was staged, whatever has been written to it since.
    pub(crate) fn is(&self, file: &Metadata) -> bool {
        file.kind == Kind::File && self.inode == file.inode.to_string()
    }

    /// The size of what was written.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The digest of what was written.
    pub(crate) const fn digest(&self) -> Digest {
        self.digest
    }
}

/// A folder that gives way to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemovedFolder {
    /// The folder.
    pub(crate) path: RepoPath,
    /// Its permission bits.
    pub(crate) mode: u32,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    Create,
    Edit,
    Delete,
}

impl Entry {
    pub(crate) fn new(change: &Change, home: usize, existing: usize) -> Self {
        Self {
            path: change.path.clone(),
            home,
            existing,
            action: match (&change.before, &change.after) {
                (None, _) => Action::Create,
                (Some(_), Some(_)) => Action::Edit,
                (Some(_), None) => Action::Delete,
            },
            staged: None,
        }
    }

    /// The path of the folder that holds the temporary names.
    pub(crate) fn home(&self) -> &str {
        prefix(&self.path, self.home)
    }
}

impl Journal {
    pub(crate) fn new(
        root: &Metadata,
        durability: Durability,
        entries: Vec<Entry>,
        removed: Vec<RemovedFolder>,
    ) -> Self {
        Self {
            version: VERSION,
            id: random_id(),
            root: root.inode.to_string(),
            own: String::new(),
            durability,
            entries,
            removed,
        }
    }

    /// Notes in which file the journal is written.
    pub(crate) fn set_own(&mut self, own: &Metadata) {
        self.own = own.inode.to_string();
    }

    /// Notes which files hold the new contents, in the order of the entries.
    pub(crate) fn set_staged(&mut self, staged: impl IntoIterator<Item = Option<Staged>>) {
        for (entry, staged) in self.entries.iter_mut().zip(staged) {
            entry.staged = staged;
        }
    }

    /// The temporary name of the new content of the entry `index`.
    pub(crate) fn new_name(&self, index: usize) -> String {
        format!(".probity-{}-{index}.new", self.id)
    }

    /// The temporary name of the old file of the entry `index`.
    pub(crate) fn old_name(&self, index: usize) -> String {
        format!(".probity-{}-{index}.old", self.id)
    }

    /// The entries that do `action`, with their indices.
    pub(crate) fn of(
        &self,
        action: Action,
    ) -> impl DoubleEndedIterator<Item = (usize, &Entry)> + Clone {
        let entries = self.entries.iter().enumerate();
        entries.filter(move |(_, entry)| entry.action == action)
    }

    /// Reads a journal whose file is `own`, in the tree whose root is `root`.
    pub(crate) fn read(
        bytes: &[u8],
        own: &Metadata,
        root: &Metadata,
    ) -> Result<Self, JournalProblem> {
        /// Only what every version has.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } =
            serde_json::from_slice(bytes).map_err(JournalProblem::Malformed)?;
        if version != VERSION {
            return Err(JournalProblem::Version {
                found: version,
                known: VERSION,
            });
        }
        let journal: Self = serde_json::from_slice(bytes).map_err(JournalProblem::Malformed)?;
        if journal.root != root.inode.to_string() || journal.own != own.inode.to_string() {
            return Err(JournalProblem::Foreign);
        }
        journal.check().map_err(JournalProblem::Impossible)?;
        Ok(journal)
    }

    fn check(&self) -> Result<(), &'static str> {
        let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if self.id.len() != 32 || !self.id.as_bytes().iter().all(digit) {
            return Err("its id is not 32 hexadecimal digits");
        }
        for entry in &self.entries {
            if entry.action == Action::Delete && entry.staged.is_some() {
                return Err("a file that goes away has new content");
            }
            if entry.home > entry.existing || entry.existing > parents(&entry.path) {
                return Err("a file has more folders than its path");
            }
        }
        let paths = self.entries.iter().map(|entry| &entry.path);
        let folders = self.removed.iter().map(|folder| &folder.path);
        if !paths.is_sorted_by(|a, b| a < b) || !folders.is_sorted_by(|a, b| a < b) {
            return Err("its paths are not sorted, or not unique");
        }
        for folder in &self.removed {
            if !self.gives_way(&folder.path) {
                return Err("a folder gives way to no file");
            }
        }
        Ok(())
    }

    /// Whether `folder` is, or is in, a place that a file is created at.
    fn gives_way(&self, folder: &RepoPath) -> bool {
        let created = |path: &RepoPath| {
            let found = self.entries.binary_search_by(|entry| entry.path.cmp(path));
            let entry = found.ok().and_then(|index| self.entries.get(index));
            entry.is_some_and(|entry| entry.action == Action::Create)
        };
        created(folder) || folder.parents().any(|parent| created(&parent))
    }
}

/// 32 hexadecimal digits that cannot be foretold: the keys of std's hash maps come from
/// the system's source of randomness.
fn random_id() -> String {
    let word = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        Metadata::of_open(tempfile::tempfile().unwrap()).unwrap()
    }

    fn entry(path: &str, action: Action) -> Entry {
        Entry {
            path: path.parse().unwrap(),
            home: 0,
            existing: 0,
            action,
            staged: None,
        }
    }

    fn journal(entries: Vec<Entry>) -> Journal {
        Journal::new(&metadata(), Durability::Process, entries, Vec::new())
    }

    #[test]
    fn a_journal_round_trips() {
        let own = metadata();
        let mut journal = Journal::new(&own, Durability::Power, Vec::new(), Vec::new());
        journal.set_own(&own);
        journal.entries = vec![entry("a", Action::Create), entry("b/c", Action::Delete)];
        journal.set_staged([Some(Staged::new(&own, Digest::of(b""))), None]);
        assert!(journal.entries[0].staged.as_ref().unwrap().is(&own));
        journal.removed = vec![RemovedFolder {
            path: "a".parse().unwrap(),
            mode: 0o755,
        }];
        let bytes = serde_json::to_vec(&journal).unwrap();
        assert_eq!(Journal::read(&bytes, &own, &own).unwrap(), journal);
        let mut other = own;
        other.inode += 1;
        for (own, root) in [(&own, &other), (&other, &own)] {
            let error = Journal::read(&bytes, own, root).unwrap_err();
            assert!(matches!(error, JournalProblem::Foreign), "{error}");
        }
    }

    #[test]
    fn impossible_journals_are_refused() {
        let far = Entry {
            existing: 2,
            ..entry("a/b", Action::Edit)
        };
        let wrong_home = Entry {
            home: 1,
            ..entry("a/b", Action::Edit)
        };
        let staged = Entry {
            staged: Some(Staged::new(&metadata(), Digest::of(b""))),
            ..entry("a", Action::Delete)
        };
        for entries in [
            vec![staged],
            vec![far],
            vec![wrong_home],
            vec![entry("b", Action::Edit), entry("a", Action::Edit)],
            vec![entry("a", Action::Edit), entry("a", Action::Edit)],
        ] {
            assert!(journal(entries.clone()).check().is_err(), "{entries:?}");
        }
        let mut unrelated = journal(vec![entry("a", Action::Create)]);
        unrelated.removed = vec![RemovedFolder {
            path: "b".parse().unwrap(),
            mode: 0o755,
        }];
        assert!(unrelated.check().is_err());
        let mut id = journal(Vec::new());
        id.id = format!("../{}", "0".repeat(29));
        assert!(id.check().is_err());
    }

    #[test]
    fn ids_differ() {
        assert_ne!(random_id(), random_id());
        assert_eq!(random_id().len(), 32);
    }
}
