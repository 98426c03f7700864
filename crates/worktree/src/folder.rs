//! One open folder and everything that is done in it.
//!
//! The only module that calls the file system below the root. Names are single parts, so
//! no call leaves the folder; no call follows a link. The names come from [`RepoPath`]s,
//! from the constants of this crate or from the folder's own listing.
//!
//! [`RepoPath`]: probity_core::RepoPath

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::metadata::Metadata;
use crate::steps::{Links, Steps};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    steps: Arc<Steps>,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A pipe that takes a file's place must not make the opening wait.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// A folder of its own for the open folder `dir`.
    pub(crate) fn reopen(dir: impl AsFd, steps: &Arc<Steps>) -> io::Result<Self> {
        Ok(Self {
            fd: rustix::fs::openat(dir, ".", FOLDER, Mode::empty())?,
            steps: Arc::clone(steps),
        })
    }

    /// The folder called `name`.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self {
            fd: rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty())?,
            steps: Arc::clone(&self.steps),
        })
    }

    /// A second handle of the folder.
    pub(crate) fn own_copy(&self) -> io::Result<Self> {
        Self::reopen(&self.fd, &self.steps)
    }

    /// The handle as a file, for locking.
    pub(crate) fn into_file(self) -> File {
        File::from(self.fd)
    }

    /// What the folder itself is.
    pub(crate) fn own_metadata(&self) -> io::Result<Metadata> {
        Metadata::of_open(&self.fd)
    }

    /// What stands at `name`, if anything.
    pub(crate) fn metadata(&self, name: impl Arg) -> io::Result<Option<Metadata>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Metadata::new(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file `name` for reading.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        let fd = rustix::fs::openat(&self.fd, name, FILE, Mode::empty())?;
        Ok(File::from(fd))
    }

    /// The target of the link `name`.
    pub(crate) fn link_target(&self, name: &str) -> io::Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new())?;
        Ok(target.into_bytes())
    }

    /// The names in the folder, without `.` and `..`, in the order of the file system.
    pub(crate) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<CString>>> {
        let entries = rustix::fs::Dir::read_from(&self.fd)?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => None,
            Ok(entry) => Some(Ok(entry.file_name().to_owned())),
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// Makes the file `name`, which must not exist.
    pub(crate) fn create_file(&self, name: &str, mode: u32) -> io::Result<File> {
        self.steps.take()?;
        let fd = rustix::fs::openat(&self.fd, name, NEW, bits(mode))?;
        Ok(File::from(fd))
    }

    /// Writes all of `bytes` to a file that was just made.
    pub(crate) fn fill(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.steps.take()?;
        file.write_all(bytes)
    }

    /// Gives an open file or folder the permissions `mode`.
    pub(crate) fn set_mode(&self, file: impl AsFd, mode: u32) -> io::Result<()> {
        self.steps.take()?;
        Ok(rustix::fs::fchmod(file, bits(mode))?)
    }

    /// Gives the folder itself the permissions `mode`.
    pub(crate) fn set_own_mode(&self, mode: u32) -> io::Result<()> {
        self.set_mode(&self.fd, mode)
    }

    /// Makes the folder `name`, which must not exist.
    pub(crate) fn create_folder(&self, name: &str, mode: u32) -> io::Result<()> {
        self.steps.take()?;
        Ok(rustix::fs::mkdirat(&self.fd, name, bits(mode))?)
    }

    /// Takes the empty folder `name` away.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.steps.take()?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Takes the file `name` away, if it is there.
    pub(crate) fn remove_file(&self, name: &str) -> io::Result<()> {
        self.steps.take()?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the file `name` a second name, which must not exist.
    pub(crate) fn link(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        self.steps.take()?;
        if self.steps.links() == Links::Refused {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let flags = AtFlags::empty();
        Ok(rustix::fs::linkat(&self.fd, name, &to.fd, to_name, flags)?)
    }

    /// Moves `name`, replacing a file that stands at the new name.
    pub(crate) fn replace(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        self.steps.take()?;
        Ok(rustix::fs::renameat(&self.fd, name, &to.fd, to_name)?)
    }

    /// Moves `name` to a name that must not exist.
    pub(crate) fn relocate(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        self.steps.take()?;
        match rename_exclusively(self, name, to, to_name) {
            // The file system does not know this way of moving.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            result => return Ok(result?),
        }
        if to.metadata(to_name)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(rustix::fs::renameat(&self.fd, name, &to.fd, to_name)?)
    }

    /// Lets two files change places, at once for whoever looks. Not every file system can.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(crate) fn exchange(&self, name: &str, other: &str) -> io::Result<Exchange> {
        self.steps.take()?;
        if self.steps.links() == Links::Refused {
            return Ok(Exchange::Unsupported);
        }
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.fd, name, &self.fd, other, flags) {
            Ok(()) => Ok(Exchange::Done),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(Exchange::Unsupported),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets two files change places; not here.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(crate) fn exchange(&self, _: &str, _: &str) -> io::Result<Exchange> {
        Ok(Exchange::Unsupported)
    }

    /// Brings the folder's own entries to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Brings everything of the folder's file system to the disk.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.fd)?)
    }

    /// Brings everything to the disk.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        rustix::fs::sync();
        Ok(())
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_exclusively(from: &Folder, name: &str, to: &Folder, to_name: &str) -> Result<(), Errno> {
    let flags = rustix::fs::RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(&from.fd, name, &to.fd, to_name, flags)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_exclusively(_: &Folder, _: &str, _: &Folder, _: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

fn bits(mode: u32) -> Mode {
    Mode::from_bits_truncate(mode & 0o7777)
}

/// What came of letting two files change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    Done,
    /// The file system cannot.
    Unsupported,
}

/// The kind of what a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a pipe or a socket.
    Special,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}
