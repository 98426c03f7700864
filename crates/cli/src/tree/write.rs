//! Putting a plan's changes in place on disk, all of them or none.
//!
//! New contents are first written beside their targets under temporary names. Then each
//! old file gets a second name and the new one is moved over it, so that a reader sees the
//! old or the new file and never none; if anything fails, the moves are undone in reverse
//! order. Just before its move every old file is compared with what the plan was made on,
//! so that a file that changed meanwhile is never overwritten. No link is followed: every
//! folder on the way is opened as a folder.
//!
//! Deliberately absent: protection against a crash of the machine between two moves.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, OpenOptions};
use probity_core::RepoPath;
use probity_core::patch::{Change, Plan};
use probity_core::repo::{File, FileMode};

use crate::ui::uninterrupted;

/// One change, with the folder that holds it.
struct Staged<'a> {
    change: &'a Change,
    dir: Dir,
    name: PathBuf,
    /// Where the new content waits.
    new: Option<PathBuf>,
    /// Where the old file waits during the commit.
    old: PathBuf,
}

/// How far a change has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    SetAside,
    MovedIn,
}

/// Writes the changes of `plan` below `root`.
///
/// # Errors
/// The tree on disk is then as it was before.
pub(crate) fn write_plan(root: &Dir, plan: &Plan) -> anyhow::Result<()> {
    let mut made = Vec::new();
    let result = write(root, plan, &mut made);
    if result.is_err() {
        for folder in made.iter().rev() {
            // A folder that somebody has filled meanwhile stays.
            let _ = root.remove_dir(folder);
        }
    }
    result
}

fn write(root: &Dir, plan: &Plan, made: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let mut staged = Vec::new();
    let mut outcome = Ok(());
    for (index, change) in plan.changes().iter().enumerate() {
        match stage(root, change, index, made) {
            Ok(entry) => staged.push(entry),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let outcome = outcome.and_then(|()| uninterrupted(|| commit(&staged)));
    for entry in &staged {
        if let Some(new) = &entry.new {
            let _ = entry.dir.remove_file(new);
        }
    }
    if outcome.is_ok() {
        remove_empty_folders(root, plan);
    }
    outcome
}

/// Prepares one change: opens its folder, writes the new content beside the target.
fn stage<'a>(
    root: &Dir,
    change: &'a Change,
    index: usize,
    made: &mut Vec<PathBuf>,
) -> anyhow::Result<Staged<'a>> {
    let path = &change.path;
    let context = || format!("cannot prepare `{path}`; nothing was changed");
    let dir = open_parent(root, path, change.after.is_some(), made).with_context(context)?;
    let tag = format!(".probity-{}-{index}", std::process::id());
    let mut entry = Staged {
        change,
        dir,
        name: PathBuf::from(path.name()),
        new: None,
        old: PathBuf::from(format!("{tag}.old")),
    };
    if let Some(file) = &change.after {
        let new = PathBuf::from(format!("{tag}.new"));
        if let Err(error) = write_new(&entry.dir, &new, file, &entry.name) {
            let _ = entry.dir.remove_file(&new);
            return Err(error).with_context(context);
        }
        entry.new = Some(new);
    }
    Ok(entry)
}

/// The folder that holds `path`, opened part by part without following links.
fn open_parent(
    root: &Dir,
    path: &RepoPath,
    create: bool,
    made: &mut Vec<PathBuf>,
) -> io::Result<Dir> {
    let mut dir = root.try_clone()?;
    let mut at = PathBuf::new();
    let parts: Vec<&str> = path.parts().collect();
    let parents = parts.split_last().map_or(&[][..], |(_, parents)| parents);
    for part in parents {
        at.push(part);
        match dir.open_dir_nofollow(part) {
            Ok(next) => dir = next,
            Err(error) if create && error.kind() == io::ErrorKind::NotFound => {
                dir.create_dir(part)?;
                made.push(at.clone());
                dir = dir.open_dir_nofollow(part)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(dir)
}

fn write_new(dir: &Dir, to: &Path, file: &File, target: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut out = dir.open_with(to, &options)?;
    out.write_all(file.bytes())?;
    out.sync_all()?;
    set_mode(dir, to, file.mode(), target)
}

/// Keeps the target's permissions, but for the executable bits, which follow the mode.
#[cfg(unix)]
fn set_mode(dir: &Dir, to: &Path, mode: FileMode, target: &Path) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt as _};
    let own = dir.symlink_metadata(to)?.permissions().mode();
    let base = match dir.symlink_metadata(target) {
        Ok(metadata) if metadata.is_file() => metadata.permissions().mode(),
        Ok(_) | Err(_) => own,
    };
    let bits = match mode {
        FileMode::Executable => base | ((base & 0o444) >> 2),
        FileMode::Regular | FileMode::Symlink => base & !0o111,
    };
    dir.set_permissions(to, Permissions::from_mode(bits & 0o7777))
}

#[cfg(not(unix))]
fn set_mode(_: &Dir, _: &Path, _: FileMode, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Moves everything into place, or everything back.
fn commit(staged: &[Staged<'_>]) -> anyhow::Result<()> {
    let mut done = vec![Done::Nothing; staged.len()];
    let mut failure = None;
    for (entry, state) in staged.iter().zip(done.iter_mut()) {
        if let Err(error) = put_in_place(entry, state) {
            failure = Some(error);
            break;
        }
    }
    let Some(error) = failure else {
        for (entry, state) in staged.iter().zip(&done) {
            if *state != Done::Nothing && entry.change.before.is_some() {
                // The new file is in place; a leftover copy of the old one is harmless.
                let _ = entry.dir.remove_file(&entry.old);
            }
        }
        return Ok(());
    };
    for (entry, state) in staged.iter().zip(&done).rev() {
        let undone = match state {
            Done::Nothing => Ok(()),
            Done::SetAside => entry.dir.rename(&entry.old, &entry.dir, &entry.name),
            Done::MovedIn if entry.change.before.is_some() => {
                entry.dir.rename(&entry.old, &entry.dir, &entry.name)
            }
            Done::MovedIn => entry.dir.remove_file(&entry.name),
        };
        if let Err(problem) = undone {
            return Err(error.context(format!(
                "`{}` could not be put back ({problem}); its old content is in `{}` beside it",
                entry.change.path,
                entry.old.display()
            )));
        }
    }
    Err(error.context("the changes were taken back; nothing is changed"))
}

fn put_in_place(entry: &Staged<'_>, state: &mut Done) -> anyhow::Result<()> {
    let path = &entry.change.path;
    let context = || format!("cannot replace `{path}`");
    match &entry.change.before {
        Some(before) => {
            // A second name keeps the first in place until the new file takes it over. A
            // deletion, or a file system without hard links, moves the file instead.
            let linked = entry.new.is_some()
                && entry
                    .dir
                    .hard_link(&entry.name, &entry.dir, &entry.old)
                    .is_ok();
            if !linked {
                entry
                    .dir
                    .rename(&entry.name, &entry.dir, &entry.old)
                    .with_context(context)?;
            }
            *state = Done::SetAside;
            let metadata = entry
                .dir
                .symlink_metadata(&entry.old)
                .with_context(context)?;
            if !metadata.is_file()
                || entry.dir.read(&entry.old).with_context(context)? != before.bytes()
            {
                bail!("`{path}` was changed by someone else meanwhile");
            }
        }
        None if entry.dir.symlink_metadata(&entry.name).is_ok() => {
            bail!("`{path}` was made by someone else meanwhile");
        }
        None => {}
    }
    if let Some(new) = &entry.new {
        entry
            .dir
            .rename(new, &entry.dir, &entry.name)
            .with_context(context)?;
    }
    *state = Done::MovedIn;
    Ok(())
}

/// Folders that a deletion emptied go away, as git does it.
fn remove_empty_folders(root: &Dir, plan: &Plan) {
    for change in plan.changes() {
        if change.after.is_some() {
            continue;
        }
        let parents: Vec<RepoPath> = change.path.parents().collect();
        for folder in parents.iter().rev() {
            if root.remove_dir(folder.as_str()).is_err() {
                break;
            }
        }
    }
}
