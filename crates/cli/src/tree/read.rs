//! Reading a folder into a tree.
//!
//! The folder is opened once as a capability; nothing outside it can be reached through
//! it. Links are read as links and never followed. `.git` is never read. Files that
//! `.gitignore` excludes are left out unless asked for; only `.gitignore` files inside the
//! folder count, so that the result is the same on every machine.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use probity_core::repo::{File, FileMode};
use probity_core::{Repo, RepoPath};

/// Most files read.
const MAX_FILES: usize = 1_000_000;
/// Most bytes read.
const MAX_BYTES: u64 = 4 << 30;

/// A folder that was read.
pub(crate) struct Loaded {
    /// The tree.
    pub(crate) repo: Repo,
    /// The folder, for writing.
    pub(crate) dir: Dir,
    /// What was left out, and why.
    pub(crate) skipped: Vec<(PathBuf, &'static str)>,
}

/// Reads `folder`.
pub(crate) fn load(folder: &Path, ignored_too: bool) -> anyhow::Result<Loaded> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority())
        .with_context(|| format!("cannot open the repository `{}`", folder.display()))?;
    let mut reader = Reader {
        ignored_too,
        repo: Repo::new(),
        skipped: Vec::new(),
    };
    let mut rules = Vec::new();
    reader.folder(&dir, Path::new(""), &mut rules)?;
    Ok(Loaded {
        repo: reader.repo,
        dir,
        skipped: reader.skipped,
    })
}

struct Reader {
    ignored_too: bool,
    repo: Repo,
    skipped: Vec<(PathBuf, &'static str)>,
}

impl Reader {
    fn folder(&mut self, dir: &Dir, path: &Path, rules: &mut Vec<Gitignore>) -> anyhow::Result<()> {
        let context = || format!("cannot list `{}`", path.display());
        if !self.ignored_too {
            rules.push(gitignore(dir, path));
        }
        let mut entries = dir
            .entries()
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .with_context(context)?;
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            if name == ".git" {
                continue;
            }
            let path = path.join(&name);
            let metadata = dir
                .symlink_metadata(&name)
                .with_context(|| format!("cannot look at `{}`", path.display()))?;
            if is_ignored(rules, &path, metadata.is_dir()) {
                continue;
            }
            if metadata.is_dir() {
                match dir.open_dir_nofollow(&name) {
                    Ok(inner) => self.folder(&inner, &path, rules)?,
                    Err(_) => self.skipped.push((path, "the folder cannot be opened")),
                }
                continue;
            }
            let Some(repo_path) = path.to_str().and_then(|text| RepoPath::new(text).ok()) else {
                self.skipped
                    .push((path, "its name cannot be part of a tree"));
                continue;
            };
            self.file(dir, Path::new(&name), &repo_path, &metadata)?;
        }
        if !self.ignored_too {
            rules.pop();
        }
        Ok(())
    }

    fn file(
        &mut self,
        dir: &Dir,
        name: &Path,
        path: &RepoPath,
        metadata: &Metadata,
    ) -> anyhow::Result<()> {
        let context = || format!("cannot read `{path}`");
        let file = if metadata.is_symlink() {
            let target = dir.read_link_contents(name).with_context(context)?;
            let Some(target) = target.to_str() else {
                self.skipped
                    .push((path.as_str().into(), "its target is not UTF-8"));
                return Ok(());
            };
            File::new(target.as_bytes(), FileMode::Symlink)
        } else if metadata.is_file() {
            let room = MAX_BYTES.saturating_sub(self.repo.total_bytes());
            if metadata.len() > room {
                bail!("the repository is larger than 4 GiB; leave large files out with .gitignore");
            }
            let mut bytes = Vec::new();
            dir.open(name)
                .with_context(context)?
                .take(room)
                .read_to_end(&mut bytes)
                .with_context(context)?;
            File::new(bytes, mode(metadata))
        } else {
            self.skipped
                .push((path.as_str().into(), "it is a device, a pipe or a socket"));
            return Ok(());
        };
        if self.repo.len() >= MAX_FILES {
            bail!("the repository has more than {MAX_FILES} files");
        }
        self.repo
            .insert(path, file)
            .map_err(|error| anyhow!("{error}"))
    }
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> FileMode {
    use cap_std::fs::PermissionsExt as _;
    if metadata.permissions().mode() & 0o111 == 0 {
        FileMode::Regular
    } else {
        FileMode::Executable
    }
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> FileMode {
    FileMode::Regular
}

/// The rules of a folder's own `.gitignore`. Lines that are not valid patterns are passed
/// over, as git does.
fn gitignore(dir: &Dir, path: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(path);
    let is_file = dir
        .symlink_metadata(".gitignore")
        .is_ok_and(|metadata| metadata.is_file());
    if is_file && let Ok(text) = dir.read_to_string(".gitignore") {
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The innermost rule that says anything decides.
fn is_ignored(rules: &[Gitignore], path: &Path, is_folder: bool) -> bool {
    rules
        .iter()
        .rev()
        .map(|rules| rules.matched(path, is_folder))
        .find(|found| !found.is_none())
        .is_some_and(|found| found.is_ignore())
}
