//! Taking a commit back, or tidying up after it, from what is on disk.
//!
//! Both may be interrupted and done again: every step first looks whether it is still to
//! be done. What is taken away is only what the commit made: temporary names, which nobody
//! else can have chosen; created files that still have their new content; folders that
//! were absent and are empty. Where something else stands in the way of an old file, both
//! are left as they are and named.
//!
//! Two names of one file are never moved onto each other: that would do nothing and keep
//! both.

use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;

use probity_core::RepoPath;
use probity_core::repo::File;

use crate::commit::Durability;
use crate::error::{Left, LeftReason};
use crate::folder::{Exchange, Folder, Kind};
use crate::folders::{Folders, parent, parents, prefix};
use crate::journal::{Action, Entry, Journal, RemovedFolder, Staged};
use crate::metadata::Metadata;
use crate::read::read_within;
use crate::state::State;

impl From<io::Error> for LeftReason {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Which folders an undo works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handles {
    /// Those that the commit has open, even if somebody has moved them.
    Open,
    /// Those to which the paths lead now.
    Fresh,
}

/// Takes a commit back and, if nothing is left to try, its journal away. Returns what could
/// not be put back.
pub(crate) fn undo(
    folders: &mut Folders,
    journal: &Journal,
    state: State,
    handles: Handles,
) -> io::Result<Vec<Left>> {
    if handles == Handles::Fresh {
        folders.forget();
    }
    let mut undo = Undo {
        folders,
        journal,
        left: Vec::new(),
        kept: BTreeSet::new(),
    };
    undo.created_files();
    undo.made_folders();
    undo.removed_folders();
    undo.old_files();
    undo.temporary_files();
    let left = undo.left;
    if left
        .iter()
        .all(|left| matches!(left.reason, LeftReason::Gone))
    {
        sync_homes(folders, journal)?;
        state.remove()?;
    }
    Ok(left)
}

/// Takes away what a commit that has happened has left, its journal last.
pub(crate) fn tidy(folders: &mut Folders, journal: &Journal, state: State) -> io::Result<()> {
    for (index, entry) in journal.entries.iter().enumerate() {
        if let Some(home) = folders.find(entry.home())? {
            let (new, old) = (journal.new_name(index), journal.old_name(index));
            match entry.action {
                Action::Create => home.remove_file(&new)?,
                Action::Delete => home.remove_file(&old)?,
                // One of the two names is that of the old file.
                Action::Edit if home.metadata(&new)?.is_some() => home.remove_file(&new)?,
                Action::Edit => home.remove_file(&old)?,
            }
        }
    }
    remove_emptied_folders(folders, journal.of(Action::Delete), |_| 0)?;
    sync_homes(folders, journal)?;
    state.remove()
}

/// Takes the folders of `entries` away, innermost first, as far as they are empty, but not
/// the first `kept` of a path.
fn remove_emptied_folders<'a>(
    folders: &mut Folders,
    entries: impl DoubleEndedIterator<Item = (usize, &'a Entry)>,
    kept: impl Fn(&Entry) -> usize,
) -> io::Result<()> {
    let mut last = None;
    for (_, entry) in entries.rev() {
        if last.replace(parent(&entry.path)) == Some(parent(&entry.path)) {
            continue;
        }
        for depth in (kept(entry).saturating_add(1)..=parents(&entry.path)).rev() {
            let path = prefix(&entry.path, depth);
            let name = path.rsplit('/').next().unwrap_or(path);
            let Some(holder) = folders.find(prefix(&entry.path, depth.saturating_sub(1)))? else {
                continue;
            };
            if !is_folder(&holder, name)? {
                continue;
            }
            folders.forget_below(path);
            match holder.remove_folder(name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if may_stay(error.kind()) => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Brings all files below the journal's homes to the disk, if the commit is to outlive a
/// power failure.
pub(crate) fn sync_homes(folders: &mut Folders, journal: &Journal) -> io::Result<()> {
    if journal.durability == Durability::Process {
        return Ok(());
    }
    let mut synced = BTreeSet::new();
    let mut last = None;
    for entry in &journal.entries {
        if last.replace(entry.home()) == Some(entry.home()) {
            continue;
        }
        if let Some(home) = folders.find(entry.home())?
            && synced.insert(home.own_metadata()?.device)
        {
            home.sync_file_system()?;
        }
    }
    Ok(())
}

struct Undo<'a> {
    folders: &'a mut Folders,
    journal: &'a Journal,
    left: Vec<Left>,
    /// The entries whose temporary file is still needed.
    kept: BTreeSet<usize>,
}

impl Undo<'_> {
    /// Takes created files away.
    fn created_files(&mut self) {
        let journal = self.journal;
        for (index, entry) in journal.of(Action::Create).rev() {
            if let Err(reason) = self.created_file(index, entry) {
                self.kept.insert(index);
                self.leave(&entry.path, None, reason);
            }
        }
    }

    /// Takes a created file away: it is moved aside first, so that what is taken away is
    /// what was looked at.
    fn created_file(&mut self, index: usize, entry: &Entry) -> Result<(), LeftReason> {
        let Some(staged) = &entry.staged else {
            // Nothing was moved yet.
            return Ok(());
        };
        let name = entry.path.name();
        let Some(folder) = self.folders.find(parent(&entry.path))? else {
            return Ok(());
        };
        let aside = self.journal.old_name(index);
        if folder.metadata(&aside)?.is_none() {
            match folder.metadata(name)? {
                Some(found) if staged.is(&found) => folder.relocate(name, &folder, &aside)?,
                // Absent, or someone else's, made before ours could be.
                Some(_) | None => return Ok(()),
            }
        }
        if holds(&folder, &aside, staged)? {
            return Ok(folder.remove_file(&aside)?);
        }
        // Ours, and somebody has written to it since; or somebody's that came between.
        let is_ours = folder
            .metadata(&aside)?
            .is_some_and(|found| staged.is(&found));
        folder.relocate(&aside, &folder, name)?;
        if is_ours {
            Err(LeftReason::Foreign)
        } else {
            Ok(())
        }
    }

    /// Takes the folders away that were made for created files.
    fn made_folders(&mut self) {
        let made = self.journal.of(Action::Create);
        let outcome = remove_emptied_folders(self.folders, made.clone(), |entry| entry.existing);
        if let (Err(error), Some((_, entry))) = (outcome, made.clone().next()) {
            self.leave(&entry.path, None, error.into());
        }
    }

    /// Makes the folders again that gave way to files.
    fn removed_folders(&mut self) {
        let journal = self.journal;
        for removed in &journal.removed {
            if let Err(reason) = self.removed_folder(removed) {
                self.leave(&removed.path, None, reason);
            }
        }
    }

    fn removed_folder(&mut self, removed: &RemovedFolder) -> Result<(), LeftReason> {
        let path = &removed.path;
        let holder = self.existing(parent(path))?;
        match holder.metadata(path.name())?.map(|found| found.kind) {
            None => holder.create_folder(path.name(), 0o700)?,
            Some(Kind::Folder) => {}
            Some(Kind::File | Kind::Link | Kind::Special) => return Err(LeftReason::Foreign),
        }
        let folder = self.existing(path.as_str())?;
        if folder.own_metadata()?.mode != removed.mode {
            folder.set_own_mode(removed.mode)?;
        }
        Ok(())
    }

    /// Puts back what was set aside, edited files first.
    fn old_files(&mut self) {
        let journal = self.journal;
        let edited = journal.of(Action::Edit).rev();
        for (index, entry) in edited.chain(journal.of(Action::Delete).rev()) {
            if let Err((reason, kept)) = self.old_file(index, entry) {
                self.kept.insert(index);
                let home = entry.home();
                let separator = if home.is_empty() { "" } else { "/" };
                let kept = kept.map(|kept| format!("{home}{separator}{kept}"));
                self.leave(&entry.path, kept, reason);
            }
        }
    }

    /// Puts the old file of an entry back. An error comes with the name under which what was
    /// set aside is kept.
    fn old_file(
        &mut self,
        index: usize,
        entry: &Entry,
    ) -> Result<(), (LeftReason, Option<String>)> {
        let plain = |reason: LeftReason| (reason, None);
        let io = |error: io::Error| (LeftReason::Io(error), None);
        let moved = entry.action == Action::Delete || entry.staged.is_some();
        let Some(home) = self.folders.find(entry.home()).map_err(io)? else {
            return if moved {
                Err(plain(LeftReason::Gone))
            } else {
                Ok(())
            };
        };
        let aside = self.aside(&home, index, entry).map_err(plain)?;
        let folder = match self.folders.find(parent(&entry.path)).map_err(io)? {
            Some(folder) => folder,
            None => return Err((LeftReason::Gone, aside)),
        };
        let found = folder.metadata(entry.path.name()).map_err(io)?;
        let is_ours = |found: &Metadata| entry.staged.as_ref().is_some_and(|s| s.is(found));
        let Some(aside) = aside else {
            // Nothing was set aside, or somebody took it away.
            return match (entry.action, found) {
                (Action::Edit, Some(found)) if is_ours(&found) => Err(plain(LeftReason::Gone)),
                (_, _) => Ok(()),
            };
        };
        put_back(&home, &aside, &folder, entry, found).map_err(|reason| (reason, Some(aside)))
    }

    /// The temporary name under which the old file was set aside, if it was: its own, or
    /// that of the new one if the two have changed places.
    fn aside(
        &self,
        home: &Folder,
        index: usize,
        entry: &Entry,
    ) -> Result<Option<String>, LeftReason> {
        let (old, new) = (self.journal.old_name(index), self.journal.new_name(index));
        if home.metadata(&old)?.is_some() {
            return Ok(Some(old));
        }
        let changed_places = match (&entry.staged, home.metadata(&new)?) {
            (Some(staged), Some(found)) => !staged.is(&found),
            (None, _) | (_, None) => false,
        };
        Ok((entry.action == Action::Edit && changed_places).then_some(new))
    }

    /// Takes the temporary files of new contents away.
    fn temporary_files(&mut self) {
        let journal = self.journal;
        for (index, entry) in journal.entries.iter().enumerate() {
            if entry.action == Action::Delete || self.kept.contains(&index) {
                continue;
            }
            let home = self.folders.find(entry.home());
            let name = journal.new_name(index);
            let removed = home.and_then(|home| match home {
                Some(home) => match (&entry.staged, home.metadata(&name)?) {
                    // Whatever it is, it is not what was written there.
                    (Some(staged), Some(found)) if !staged.is(&found) => Ok(()),
                    (_, _) => home.remove_file(&name),
                },
                None => Ok(()),
            });
            if let Err(error) = removed {
                self.leave(&entry.path, None, error.into());
            }
        }
    }

    /// The folder at `path`, which must be there.
    fn existing(&mut self, path: &str) -> Result<Rc<Folder>, LeftReason> {
        let found = self.folders.find(path)?;
        found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    fn leave(&mut self, path: &RepoPath, kept: Option<String>, reason: LeftReason) {
        self.left.push(Left {
            path: path.clone(),
            kept,
            reason,
        });
    }
}

/// Whether a folder that cannot be taken away for this reason just stays, as with git.
const fn may_stay(reason: io::ErrorKind) -> bool {
    matches!(
        reason,
        io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::ResourceBusy
    )
}

fn is_folder(holder: &Folder, name: &str) -> io::Result<bool> {
    let found = holder.metadata(name)?;
    Ok(found.is_some_and(|found| found.kind == Kind::Folder))
}

/// Moves what was set aside as `aside` to the entry's place, where `found` is now.
fn put_back(
    home: &Folder,
    aside: &str,
    folder: &Folder,
    entry: &Entry,
    found: Option<Metadata>,
) -> Result<(), LeftReason> {
    let name = entry.path.name();
    let Some(found) = found else {
        return Ok(home.relocate(aside, folder, name)?);
    };
    let Some(kept) = home.metadata(aside)? else {
        return Err(LeftReason::Gone);
    };
    if found.is_same_file(&kept) {
        return Ok(home.remove_file(aside)?);
    }
    if let Some(staged) = &entry.staged
        && holds(folder, name, staged)?
    {
        // An edited file is in its home, so the two can change places once more.
        return match home.exchange(aside, name)? {
            Exchange::Done if holds(home, aside, staged)? => Ok(home.remove_file(aside)?),
            Exchange::Done => {
                // Somebody came between: what was there stays there.
                home.exchange(aside, name)?;
                Err(LeftReason::Foreign)
            }
            Exchange::Unsupported => Ok(home.replace(aside, folder, name)?),
        };
    }
    // Somebody has put the old content back already.
    if are_alike((folder, name, &found), (home, aside, &kept))? {
        return Ok(home.remove_file(aside)?);
    }
    Err(LeftReason::Foreign)
}

/// Whether `name` is the staged file with what was written to it and nothing else.
fn holds(folder: &Folder, name: &str, staged: &Staged) -> io::Result<bool> {
    let found = folder.metadata(name)?;
    let Some(found) = found.filter(|found| staged.is(found) && found.size == staged.size()) else {
        return Ok(false);
    };
    let bytes = read_file(folder, name, found.size)?;
    Ok(bytes.is_some_and(|bytes| File::regular(bytes).digest() == staged.digest()))
}

/// The bytes of a file of `size`, unless it has become something else.
fn read_file(folder: &Folder, name: &str, size: u64) -> io::Result<Option<Vec<u8>>> {
    let file = folder.file(name)?;
    let opened = Metadata::of_open(&file)?;
    match opened.kind {
        Kind::File => read_within(file, &opened, size),
        Kind::Folder | Kind::Link | Kind::Special => Ok(None),
    }
}

/// Whether two files, each with its folder, name and metadata, hold the same bytes.
fn are_alike(
    (folder, name, metadata): (&Folder, &str, &Metadata),
    (other_folder, other_name, other): (&Folder, &str, &Metadata),
) -> io::Result<bool> {
    if metadata.kind != Kind::File || other.kind != Kind::File || metadata.size != other.size {
        return Ok(false);
    }
    let one = read_file(folder, name, metadata.size)?;
    let other = read_file(other_folder, other_name, metadata.size)?;
    Ok(one.is_some() && one == other)
}
