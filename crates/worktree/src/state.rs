//! The folder that holds the journal, inside `.git` where that is a real folder.
//!
//! | file | means |
//! |---|---|
//! | `journal.tmp` | a journal that was being written: nothing has happened yet |
//! | `journal.json` | a commit has begun and is to be undone |
//! | `done.json` | the same journal, renamed: everything is in place, what is left is tidying up |
//!
//! The rename is the one moment at which a commit happens. The folder goes away with the
//! journal.

use std::fs::File;
use std::io::{self, Read as _};

use probity_core::repo::JOURNAL_FOLDER;

use crate::commit::Durability;
use crate::error::JournalProblem;
use crate::folder::{Folder, Kind};
use crate::folders::Folders;
use crate::metadata::Metadata;

/// The largest journal, in bytes.
pub(crate) const MAX_JOURNAL: u64 = 64 << 20;

const GIT: &str = ".git";
const IN_GIT: &str = "probity";
const BEING_WRITTEN: &str = "journal.tmp";
const PREPARED: &str = "journal.json";
const DONE: &str = "done.json";

/// The state that a journal stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// To be undone.
    Prepared,
    /// To be tidied up.
    Done,
}

impl Phase {
    const fn file(self) -> &'static str {
        match self {
            Self::Prepared => PREPARED,
            Self::Done => DONE,
        }
    }
}

/// An open state folder.
pub(crate) struct State {
    /// The folder that holds it.
    home: Folder,
    /// Its name there.
    name: &'static str,
    folder: Folder,
    /// Its path, relative to the root.
    place: String,
}

impl State {
    /// The state folders that there are; both places are looked at, since `.git` may have
    /// been made or taken away since.
    pub(crate) fn all(folders: &Folders) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        if let Some(git) = folder_at(&folders.root(), GIT)? {
            found.extend(Self::at(git, IN_GIT, format!("{GIT}/{IN_GIT}"))?);
        }
        let root = folders.root().own_copy()?;
        found.extend(Self::at(root, JOURNAL_FOLDER, JOURNAL_FOLDER.to_owned())?);
        Ok(found)
    }

    fn at(home: Folder, name: &'static str, place: String) -> io::Result<Option<Self>> {
        Ok(folder_at(&home, name)?.map(|folder| Self {
            home,
            name,
            folder,
            place,
        }))
    }

    /// Makes the state folder for a commit, where it can be made.
    pub(crate) fn create(folders: &Folders) -> io::Result<Self> {
        if let Some(git) = folder_at(&folders.root(), GIT)? {
            match Self::create_at(git, IN_GIT, format!("{GIT}/{IN_GIT}")) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                    ) => {}
                result => return result,
            }
        }
        let root = folders.root().own_copy()?;
        Self::create_at(root, JOURNAL_FOLDER, JOURNAL_FOLDER.to_owned())
    }

    fn create_at(home: Folder, name: &'static str, place: String) -> io::Result<Self> {
        match home.create_folder(name, 0o700) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let folder = home.folder(name)?;
        Ok(Self {
            home,
            name,
            folder,
            place,
        })
    }

    /// The path of the journal of `phase`, relative to the root.
    pub(crate) fn journal_place(&self, phase: Phase) -> String {
        format!("{}/{}", self.place, phase.file())
    }

    /// Whether the folder holds a journal of `phase`.
    pub(crate) fn holds(&self, phase: Phase) -> io::Result<bool> {
        Ok(self.folder.metadata(phase.file())?.is_some())
    }

    /// The bytes of the journal, and what its file is.
    pub(crate) fn read(
        &self,
        phase: Phase,
    ) -> io::Result<Result<(Vec<u8>, Metadata), JournalProblem>> {
        let name = phase.file();
        let is_file = |found: &Metadata| found.kind == Kind::File;
        if !self.folder.metadata(name)?.as_ref().is_some_and(is_file) {
            return Ok(Err(JournalProblem::NotAFile));
        }
        let file = self.folder.file(name)?;
        let metadata = Metadata::of_open(&file)?;
        if !is_file(&metadata) {
            return Ok(Err(JournalProblem::NotAFile));
        }
        let mut bytes = Vec::new();
        file.take(MAX_JOURNAL.saturating_add(1))
            .read_to_end(&mut bytes)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > MAX_JOURNAL {
            return Ok(Err(JournalProblem::TooLarge { limit: MAX_JOURNAL }));
        }
        Ok(Ok((bytes, metadata)))
    }

    /// Begins a journal: an empty file that means nothing yet.
    pub(crate) fn begin(&self) -> io::Result<File> {
        // One that was left half written is of no use to anybody.
        let named = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("`{BEING_WRITTEN}` in its folder: {error}"),
            )
        };
        self.folder.remove_file(BEING_WRITTEN).map_err(named)?;
        self.folder.create_file(BEING_WRITTEN, 0o600).map_err(named)
    }

    /// Writes the journal and makes it count.
    pub(crate) fn prepare(
        &self,
        mut file: File,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<()> {
        self.folder.fill(&mut file, bytes)?;
        if durability == Durability::Power {
            file.sync_all()?;
        }
        self.folder.replace(BEING_WRITTEN, &self.folder, PREPARED)?;
        self.sync(durability)
    }

    /// The moment at which the commit happens.
    pub(crate) fn mark_done(&self, durability: Durability) -> io::Result<()> {
        self.folder.replace(PREPARED, &self.folder, DONE)?;
        self.sync(durability)
    }

    /// Takes the mark back, if it is there.
    pub(crate) fn unmark(&self, durability: Durability) -> io::Result<()> {
        if !self.holds(Phase::Done)? {
            return Ok(());
        }
        self.folder.replace(DONE, &self.folder, PREPARED)?;
        self.sync(durability)
    }

    /// Takes the journal away, and the folder if nothing else is in it.
    pub(crate) fn remove(self) -> io::Result<()> {
        for name in [BEING_WRITTEN, PREPARED, DONE] {
            if self.folder.metadata(name)?.is_some() {
                self.folder.remove_file(name)?;
            }
        }
        match self.home.remove_folder(self.name) {
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound
                ) =>
            {
                Err(error)
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Brings the folder's entries, and its own, to the disk.
    fn sync(&self, durability: Durability) -> io::Result<()> {
        match durability {
            Durability::Process => Ok(()),
            Durability::Power => self.folder.sync().and_then(|()| self.home.sync()),
        }
    }
}

/// The folder `name`, unless it is absent, a link or anything else.
fn folder_at(home: &Folder, name: &str) -> io::Result<Option<Folder>> {
    match home.metadata(name)? {
        Some(metadata) if metadata.kind == Kind::Folder => match home.folder(name) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) => Err(io::Error::new(error.kind(), format!("`{name}`: {error}"))),
        },
        Some(_) | None => Ok(None),
    }
}
