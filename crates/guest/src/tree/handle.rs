//! The handle through which a check reads the repository.
//!
//! **Invariants.** Paths are relative, with `/` between their parts and without `.`,
//! `..`, empty parts, backslashes or NUL; symbolic links are seen but never followed,
//! neither at the end of a path nor within it; listings are sorted by the bytes of the
//! whole path; entries, depth and bytes per file are bounded. This is the only module
//! that touches the filesystem, and it only reads.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::content::Content;
use crate::finding::{Place, Report};
use crate::tree::{EntryKind, TreeError};

/// Bounds on what a check reads.
#[derive(Clone, Copy, Debug)]
pub struct TreeLimits {
    /// Entries of all folders together; default 1,000,000.
    pub entries: usize,
    /// Levels of folders; default 256.
    pub depth: usize,
    /// Bytes of one file; default 32 MiB.
    pub file_bytes: u64,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            depth: 256,
            file_bytes: 32 * 1024 * 1024,
        }
    }
}

/// A handle on the repository under test.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    limits: TreeLimits,
    files: OnceCell<Vec<String>>,
}

impl Tree {
    /// Where a sandbox mounts the repository.
    pub const MOUNT: &'static str = "/repo";

    /// Opens the tree at `root` with the default limits; reads nothing yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::with_limits(root, TreeLimits::default())
    }

    /// Opens the tree at `root`; reads nothing yet.
    pub fn with_limits(root: impl Into<PathBuf>, limits: TreeLimits) -> Self {
        Self {
            root: root.into(),
            limits,
            files: OnceCell::new(),
        }
    }

    /// The paths of all regular files, sorted by their bytes.
    ///
    /// # Errors
    /// When a limit is passed, a name is not UTF-8 or a folder cannot be listed.
    pub fn files(&self) -> Result<&[String], TreeError> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let files = self.walk()?;
        Ok(self.files.get_or_init(|| files))
    }

    /// What is at `path`; nothing when a part before the last is not a folder.
    ///
    /// # Errors
    /// When the path is malformed or the system refuses.
    pub fn kind(&self, path: &str) -> Result<Option<EntryKind>, TreeError> {
        Ok(self
            .metadata(path)?
            .map(|found| EntryKind::of(found.file_type())))
    }

    /// The size in bytes of the regular file at `path`.
    ///
    /// # Errors
    /// When the path is malformed, no regular file is there or the system refuses.
    pub fn size(&self, path: &str) -> Result<u64, TreeError> {
        let missing = || TreeError::Missing {
            path: path.to_owned(),
        };
        let found = self.metadata(path)?.ok_or_else(missing)?;
        match EntryKind::of(found.file_type()) {
            EntryKind::File => Ok(found.len()),
            kind @ (EntryKind::Folder | EntryKind::Link | EntryKind::Other) => {
                Err(TreeError::NotAFile {
                    path: path.to_owned(),
                    kind,
                })
            }
        }
    }

    /// The bytes of the regular file at `path`.
    ///
    /// # Errors
    /// When the path is malformed, no regular file is there, it is larger than the
    /// limit or the system refuses.
    pub fn read(&self, path: &str) -> Result<Content, TreeError> {
        let limit = self.limits.file_bytes;
        let size = self.size(path)?;
        if size > limit {
            return Err(TreeError::TooLarge {
                path: path.to_owned(),
                size,
                limit,
            });
        }
        Ok(Content::new(self.read_start(path, size)?))
    }

    /// Like [`Tree::read`], but what is the file's own fault becomes an error finding.
    ///
    /// # Errors
    /// When the path is malformed or the system refuses.
    pub fn read_or_report(
        &self,
        path: &str,
        report: &mut Report,
    ) -> Result<Option<Content>, TreeError> {
        match self.read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.blames_the_file() => {
                report.error(Place::file(path), error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// At most the first `most` bytes of the file at `path`.
    ///
    /// # Errors
    /// When the path is malformed or the system refuses.
    pub(crate) fn read_start(&self, path: &str, most: u64) -> Result<Vec<u8>, TreeError> {
        let fail = |source| TreeError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(self.locate(path)?).map_err(fail)?;
        let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or_default());
        file.take(most).read_to_end(&mut bytes).map_err(fail)?;
        Ok(bytes)
    }

    fn walk(&self) -> Result<Vec<String>, TreeError> {
        let mut files = Vec::new();
        let mut seen = 0_usize;
        let mut open = vec![(String::new(), 0_usize)];
        while let Some((folder, depth)) = open.pop() {
            if depth > self.limits.depth {
                return Err(TreeError::TooDeep {
                    path: folder,
                    limit: self.limits.depth,
                });
            }
            let fail = |source| TreeError::Io {
                path: folder.clone(),
                source,
            };
            for entry in fs::read_dir(self.root.join(&folder)).map_err(fail)? {
                let entry = entry.map_err(fail)?;
                seen = seen.saturating_add(1);
                if seen > self.limits.entries {
                    return Err(TreeError::TooManyEntries {
                        limit: self.limits.entries,
                    });
                }
                let Ok(name) = entry.file_name().into_string() else {
                    return Err(TreeError::NotUtf8 { path: folder });
                };
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                match EntryKind::of(entry.file_type().map_err(fail)?) {
                    EntryKind::File => files.push(path),
                    EntryKind::Folder => open.push((path, depth.saturating_add(1))),
                    EntryKind::Link | EntryKind::Other => {}
                }
            }
        }
        files.sort_unstable();
        Ok(files)
    }

    /// Metadata of the entry itself, provided that only folders lead to it.
    fn metadata(&self, path: &str) -> Result<Option<fs::Metadata>, TreeError> {
        let full = self.locate(path)?;
        let mut above: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        above.pop();
        for part in above.into_iter().rev() {
            match look(&self.root.join(part), path)? {
                Some(found) if found.is_dir() => {}
                Some(_) | None => return Ok(None),
            }
        }
        look(&full, path)
    }

    fn locate(&self, path: &str) -> Result<PathBuf, TreeError> {
        let reason = if path.is_empty() {
            Some("is empty")
        } else if path.starts_with('/') {
            Some("is absolute; paths start at the root of the repository")
        } else if path.contains(['\\', '\0']) {
            Some("holds a backslash or a NUL")
        } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            Some("holds an empty part, `.` or `..`")
        } else {
            None
        };
        match reason {
            Some(reason) => Err(TreeError::BadPath {
                path: path.to_owned(),
                reason,
            }),
            None => Ok(self.root.join(path)),
        }
    }
}

fn look(full: &Path, path: &str) -> Result<Option<fs::Metadata>, TreeError> {
    match fs::symlink_metadata(full) {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(TreeError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let full = folder.path().join(path);
            fs::create_dir_all(full.parent().expect("a parent")).expect("folders");
            fs::write(full, text).expect("a file");
        }
        let tree = Tree::new(folder.path());
        (folder, tree)
    }

    #[test]
    fn files_are_sorted_by_their_whole_path() {
        let (_folder, tree) = tree(&[
            ("b", ""),
            ("a/z", ""),
            ("a.txt", ""),
            ("a/b/c", ""),
            (".hidden", ""),
        ]);
        assert_eq!(
            tree.files().expect("a listing"),
            [".hidden", "a.txt", "a/b/c", "a/z", "b"]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_seen_but_never_followed() {
        let (_secret, outside) = tree(&[("secret", "s")]);
        let (folder, tree) = tree(&[("file", "f")]);
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, folder.path().join(name)).expect("a link");
        };
        link(&outside.root, "out");
        link(&outside.root.join("secret"), "leak");
        link(Path::new("file"), "inner");
        assert_eq!(tree.files().expect("a listing"), ["file"]);
        assert_eq!(tree.kind("leak").expect("a kind"), Some(EntryKind::Link));
        assert_eq!(tree.kind("out/secret").expect("a kind"), None);
        for path in ["leak", "inner", "out"] {
            assert!(
                matches!(
                    tree.read(path),
                    Err(TreeError::NotAFile {
                        kind: EntryKind::Link,
                        ..
                    })
                ),
                "{path}"
            );
        }
        assert!(matches!(
            tree.read("out/secret"),
            Err(TreeError::Missing { .. })
        ));
    }

    #[test]
    fn malformed_paths_are_refused_before_any_look() {
        let (_folder, tree) = tree(&[]);
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "./a",
            "a/",
            "a\\b",
            "a\0b",
        ] {
            assert!(
                matches!(tree.kind(path), Err(TreeError::BadPath { .. })),
                "{path:?}"
            );
            assert!(
                matches!(tree.read(path), Err(TreeError::BadPath { .. })),
                "{path:?}"
            );
        }
    }

    #[test]
    fn what_is_not_a_file_is_told_apart() {
        let (_folder, tree) = tree(&[("dir/file", "text")]);
        assert_eq!(tree.read("dir/file").expect("a file").bytes(), b"text");
        assert_eq!(tree.size("dir/file").expect("a size"), 4);
        assert_eq!(tree.kind("dir/file/below").expect("a kind"), None);
        assert!(matches!(
            tree.read("dir"),
            Err(TreeError::NotAFile {
                kind: EntryKind::Folder,
                ..
            })
        ));
        let mut report = Report::new();
        assert!(
            tree.read_or_report("none", &mut report)
                .expect("a finding")
                .is_none()
        );
        assert_eq!(
            report
                .findings()
                .first()
                .map(|found| found.message.as_str()),
            Some("does not exist")
        );
    }

    #[test]
    fn every_limit_can_be_tripped() {
        let (folder, _) = tree(&[("a/b/c/file", "12345"), ("other", "")]);
        let with = |entries, depth, file_bytes| {
            Tree::with_limits(
                folder.path(),
                TreeLimits {
                    entries,
                    depth,
                    file_bytes,
                },
            )
        };
        assert!(with(5, 3, 5).files().is_ok());
        assert!(matches!(
            with(4, 3, 5).files(),
            Err(TreeError::TooManyEntries { limit: 4 })
        ));
        assert!(matches!(
            with(5, 2, 5).files(),
            Err(TreeError::TooDeep { limit: 2, .. })
        ));
        assert!(with(5, 3, 5).read("a/b/c/file").is_ok());
        assert!(matches!(
            with(5, 3, 4).read("a/b/c/file"),
            Err(TreeError::TooLarge {
                size: 5,
                limit: 4,
                ..
            })
        ));
    }
}
