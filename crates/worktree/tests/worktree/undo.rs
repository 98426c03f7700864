//! What others do while a commit is interrupted is never lost.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use probity_core::patch::Patch;
use probity_worktree::{CommitError, Fault, Left, LoadError, RecoverError, Recovery, Worktree};

use crate::scene::{Git, Scene, apply, commit, create, delete, planned, replace};

const FOLDER: &str = "PROBITY_TEST_READ_ONLY";

/// An interrupted commit of `patch`: all is in place, but the mark is missing.
fn interrupted(patch: &Patch) -> Scene {
    let probe = Scene::new(Git::Absent);
    let plan = planned(&probe, patch);
    let mut last = None;
    for step in 0.. {
        let scene = Scene::new(Git::Absent);
        if commit(&scene.faulty(Fault::Crash(step)), &plan).is_ok() {
            break;
        }
        last = Some(scene);
    }
    last.unwrap()
}

fn recover(scene: &Scene) -> Result<Recovery, RecoverError> {
    let worktree = scene.worktree();
    let lock = worktree.lock().unwrap();
    worktree.recover(&lock)
}

fn left(scene: &Scene) -> Vec<Left> {
    match recover(scene) {
        Err(RecoverError::Left { left }) => left,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_interrupted_tree_is_not_read_and_not_changed() {
    let patch = Patch::new(vec![replace("x", "new\n")]);
    let scene = interrupted(&patch);
    let worktree = scene.worktree();
    let lock = worktree.lock().unwrap();
    let loaded = worktree.load(probity_worktree::Ignored::LeaveOut);
    assert!(matches!(loaded, Err(LoadError::Interrupted)));
    assert!(matches!(
        worktree.load_for(&patch),
        Err(LoadError::Interrupted)
    ));
    let plan = planned(&Scene::new(Git::Absent), &patch);
    drop(lock);
    assert!(matches!(
        commit(&worktree, &plan),
        Err(CommitError::Interrupted)
    ));
}

#[test]
fn an_edited_file_that_others_changed_is_left_and_named() {
    let scene = interrupted(&Patch::new(vec![
        replace("edit/plain.txt", "new\n"),
        replace("x", "new\n"),
    ]));
    scene.write("edit/plain.txt", "by hand\n");
    let found = left(&scene);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path.as_str(), "edit/plain.txt");
    let kept = found[0].kept.clone().unwrap();
    assert_eq!(fs::read(scene.path(&kept)).unwrap(), b"one\n");
    assert_eq!(
        fs::read(scene.path("edit/plain.txt")).unwrap(),
        b"by hand\n"
    );
    assert_eq!(
        fs::read(scene.path("x")).unwrap(),
        b"x\n",
        "the rest is put back"
    );
    // Moved out of the way, it is kept, and the old file comes back.
    fs::rename(scene.path("edit/plain.txt"), scene.path("edit/mine")).unwrap();
    assert_eq!(recover(&scene).unwrap(), Recovery::Undone);
    assert_eq!(fs::read(scene.path("edit/plain.txt")).unwrap(), b"one\n");
    assert_eq!(fs::read(scene.path("edit/mine")).unwrap(), b"by hand\n");
}

#[test]
fn an_old_content_that_was_put_back_by_hand_is_accepted() {
    let scene = interrupted(&Patch::new(vec![replace("x", "new\n"), delete("y")]));
    scene.write("x", "x\n");
    scene.write("y", "y\n");
    assert_eq!(recover(&scene).unwrap(), Recovery::Undone);
    let strays = scene.picture();
    assert!(
        strays
            .keys()
            .all(|path| !path.to_str().unwrap().contains("probity"))
    );
}

#[test]
fn a_created_file_that_others_changed_is_left_and_named() {
    let scene = interrupted(&Patch::new(vec![create("new/f", "new\n")]));
    // Written to in place.
    fs::write(scene.path("new/f"), "by hand\n").unwrap();
    let found = left(&scene);
    assert_eq!(found[0].path.as_str(), "new/f");
    assert_eq!(fs::read(scene.path("new/f")).unwrap(), b"by hand\n");
    fs::rename(scene.path("new/f"), scene.path("mine")).unwrap();
    assert_eq!(recover(&scene).unwrap(), Recovery::Undone);
    assert_eq!(fs::read(scene.path("mine")).unwrap(), b"by hand\n");
    assert!(!scene.path("new").exists());
    // Replaced by another file.
    let scene = interrupted(&Patch::new(vec![create("new/f", "new\n")]));
    fs::remove_file(scene.path("new/f")).unwrap();
    scene.write("new/f", "by hand\n");
    assert_eq!(recover(&scene).unwrap(), Recovery::Undone);
    assert_eq!(fs::read(scene.path("new/f")).unwrap(), b"by hand\n");
}

#[test]
fn a_deleted_file_whose_place_is_taken_is_left_and_named() {
    let scene = interrupted(&Patch::new(vec![delete("y")]));
    scene.write("y", "by hand\n");
    let found = left(&scene);
    let kept = found[0].kept.clone().unwrap();
    assert_eq!(fs::read(scene.path(&kept)).unwrap(), b"y\n");
    assert_eq!(fs::read(scene.path("y")).unwrap(), b"by hand\n");
}

/// In the child: a commit by somebody who is not root.
#[test]
fn child_commits_in_a_read_only_folder() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let worktree = Worktree::open(folder.as_ref()).unwrap();
    let patch = Patch::new(vec![
        replace("a/first", "new\n"),
        create("b/made/new", "new\n"),
        replace("z/locked", "new\n"),
    ]);
    let error = apply(&worktree, &patch).unwrap_err();
    let CommitError::Io { source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
fn a_read_only_folder_leaves_everything_as_it_was() {
    let scene = Scene::empty();
    for name in ["a/first", "b/second", "z/locked"] {
        scene.write(name, "old\n");
    }
    // Root may write everywhere, so somebody else does it, who must be able to start us.
    let program = tempfile::tempdir().unwrap();
    let copy = program.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut command = Command::new(&copy);
    command
        .args(["--exact", "undo::child_commits_in_a_read_only_folder"])
        .current_dir("/")
        .env(FOLDER, scene.folder.path());
    let nobody = 65_534;
    let all = ["", "a", "b", "z", "a/first", "b/second", "z/locked"];
    let is_root = all
        .iter()
        .all(|name| std::os::unix::fs::chown(scene.path(name), Some(nobody), Some(nobody)).is_ok());
    if is_root {
        std::os::unix::fs::chown(program.path(), Some(nobody), None).unwrap();
        command.uid(nobody).gid(nobody);
    }
    scene.chmod("z", 0o555);
    let before = scene.picture();
    // A child that another test is just starting may still hold the copy open for writing.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            output => break output.unwrap(),
        }
    };
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scene.picture(), before);
    scene.chmod("z", 0o755);
}
