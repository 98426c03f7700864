//! What a commit changes, and what it refuses.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use probity_core::patch::{Patch, plan};
use probity_core::repo::JOURNAL_FOLDER;
use probity_worktree::{CommitError, Durability, Stamps};

use crate::scene::{Git, Scene, apply, delete, everything, path, planned, replace};

#[test]
fn everything_lands_as_planned_and_nothing_is_left_over() {
    for git in [Git::Folder, Git::File, Git::Absent] {
        for durability in [Durability::Process, Durability::Power] {
            let scene = Scene::on_disk(git);
            let expected = planned(&scene, &everything())
                .applied_to(&scene.repo())
                .unwrap();
            let worktree = scene.worktree();
            let lock = worktree.lock().unwrap();
            let sparse = worktree.load_for(&everything()).unwrap();
            let plan = plan(&sparse.repo, &everything()).unwrap();
            worktree
                .commit(&lock, &plan, &sparse.stamps, durability)
                .unwrap();
            assert_eq!(scene.repo().digest(), expected.digest());
            let picture = scene.picture();
            let names: Vec<_> = picture.keys().map(|path| path.to_str().unwrap()).collect();
            let mut wanted = vec![
                "edit",
                "edit/plain.txt",
                "edit/private.txt",
                "edit/run.sh",
                "edit/untouched",
                "link",
                "mode.sh",
                "moved",
                "moved/new-name",
                "new",
                "new/deep",
                "new/deep/er",
                "new/deep/er/f1",
                "new/deep/er/f2",
                "new/f3",
                "swap",
                "swap/inner",
                "swap/inner/file",
                "thing",
                "top",
                "x",
                "y",
            ];
            match git {
                Git::Folder => wanted.extend([".git", ".git/HEAD"]),
                Git::File => wanted.push(".git"),
                Git::Absent => {}
            }
            wanted.sort_unstable();
            assert_eq!(names, wanted);
            let mode = |at: &str| fs::metadata(scene.path(at)).unwrap().mode() & 0o777;
            assert_eq!(mode("edit/private.txt"), 0o600);
            assert_eq!(mode("edit/run.sh"), 0o755);
            assert_eq!(mode("mode.sh") & 0o664, 0o664);
            assert_ne!(mode("mode.sh") & 0o111, 0);
        }
    }
}

#[test]
fn two_writers_exclude_each_other() {
    let scene = Scene::new(Git::Absent);
    let (one, other) = (scene.worktree(), scene.worktree());
    let lock = one.lock().unwrap();
    for second in [&one, &other] {
        assert!(matches!(second.lock(), Err(CommitError::Locked)));
    }
    let plan = planned(&scene, &everything());
    let elsewhere = Scene::new(Git::Absent).worktree();
    let foreign = elsewhere.lock().unwrap();
    let error = one.commit(&foreign, &plan, &Stamps::default(), Durability::Process);
    assert!(matches!(error, Err(CommitError::WrongLock)));
    one.commit(&lock, &plan, &Stamps::default(), Durability::Process)
        .unwrap();
    drop(lock);
    other.lock().unwrap();
}

/// Commits a plan for `patch` after `meddle` has changed the tree; the commit must fail
/// and change nothing.
fn refused(patch: &Patch, meddle: impl Fn(&Scene)) -> CommitError {
    let mut last = None;
    for with_stamps in [true, false] {
        let scene = Scene::new(Git::Absent);
        let worktree = scene.worktree();
        let lock = worktree.lock().unwrap();
        let sparse = worktree.load_for(patch).unwrap();
        let plan = plan(&sparse.repo, patch).unwrap();
        meddle(&scene);
        let before = scene.picture();
        let none = Stamps::default();
        let stamps = if with_stamps { &sparse.stamps } else { &none };
        let error = worktree
            .commit(&lock, &plan, stamps, Durability::Process)
            .unwrap_err();
        assert_eq!(scene.picture(), before, "{error}");
        last = Some(error);
    }
    last.unwrap()
}

fn assert_stale(error: &CommitError, expected: &str) {
    let CommitError::Stale { path: found } = error else {
        panic!("{error}");
    };
    assert_eq!(*found, path(expected));
}

#[test]
fn a_file_that_changed_meanwhile_is_stale() {
    for name in ["edit/plain.txt", "thing/sub/b", "y", "old-name"] {
        let error = refused(&everything(), |scene| {
            let mut text = fs::read(scene.path(name)).unwrap();
            text[0] ^= 1;
            scene.write(name, text);
        });
        assert_stale(&error, name);
        let error = refused(&everything(), |scene| {
            fs::remove_file(scene.path(name)).unwrap();
        });
        assert_stale(&error, name);
    }
    let error = refused(&everything(), |scene| scene.chmod("edit/run.sh", 0o644));
    assert_stale(&error, "edit/run.sh");
}

#[test]
fn a_file_that_was_made_meanwhile_is_stale() {
    for name in ["new/f3", "moved/new-name"] {
        assert_stale(&refused(&everything(), |scene| scene.write(name, "")), name);
    }
    let error = refused(&everything(), |scene| {
        symlink("nowhere", scene.path("moved")).unwrap();
    });
    assert!(
        matches!(&error, CommitError::InTheWay { at, .. } if at == "moved"),
        "{error}"
    );
}

#[test]
fn a_link_put_in_the_way_is_never_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("plain.txt"), "one\n").unwrap();
    let patch = Patch::new(vec![replace("edit/plain.txt", "two\n")]);
    let error = refused(&patch, |scene| {
        fs::rename(scene.path("edit"), scene.path("moved-away")).unwrap();
        symlink(outside.path(), scene.path("edit")).unwrap();
    });
    assert!(
        matches!(&error, CommitError::InTheWay { at, .. } if at == "edit"),
        "{error}"
    );
    let error = refused(&patch, |scene| {
        fs::remove_file(scene.path("edit/plain.txt")).unwrap();
        symlink(
            outside.path().join("plain.txt"),
            scene.path("edit/plain.txt"),
        )
        .unwrap();
    });
    assert_stale(&error, "edit/plain.txt");
    let outside = fs::read(outside.path().join("plain.txt")).unwrap();
    assert_eq!(outside, b"one\n");
}

#[test]
fn a_folder_that_is_not_empty_does_not_give_way() {
    let error = refused(&everything(), |scene| scene.write("thing/sub/other", ""));
    assert!(
        matches!(&error, CommitError::NotEmpty { path: at } if *at == path("thing/sub")),
        "{error}"
    );
    let error = refused(&everything(), |scene| {
        fs::create_dir(scene.path("thing/empty")).unwrap();
    });
    assert!(matches!(error, CommitError::NotEmpty { .. }), "{error}");
}

#[test]
fn a_journal_folder_that_is_no_folder_is_refused() {
    for git in [Git::Folder, Git::Absent] {
        let scene = Scene::new(git);
        let outside = tempfile::tempdir().unwrap();
        let place = match git {
            Git::Folder => ".git/probity",
            Git::File | Git::Absent => JOURNAL_FOLDER,
        };
        symlink(outside.path(), scene.path(place)).unwrap();
        let before = scene.picture();
        let error = apply(&scene.worktree(), &everything()).unwrap_err();
        assert!(matches!(error, CommitError::Io { .. }), "{error}");
        assert_eq!(scene.picture(), before);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

#[test]
fn permissions_of_an_untouched_folder_stay_and_the_file_keeps_its_own() {
    let scene = Scene::new(Git::Absent);
    scene.chmod("edit", 0o711);
    scene.chmod("edit/plain.txt", 0o444);
    apply(&scene.worktree(), &everything()).unwrap();
    let mode = |at: &str| fs::metadata(scene.path(at)).unwrap().mode() & 0o7777;
    assert_eq!((mode("edit"), mode("edit/plain.txt")), (0o711, 0o444));
}

#[test]
fn a_file_with_several_names_changes_under_the_named_one_only() {
    let scene = Scene::empty();
    scene.write("a", "same\n");
    for other in ["b", "c"] {
        fs::hard_link(scene.path("a"), scene.path(other)).unwrap();
    }
    let patch = Patch::new(vec![replace("a", "1\n"), replace("b", "2\n")]);
    apply(&scene.worktree(), &patch).unwrap();
    let read = |name: &str| fs::read_to_string(scene.path(name)).unwrap();
    assert_eq!(
        (read("a"), read("b"), read("c")),
        ("1\n".into(), "2\n".into(), "same\n".into())
    );
}

#[test]
fn a_large_commit_takes_few_steps_per_file() {
    let scene = Scene::empty();
    let count = 1000;
    let name = |index: usize| format!("d{}/f{index}", index % 10);
    for index in 0..count {
        scene.write(&name(index), "old\n");
    }
    let edits = (0..count).map(|index| replace(&name(index), "new\n"));
    let worktree = scene.worktree();
    apply(&worktree, &Patch::new(edits.collect())).unwrap();
    assert!(
        worktree.steps_taken() <= 7 * 1000,
        "{}",
        worktree.steps_taken()
    );
    let deletions = (0..count).map(|index| delete(&name(index)));
    apply(&worktree, &Patch::new(deletions.collect())).unwrap();
    assert!(scene.picture().is_empty());
}
