//! A small repository on disk, a patch that does everything a patch can do, and what a
//! folder looks like.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use probity_core::patch::{Action, Content, FileDiff, Operation, Origin, Patch, Plan, plan};
use probity_core::repo::FileMode;
use probity_core::{Repo, RepoPath};
use probity_worktree::{CommitError, Durability, Fault, Ignored, Stamps, Worktree};

/// What a folder holds: kind and permissions, and the bytes of each file.
pub(crate) type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Which kind of repository it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Git {
    Folder,
    File,
    Absent,
}

/// A repository in a folder of its own.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
}

const FILES: &[(&str, u32, &str)] = &[
    ("edit/plain.txt", 0o644, "one\n"),
    ("edit/private.txt", 0o600, "secret\n"),
    ("edit/run.sh", 0o755, "#!/bin/sh\n"),
    ("edit/untouched", 0o640, "same\n"),
    ("gone/deep/only.txt", 0o644, "last\n"),
    ("mode.sh", 0o664, "#!/bin/sh\necho\n"),
    ("old-name", 0o644, "moved\n"),
    ("swap", 0o644, "a file\n"),
    ("thing/a", 0o644, "a\n"),
    ("thing/sub/b", 0o600, "b\n"),
    ("x", 0o644, "x\n"),
    ("y", 0o755, "y\n"),
];

impl Scene {
    /// A repository with [`everything`]'s files.
    pub(crate) fn new(git: Git) -> Self {
        Self::empty().filled(git)
    }

    /// The same on a real disk.
    pub(crate) fn on_disk(git: Git) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }.filled(git)
    }

    fn filled(self, git: Git) -> Self {
        let scene = self;
        match git {
            Git::Folder => scene.write(".git/HEAD", "ref: refs/heads/main\n"),
            Git::File => scene.write(".git", "gitdir: elsewhere\n"),
            Git::Absent => {}
        }
        for (path, mode, text) in FILES {
            scene.write(path, text);
            scene.chmod(path, *mode);
        }
        scene.chmod("thing", 0o750);
        scene.chmod("thing/sub", 0o700);
        symlink("edit", scene.path("link")).unwrap();
        scene
    }

    /// An empty folder, in memory where the system has one there: thousands of small
    /// trees are made, and what a dead process leaves does not depend on a disk.
    pub(crate) fn empty() -> Self {
        let in_memory = tempfile::tempdir_in("/dev/shm");
        Self {
            folder: in_memory.or_else(|_| tempfile::tempdir()).unwrap(),
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn worktree(&self) -> Worktree {
        Worktree::open(self.folder.path()).unwrap()
    }

    pub(crate) fn faulty(&self, fault: Fault) -> Worktree {
        self.worktree().with_fault(fault)
    }

    pub(crate) fn repo(&self) -> Repo {
        self.worktree().load(Ignored::Include).unwrap().repo
    }

    /// Everything in the folder, `.git` and temporary names too.
    pub(crate) fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        draw(self.folder.path(), Path::new(""), &mut picture);
        picture
    }
}

fn draw(root: &Path, at: &Path, picture: &mut Picture) {
    for entry in fs::read_dir(root.join(at)).unwrap() {
        let path = at.join(entry.unwrap().file_name());
        let full = root.join(&path);
        let metadata = fs::symlink_metadata(&full).unwrap();
        let bytes = if metadata.is_dir() {
            draw(root, &path, picture);
            Vec::new()
        } else if metadata.is_symlink() {
            let target = fs::read_link(&full).unwrap();
            target.into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(&full).unwrap()
        } else {
            Vec::new()
        };
        picture.insert(path, (metadata.mode(), bytes));
    }
}

pub(crate) fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

pub(crate) fn create(at: &str, text: &str) -> Operation {
    create_as(at, text, FileMode::Regular)
}

fn create_as(at: &str, text: &str, mode: FileMode) -> Operation {
    let content = text.as_bytes().into();
    Operation {
        path: path(at),
        action: Action::Create { content, mode },
    }
}

pub(crate) fn replace(at: &str, text: &str) -> Operation {
    Operation {
        path: path(at),
        action: Action::Replace {
            content: text.as_bytes().into(),
        },
    }
}

pub(crate) fn delete(at: &str) -> Operation {
    Operation {
        path: path(at),
        action: Action::Delete {
            expected: None,
            mode: None,
        },
    }
}

pub(crate) fn diff(at: &str, origin: Origin, mode: Option<FileMode>) -> Operation {
    Operation {
        path: path(at),
        action: Action::Diff(FileDiff {
            origin,
            old_mode: None,
            new_mode: mode,
            content: Content::Hunks(Vec::new()),
        }),
    }
}

pub(crate) fn rename(from: &str, to: &str) -> Operation {
    diff(to, Origin::RenamedFrom(path(from)), None)
}

/// A patch that does everything: edits, files in new folders, deletions that empty
/// folders, moves and swaps, modes, a file for a folder and a folder for a file.
pub(crate) fn everything() -> Patch {
    Patch::new(vec![
        replace("edit/plain.txt", "two\n"),
        replace("edit/private.txt", "other\n"),
        replace("edit/run.sh", "#!/bin/sh\nexit\n"),
        delete("gone/deep/only.txt"),
        diff("mode.sh", Origin::Same, Some(FileMode::Executable)),
        rename("old-name", "moved/new-name"),
        delete("swap"),
        create("swap/inner/file", "in a folder\n"),
        delete("thing/a"),
        delete("thing/sub/b"),
        create("thing", "a file now\n"),
        create("new/deep/er/f1", "1\n"),
        create_as("new/deep/er/f2", "2\n", FileMode::Executable),
        create("new/f3", ""),
        create("top", "no folder to make\n"),
        rename("x", "y"),
        rename("y", "x"),
    ])
}

/// Places `patch` on the whole tree.
pub(crate) fn planned(scene: &Scene, patch: &Patch) -> Plan {
    plan(&scene.repo(), patch).unwrap()
}

/// Does all that an apply does.
pub(crate) fn apply(worktree: &Worktree, patch: &Patch) -> Result<(), CommitError> {
    let lock = worktree.lock()?;
    let sparse = worktree.load_for(patch).unwrap();
    let plan = plan(&sparse.repo, patch).unwrap();
    worktree.commit(&lock, &plan, &sparse.stamps, Durability::Process)
}

/// Commits `plan` without any stamps.
pub(crate) fn commit(worktree: &Worktree, plan: &Plan) -> Result<(), CommitError> {
    let lock = worktree.lock()?;
    worktree.commit(&lock, plan, &Stamps::default(), Durability::Process)
}
