//! Others write to the tree in the middle of a commit, without taking the lock.
//!
//! Whatever they write is still there afterwards, and so it is when they write while an
//! interrupted commit is taken back.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use probity_core::patch::Patch;
use probity_worktree::{CommitError, Fault, LeftReason, RecoverError, Recovery};

use crate::scene::{Git, Scene, commit, create, delete, everything, planned, replace as replaced};

const THEIRS: &str = "TWO\n";

thread_local! {
    static PLACE: RefCell<PathBuf> = RefCell::default();
}

/// Writes to the file, or makes it, in place.
fn write() {
    PLACE.with_borrow(|place| fs::write(place, THEIRS)).unwrap();
}

/// Moves another file to the place.
fn replace() {
    PLACE.with_borrow(|place| {
        let new = place.with_extension("theirs");
        fs::write(&new, THEIRS).unwrap();
        fs::rename(new, place).unwrap();
    });
}

/// Meddles with `file` before each step; returns in how many cases what others wrote is
/// lost, and how often the commit was refused.
fn meddle_everywhere(file: &str, meddle: fn()) -> (usize, usize) {
    let plan = planned(&Scene::new(Git::Absent), &everything());
    let (mut lost, mut refused) = (0, 0);
    for step in 0.. {
        let scene = Scene::new(Git::Absent);
        let mut old = scene.picture();
        PLACE.set(scene.path(file));
        let worktree = scene.faulty(Fault::Meddling(step, meddle));
        let outcome = commit(&worktree, &plan);
        if worktree.steps_taken() <= step {
            outcome.unwrap();
            break;
        }
        let mut found = scene.picture();
        let is_there = found.values().any(|(_, text)| text == THEIRS.as_bytes());
        lost += usize::from(!is_there);
        let context = format!("{file}, step {step}: {outcome:?}");
        let names = found
            .keys()
            .filter(|path| path.to_str().unwrap().contains("probity"));
        assert_eq!(names.count(), 0, "{context}");
        match outcome {
            Ok(()) => {}
            Err(CommitError::Stale { .. }) => {
                refused += 1;
                assert!(is_there, "{context}");
                old.remove(file.as_ref() as &std::path::Path);
                found.remove(file.as_ref() as &std::path::Path);
                assert_eq!(found, old, "{context}");
            }
            Err(_) => panic!("{context}"),
        }
    }
    (lost, refused)
}

#[test]
fn an_edited_file_loses_no_write() {
    for meddle in [write, replace] {
        let (lost, refused) = meddle_everywhere("edit/plain.txt", meddle);
        assert_eq!(lost, 0);
        assert!(refused > 10, "{refused}");
    }
}

#[test]
fn a_deleted_file_loses_no_write() {
    for meddle in [write, replace] {
        let (lost, refused) = meddle_everywhere("old-name", meddle);
        assert_eq!(lost, 0);
        assert!(refused > 10, "{refused}");
    }
}

#[test]
fn a_created_file_never_takes_the_place_of_another() {
    let (lost, refused) = meddle_everywhere("top", write);
    assert_eq!(lost, 0);
    assert!(refused > 10, "{refused}");
}

/// Makes a folder with something in it of the place.
fn to_folder() {
    PLACE.with_borrow(|place| {
        let _ = fs::remove_file(place);
        fs::create_dir(place).unwrap();
        fs::write(place.join("theirs"), THEIRS).unwrap();
    });
}

fn make_private() {
    PLACE.with_borrow(|place| {
        fs::set_permissions(place, fs::Permissions::from_mode(0o600)).unwrap();
    });
}

/// Runs a commit of `patch` once for every step, with `meddle` at `file` before it.
fn at_every_step(patch: &Patch, file: &str, meddle: fn(), look: impl Fn(&Scene, &str)) {
    let plan = planned(&Scene::new(Git::Absent), patch);
    for step in 0.. {
        let scene = Scene::new(Git::Absent);
        PLACE.set(scene.path(file));
        let worktree = scene.faulty(Fault::Meddling(step, meddle));
        let outcome = commit(&worktree, &plan);
        if worktree.steps_taken() <= step {
            break;
        }
        let context = format!("step {step}: {outcome:?}");
        assert!(
            matches!(outcome, Ok(()) | Err(CommitError::Stale { .. })),
            "{context}"
        );
        look(&scene, &context);
    }
}

#[test]
fn a_folder_in_the_place_of_an_edited_file_stays() {
    let patch = Patch::new(vec![
        replaced("x", "new\n"),
        replaced("edit/plain.txt", "new\n"),
    ]);
    at_every_step(&patch, "x", to_folder, |scene, context| {
        let found = scene.picture();
        assert!(scene.path("x/theirs").exists(), "{context}");
        let strays = found
            .keys()
            .filter(|path| path.to_str().unwrap().contains("probity"));
        assert_eq!(strays.count(), 0, "{context}");
    });
}

#[test]
fn permissions_that_others_take_away_are_not_given_back() {
    let patch = Patch::new(vec![replaced("x", "new\n")]);
    at_every_step(&patch, "x", make_private, |scene, context| {
        let mode = fs::metadata(scene.path("x")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{context}");
    });
}

/// A tree in which a commit died just before its mark.
fn interrupted(patch: &Patch) -> Scene {
    let plan = planned(&Scene::new(Git::Absent), patch);
    let mut last = None;
    for step in 0.. {
        let scene = Scene::new(Git::Absent);
        if commit(&scene.faulty(Fault::Crash(step)), &plan).is_ok() {
            break;
        }
        if scene.path(".probity-journal/journal.json").exists() {
            last = Some(scene);
        }
    }
    last.unwrap()
}

fn recover(scene: &Scene) -> Result<Recovery, RecoverError> {
    let worktree = scene.worktree();
    let lock = worktree.lock().unwrap();
    worktree.recover(&lock)
}

#[test]
fn recovery_takes_nothing_of_others_away() {
    let patch = Patch::new(vec![
        replaced("x", "new\n"),
        create("made", "new\n"),
        delete("y"),
    ]);
    for file in ["x", "made", "y"] {
        for step in 0.. {
            let scene = interrupted(&patch);
            PLACE.set(scene.path(file));
            let worktree = scene.faulty(Fault::Meddling(step, replace));
            let lock = worktree.lock().unwrap();
            let outcome = worktree.recover(&lock);
            if worktree.steps_taken() <= step {
                break;
            }
            let found = scene.picture();
            let is_there = found.values().any(|(_, text)| text == THEIRS.as_bytes());
            assert!(is_there, "{file}, step {step}: {outcome:?}");
        }
    }
}

#[test]
fn a_write_with_the_same_time_and_size_is_seen() {
    let scene = interrupted(&Patch::new(vec![
        replaced("x", "new\n"),
        create("made", "new\n"),
    ]));
    for name in ["x", "made"] {
        let path = scene.path(name);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, THEIRS).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    }
    let error = recover(&scene).unwrap_err();
    let RecoverError::Left { left } = error else {
        panic!("{error}");
    };
    assert_eq!(left.len(), 2, "{left:?}");
    for name in ["x", "made"] {
        assert_eq!(fs::read_to_string(scene.path(name)).unwrap(), THEIRS);
    }
}

#[test]
fn a_touch_after_the_crash_changes_nothing() {
    let patch = Patch::new(vec![
        replaced("x", "new\n"),
        replaced("edit/plain.txt", "new\n"),
    ]);
    let plan = planned(&Scene::new(Git::Absent), &patch);
    let old = Scene::new(Git::Absent).picture();
    let new = {
        let scene = Scene::new(Git::Absent);
        commit(&scene.worktree(), &plan).unwrap();
        scene.picture()
    };
    for step in 0.. {
        let scene = Scene::new(Git::Absent);
        if commit(&scene.faulty(Fault::Crash(step)), &plan).is_ok() {
            break;
        }
        for path in scene.picture().keys() {
            let path = scene.path(path.to_str().unwrap());
            if path.is_file() {
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(std::time::SystemTime::now()).unwrap();
            }
        }
        recover(&scene).unwrap();
        let found = scene.picture();
        assert!(found == old || found == new, "step {step}: {found:?}");
    }
}

#[test]
fn an_old_content_that_was_taken_away_is_named_once() {
    let patch = Patch::new(vec![
        replaced("edit/plain.txt", "new\n"),
        replaced("x", "new\n"),
    ]);
    let scene = interrupted(&patch);
    for entry in fs::read_dir(scene.path("")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with(".probity-") && name.ends_with(".new") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let error = recover(&scene).unwrap_err();
    let RecoverError::Left { left } = error else {
        panic!("{error}");
    };
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].path.as_str(), "x");
    assert!(matches!(left[0].reason, LeftReason::Gone));
    let text = fs::read_to_string(scene.path("edit/plain.txt")).unwrap();
    assert_eq!(text, "one\n", "the other file was put back");
    assert_eq!(recover(&scene).unwrap(), Recovery::Nothing);
}
