//! The guard and the limits in front of a patch: each is tripped once, and the tree stays.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, which clippy.toml cannot tell"
)]

use probity_core::Digest;
use probity_core::guard::{Guard, Limits};
use probity_core::patch::{
    Action, Content, Difference, Edit, FileDiff, FormatChoice, Occurrence, Operation, Origin,
    Patch, PatchError, PatchErrorKind, Unit, apply, apply_bytes, plan,
};
use probity_core::quantity::ByteSize;
use probity_core::repo::{File, FileMode, Repo, RepoPath};

fn path(name: &str) -> RepoPath {
    RepoPath::new(name).unwrap()
}

fn repo(files: &[(&str, &str)]) -> Repo {
    let mut repo = Repo::new();
    for (name, text) in files {
        repo.insert(&path(name), File::regular(text.as_bytes()))
            .unwrap();
    }
    repo
}

fn operation(name: &str, action: Action) -> Operation {
    Operation {
        path: path(name),
        action,
    }
}

fn create(name: &str, text: &str) -> Operation {
    operation(
        name,
        Action::Create {
            content: text.as_bytes().into(),
            mode: FileMode::Regular,
        },
    )
}

fn delete(name: &str) -> Operation {
    operation(
        name,
        Action::Delete {
            expected: None,
            mode: None,
        },
    )
}

fn edit(name: &str, old: &str, new: &str, occurrence: Occurrence) -> Operation {
    operation(
        name,
        Action::Edit(Edit {
            old: old.into(),
            new: new.into(),
            occurrence,
            unit: Unit::Text,
        }),
    )
}

fn moved(to: &str, origin: Origin) -> Operation {
    operation(
        to,
        Action::Diff(FileDiff {
            origin,
            old_mode: None,
            new_mode: None,
            content: Content::Hunks(Vec::new()),
        }),
    )
}

fn rename(from: &str, to: &str) -> Operation {
    moved(to, Origin::RenamedFrom(path(from)))
}

/// Applies and expects a refusal that leaves the tree alone.
fn refused(repo: &Repo, operations: Vec<Operation>, guard: &Guard) -> PatchError {
    let mut changed = repo.clone();
    let error = apply(&mut changed, &Patch::new(operations), guard).unwrap_err();
    assert_eq!(changed.digest(), repo.digest());
    error
}

fn kind(repo: &Repo, operations: Vec<Operation>) -> PatchErrorKind {
    refused(repo, operations, &Guard::default()).kind
}

fn accepted(repo: &Repo, operations: Vec<Operation>) -> Vec<(String, String)> {
    let mut changed = repo.clone();
    apply(&mut changed, &Patch::new(operations), &Guard::default()).unwrap();
    changed
        .files()
        .into_iter()
        .map(|(path, file)| {
            let text = String::from_utf8_lossy(file.bytes()).into_owned();
            (path.to_string(), text)
        })
        .collect()
}

#[test]
fn a_protected_path_is_refused_before_it_is_looked_at() {
    let tree = repo(&[("a", "1\n")]);
    let guard = Guard::default();
    let error = refused(
        &tree,
        vec![create("b", "x"), delete(".github/workflows/ci.yml")],
        &guard,
    );
    assert_eq!(error.kind, PatchErrorKind::PathDenied);
    assert_eq!(error.path.as_deref(), Some(".github/workflows/ci.yml"));
    assert_eq!(error.operation, Some(2));
    assert!(error.message.contains("`.github/**`"), "{}", error.message);
}

#[test]
fn a_rename_touches_both_names_and_a_copy_one() {
    let tree = repo(&[("tests/t.py", "1\n")]);
    let guard = Guard::new(&["**"], &["tests/**"], Limits::default()).unwrap();
    let error = refused(&tree, vec![rename("tests/t.py", "t.py")], &guard);
    assert_eq!(error.kind, PatchErrorKind::PathDenied);
    let copy = moved("t.py", Origin::CopiedFrom(path("tests/t.py")));
    let mut copied = tree.clone();
    apply(&mut copied, &Patch::new(vec![copy]), &guard).unwrap();
    assert_eq!(copied.len(), 2);
}

#[test]
fn every_limit_of_the_guard_fires() {
    let tree = repo(&[("a", "1\n")]);
    let limits = Limits {
        max_files: 2,
        max_changed_lines: 4,
        max_patch_bytes: ByteSize(100),
        max_file_bytes: ByteSize(50),
    };
    let guard = Guard::new(&["**"], &[], limits).unwrap();
    let long = "x".repeat(60);
    for (operations, name) in [
        (
            vec![create("b", ""), create("c", ""), create("d", "")],
            "max-files",
        ),
        (vec![create("b", "1\n2\n3\n4\n5\n")], "max-changed-lines"),
        (vec![create("b", &long)], "max-file-bytes"),
        (
            vec![create("b", &long), create("c", &long)],
            "max-patch-bytes",
        ),
    ] {
        let error = refused(&tree, operations, &guard);
        assert_eq!(error.kind, PatchErrorKind::Budget, "{name}");
        assert!(error.message.contains(name), "{}", error.message);
        assert!(error.hint.is_some());
    }
    let mut changed = tree.clone();
    let bytes = vec![b' '; 101];
    let error = apply_bytes(&mut changed, FormatChoice::Auto, &bytes, &guard).unwrap_err();
    assert_eq!(error.kind, PatchErrorKind::Budget);
    apply(
        &mut changed,
        &Patch::new(vec![create("b", "1\n2\n3\n4\n")]),
        &guard,
    )
    .unwrap();
}

#[test]
fn an_explosion_is_refused_before_it_happens() {
    let tree = repo(&[("a", &"a".repeat(1 << 20))]);
    let long = "x".repeat(1 << 20);
    let operations = vec![edit("a", "a", &long, Occurrence::All)];
    assert_eq!(kind(&tree, operations), PatchErrorKind::Budget);
    let many = vec![create("b", ""); 10_001];
    let error = plan(&tree, &Patch::new(many)).unwrap_err();
    assert_eq!(error.kind, PatchErrorKind::Budget);
}

#[test]
fn many_searches_of_a_large_file_are_refused() {
    let keys: String = (0..10_000).map(|n| format!("key {n:05};\n")).collect();
    let tree = repo(&[("a", &format!("{keys}{}", "y".repeat(2 << 20)))]);
    let edits = (0..10_000)
        .map(|n| edit("a", &format!("key {n:05};"), "gone", Occurrence::Once))
        .collect();
    let error = refused(&tree, edits, &Guard::default());
    assert_eq!(error.kind, PatchErrorKind::Budget);
    assert!(error.message.contains("searching"), "{}", error.message);
}

#[test]
fn names_that_would_collide_are_refused() {
    let tree = repo(&[("Readme.md", "1\n"), ("docs/x", "1\n")]);
    for name in ["README.md", "DOCS", "readme.md/x"] {
        assert_eq!(
            kind(&tree, vec![create(name, "x")]),
            PatchErrorKind::PathDenied,
            "{name}"
        );
    }
    let both = vec![create("Caf\u{e9}", "1"), create("cafe\u{301}", "2")];
    assert_eq!(kind(&tree, both), PatchErrorKind::PathDenied);
    let files = accepted(&tree, vec![rename("Readme.md", "README.md")]);
    assert_eq!(files[0].0, "README.md");
}

#[test]
fn files_may_swap_names_and_give_way_to_folders() {
    let tree = repo(&[("a", "1\n"), ("b", "2\n"), ("d/x", "3\n")]);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        accepted(&tree, vec![rename("a", "b"), rename("b", "a")])[..2],
        [pair("a", "2\n"), pair("b", "1\n")]
    );
    let files = accepted(
        &tree,
        vec![
            create("a/deep", "4\n"),
            delete("a"),
            delete("d/x"),
            create("d", "5\n"),
        ],
    );
    assert_eq!(
        files,
        [pair("a/deep", "4\n"), pair("b", "2\n"), pair("d", "5\n")]
    );
}

#[test]
fn claims_that_contradict_each_other_are_overlaps() {
    let tree = repo(&[("a", "1\n"), ("b", "2\n")]);
    for operations in [
        vec![delete("a"), create("a", "x")],
        vec![delete("b"), rename("a", "b")],
        vec![delete("a"), rename("a", "c")],
        vec![rename("a", "c"), create("c", "x")],
        vec![edit("a", "1", "2", Occurrence::Once), rename("a", "c")],
        vec![edit("a", "1", "2", Occurrence::Once), create("a/x", "")],
    ] {
        assert_eq!(
            kind(&tree, operations.clone()),
            PatchErrorKind::Overlap,
            "{operations:?}"
        );
    }
}

#[test]
fn links_are_neither_followed_nor_made() {
    let mut tree = repo(&[("a", "1\n")]);
    tree.insert(&path("l"), File::new(*b"a", FileMode::Symlink))
        .unwrap();
    assert_eq!(kind(&tree, vec![delete("l")]), PatchErrorKind::PathDenied);
    assert_eq!(
        kind(&tree, vec![create("l/x", "")]),
        PatchErrorKind::PathDenied
    );
    assert_eq!(
        kind(&tree, vec![rename("l", "m")]),
        PatchErrorKind::PathDenied
    );
    let link = Action::Create {
        content: b"a"[..].into(),
        mode: FileMode::Symlink,
    };
    assert_eq!(
        kind(&tree, vec![operation("m", link)]),
        PatchErrorKind::Unsupported
    );
}

#[test]
fn a_plan_does_not_fit_another_tree() {
    let tree = repo(&[("a", "1\n")]);
    let patch = Patch::new(vec![edit("a", "1", "2", Occurrence::Once)]);
    let plan = plan(&tree, &patch).unwrap();
    assert_eq!((plan.stat().lines_added, plan.stat().lines_removed), (1, 1));
    let mut other = repo(&[("a", "1\nmore\n")]);
    let before = other.digest();
    assert_eq!(
        plan.commit(&mut other).unwrap_err().kind,
        PatchErrorKind::Stale
    );
    assert_eq!(other.digest(), before);
}

#[test]
fn a_missing_file_is_looked_for_elsewhere() {
    let tree = repo(&[("docs/security.md", "lock it\n")]);
    let operations = vec![edit("security.md", "lock", "bolt", Occurrence::Once)];
    let error = refused(&tree, operations, &Guard::default());
    assert_eq!(error.kind, PatchErrorKind::Missing);
    assert_eq!(
        error.hint.as_deref(),
        Some("files of this name: `docs/security.md`")
    );
}

#[test]
fn every_format_may_state_what_the_file_was() {
    let tree = repo(&[("a", "one\ntwo\n"), ("other", "x\n")]);
    let right = Digest::of(b"one\ntwo\n").to_string();
    let wrong = Digest::of(b"one\n").to_string();
    let patches = [
        r#"{"path":"a","old":"two","new":"2","base":{"PATH":"DIGEST"}}"#,
        r#"{"files":[{"path":"a","op":"delete"}],"base":{"PATH":"DIGEST"}}"#,
        "base: DIGEST PATH\na\n```\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n",
        "*** Begin Patch\n*** Base: DIGEST PATH\n*** Update File: a\n@@\n-two\n+2\n*** End Patch\n",
        "base: DIGEST PATH\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    ];
    for patch in patches {
        let outcome = |path: &str, digest: &str| {
            let text = patch.replace("PATH", path).replace("DIGEST", digest);
            let mut changed = tree.clone();
            let guard = Guard::default();
            let outcome = apply_bytes(&mut changed, FormatChoice::Auto, text.as_bytes(), &guard);
            outcome.map(|_| ()).map_err(|error| error.kind)
        };
        assert_eq!(outcome("a", &right), Ok(()), "{patch}");
        for (path, digest) in [("a", &wrong), ("other", &right), ("gone", &right)] {
            assert_eq!(outcome(path, digest), Err(PatchErrorKind::Stale), "{patch}");
        }
        assert_eq!(outcome("../a", &right), Err(PatchErrorKind::PathDenied));
        assert_eq!(outcome("a", "sha256:12"), Err(PatchErrorKind::Syntax));
    }
}

#[test]
fn a_near_miss_is_explained_in_every_format() {
    let tree = repo(&[
        ("a.py", "def f():\n\treturn 1\n"),
        ("deep/b.py", "def g():\n    return 2\n"),
    ]);
    let near = |patch: &str| {
        let mut changed = tree.clone();
        let guard = Guard::default();
        let error = apply_bytes(&mut changed, FormatChoice::Auto, patch.as_bytes(), &guard)
            .expect_err(patch);
        assert_eq!(error.kind, PatchErrorKind::NotFound, "{patch}");
        assert_eq!(error.path.as_deref(), Some("a.py"), "{patch}");
        assert_eq!(error.operation, Some(1), "{patch}");
        let near = error.near.expect(patch);
        (near.difference, near.path.clone(), near.line)
    };
    let patches = |old: &str, new: &str| {
        [
            format!(r#"{{"path":"a.py","old":"{old}","new":"{new}"}}"#),
            format!("a.py\n```\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"),
            format!("*** Begin Patch\n*** Update File: a.py\n@@\n-{old}\n+{new}\n*** End Patch\n"),
            format!("--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-{old}\n+{new}\n"),
        ]
    };
    for patch in patches("    return 1", "    return 9") {
        assert_eq!(near(&patch), (Difference::TabsOrSpaces, None, 2), "{patch}");
    }
    for patch in patches("def g():", "def h():") {
        let elsewhere = Some("deep/b.py".to_owned());
        assert_eq!(
            near(&patch),
            (Difference::OtherFile, elsewhere, 1),
            "{patch}"
        );
    }
    for patch in patches("def old():", "def f():") {
        assert_eq!(
            near(&patch),
            (Difference::AlreadyApplied, None, 1),
            "{patch}"
        );
    }
}

#[test]
fn work_that_a_patch_only_points_at_is_bounded_too() {
    let large = "line\n".repeat(4 << 20);
    let tree = repo(&[("big", &large), ("xs", &"x".repeat(2 << 20))]);
    // Many copies of one large file.
    let copies = (0..50)
        .map(|n| moved(&format!("copy{n}"), Origin::CopiedFrom(path("big"))))
        .collect();
    assert_eq!(kind(&tree, copies), PatchErrorKind::Budget);
    // One edit at very many places.
    let everywhere = vec![edit("xs", "x", "y", Occurrence::All)];
    assert_eq!(kind(&tree, everywhere), PatchErrorKind::Budget);
    // A long path shared by many edits, and a list that is longer than any patch may be.
    let edits = vec![r#"{"old":"a","new":"b"}"#; 10_000].join(",");
    let name = "x".repeat(1 << 20);
    for (text, expected) in [
        (
            format!(r#"{{"path":"{name}","edits":[{edits}]}}"#),
            PatchErrorKind::PathDenied,
        ),
        (
            format!(r#"{{"edits":[{}]}}"#, vec!["{}"; 200_000].join(",")),
            PatchErrorKind::Budget,
        ),
    ] {
        let mut changed = tree.clone();
        let guard = Guard::default();
        let error =
            apply_bytes(&mut changed, FormatChoice::Auto, text.as_bytes(), &guard).unwrap_err();
        assert_eq!(error.kind, expected);
        assert!(error.path.is_none_or(|path| path.len() <= 4096));
    }
}
