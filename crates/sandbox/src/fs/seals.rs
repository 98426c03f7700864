//! Files of a mounted folder that nothing may change although the folder can be written to,
//! and names that nothing in it may get.
//!
//! A sealed file refuses like one of a read-only mount, with `EROFS`; so do the calls that
//! would take it or a folder above it away, or put something in its place. What is refused
//! is noted for the host.
//!
//! Deliberately absent: links to folders outside the mount, through which other names lead
//! to what a guest made there; no seal keeps those.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::errno::Errno;
use super::filesystem::Filesystem;
use super::node::{NodeId, NodeKind};

/// Most attempts that are kept.
pub(crate) const MAX_ATTEMPTS: usize = 20;
/// Longest path of an attempt, in characters; of a longer one the end is kept.
pub(crate) const MAX_ATTEMPT_PATH: usize = 4096;
/// What compiled code is named; the refusal of such a file is not noted, since tools that
/// write it do so unasked and go on without.
const BYTECODE: &str = ".pyc";

/// What of a mounted folder stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeals {
    /// Files that cannot be written to, taken away or replaced, by their paths from the
    /// mounted folder. One that is not there seals nothing.
    pub files: BTreeSet<String>,
    /// Names that no new entry of the folder, or of one below it, can have. If there is any,
    /// no new entry can be named like compiled code either, nor like a sealed `NAME.py`
    /// beside it without its ending: Python would take it for the module.
    pub names: BTreeSet<String>,
}

/// Something that a guest tried to do to what is sealed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The file, as a guest path.
    pub path: String,
    /// What was tried.
    pub what: Attempted,
}

/// What was tried with what is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Attempted {
    /// To write to a file, or to open it for that.
    Write,
    /// To take a file away, or a folder above it.
    Remove,
    /// To put something in the place of a file.
    Replace,
    /// To make something of a name that is not to be made.
    Make,
}

impl Attempted {
    /// The verb for it.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Make => "make",
        }
    }
}

/// How a node is sealed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Sealed {
    #[default]
    No,
    /// A sealed file is below it.
    Above,
    /// It is.
    Itself,
}

/// The sealed entries of a folder that has no nodes yet.
#[derive(Debug, Default)]
pub(crate) struct SealedFolder {
    entries: BTreeMap<String, SealedEntry>,
}

#[derive(Debug)]
pub(super) enum SealedEntry {
    File,
    Folder(Arc<SealedFolder>),
}

impl SealedFolder {
    /// The entries below `prefix` of a sorted list of paths.
    fn of(paths: &[&str]) -> Self {
        let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut entries = BTreeMap::new();
        for path in paths {
            match path.split_once('/') {
                Some((first, rest)) => folders.entry(first).or_default().push(rest),
                None => _ = entries.insert((*path).to_owned(), SealedEntry::File),
            }
        }
        for (name, paths) in folders {
            let folder = SealedEntry::Folder(Arc::new(Self::of(&paths)));
            entries.insert(name.to_owned(), folder);
        }
        Self { entries }
    }

    pub(super) fn get(&self, name: &str) -> Option<&SealedEntry> {
        self.entries.get(name)
    }
}

/// The folder whose new entries are looked at, and the names that none may have.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    root: NodeId,
    names: Arc<BTreeSet<String>>,
}

impl Filesystem {
    /// FileSeals what `seals` says of the folder that was just mounted at `node`.
    pub(super) fn seal(&mut self, node: NodeId, seals: &FileSeals) {
        let paths: Vec<&str> = seals.files.iter().map(String::as_str).collect();
        let found = self.node_mut(node);
        found.sealed = Sealed::Above;
        if let NodeKind::Directory(directory) = &mut found.kind {
            directory.seals = Some(Arc::new(SealedFolder::of(&paths)));
        }
        if !seals.names.is_empty() {
            self.guarded = Some(Guarded {
                root: node,
                names: Arc::new(seals.names.clone()),
            });
        }
    }

    /// Marks a node that was just made for an entry of a layer.
    pub(super) fn mark_sealed(&mut self, node: NodeId, entry: &SealedEntry) {
        let found = self.node_mut(node);
        match (entry, &mut found.kind) {
            (SealedEntry::Folder(seals), NodeKind::Directory(directory)) => {
                directory.seals = Some(Arc::clone(seals));
                found.sealed = Sealed::Above;
            }
            (SealedEntry::File, NodeKind::File(_) | NodeKind::Symlink(_)) => {
                found.writable = false;
                found.sealed = Sealed::Itself;
            }
            (SealedEntry::Folder(_) | SealedEntry::File, _) => {}
        }
    }

    /// Notes what is refused because of a node's seal, if it has one.
    pub(super) fn note_if_sealed(&mut self, node: NodeId, what: Attempted) {
        if self.node(node).sealed == Sealed::No || self.attempts.len() >= MAX_ATTEMPTS {
            return;
        }
        let path = self.path_now(node);
        self.note(&path, what);
    }

    /// Whether a name may be taken away or be given to something else.
    pub(super) fn check_unsealed(&mut self, node: NodeId, what: Attempted) -> Result<(), Errno> {
        if self.node(node).sealed == Sealed::No {
            return Ok(());
        }
        self.note_if_sealed(node, what);
        Err(Errno::Rofs)
    }

    /// Whether a folder may get an entry called `name`.
    pub(super) fn check_name(&mut self, directory: NodeId, name: &str) -> Result<(), Errno> {
        let Some(Guarded { root, names }) = self.guarded.clone() else {
            return Ok(());
        };
        let is_bytecode = name.ends_with(BYTECODE);
        if !is_bytecode && !names.contains(name) && !self.is_sealed_module(directory, name)? {
            return Ok(());
        }
        if !self.is_below(directory, root) {
            return Ok(());
        }
        if !is_bytecode && self.attempts.len() < MAX_ATTEMPTS {
            let path = format!("{}/{name}", self.path_now(directory));
            self.note(&path, Attempted::Make);
        }
        Err(Errno::Rofs)
    }

    /// Whether a folder that is to be moved brings in a name that nothing may get.
    pub(super) fn check_names_below(
        &mut self,
        folder: NodeId,
        target: NodeId,
    ) -> Result<(), Errno> {
        let Some(Guarded { root, .. }) = self.guarded.clone() else {
            return Ok(());
        };
        if !self.is_below(target, root) || self.is_below(folder, root) {
            return Ok(());
        }
        let mut folders = vec![folder];
        while let Some(at) = folders.pop() {
            let entries = self.directory(at)?.entries.clone();
            for (name, node) in entries {
                let names = self.guarded.as_ref().map(|guarded| &guarded.names);
                if name.ends_with(BYTECODE)
                    || names.is_some_and(|names| names.contains(name.as_ref()))
                {
                    self.check_name(target, &name)?;
                }
                if matches!(self.node(node).kind, NodeKind::Directory(_)) {
                    folders.push(node);
                }
            }
        }
        Ok(())
    }

    /// Whether a sealed module stands beside the name.
    fn is_sealed_module(&mut self, directory: NodeId, name: &str) -> Result<bool, Errno> {
        if self.node(directory).sealed != Sealed::Above {
            return Ok(false);
        }
        let module = format!("{name}.py");
        let found = self.directory(directory)?.entries.get(module.as_str());
        Ok(found
            .copied()
            .is_some_and(|node| self.node(node).sealed == Sealed::Itself))
    }

    /// The path of a node, as it is now.
    fn path_now(&self, node: NodeId) -> String {
        let mut parts = Vec::new();
        let mut at = node;
        while at != NodeId::ROOT {
            // A sealed file stays where it was; folders know what holds them.
            let parent = match (&self.node(at).kind, &self.node(at).origin) {
                (NodeKind::Directory(_), _) | (_, None) => self.node(at).parent,
                (_, Some((parent, _))) => *parent,
            };
            let NodeKind::Directory(holder) = &self.node(parent).kind else {
                break;
            };
            let name = holder.entries.iter().find(|(_, id)| **id == at);
            parts.push(name.map_or("?", |(name, _)| name.as_ref()));
            at = parent;
        }
        let path: Vec<&str> = parts.into_iter().rev().collect();
        format!("/{}", path.join("/"))
    }

    fn note(&mut self, path: &str, what: Attempted) {
        let cut = path.chars().count().saturating_sub(MAX_ATTEMPT_PATH);
        let path = path.chars().skip(cut).collect();
        self.attempts.insert(Attempt { path, what });
    }
}
