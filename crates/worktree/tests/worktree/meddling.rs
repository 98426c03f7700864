//! Others write to the tree in the middle of a commit, without taking the lock.
//!
//! Whatever they write is still there afterwards. The one exception, which no file system
//! call avoids, is the instant between the last look at an edited file and the move that
//! replaces it.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use probity_worktree::{CommitError, Fault};

use crate::scene::{Git, Scene, commit, everything, planned};

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
