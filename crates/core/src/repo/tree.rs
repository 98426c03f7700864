//! The repository as a persistent ordered tree.
//!
//! Folders are shared between snapshots and copied only along the path of a change, so a
//! snapshot is O(1) and a change costs O(depth · log entries). Every folder caches its
//! digest, so the digest of a changed tree costs only the changed folders.
//!
//! Invariants: no empty folder below the root; names are parts of a valid [`RepoPath`].
//! Deliberately absent: timestamps and owners; they are no part of what is judged.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use imbl::OrdMap;

use super::{File, RepoPath};
use crate::Digest;

/// The tree under test: every file by its path.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Repo {
    root: Arc<Directory>,
}

/// A frozen state of a [`Repo`].
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot(Arc<Directory>);

/// One folder of the tree.
#[derive(Clone, Default)]
pub struct Directory {
    entries: OrdMap<Arc<str>, Child>,
    files: usize,
    bytes: u64,
    digest: OnceLock<Digest>,
}

/// What a name in a folder stands for.
#[derive(Clone, PartialEq, Eq)]
pub enum Child {
    /// A file or link.
    File(File),
    /// A folder.
    Directory(Arc<Directory>),
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular or executable file.
    File,
    /// A symbolic link.
    Symlink,
    /// A folder with at least one file below it.
    Directory,
}

/// A file cannot stand where it was to be put.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// The path is a folder.
    #[error("`{path}` is a folder")]
    IsDirectory {
        /// The path of the file that was to be put.
        path: RepoPath,
    },
    /// A parent of the path is a file or a link.
    #[error("`{path}` cannot exist: `{parent}` is not a folder")]
    ParentNotDirectory {
        /// The path of the file that was to be put.
        path: RepoPath,
        /// The parent that is a file or link.
        parent: RepoPath,
    },
}

/// Paths that some file systems cannot tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// Two or more paths that differ only in case or Unicode normalisation, sorted.
    pub paths: Vec<RepoPath>,
}

impl Repo {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The root folder.
    #[must_use]
    pub fn root(&self) -> &Arc<Directory> {
        &self.root
    }

    /// The file or link at `path`.
    #[must_use]
    pub fn get(&self, path: &RepoPath) -> Option<&File> {
        match self.child(path)? {
            Child::File(file) => Some(file),
            Child::Directory(_) => None,
        }
    }

    /// What stands at `path`, if anything.
    #[must_use]
    pub fn kind(&self, path: &RepoPath) -> Option<Kind> {
        Some(match self.child(path)? {
            Child::File(file) if file.mode() == super::FileMode::Symlink => Kind::Symlink,
            Child::File(_) => Kind::File,
            Child::Directory(_) => Kind::Directory,
        })
    }

    fn child(&self, path: &RepoPath) -> Option<&Child> {
        let mut directory = &self.root;
        let mut parts = path.parts().peekable();
        while let Some(part) = parts.next() {
            let child = directory.entries.get(part)?;
            if parts.peek().is_none() {
                return Some(child);
            }
            match child {
                Child::Directory(next) => directory = next,
                Child::File(_) => return None,
            }
        }
        None
    }

    /// The first symbolic link on the way to `path`, or at its end.
    #[must_use]
    pub fn link_on_the_way(&self, path: &RepoPath) -> Option<RepoPath> {
        let (end, file) = self.first_file(path)?;
        let is_link = file.mode() == super::FileMode::Symlink;
        let at = path.as_str().get(..end).filter(|_| is_link)?;
        RepoPath::new(at).ok()
    }

    /// The first file, or link, that stands where a folder should lead to `path`.
    #[must_use]
    pub fn file_on_the_way(&self, path: &RepoPath) -> Option<RepoPath> {
        let (end, _) = self.first_file(path)?;
        let at = path.as_str().get(..end)?;
        (end < path.as_str().len()).then(|| RepoPath::new(at).ok())?
    }

    /// The first file or link along `path`, and how many bytes of the path lead to it.
    fn first_file(&self, path: &RepoPath) -> Option<(usize, &File)> {
        let mut directory = &self.root;
        let mut end = 0_usize;
        for part in path.parts() {
            end = end.saturating_add(part.len());
            match directory.entries.get(part)? {
                Child::Directory(next) => directory = next,
                Child::File(file) => return Some((end, file)),
            }
            end = end.saturating_add(1);
        }
        None
    }

    /// Whether both are the same tree in memory; `false` says nothing.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// Puts `file` at `path`, replacing a file that stands there.
    ///
    /// # Errors
    /// When `path` is a folder or one of its parents is not; the tree is then unchanged.
    pub fn insert(&mut self, path: &RepoPath, file: File) -> Result<(), InsertError> {
        if self.kind(path) == Some(Kind::Directory) {
            return Err(InsertError::IsDirectory { path: path.clone() });
        }
        if let Some(parent) = path
            .parents()
            .find(|parent| matches!(self.kind(parent), Some(Kind::File | Kind::Symlink)))
        {
            return Err(InsertError::ParentNotDirectory {
                path: path.clone(),
                parent,
            });
        }
        let parts: Vec<&str> = path.parts().collect();
        self.root = self.root.with(&parts, file);
        Ok(())
    }

    /// Takes the file at `path` out of the tree, with folders that become empty.
    pub fn remove(&mut self, path: &RepoPath) -> Option<File> {
        let removed = self.get(path)?.clone();
        let parts: Vec<&str> = path.parts().collect();
        self.root = self.root.without(&parts).unwrap_or_default();
        Some(removed)
    }

    /// Freezes the present state, in O(1).
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Arc::clone(&self.root))
    }

    /// Returns to a frozen state, in O(1).
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.root = Arc::clone(&snapshot.0);
    }

    /// How many files and links the tree holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.files
    }

    /// Whether the tree holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of all contents, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.root.bytes
    }

    /// The id that git gives this tree in a repository with SHA-256 objects
    /// (`git init --object-format=sha256`, `git add -A`, `git write-tree`).
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.root.digest()
    }

    /// Every file with its path, in the order of [`RepoPath`].
    #[must_use]
    pub fn files(&self) -> Vec<(RepoPath, &File)> {
        let mut out = Vec::with_capacity(self.len());
        collect(&self.root, None, &mut out);
        out
    }

    /// The paths whose files differ between `self` and `other`, sorted. Folders that the
    /// two share are not entered.
    #[must_use]
    pub fn changed_paths(&self, other: &Repo) -> Vec<RepoPath> {
        let mut out = Vec::new();
        differences(Some(&self.root), Some(&other.root), None, &mut out);
        out.sort();
        out
    }

    /// Groups of paths that a case-ignoring or normalising file system would merge.
    #[must_use]
    pub fn collisions(&self) -> Vec<Collision> {
        let mut groups: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
        for (path, _) in self.files() {
            groups.entry(path.folded()).or_default().push(path);
        }
        groups
            .into_values()
            .filter(|paths| paths.len() > 1)
            .map(|paths| Collision { paths })
            .collect()
    }
}

fn collect<'a>(
    directory: &'a Directory,
    prefix: Option<&RepoPath>,
    out: &mut Vec<(RepoPath, &'a File)>,
) {
    for (name, child) in directory.entries() {
        let path = RepoPath::below(prefix, name);
        match child {
            Child::File(file) => out.push((path, file)),
            Child::Directory(directory) => collect(directory, Some(&path), out),
        }
    }
}

fn differences(
    left: Option<&Arc<Directory>>,
    right: Option<&Arc<Directory>>,
    prefix: Option<&RepoPath>,
    out: &mut Vec<RepoPath>,
) {
    if let (Some(left), Some(right)) = (left, right)
        && Arc::ptr_eq(left, right)
    {
        return;
    }
    let get = |directory: Option<&Arc<Directory>>, name: &str| {
        directory.and_then(|directory| directory.entries.get(name).cloned())
    };
    let mut names: Vec<Arc<str>> = [left, right]
        .into_iter()
        .flatten()
        .flat_map(|directory| directory.entries.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    for name in names {
        let (a, b) = (get(left, &name), get(right, &name));
        if a == b {
            continue;
        }
        let path = RepoPath::below(prefix, &name);
        if matches!(a, Some(Child::File(_))) || matches!(b, Some(Child::File(_))) {
            out.push(path.clone());
        }
        let directory = |child: Option<Child>| match child {
            Some(Child::Directory(directory)) => Some(directory),
            Some(Child::File(_)) | None => None,
        };
        let (a, b) = (directory(a), directory(b));
        if a.is_some() || b.is_some() {
            differences(a.as_ref(), b.as_ref(), Some(&path), out);
        }
    }
}

impl Directory {
    /// The entries, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<str>, &Child)> {
        self.entries.iter()
    }

    /// The entry called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Child> {
        self.entries.get(name)
    }

    /// How many entries the folder has itself.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the folder has no entry; true only of an empty tree's root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn with(&self, parts: &[&str], file: File) -> Arc<Self> {
        let Some((name, rest)) = parts.split_first() else {
            return Arc::new(self.clone());
        };
        let child = if rest.is_empty() {
            Child::File(file)
        } else {
            Child::Directory(match self.entries.get(*name) {
                Some(Child::Directory(directory)) => directory.with(rest, file),
                Some(Child::File(_)) | None => Self::default().with(rest, file),
            })
        };
        Arc::new(self.replaced(name, Some(child)))
    }

    /// The folder without the file at `parts`; `None` if nothing is left.
    fn without(&self, parts: &[&str]) -> Option<Arc<Self>> {
        let (name, rest) = parts.split_first()?;
        let child = match self.entries.get(*name)? {
            Child::Directory(directory) if !rest.is_empty() => {
                directory.without(rest).map(Child::Directory)
            }
            Child::File(_) | Child::Directory(_) => None,
        };
        let changed = self.replaced(name, child);
        (!changed.entries.is_empty()).then(|| Arc::new(changed))
    }

    fn replaced(&self, name: &str, child: Option<Child>) -> Self {
        let mut entries = self.entries.clone();
        let (mut files, mut bytes) = (self.files, self.bytes);
        let old = match child {
            Some(child) => {
                files = files.saturating_add(child.files());
                bytes = bytes.saturating_add(child.bytes());
                entries.insert(Arc::from(name), child)
            }
            None => entries.remove(name),
        };
        if let Some(old) = old {
            files = files.saturating_sub(old.files());
            bytes = bytes.saturating_sub(old.bytes());
        }
        Self {
            entries,
            files,
            bytes,
            digest: OnceLock::new(),
        }
    }

    fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            // git sorts a folder as if its name ended in a slash.
            let mut rows: Vec<(String, &str, &str, Digest)> = self
                .entries
                .iter()
                .map(|(name, child)| match child {
                    Child::File(file) => (
                        name.to_string(),
                        file.mode().as_git(),
                        name.as_ref(),
                        file.digest(),
                    ),
                    Child::Directory(directory) => (
                        format!("{name}/"),
                        "40000",
                        name.as_ref(),
                        directory.digest(),
                    ),
                })
                .collect();
            rows.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            let mut body = Vec::new();
            for (_, mode, name, digest) in rows {
                body.extend_from_slice(mode.as_bytes());
                body.push(b' ');
                body.extend_from_slice(name.as_bytes());
                body.push(0);
                body.extend_from_slice(digest.as_bytes());
            }
            let header = format!("tree {}\0", body.len());
            Digest::of_parts([header.as_bytes(), &body])
        })
    }
}

impl Child {
    fn files(&self) -> usize {
        match self {
            Self::File(_) => 1,
            Self::Directory(directory) => directory.files,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::File(file) => u64::try_from(file.bytes().len()).unwrap_or(u64::MAX),
            Self::Directory(directory) => directory.bytes,
        }
    }
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files && self.bytes == other.bytes && self.entries == other.entries
    }
}

impl Eq for Directory {}

impl fmt::Debug for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repo")
            .field("files", &self.len())
            .field("bytes", &self.total_bytes())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("files", &self.0.files)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileMode;
    use super::*;

    fn path(text: &str) -> RepoPath {
        text.parse().unwrap()
    }

    fn repo(files: &[(&str, &str)]) -> Repo {
        let mut repo = Repo::new();
        for (name, text) in files {
            repo.insert(&path(name), File::regular(text.as_bytes()))
                .unwrap();
        }
        repo
    }

    #[test]
    fn a_snapshot_is_a_frozen_witness() {
        let mut tree = repo(&[("a", "1"), ("d/b", "2")]);
        let before = tree.snapshot();
        let digest = tree.digest();
        tree.insert(&path("d/b"), File::regular(*b"changed"))
            .unwrap();
        tree.remove(&path("a"));
        assert_ne!(tree.digest(), digest);
        tree.restore(&before);
        assert_eq!(tree.digest(), digest);
        assert_eq!(tree.get(&path("d/b")).unwrap().bytes(), b"2");
    }

    #[test]
    fn counts_follow_every_change() {
        let mut tree = repo(&[("a", "1"), ("d/b", "22"), ("d/c", "333")]);
        assert_eq!((tree.len(), tree.total_bytes()), (3, 6));
        tree.insert(&path("d/b"), File::regular(*b"4444")).unwrap();
        assert_eq!((tree.len(), tree.total_bytes()), (3, 8));
        tree.remove(&path("d/b"));
        tree.remove(&path("d/c"));
        assert_eq!((tree.len(), tree.total_bytes()), (1, 1));
        assert_eq!(tree.kind(&path("d")), None, "empty folders vanish");
        assert_eq!(tree.remove(&path("d/c")), None);
    }

    #[test]
    fn a_file_never_shadows_a_folder() {
        let mut tree = repo(&[("d/b", "2")]);
        let before = tree.digest();
        assert_eq!(
            tree.insert(&path("d"), File::regular(*b"")),
            Err(InsertError::IsDirectory { path: path("d") })
        );
        assert_eq!(
            tree.insert(&path("d/b/c"), File::regular(*b"")),
            Err(InsertError::ParentNotDirectory {
                path: path("d/b/c"),
                parent: path("d/b")
            })
        );
        assert_eq!(tree.digest(), before);
    }

    #[test]
    fn files_come_in_path_order() {
        let tree = repo(&[("b", ""), ("a.txt", ""), ("a/z", ""), ("a/b/c", "")]);
        let listed: Vec<RepoPath> = tree.files().into_iter().map(|(path, _)| path).collect();
        let mut sorted = listed.clone();
        sorted.sort();
        assert_eq!(listed, sorted);
        assert_eq!(listed.len(), 4);
    }

    #[test]
    fn changed_paths_see_files_that_become_folders() {
        let old = repo(&[("same/x", "1"), ("a", "1"), ("gone", "1")]);
        let mut new = old.clone();
        new.remove(&path("gone"));
        new.remove(&path("a"));
        new.insert(&path("a/b"), File::regular(*b"")).unwrap();
        let changed: Vec<String> = old
            .changed_paths(&new)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(changed, ["a", "a/b", "gone"]);
    }

    #[test]
    fn collisions_are_found_across_folders() {
        let tree = repo(&[("Src/a", ""), ("src/A", ""), ("src/b", "")]);
        assert_eq!(
            tree.collisions(),
            [Collision {
                paths: vec![path("Src/a"), path("src/A")]
            }]
        );
    }

    #[test]
    fn the_digest_is_gits_tree_id() {
        // From `git init --object-format=sha256`, `git add -A`, `git write-tree`.
        assert_eq!(
            Repo::new().digest().to_hex(),
            "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
        );
        let mut tree = repo(&[("a.txt", "hello\n"), ("a/b", "x")]);
        tree.insert(&path("run"), File::new(*b"#!\n", FileMode::Executable))
            .unwrap();
        tree.insert(&path("link"), File::new(*b"a.txt", FileMode::Symlink))
            .unwrap();
        assert_eq!(tree.digest().to_hex(), GIT_TREE);
    }

    const GIT_TREE: &str = "6d9b88a100531a4b6201e00f6265e5b171ea69d40ccabd9fadc3ca0aaea10643";
}
