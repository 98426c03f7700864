//! Reading what a patch needs: the planner must not see the difference.

use std::fs;
use std::os::unix::fs::symlink;

use probity_core::Digest;
use probity_core::patch::{Operation, Origin, Patch, PatchErrorKind, plan};
use probity_worktree::{LoadError, Sparse};

use crate::scene::{Scene, create, delete, diff, path, rename, replace};

fn sparse(scene: &Scene, patch: &Patch) -> Sparse {
    scene.worktree().load_for(patch).unwrap()
}

fn refusal(scene: &Scene, operations: Vec<Operation>) -> PatchErrorKind {
    let patch = Patch::new(operations);
    plan(&sparse(scene, &patch).repo, &patch).unwrap_err().kind
}

#[test]
fn one_edit_reads_one_file() {
    let scene = Scene::empty();
    for index in 0..200 {
        scene.write(&format!("d/f{index}"), "text\n");
    }
    let patch = Patch::new(vec![replace("d/f7", "new\n")]);
    let sparse = sparse(&scene, &patch);
    assert_eq!((sparse.repo.len(), sparse.stamps.len()), (1, 1));
    assert!(sparse.stamps.get(&path("d/f7")).is_some());
    plan(&sparse.repo, &patch).unwrap();
}

#[test]
fn bases_are_read_too() {
    let scene = Scene::empty();
    scene.write("a", "a");
    scene.write("b", "b");
    let mut patch = Patch::new(vec![replace("a", "new")]);
    patch.bases.insert(path("b"), Digest::of(b"b"));
    plan(&sparse(&scene, &patch).repo, &patch).unwrap();
    scene.write("b", "other");
    let error = plan(&sparse(&scene, &patch).repo, &patch).unwrap_err();
    assert_eq!(error.kind, PatchErrorKind::Stale);
}

#[test]
fn links_are_shown_and_not_followed() {
    let scene = Scene::empty();
    scene.write("real/file", "text");
    symlink("real", scene.path("folder")).unwrap();
    symlink("real/file", scene.path("link")).unwrap();
    for operations in [
        vec![replace("folder/file", "new")],
        vec![create("folder/new", "new")],
        vec![replace("link", "new")],
        vec![delete("link")],
    ] {
        assert_eq!(refusal(&scene, operations), PatchErrorKind::PathDenied);
    }
}

#[test]
fn what_is_no_part_of_a_tree_is_in_the_way_all_the_same() {
    let scene = Scene::empty();
    fs::create_dir_all(scene.path("empty/inner")).unwrap();
    scene.write(".gitignore", "ignored\n");
    scene.write("ignored", "precious");
    scene.write("module/.git", "gitdir: x");
    scene.write("module/file", "");
    for (operations, expected) in [
        (vec![create("empty", "")], PatchErrorKind::NotAFile),
        (vec![create("ignored", "")], PatchErrorKind::Exists),
        (
            vec![delete("module/file"), create("module", "")],
            PatchErrorKind::NotAFile,
        ),
        (vec![create("ignored/x", "")], PatchErrorKind::NotAFile),
        (vec![create("IGNORED", "")], PatchErrorKind::PathDenied),
        (vec![create("Empty", "")], PatchErrorKind::PathDenied),
        (vec![replace("ignored/x", "")], PatchErrorKind::NotAFile),
        (vec![replace("empty", "")], PatchErrorKind::NotAFile),
    ] {
        let text = format!("{operations:?}");
        assert_eq!(refusal(&scene, operations), expected, "{text}");
    }
}

#[test]
fn special_files_are_refused() {
    let scene = Scene::empty();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    let load = |operation| scene.worktree().load_for(&Patch::new(vec![operation]));
    for name in ["socket", "socket/x"] {
        let error = load(create(name, "")).unwrap_err();
        assert!(matches!(error, LoadError::Special { .. }), "{error}");
    }
}

/// Numbers without a pattern, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants for a linear congruential generator of 64 bits.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn path(&mut self) -> String {
        let parts = ["a", "A", "b", "caf\u{e9}", "cafe\u{301}"];
        let depth = 1 + self.below(3);
        let parts: Vec<&str> = (0..depth).map(|_| self.pick(&parts)).collect();
        parts.join("/")
    }

    fn operation(&mut self) -> Operation {
        let (one, other) = (self.path(), self.path());
        match self.below(6) {
            0 => create(&one, "created"),
            1 => replace(&one, "replaced"),
            2 => delete(&one),
            3 => rename(&one, &other),
            4 => diff(&one, Origin::CopiedFrom(path(&other)), None),
            _ => create(&one, "created too"),
        }
    }
}

#[test]
fn the_planner_says_the_same_as_on_the_whole_tree() {
    let mut numbers = Numbers(1);
    let (mut planned, mut refused) = (0, 0);
    for round in 0..150 {
        let scene = Scene::empty();
        for _ in 0..numbers.below(8) {
            let place = scene.path(&numbers.path());
            // Some are in the way of others.
            let _ = fs::create_dir_all(place.parent().unwrap());
            let _ = match numbers.below(8) {
                0 => symlink("a", &place),
                _ => fs::write(&place, "text"),
            };
        }
        // Git knows no empty folders, and the whole tree neither.
        let whole = scene.repo();
        let picture = scene.picture();
        if picture.iter().any(|(path, (mode, _))| {
            mode & 0o170_000 == 0o040_000 && !picture.keys().any(|at| at.parent() == Some(path))
        }) {
            continue;
        }
        for _ in 0..15 {
            let count = 1 + numbers.below(3);
            let patch = Patch::new((0..count).map(|_| numbers.operation()).collect());
            let context = format!("round {round}: {picture:?} {patch:?}");
            match (
                plan(&whole, &patch),
                plan(&sparse(&scene, &patch).repo, &patch),
            ) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one, other, "{context}");
                    planned += 1;
                }
                (Err(one), Err(other)) => {
                    assert_eq!((one.kind, one.path), (other.kind, other.path), "{context}");
                    refused += 1;
                }
                (one, other) => panic!("{context}: {one:?} {other:?}"),
            }
        }
    }
    assert!(planned > 100 && refused > 100, "{planned} {refused}");
}
