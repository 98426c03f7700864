//! The steps of a commit between its journal and its mark.
//!
//! Nothing here undoes anything: after an error the journal says enough.

use std::rc::Rc;
use std::thread;

use probity_core::RepoPath;
use probity_core::patch::Change;
use probity_core::repo::{File, FileMode};

use crate::commit::failed;
use crate::error::CommitError;
use crate::folder::{Exchange, Folder, Kind};
use crate::folders::{Folders, Way, parent, parents, prefix};
use crate::journal::{Action, Entry, Journal, Staged};
use crate::metadata::{Metadata, Stamp, Stamps};
use crate::read::read_within;
use crate::undo::sync_homes;

/// How often the folders of a file are made that others keep taking away.
const ATTEMPTS: usize = 8;

/// A commit under way.
pub(crate) struct Transaction<'a> {
    pub(crate) folders: &'a mut Folders,
    pub(crate) journal: &'a Journal,
    /// The changes, in the order of the journal's entries.
    pub(crate) changes: &'a [Change],
    pub(crate) stamps: &'a Stamps,
    pub(crate) kept: &'a KeptModes,
}

/// A file that is as the plan was made on it.
#[derive(Clone, Copy)]
struct Seen {
    metadata: Metadata,
    /// Whether a later change is visible in its times.
    at_rest: bool,
}

impl<'a> Transaction<'a> {
    /// Moves everything into place.
    pub(crate) fn place(&mut self) -> Result<(), CommitError> {
        // The folders are opened anew, so that each one is where its path leads.
        self.folders.forget();
        let seen = self.check()?;
        self.set_deleted_aside(&seen)?;
        self.replace_edited(&seen)?;
        self.remove_folders()?;
        self.create()?;
        self.sync()
    }

    /// Compares every file with what the plan was made on.
    fn check(&mut self) -> Result<Vec<Option<Seen>>, CommitError> {
        let mut seen = Vec::with_capacity(self.changes.len());
        for (_, entry, change) in self.entries() {
            seen.push(match &change.before {
                None => {
                    self.check_free(&entry.path)?;
                    None
                }
                Some(before) => {
                    let folder = self.folder(&entry.path)?;
                    Some(look(&folder, entry, before, self.stamps.get(&entry.path))?)
                }
            });
        }
        Ok(seen)
    }

    /// Refuses to create a file where something is that does not give way.
    fn check_free(&mut self, path: &RepoPath) -> Result<(), CommitError> {
        let failed = |source| failed("look at", path.as_str())(source);
        let found = match self.folders.walk(parent(path)).map_err(failed)? {
            Way::Absent { .. } => return Ok(()),
            Way::Open(folder) => folder.metadata(path.name()).map_err(failed)?,
            Way::Blocked {
                folder,
                name,
                depth,
            } => {
                // The layout has seen a file here that the plan takes away.
                let found = folder.metadata(name).map_err(failed)?;
                return match found.map(|found| found.kind) {
                    None | Some(Kind::File) => Ok(()),
                    Some(Kind::Folder | Kind::Link | Kind::Special) => Err(in_the_way(path, depth)),
                };
            }
        };
        match found.map(|found| found.kind) {
            None => Ok(()),
            Some(Kind::Folder) if self.gives_way(path) => Ok(()),
            Some(_) => Err(stale(path)),
        }
    }

    fn gives_way(&self, folder: &RepoPath) -> bool {
        let removed = &self.journal.removed;
        removed
            .binary_search_by(|entry| entry.path.cmp(folder))
            .is_ok()
    }

    fn set_deleted_aside(&mut self, seen: &[Option<Seen>]) -> Result<(), CommitError> {
        for (index, entry, change) in self.entries() {
            let (Action::Delete, Some(before)) = (entry.action, &change.before) else {
                continue;
            };
            let (home, folder) = (self.home(entry)?, self.folder(&entry.path)?);
            let old = self.journal.old_name(index);
            folder
                .relocate(entry.path.name(), &home, &old)
                .map_err(|error| gone(&entry.path, error))?;
            verify(&home, &old, entry, before, seen.get(index), None)?;
        }
        Ok(())
    }

    fn replace_edited(&mut self, seen: &[Option<Seen>]) -> Result<(), CommitError> {
        for (index, entry, change) in self.entries() {
            let (Action::Edit, Some(before)) = (entry.action, &change.before) else {
                continue;
            };
            let (path, name) = (&entry.path, entry.path.name());
            let home = self.home(entry)?;
            let (old, new) = (self.journal.old_name(index), self.journal.new_name(index));
            let kept = self.kept.get(index).copied().flatten();
            match home.exchange(&new, name) {
                Ok(Exchange::Done) => {
                    // The temporary name has become that of the old file.
                    verify(&home, &new, entry, before, seen.get(index), kept)?;
                }
                Ok(Exchange::Unsupported) => {
                    home.relocate(name, &home, &old)
                        .map_err(|error| gone(path, error))?;
                    verify(&home, &old, entry, before, seen.get(index), kept)?;
                    home.relocate(&new, &home, name)
                        .map_err(|error| occupied(path, error))?;
                }
                Err(error) => return Err(gone(path, error)),
            }
        }
        Ok(())
    }

    /// Takes the folders away that give way to files.
    fn remove_folders(&mut self) -> Result<(), CommitError> {
        for removed in self.journal.removed.iter().rev() {
            let path = &removed.path;
            let folder = self.folder(path)?;
            self.folders.forget_below(path.as_str());
            folder.remove_folder(path.name()).map_err(|error| {
                if error.kind() == std::io::ErrorKind::DirectoryNotEmpty {
                    return CommitError::NotEmpty { path: path.clone() };
                }
                gone(path, error)
            })?;
        }
        Ok(())
    }

    /// Makes the new files and their folders.
    fn create(&mut self) -> Result<(), CommitError> {
        let journal = self.journal;
        for (index, entry) in journal.of(Action::Create) {
            let home = self.home(entry)?;
            let folder = self.made_folder(&entry.path)?;
            let (name, new) = (entry.path.name(), journal.new_name(index));
            match home.link(&new, &folder, name) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(stale(&entry.path));
                }
                // There are file systems without second names.
                Err(_) => home
                    .relocate(&new, &folder, name)
                    .map_err(|error| occupied(&entry.path, error))?,
            }
        }
        Ok(())
    }

    /// The folder that holds `path`, made if need be.
    fn made_folder(&mut self, path: &RepoPath) -> Result<Rc<Folder>, CommitError> {
        let failed = |source| failed("make the folder of", path.as_str())(source);
        for _ in 0..parents(path).saturating_add(ATTEMPTS) {
            match self.folders.walk(parent(path)).map_err(failed)? {
                Way::Open(folder) => return Ok(folder),
                Way::Blocked { depth, .. } => return Err(in_the_way(path, depth)),
                Way::Absent { folder, name, .. } => match folder.create_folder(name, 0o777) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                        return Err(failed(error));
                    }
                    Ok(()) | Err(_) => {}
                },
            }
        }
        Err(stale(path))
    }

    /// The entries with what becomes of their files.
    fn entries(&self) -> impl Iterator<Item = (usize, &'a Entry, &'a Change)> + use<'a> {
        let entries = self.journal.entries.iter().zip(self.changes).enumerate();
        entries.map(|(index, (entry, change))| (index, entry, change))
    }

    /// The folder that holds the entry's temporary names.
    fn home(&mut self, entry: &Entry) -> Result<Rc<Folder>, CommitError> {
        let found = self.folders.find(entry.home());
        let found = found.map_err(failed("open the folder of", entry.path.as_str()))?;
        found.ok_or_else(|| stale(&entry.path))
    }

    /// The folder that holds `path`.
    fn folder(&mut self, path: &RepoPath) -> Result<Rc<Folder>, CommitError> {
        let walked = self.folders.walk(parent(path));
        match walked.map_err(failed("open the folder of", path.as_str()))? {
            Way::Open(folder) => Ok(folder),
            Way::Absent { .. } => Err(stale(path)),
            Way::Blocked { depth, .. } => Err(in_the_way(path, depth)),
        }
    }

    fn sync(&mut self) -> Result<(), CommitError> {
        sync_homes(self.folders, self.journal).map_err(failed("bring to the disk", "."))
    }
}

/// The permissions that files had when their new contents were staged, in the order of the
/// journal's entries; `None` for files that are created or go away.
pub(crate) type KeptModes = Vec<Option<u32>>;

/// Writes the new contents under temporary names, and notes in the journal what files these
/// are.
pub(crate) fn stage(
    folders: &mut Folders,
    journal: &mut Journal,
    changes: &[Change],
) -> Result<KeptModes, CommitError> {
    let contents = || changes.iter().filter_map(|change| change.after.as_ref());
    let large = contents().any(|file| file.bytes().len() >= LARGE);
    let files = thread::scope(|scope| {
        if large {
            // A file keeps its digest once it is computed; meanwhile the disk is busy.
            scope.spawn(|| {
                for file in contents() {
                    let _ = file.digest();
                }
            });
        }
        stage_files(folders, journal, changes)
    })?;
    let staged = files.iter().zip(changes).map(|(file, change)| {
        let (file, after) = (file.as_ref()?, change.after.as_ref()?);
        Some(Staged::new(&file.own, after.digest()))
    });
    journal.set_staged(staged);
    sync_homes(folders, journal).map_err(failed("bring to the disk", "."))?;
    Ok(files
        .into_iter()
        .map(|file| file.and_then(|file| file.kept))
        .collect())
}

/// From this many bytes on a digest is computed beside the writing.
const LARGE: usize = 1 << 20;

/// A file with new content.
struct StagedFile {
    own: Metadata,
    /// The permissions of the file whose place it takes.
    kept: Option<u32>,
}

fn stage_files(
    folders: &mut Folders,
    journal: &Journal,
    changes: &[Change],
) -> Result<Vec<Option<StagedFile>>, CommitError> {
    let mut files = Vec::with_capacity(changes.len());
    for (index, (entry, change)) in journal.entries.iter().zip(changes).enumerate() {
        files.push(match &change.after {
            Some(after) => Some(stage_file(folders, entry, &journal.new_name(index), after)?),
            None => None,
        });
    }
    Ok(files)
}

fn stage_file(
    folders: &mut Folders,
    entry: &Entry,
    name: &str,
    after: &File,
) -> Result<StagedFile, CommitError> {
    let failed = |source| failed("write", entry.path.as_str())(source);
    let home = folders
        .find(entry.home())
        .map_err(failed)?
        .ok_or_else(|| stale(&entry.path))?;
    let kept = match entry.action {
        Action::Create => None,
        Action::Edit | Action::Delete => {
            let found = home.metadata(entry.path.name()).map_err(failed)?;
            let found = found.filter(|found| found.kind == Kind::File);
            Some(found.ok_or_else(|| stale(&entry.path))?.mode)
        }
    };
    let initial = kept.map_or(0o666, |kept| permissions(kept, after.mode()));
    let mut file = home.create_file(name, initial).map_err(failed)?;
    home.fill(&mut file, after.bytes()).map_err(failed)?;
    let own = Metadata::of_open(&file).map_err(failed)?;
    let mode = match (kept, after.mode()) {
        (Some(kept), mode) => permissions(kept, mode),
        (None, FileMode::Executable) => permissions(own.mode, FileMode::Executable),
        (None, FileMode::Regular | FileMode::Symlink) => own.mode,
    };
    if mode != own.mode {
        home.set_mode(&file, mode).map_err(failed)?;
    }
    Ok(StagedFile { own, kept })
}

/// The permissions `mode`, but for the executable bits, which follow `file_mode`; nobody
/// can become somebody else by running a patched file.
const fn permissions(mode: u32, file_mode: FileMode) -> u32 {
    let mode = mode & 0o777;
    match file_mode {
        FileMode::Executable => mode | ((mode & 0o444) >> 2),
        FileMode::Regular | FileMode::Symlink => mode & !0o111,
    }
}

/// Makes sure that the file of `entry` is `before`.
fn look(
    folder: &Folder,
    entry: &Entry,
    before: &File,
    stamp: Option<&Stamp>,
) -> Result<Seen, CommitError> {
    let path = &entry.path;
    let found = folder.metadata(path.name());
    let found = found.map_err(failed("look at", path.as_str()))?;
    let metadata = found.filter(|found| found.kind == Kind::File);
    let metadata = metadata.ok_or_else(|| stale(path))?;
    if let Some(stamp) = stamp
        && stamp.metadata == metadata
    {
        // Without rest the bytes are compared once the file has been set aside.
        return Ok(Seen {
            metadata,
            at_rest: stamp.proves(&metadata),
        });
    }
    let at_rest = metadata.is_at_rest();
    if metadata.file_mode() != before.mode()
        || !holds(folder, path.name(), path, &metadata, before.bytes())?
    {
        return Err(stale(path));
    }
    Ok(Seen { metadata, at_rest })
}

/// Makes sure that what was set aside as `old` is what was seen.
fn verify(
    home: &Folder,
    old: &str,
    entry: &Entry,
    before: &File,
    seen: Option<&Option<Seen>>,
    kept: Option<u32>,
) -> Result<(), CommitError> {
    let path = &entry.path;
    let found = home.metadata(old);
    let found = found.map_err(failed("look at", path.as_str()))?;
    let (Some(found), Some(Some(seen))) = (found, seen) else {
        return Err(stale(path));
    };
    // Permissions that somebody has changed meanwhile must not be lost either.
    let same_mode = kept.is_none_or(|kept| kept == found.mode);
    if !same_mode
        || !seen.metadata.has_same_content(&found)
        || (!seen.at_rest && !holds(home, old, path, &found, before.bytes())?)
    {
        return Err(stale(path));
    }
    Ok(())
}

/// Whether the file `name`, which was found as `metadata`, holds `bytes`.
fn holds(
    folder: &Folder,
    name: &str,
    path: &RepoPath,
    metadata: &Metadata,
    bytes: &[u8],
) -> Result<bool, CommitError> {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if metadata.size != length {
        return Ok(false);
    }
    let failed = |source| failed("read", path.as_str())(source);
    let file = folder.file(name).map_err(failed)?;
    let opened = Metadata::of_open(&file).map_err(failed)?;
    if !opened.has_same_content(metadata) {
        return Ok(false);
    }
    let found = read_within(file, &opened, length).map_err(failed)?;
    Ok(found.as_deref() == Some(bytes))
}

fn stale(path: &RepoPath) -> CommitError {
    CommitError::Stale { path: path.clone() }
}

fn in_the_way(path: &RepoPath, depth: usize) -> CommitError {
    CommitError::InTheWay {
        path: path.clone(),
        at: prefix(path, depth.saturating_add(1)).to_owned(),
    }
}

/// The failure to move something away, which may be gone already.
fn gone(path: &RepoPath, error: std::io::Error) -> CommitError {
    if error.kind() == std::io::ErrorKind::NotFound {
        return stale(path);
    }
    failed("move", path.as_str())(error)
}

/// The failure to move something in, in whose place something may be.
fn occupied(path: &RepoPath, error: std::io::Error) -> CommitError {
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return stale(path);
    }
    failed("make", path.as_str())(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_follow_the_file_but_for_the_executable_bits() {
        for (mode, file_mode, expected) in [
            (0o644, FileMode::Regular, 0o644),
            (0o644, FileMode::Executable, 0o755),
            (0o640, FileMode::Executable, 0o750),
            (0o755, FileMode::Regular, 0o644),
            (0o711, FileMode::Executable, 0o711),
            (0o4755, FileMode::Executable, 0o755),
            (0o444, FileMode::Regular, 0o444),
        ] {
            assert_eq!(permissions(mode, file_mode), expected, "{mode:o}");
        }
    }
}
