//! Reading the whole tree.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use probity_core::repo::FileMode;
use probity_worktree::{Ignored, Loaded, Worktree};

use crate::scene::{Scene, path};

fn names(loaded: &Loaded) -> Vec<String> {
    let files = loaded.repo.files();
    files.iter().map(|(path, _)| path.to_string()).collect()
}

#[test]
fn ignored_files_are_left_out_unless_asked_for() {
    let scene = Scene::empty();
    for (name, text) in [
        (".gitignore", "*.log\nbuild/\n!keep.log\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/out", ""),
        ("sub/.gitignore", "/only-here\n"),
        ("sub/only-here", ""),
        ("sub/deeper/only-here", ""),
        (".git/config", ""),
        ("sub/.git", "gitdir: x"),
    ] {
        scene.write(name, text);
    }
    let worktree = scene.worktree();
    assert_eq!(
        names(&worktree.load(Ignored::LeaveOut).unwrap()),
        [
            ".gitignore",
            "keep.log",
            "sub/.gitignore",
            "sub/deeper/only-here"
        ]
    );
    assert_eq!(
        names(&worktree.load(Ignored::Include).unwrap()),
        [
            ".gitignore",
            "a.log",
            "build/out",
            "keep.log",
            "sub/.gitignore",
            "sub/deeper/only-here",
            "sub/only-here"
        ]
    );
}

#[test]
fn modes_and_links_are_read_and_nothing_is_followed() {
    let scene = Scene::empty();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    scene.write("run", "x");
    scene.chmod("run", 0o755);
    symlink(outside.path(), scene.path("folder")).unwrap();
    symlink("run", scene.path("link")).unwrap();
    let repo = scene.worktree().load(Ignored::LeaveOut).unwrap().repo;
    let mode = |name: &str| repo.get(&path(name)).unwrap().mode();
    assert_eq!(repo.len(), 3);
    assert_eq!(mode("run"), FileMode::Executable);
    assert_eq!(
        (mode("link"), mode("folder")),
        (FileMode::Symlink, FileMode::Symlink)
    );
    assert_eq!(repo.get(&path("link")).unwrap().bytes(), b"run");
}

#[test]
fn what_cannot_be_part_of_a_tree_is_named() {
    let scene = Scene::empty();
    scene.write("aux", "");
    scene.write("fine", "");
    scene.write(".probity-journal/hidden", "");
    let raw = std::ffi::OsStr::from_bytes(b"\xff");
    fs::write(scene.folder.path().join(raw), "").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    let loaded = scene.worktree().load(Ignored::LeaveOut).unwrap();
    assert_eq!(names(&loaded), ["fine"]);
    let skipped: Vec<_> = loaded
        .skipped
        .iter()
        .map(|skipped| skipped.path.as_os_str())
        .collect();
    let expected = [b".probity-journal".as_slice(), b"aux", b"socket", b"\xff"];
    assert_eq!(skipped, expected.map(std::ffi::OsStr::from_bytes));
}

#[test]
fn folders_nested_too_deep_are_named() {
    let scene = Scene::empty();
    let deep = vec!["d"; 300].join("/");
    scene.write(&format!("{deep}/file"), "");
    let loaded = scene.worktree().load(Ignored::LeaveOut).unwrap();
    assert_eq!((loaded.repo.len(), loaded.skipped.len()), (0, 1));
}

#[test]
fn only_a_folder_can_be_opened() {
    let scene = Scene::empty();
    scene.write("file", "");
    assert!(Worktree::open(&scene.path("file")).is_err());
    assert!(Worktree::open(&scene.path("absent")).is_err());
}
