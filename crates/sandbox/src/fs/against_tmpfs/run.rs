//! Runs sequences on two subjects and compares every answer and the trees at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_core::repo::{File, FileMode};
use probity_core::{Repo, RepoPath};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::direct::Direct;
use super::native::Native;
use super::operation::{Answer, At, Files, How, Operation, SLOTS, sequence};
use crate::fs::{Access, Errno, FileType, Filesystem, LowerDirectory, Quota, Source};

/// Room enough that no sequence meets it.
fn plenty() -> Quota {
    Quota {
        bytes: 64 << 20,
        inodes: 10_000,
        depth: 10_000,
    }
}

/// What lies in the layer: path, content or target, mode.
const LAYER: [(&str, &str, FileMode); 9] = [
    ("a/a", "a file", FileMode::Regular),
    ("a/b/c", "a deeper file", FileMode::Executable),
    ("a/c", "../b", FileMode::Symlink),
    ("b", "another file", FileMode::Regular),
    ("c/a", "a", FileMode::Symlink),
    ("c/b", "../a/b", FileMode::Symlink),
    ("c/c/c/c", "", FileMode::Regular),
    ("d", "../../etc", FileMode::Symlink),
    ("g", "/g/a/b", FileMode::Symlink),
];

fn folder() -> Source {
    Source::Folder(LowerDirectory::Tree(Arc::clone(layer().root())))
}

fn layer() -> Repo {
    let mut repo = Repo::new();
    for (path, bytes, mode) in LAYER {
        let path: RepoPath = path.parse().unwrap();
        repo.insert(&path, File::new(bytes.as_bytes(), mode))
            .unwrap();
    }
    repo
}

fn mirror() -> Native {
    let native = Native::new();
    for (path, bytes, mode) in LAYER {
        match mode {
            FileMode::Symlink => native.put_link(path, bytes),
            FileMode::Regular | FileMode::Executable => {
                native.put_file(path, bytes.as_bytes());
            }
        }
    }
    native
}

/// Runs `test` on random sequences: `cases` of them, or that many times
/// `PROBITY_FS_CASES`.
fn search(cases: u32, test: impl Fn(&[Operation]) -> Result<(), String>) {
    let times = std::env::var("PROBITY_FS_CASES").map_or(1, |times| times.parse().unwrap());
    let mut runner = TestRunner::new(Config {
        cases: cases * times,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&sequence(), |operations| {
        test(&operations).map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn sorted(answer: Result<Answer, Errno>) -> Result<Answer, Errno> {
    match answer {
        Ok(Answer::Names(mut names)) => {
            names.sort_by(|a, b| a.0.cmp(&b.0));
            Ok(Answer::Names(names))
        }
        other => other,
    }
}

/// What hangs below the granted folder: for each path what it is, what it holds, and the
/// first path of the same node.
type Tree = BTreeMap<String, (FileType, Vec<u8>, Option<u64>, Option<u64>, String)>;

/// Takes the slot 0.
fn tree(files: &mut dyn Files) -> Tree {
    let mut rows = Tree::new();
    let mut first = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let here = if folder.is_empty() { "." } else { &folder };
        let open = Operation::Open(0, At::Grant, here.to_owned(), How::LOOK);
        files.apply(&open).unwrap();
        let Ok(Answer::Names(names)) = sorted(files.apply(&Operation::List(0))) else {
            panic!("{folder} cannot be listed");
        };
        files.apply(&Operation::Close(0)).unwrap();
        for (name, listed) in names {
            if name == "." || name == ".." {
                continue;
            }
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            let stat = Operation::StatPath(At::Grant, path.clone(), false);
            let seen = match files.apply(&stat) {
                Ok(Answer::Seen(seen)) => seen,
                // A path too long to be asked for.
                Err(Errno::Nametoolong) => continue,
                other => panic!("{path}: {other:?}"),
            };
            assert_eq!(seen.file_type, listed, "{path}");
            let bytes = match seen.file_type {
                FileType::Directory => {
                    folders.push(path.clone());
                    Vec::new()
                }
                FileType::SymbolicLink => {
                    match files.apply(&Operation::ReadLink(At::Grant, path.clone())) {
                        Ok(Answer::Text(text)) => text.into_bytes(),
                        other => panic!("{path}: {other:?}"),
                    }
                }
                FileType::RegularFile | FileType::CharacterDevice => {
                    let open = Operation::Open(0, At::Grant, path.clone(), How::LOOK);
                    files.apply(&open).unwrap();
                    let read = Operation::Read(0, Some(0), 100_000);
                    let bytes = match files.apply(&read) {
                        Ok(Answer::Bytes(bytes)) => bytes,
                        other => panic!("{path}: {other:?}"),
                    };
                    files.apply(&Operation::Close(0)).unwrap();
                    bytes
                }
            };
            let same = first
                .entry(seen.inode)
                .or_insert_with(|| path.clone())
                .clone();
            rows.insert(
                path,
                (seen.file_type, bytes, seen.links, seen.modified, same),
            );
        }
    }
    rows
}

/// Whether both refuse a call, ours because of a name that is too long. Where something
/// else is wrong as well, the kernel may name that.
fn both_wrong(
    operation: &Operation,
    got: &Result<Answer, Errno>,
    wanted: &Result<Answer, Errno>,
) -> bool {
    let long = |path: &&str| path.split('/').any(|name| name.len() > 255);
    *got == Err(Errno::Nametoolong) && wanted.is_err() && operation.paths().iter().any(long)
}

fn close_all(files: &mut dyn Files) {
    for slot in 0..SLOTS {
        let _ = files.apply(&Operation::Close(slot));
    }
}

/// Runs a sequence on `ours` and on tmpfs. `layered`: `ours` starts with [`layer`] below
/// the granted folder, writable.
fn compare(ours: &mut dyn Files, layered: bool, operations: &[Operation]) -> Result<(), String> {
    let mut native = if layered { mirror() } else { Native::new() };
    for (index, operation) in operations.iter().enumerate() {
        let (got, wanted) = (ours.apply(operation), native.apply(operation));
        let (got, wanted) = (sorted(got), sorted(wanted));
        if got != wanted && !both_wrong(operation, &got, &wanted) {
            return Err(format!(
                "call {index}, {operation:?}: ours {got:?}, tmpfs {wanted:?}"
            ));
        }
    }
    close_all(ours);
    close_all(&mut native);
    let (got, wanted) = (tree(ours), tree(&mut native));
    if got == wanted {
        return Ok(());
    }
    let differs = |a: &Tree, b: &Tree| {
        a.iter()
            .filter(|(path, row)| b.get(*path) != Some(row))
            .map(|row| format!("{row:?}"))
            .collect::<Vec<_>>()
    };
    Err(format!(
        "the trees: ours {:#?}, tmpfs {:#?}",
        differs(&got, &wanted),
        differs(&wanted, &got)
    ))
}

/// A subject agrees with tmpfs on random sequences, from an empty folder and from a layer.
/// `make` gives it a filesystem whose granted folder is `/g`, `finish` looks at it after.
pub(crate) fn agree<F: Files>(
    cases: u32,
    make: impl Fn(Filesystem) -> F,
    finish: impl Fn(&F) -> Result<(), String>,
) {
    for layered in [false, true] {
        search(cases, |operations| {
            let mut fs = Filesystem::new(plenty(), 7);
            if layered {
                fs.mount("/g", folder(), Access::Writable, None).unwrap();
            } else {
                fs.mount("/g", Source::Empty, Access::Writable, None)
                    .unwrap();
            }
            let mut ours = make(fs);
            compare(&mut ours, layered, operations)?;
            finish(&ours)
        });
    }
}

/// Whether an opening that succeeded on tmpfs had to change something or may do so later.
fn opens_to_change(native: &mut Native, operation: &Operation) -> bool {
    let Operation::Open(_, at, path, how) = operation else {
        return false;
    };
    let there = native.apply(&Operation::StatPath(*at, path.clone(), how.follow));
    how.mode.writes() || how.truncate || (how.create && there.is_err())
}

/// What is mounted read-only refuses every change with `EROFS` or with what is wrong with
/// the call itself, answers everything else as tmpfs does, and stays as it was.
pub(crate) fn refuse<F: Files>(cases: u32, make: impl Fn(Filesystem) -> F) {
    search(cases, |operations| {
        let mut fs = Filesystem::new(plenty(), 7);
        fs.mount("/g", folder(), Access::ReadOnly, None).unwrap();
        let mut ours = make(fs);
        let before = tree(&mut ours);
        let mut native = mirror();
        for (index, operation) in operations.iter().enumerate() {
            let changes = operation.changes() || opens_to_change(&mut native, operation);
            let (got, wanted) = (ours.apply(operation), native.apply(operation));
            let (got, wanted) = (sorted(got), sorted(wanted));
            let agreed = if changes {
                got == Err(Errno::Rofs)
                    || (wanted.is_err() && got == wanted)
                    || both_wrong(operation, &got, &wanted)
            } else {
                got == wanted || both_wrong(operation, &got, &wanted)
            };
            if !agreed {
                return Err(format!(
                    "call {index}, {operation:?}: ours {got:?}, tmpfs {wanted:?}"
                ));
            }
            if changes && wanted.is_ok() {
                close_all(&mut ours);
                native = mirror();
            }
        }
        close_all(&mut ours);
        if tree(&mut ours) == before {
            Ok(())
        } else {
            Err("something was changed".to_owned())
        }
    });
}

#[test]
fn the_filesystem_agrees_with_tmpfs() {
    agree(250, Direct::new, |ours| ours.fs.check_accounts(&[]));
}

#[test]
fn a_read_only_mount_refuses_every_change_and_nothing_else() {
    refuse(150, Direct::new);
}
