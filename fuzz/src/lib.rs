//! What the fuzz targets share: an encoding of trees, and the invariants of the patch
//! engine, checked on whatever was parsed.
//!
//! A tree is a count, then per file: length and bytes of its name, a mode byte, length (two
//! bytes, little-endian) and bytes of its content. What cannot stand in the tree is left
//! out. The encoding is this simple so that seeds can be made from the conformance cases.

use std::sync::LazyLock;

use probity_core::guard::{Guard, Limits};
use probity_core::patch::{
    Format, Patch, PatchError, PatchErrorKind, apply, parse, plan, render_diff, render_plan,
};
use probity_core::repo::{File, FileMode, Repo, RepoPath};

/// A guard that allows every path.
static GUARD: LazyLock<Guard> =
    LazyLock::new(|| Guard::new(&["**"], &[], Limits::default()).expect("valid patterns"));

/// Takes a tree from the front of `data`.
pub fn take_tree(data: &mut &[u8]) -> Repo {
    let mut repo = Repo::new();
    let count = take(data, 1).first().copied().unwrap_or(0) % 16;
    for _ in 0..count {
        let name_length = take(data, 1).first().copied().unwrap_or(0);
        let name = take(data, usize::from(name_length)).to_vec();
        let mode = match take(data, 1).first().copied().unwrap_or(0) % 8 {
            0..=5 => FileMode::Regular,
            6 => FileMode::Executable,
            _ => FileMode::Symlink,
        };
        let length = take(data, 2)
            .iter()
            .rev()
            .fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
        let content = take(data, length);
        if let Ok(name) = String::from_utf8(name)
            && let Ok(path) = RepoPath::new(&name)
        {
            let _ = repo.insert(&path, File::new(content, mode));
        }
    }
    repo
}

fn take<'a>(data: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = data.split_at(count.min(data.len()));
    *data = rest;
    taken
}

/// The tree on which the parsers' targets place what they parse.
pub fn small_tree() -> Repo {
    let mut repo = Repo::new();
    let files: [(&str, &[u8], FileMode); 8] = [
        ("a.txt", b"a\nb\nc\n", FileMode::Regular),
        ("crlf.txt", b"one\r\ntwo\r\nthree\r\n", FileMode::Regular),
        ("bom.cs", b"\xef\xbb\xbfone\r\ntwo\n", FileMode::Regular),
        ("open", b"a\nb", FileMode::Regular),
        (
            "src/h.py",
            b"def f():\n    x\n\ndef g():\n    x\n",
            FileMode::Executable,
        ),
        ("latin1", b"caf\xe9\n\xff\n", FileMode::Regular),
        ("bin", b"\0\x01\x02", FileMode::Regular),
        ("link", b"a.txt", FileMode::Symlink),
    ];
    for (name, bytes, mode) in files {
        let path = RepoPath::new(name).expect("a valid name");
        repo.insert(&path, File::new(bytes, mode))
            .expect("no clash");
    }
    repo
}

/// Parses `data` and, if that is a patch, checks what it does to the small tree.
pub fn check_parser(format: Format, data: &[u8]) {
    match parse(format, data) {
        Ok(patch) => check_patch(&small_tree(), &patch),
        Err(error) => check_error(&error),
    }
}

/// Checks the invariants of applying `patch` to `before`.
pub fn check_patch(before: &Repo, patch: &Patch) {
    let mut repo = before.clone();
    let outcome = apply(&mut repo, patch, &GUARD);
    let mut reversed = patch.clone();
    reversed.operations.reverse();
    let done = match outcome {
        Err(error) => {
            check_error(&error);
            assert_eq!(repo.digest(), before.digest(), "a refusal changes nothing");
            if !matches!(error.kind, PatchErrorKind::Budget) {
                assert!(plan(before, &reversed).is_err(), "order carries no meaning");
            }
            return;
        }
        Ok(done) => done,
    };
    let touched: Vec<RepoPath> = patch.touched().into_iter().cloned().collect();
    assert_eq!(
        before.changed_paths(&repo),
        touched,
        "exactly the named files change"
    );
    let other = plan(before, &reversed).expect("order carries no meaning");
    assert_eq!(
        other.applied_to(before).expect("the plan fits").digest(),
        repo.digest()
    );
    for diff in [render_plan(&done), render_diff(before, &repo)] {
        let again = parse(Format::UnifiedDiff, &diff).expect("a written diff can be read");
        let again = plan(before, &again).expect("a written diff applies");
        assert_eq!(
            again.applied_to(before).expect("the plan fits").digest(),
            repo.digest(),
            "a written diff says what was done"
        );
    }
    let back = parse(Format::UnifiedDiff, &render_diff(&repo, before)).expect("a diff");
    let back = plan(&repo, &back).expect("the reverse diff applies");
    assert_eq!(
        back.applied_to(&repo).expect("the plan fits").digest(),
        before.digest(),
        "the reverse diff undoes it"
    );
}

fn check_error(error: &PatchError) {
    assert_ne!(error.kind, PatchErrorKind::Internal, "{error:?}");
    assert!(!error.message.is_empty(), "{error:?}");
    assert!(
        error.hint.as_ref().is_some_and(|hint| !hint.is_empty()),
        "{error:?}"
    );
}

/// Two trees from `data`, and the way from one to the other and back.
pub fn check_round_trip(mut data: &[u8]) {
    let one = without_links(&take_tree(&mut data));
    let other = without_links(&take_tree(&mut data));
    for (from, to) in [(&one, &other), (&other, &one)] {
        let diff = render_diff(from, to);
        assert_eq!(diff.is_empty(), from == to);
        if from == to {
            continue;
        }
        let patch = parse(Format::UnifiedDiff, &diff).expect("a written diff can be read");
        let mut repo = from.clone();
        match apply(&mut repo, &patch, &GUARD) {
            Ok(_) => assert_eq!(repo.digest(), to.digest()),
            // Trees may hold names that a patch must not bring together.
            Err(error) => assert_eq!(error.kind, PatchErrorKind::PathDenied, "{error:?}"),
        }
    }
}

fn without_links(repo: &Repo) -> Repo {
    let mut out = Repo::new();
    for (path, file) in repo.files() {
        if file.mode() != FileMode::Symlink {
            out.insert(&path, file.clone()).expect("a part of a tree");
        }
    }
    out
}
