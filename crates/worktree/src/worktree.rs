//! The repository's folder, opened once as a capability, and its lock.
//!
//! The lock is one on the handle of the root folder, so that it leaves nothing on disk and
//! ends with the process that holds it, however that ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::{CommitError, OpenError};
use crate::folder::Folder;
use crate::folders::Folders;
use crate::metadata::Metadata;
use crate::state::{Phase, State};
use crate::steps::{Fault, Steps};

/// A repository on disk.
///
/// Whoever changes it takes the lock first and keeps it to the end: [`lock`](Self::lock),
/// [`recover`](Self::recover), [`load_for`](Self::load_for), plan,
/// [`commit`](Self::commit).
#[derive(Debug)]
pub struct Worktree {
    root: Dir,
    steps: Arc<Steps>,
}

/// The right to change a repository, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    root: Metadata,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that another thread is just starting may still share the handle, so
        // closing it is not enough. Should this fail, closing does it in the end.
        let _ = self.file.unlock();
    }
}

impl Worktree {
    /// Opens the folder `path`.
    ///
    /// # Errors
    /// When it cannot be opened as a folder.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let root = Dir::open_ambient_dir(path, ambient_authority());
        Ok(Self {
            root: root.map_err(|source| OpenError {
                path: path.to_owned(),
                source,
            })?,
            steps: Arc::default(),
        })
    }

    /// Makes a step on disk go wrong; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.steps = Arc::new(self.steps.with_fault(fault));
        self
    }

    /// Acts as on a file system where no file has a second name; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_links(mut self) -> Self {
        self.steps = Arc::new(self.steps.without_links());
        self
    }

    /// How many steps on disk were taken; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn steps_taken(&self) -> u64 {
        self.steps.taken()
    }

    /// Takes the lock, without waiting for it.
    ///
    /// # Errors
    /// [`CommitError::Locked`] when someone else holds it, `Io` when the file system has
    /// no locks.
    pub fn lock(&self) -> Result<Lock, CommitError> {
        let failed = |source| CommitError::Io {
            action: "lock",
            path: ".".to_owned(),
            source,
        };
        let folder = Folder::reopen(&self.root, &self.steps).map_err(failed)?;
        let root = folder.own_metadata().map_err(failed)?;
        let file = folder.into_file();
        match file.try_lock() {
            Ok(()) => Ok(Lock { file, root }),
            Err(TryLockError::WouldBlock) => Err(CommitError::Locked),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The folders of the tree, for one operation.
    pub(crate) fn folders(&self) -> io::Result<Folders> {
        Ok(Folders::new(Folder::reopen(&self.root, &self.steps)?))
    }
}

impl Lock {
    /// Whether the lock is that of the folder `root`.
    pub(crate) const fn is_of(&self, root: &Metadata) -> bool {
        self.root.is_same_file(root)
    }
}

/// Whether a commit is under way or was interrupted.
pub(crate) fn is_interrupted(folders: &Folders) -> io::Result<bool> {
    for state in State::all(folders)? {
        if state.holds(Phase::Prepared)? || state.holds(Phase::Done)? {
            return Ok(true);
        }
    }
    Ok(false)
}
