//! Journals that nobody should act upon.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use probity_core::repo::JOURNAL_FOLDER;
use probity_worktree::{Fault, JournalProblem, RecoverError, Recovery};

use crate::scene::{Git, Scene, commit, everything, planned};

fn recover(scene: &Scene) -> Result<Recovery, RecoverError> {
    let worktree = scene.worktree();
    let lock = worktree.lock().unwrap();
    worktree.recover(&lock)
}

/// The problem of a journal; nothing may be touched.
fn problem(scene: &Scene) -> JournalProblem {
    let before = scene.picture();
    let problem = match recover(scene) {
        Err(RecoverError::Journal { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(scene.picture(), before);
    assert!(
        scene
            .worktree()
            .load(probity_worktree::Ignored::Include)
            .is_err()
    );
    problem
}

/// A scene with a journal of a commit that was interrupted, and where the journal is.
fn interrupted(git: Git) -> (Scene, String) {
    let scene = Scene::new(git);
    let plan = planned(&scene, &everything());
    commit(&scene.faulty(Fault::Crash(30)), &plan).unwrap_err();
    let folder = match git {
        Git::Folder => ".git/probity",
        Git::File | Git::Absent => JOURNAL_FOLDER,
    };
    let place = format!("{folder}/journal.json");
    assert!(scene.path(&place).is_file());
    (scene, place)
}

/// Writes to the journal in place, so that its inode stays the stated one.
fn forge(scene: &Scene, place: &str, change: impl Fn(String) -> String) {
    let text = fs::read_to_string(scene.path(place)).unwrap();
    let forged = change(text.clone());
    assert_ne!(forged, text);
    fs::write(scene.path(place), forged).unwrap();
}

#[test]
fn garbage_is_refused() {
    for git in [Git::Folder, Git::Absent] {
        for garbage in ["", "garbage", "{}", "[1]", "{\"version\":1}", "null"] {
            let (scene, place) = interrupted(git);
            forge(&scene, &place, |_| garbage.to_owned());
            let problem = problem(&scene);
            assert!(
                matches!(problem, JournalProblem::Malformed(_)),
                "{garbage}: {problem}"
            );
        }
    }
}

#[test]
fn a_huge_journal_is_refused() {
    let (scene, place) = interrupted(Git::Absent);
    let file = fs::OpenOptions::new()
        .write(true)
        .open(scene.path(&place))
        .unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    // The picture would hold all of it.
    let error = recover(&scene).unwrap_err();
    let RecoverError::Journal { problem, .. } = error else {
        panic!("{error}");
    };
    assert!(
        matches!(problem, JournalProblem::TooLarge { .. }),
        "{problem}"
    );
}

#[test]
fn an_unknown_version_is_refused() {
    let (scene, place) = interrupted(Git::Absent);
    forge(&scene, &place, |text| {
        text.replace("\"version\":1", "\"version\":2,\"more\":true")
    });
    assert!(matches!(
        problem(&scene),
        JournalProblem::Version { found: 2, known: 1 }
    ));
}

#[test]
fn paths_that_lead_out_of_the_tree_are_refused() {
    for bad in [
        "../outside",
        "/etc/passwd",
        "a/../../b",
        ".git/hooks/x",
        "",
        JOURNAL_FOLDER,
        ".probity-journal/journal.json",
    ] {
        let (scene, place) = interrupted(Git::Absent);
        forge(&scene, &place, |text| {
            text.replace("\"path\":\"x\"", &format!("\"path\":\"{bad}\""))
        });
        assert!(
            matches!(problem(&scene), JournalProblem::Malformed(_)),
            "{bad}"
        );
    }
    // A path that is valid, but not in its place.
    let (scene, place) = interrupted(Git::Absent);
    forge(&scene, &place, |text| {
        text.replace("\"path\":\"x\"", "\"path\":\"aaa\"")
    });
    assert!(matches!(problem(&scene), JournalProblem::Impossible(_)));
}

#[test]
fn a_tree_that_was_copied_with_its_journal_is_not_touched() {
    let (scene, place) = interrupted(Git::Absent);
    let copy = Scene::new(Git::Absent);
    copy.write(&place, fs::read(scene.path(&place)).unwrap());
    assert!(matches!(problem(&copy), JournalProblem::Foreign));
    // Another file with the same text is not the journal either.
    let text = fs::read(scene.path(&place)).unwrap();
    fs::rename(scene.path(&place), scene.path("aside")).unwrap();
    scene.write(&place, text);
    let (one, other) = (scene.path(&place), scene.path("aside"));
    assert_ne!(
        fs::metadata(one).unwrap().ino(),
        fs::metadata(other).unwrap().ino()
    );
    assert!(matches!(problem(&scene), JournalProblem::Foreign));
}

#[test]
fn a_journal_that_is_no_file_is_refused() {
    let (scene, place) = interrupted(Git::Absent);
    fs::rename(scene.path(&place), scene.path("aside")).unwrap();
    symlink(scene.path("aside"), scene.path(&place)).unwrap();
    assert!(matches!(problem(&scene), JournalProblem::NotAFile));
    fs::remove_file(scene.path(&place)).unwrap();
    fs::create_dir(scene.path(&place)).unwrap();
    assert!(matches!(problem(&scene), JournalProblem::NotAFile));
}

#[test]
fn a_journal_that_is_both_undone_and_done_is_refused() {
    let (scene, place) = interrupted(Git::Absent);
    fs::copy(scene.path(&place), scene.path(".probity-journal/done.json")).unwrap();
    assert!(matches!(problem(&scene), JournalProblem::Impossible(_)));
}

#[test]
fn a_journal_is_found_where_it_was_though_git_came_since() {
    let scene = Scene::new(Git::Absent);
    let before = scene.picture();
    let plan = planned(&scene, &everything());
    commit(&scene.faulty(Fault::Crash(60)), &plan).unwrap_err();
    fs::create_dir(scene.path(".git")).unwrap();
    assert_eq!(recover(&scene).unwrap(), Recovery::Undone);
    fs::remove_dir(scene.path(".git")).unwrap();
    assert_eq!(scene.picture(), before);
}

#[test]
fn a_journal_folder_without_a_journal_is_tidied_up() {
    let scene = Scene::new(Git::Folder);
    let before = scene.picture();
    scene.write(".git/probity/journal.tmp", "half");
    scene.write(".probity-journal/journal.tmp", "");
    assert_eq!(recover(&scene).unwrap(), Recovery::Nothing);
    assert_eq!(scene.picture(), before);
    // What is not ours stays.
    scene.write(".git/probity/note", "");
    assert_eq!(recover(&scene).unwrap(), Recovery::Nothing);
    assert!(scene.path(".git/probity/note").is_file());
}

#[test]
fn the_lock_of_another_tree_is_refused() {
    let (one, other) = (Scene::new(Git::Absent), Scene::new(Git::Absent));
    let lock = other.worktree().lock().unwrap();
    let outcome = one.worktree().recover(&lock);
    assert!(matches!(outcome, Err(RecoverError::WrongLock)));
}
