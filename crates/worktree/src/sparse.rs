//! Reading only what the placing of one patch needs.
//!
//! Every path that the patch names is walked part by part. What is found is put into a
//! tree that answers the planner as the whole tree would: a link or a file on the way
//! stands there, a folder at the end of a path shows as one, what is absent is absent.
//! Where only the kind of something counts, an empty file stands for it.
//!
//! Unlike the whole tree, this one knows files that `.gitignore` excludes and folders that
//! hold no files, so that nothing is written over them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::rc::Rc;

use probity_core::patch::{Operation, Patch};
use probity_core::repo::{File, FileMode};
use probity_core::{Repo, RepoPath};

use crate::error::LoadError;
use crate::folder::{Folder, Kind};
use crate::folders::{Folders, Way, parent, prefix};
use crate::metadata::{Metadata, Stamp, Stamps};
use crate::namesakes::Wanted;
use crate::read::{MAX_BYTES, io_error, read_within};
use crate::worktree::{Worktree, is_interrupted};

/// How often a file that changes while it is read is read.
const ATTEMPTS: usize = 5;

/// The part of a tree that a patch needs.
#[derive(Debug)]
pub struct Sparse {
    /// What the patch names, with its real content, and what stands in its way.
    pub repo: Repo,
    /// How the files were that were read.
    pub stamps: Stamps,
}

impl Worktree {
    /// Reads what has to be known to place `patch`, at most 4 GiB.
    ///
    /// Planning the patch on the result gives the same plan as on the whole tree. A patch
    /// that the whole tree would refuse is refused, and so is one that would write over
    /// something that is no part of the tree.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`] when a commit is under way or was interrupted;
    /// `Special` when the patch names a device, a pipe or a socket; `TooLarge` at the limit; `Unsettled`, `Io` when something cannot be read.
    pub fn load_for(&self, patch: &Patch) -> Result<Sparse, LoadError> {
        let folders = self.folders().map_err(io_error(Path::new("")))?;
        if is_interrupted(&folders).map_err(io_error(Path::new("")))? {
            return Err(LoadError::Interrupted);
        }
        let mut reader = SparseReader::new(folders, patch);
        let named = std::mem::take(&mut reader.named);
        for path in &named {
            reader.named_path(path)?;
        }
        let wanted = Wanted::new(patch.operations.iter().filter_map(created));
        let root = reader.folders.root();
        wanted.find(&mut reader, &root, None)?;
        // One may have begun meanwhile, if the lock is not held.
        if is_interrupted(&reader.folders).map_err(io_error(Path::new("")))? {
            return Err(LoadError::Interrupted);
        }
        Ok(Sparse {
            repo: reader.repo,
            stamps: reader.stamps,
        })
    }
}

/// The path that an operation makes.
fn created(operation: &Operation) -> Option<&RepoPath> {
    operation
        .written()
        .filter(|path| operation.read() != Some(*path))
}

/// What has been read so far.
pub(crate) struct SparseReader<'p> {
    folders: Folders,
    repo: Repo,
    stamps: Stamps,
    named: BTreeSet<&'p RepoPath>,
    removed: BTreeSet<&'p RepoPath>,
    /// A name that stands for what a folder holds and that the patch does not use.
    filler: String,
}

impl<'p> SparseReader<'p> {
    fn new(folders: Folders, patch: &'p Patch) -> Self {
        let mut named = patch.touched();
        named.extend(patch.operations.iter().filter_map(Operation::read));
        named.extend(patch.bases.keys());
        let mut filler = "filler".to_owned();
        while named.iter().any(|path| path.folded().contains(&filler)) {
            filler.push('-');
        }
        Self {
            folders,
            repo: Repo::new(),
            stamps: Stamps::default(),
            named,
            removed: patch
                .operations
                .iter()
                .filter_map(Operation::removed)
                .collect(),
            filler,
        }
    }

    fn named_path(&mut self, path: &RepoPath) -> Result<(), LoadError> {
        let error = || io_error(Path::new(path.as_str()));
        let folder = match self.folders.walk(parent(path)).map_err(error())? {
            Way::Open(folder) => folder,
            Way::Absent { .. } => return Ok(()),
            Way::Blocked {
                depth,
                folder,
                name,
            } => {
                let at = prefix(path, depth.saturating_add(1));
                return self.in_the_way(path, at, &folder, name);
            }
        };
        let name = path.name();
        let Some(metadata) = folder.metadata(name).map_err(error())? else {
            return Ok(());
        };
        match metadata.kind {
            Kind::File => {
                let (file, stamp) = self.settled(&folder, name, path)?;
                self.stamps.insert(path.clone(), stamp);
                self.put(path, file)
            }
            Kind::Link => {
                let target = folder.link_target(name).map_err(error())?;
                self.put(path, File::new(target, FileMode::Symlink))
            }
            Kind::Folder => {
                let inner = folder.folder(name).map_err(error())?;
                self.show_folder(&inner, path).map(|_| ())
            }
            Kind::Special => Err(LoadError::Special { path: path.clone() }),
        }
    }

    /// Shows what stands at `at`, where a folder should lead to `path`.
    fn in_the_way(
        &mut self,
        path: &RepoPath,
        at: &str,
        folder: &Rc<Folder>,
        name: &str,
    ) -> Result<(), LoadError> {
        let unsettled = || LoadError::Unsettled { path: path.clone() };
        let at = RepoPath::new(at).map_err(|_| unsettled())?;
        let found = folder
            .metadata(name)
            .map_err(io_error(Path::new(at.as_str())))?;
        let mode = match found.map(|metadata| metadata.kind) {
            Some(Kind::Link) => FileMode::Symlink,
            Some(Kind::File) => FileMode::Regular,
            Some(Kind::Special) => return Err(LoadError::Special { path: at }),
            Some(Kind::Folder) | None => return Err(unsettled()),
        };
        self.put_stand_in(&at, mode)
    }

    /// The file `name`, read while nobody changed it.
    fn settled(
        &self,
        folder: &Folder,
        name: &str,
        path: &RepoPath,
    ) -> Result<(File, Stamp), LoadError> {
        let error = || io_error(Path::new(path.as_str()));
        let room = MAX_BYTES.saturating_sub(self.repo.total_bytes());
        for _ in 0..ATTEMPTS {
            let file = folder.file(name).map_err(error())?;
            let before = Metadata::of_open(&file).map_err(error())?;
            if before.kind != Kind::File {
                break;
            }
            let handle = file.try_clone().map_err(error())?;
            let Some(bytes) = read_within(handle, &before, room).map_err(error())? else {
                return Err(LoadError::TooLarge {
                    path: path.clone(),
                    limit: MAX_BYTES,
                });
            };
            let after = Metadata::of_open(&file).map_err(error())?;
            if before == after && u64::try_from(bytes.len()) == Ok(before.size) {
                return Ok((File::new(bytes, after.file_mode()), Stamp::new(after)));
            }
        }
        Err(LoadError::Unsettled { path: path.clone() })
    }

    /// Makes the folder at `path` show as one, by something in it that the patch does not
    /// take away. Says whether there is anything of that kind.
    pub(crate) fn show_folder(
        &mut self,
        folder: &Folder,
        path: &RepoPath,
    ) -> Result<bool, LoadError> {
        let error = || io_error(Path::new(path.as_str()));
        let mut is_empty = true;
        for name in folder.names().map_err(error())? {
            let name = name.map_err(error())?;
            is_empty = false;
            let inner = name.to_str().ok().and_then(|name| path.join(name).ok());
            let Some(inner) = inner else {
                // It is no part of a tree, and in the way all the same.
                return self.fill(path);
            };
            if self.removed.contains(&inner) {
                continue;
            }
            let found = folder.metadata(inner.name()).map_err(error())?;
            match found.map(|metadata| metadata.kind) {
                Some(Kind::Folder) => {
                    let open = folder.folder(inner.name()).map_err(error())?;
                    if self.show_folder(&open, &inner)? {
                        return Ok(true);
                    }
                }
                Some(Kind::File | Kind::Link | Kind::Special) => {
                    self.put_stand_in(&inner, FileMode::Regular)?;
                    return Ok(true);
                }
                None => {}
            }
        }
        if is_empty {
            return self.fill(path);
        }
        Ok(false)
    }

    fn fill(&mut self, folder: &RepoPath) -> Result<bool, LoadError> {
        // A path that has no room for one more part has none for a file either.
        if let Ok(path) = folder.join(&self.filler) {
            self.put_stand_in(&path, FileMode::Regular)?;
        }
        Ok(true)
    }

    /// Puts something without content at `path`, unless what is there is known.
    pub(crate) fn put_stand_in(
        &mut self,
        path: &RepoPath,
        mode: FileMode,
    ) -> Result<(), LoadError> {
        if self.repo.kind(path).is_some() {
            return Ok(());
        }
        self.put(path, File::new([], mode))
    }

    fn put(&mut self, path: &RepoPath, file: File) -> Result<(), LoadError> {
        // Only a tree that changes under the reader holds both a file and what is in it.
        let inserted = self.repo.insert(path, file);
        inserted.map_err(|_| LoadError::Unsettled { path: path.clone() })
    }
}

/// A listing or look that failed at `path`.
pub(crate) fn failed(path: Option<&RepoPath>) -> impl FnOnce(io::Error) -> LoadError {
    io_error(Path::new(path.map_or("", RepoPath::as_str)))
}
