//! Every call that could break a seal, on a tree with one.

use probity_core::Repo;
use probity_core::repo::{File, FileMode};

use super::filesystem::Filesystem;
use super::mounts::Devices;
use super::{
    Access, Attempt, Attempted, Errno, FileSeals, Follow, Mounts, NewTimes, NodeId, OpenFlags,
    Quota,
};

const QUOTA: Quota = Quota {
    bytes: 10_000,
    inodes: 100,
    depth: 10,
};
const WRITE: OpenFlags = OpenFlags {
    create: false,
    directory: false,
    exclusive: false,
    truncate: false,
    write: true,
};
const MAKE: OpenFlags = OpenFlags {
    create: true,
    ..WRITE
};

/// A writable tree at `/repo` in which a test and a link are sealed, and an empty `/tmp`.
fn filesystem() -> Filesystem {
    let mut repo = Repo::new();
    for (path, text, mode) in [
        ("tests/test_b.py", "assert True", FileMode::Regular),
        ("tests/data/a.json", "{}", FileMode::Regular),
        ("tests/conftest.py", "../shared.py", FileMode::Symlink),
        ("shared.py", "x = 1", FileMode::Regular),
        ("to_b", "tests/test_b.py", FileMode::Symlink),
        ("to_tests", "tests", FileMode::Symlink),
        ("src/pkg.py", "x = 1", FileMode::Regular),
    ] {
        repo.insert(&path.parse().unwrap(), File::new(text.as_bytes(), mode))
            .unwrap();
    }
    let seals = FileSeals {
        files: [
            "tests/test_b.py",
            "tests/conftest.py",
            "tests/data",
            "gone/x.py",
        ]
        .map(str::to_owned)
        .into(),
        names: ["conftest.py".to_owned()].into(),
    };
    let mut mounts = Mounts::new(Devices::None);
    mounts.sealed_folder("/repo", repo.root(), seals);
    mounts.empty("/tmp", Access::Writable);
    mounts.build(QUOTA, 7).unwrap()
}

fn attempts(fs: &Filesystem) -> Vec<(&str, Attempted)> {
    let attempts = fs.attempts().iter();
    attempts
        .map(|Attempt { path, what }| (path.as_str(), *what))
        .collect()
}

fn text(fs: &mut Filesystem, path: &str) -> Vec<u8> {
    let node = fs.existing(NodeId::ROOT, path, Follow::Yes).unwrap();
    let mut bytes = vec![0; 100];
    let count = fs.read_at(node, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

/// A path and what was tried with it.
type Note = (&'static str, Attempted);
/// What it is called, what it does, and what is noted of it.
type Attack<T> = (&'static str, Call, T);
/// A call on a filesystem.
type Call = fn(&mut Filesystem) -> Result<(), Errno>;

fn open(fs: &mut Filesystem, path: &str, flags: OpenFlags) -> Result<(), Errno> {
    let node = fs.open(NodeId::ROOT, path, Follow::Yes, flags)?;
    fs.close(node);
    Ok(())
}

fn rename(fs: &mut Filesystem, from: &str, to: &str) -> Result<(), Errno> {
    fs.rename((NodeId::ROOT, from), (NodeId::ROOT, to))
}

#[test]
fn no_call_changes_takes_away_or_replaces_a_sealed_file() {
    const B: &str = "/repo/tests/test_b.py";
    let calls: &[Attack<Option<Note>>] = &[
        (
            "open to write",
            |fs| open(fs, "repo/tests/test_b.py", WRITE),
            Some((B, Attempted::Write)),
        ),
        (
            "open or make",
            |fs| open(fs, "repo/tests/test_b.py", MAKE),
            Some((B, Attempted::Write)),
        ),
        (
            "truncate",
            |fs| {
                let flags = OpenFlags {
                    truncate: true,
                    ..OpenFlags::default()
                };
                open(fs, "repo/tests/test_b.py", flags)
            },
            Some((B, Attempted::Write)),
        ),
        (
            "through a link",
            |fs| open(fs, "repo/to_b", WRITE),
            Some((B, Attempted::Write)),
        ),
        (
            "through a link to its folder",
            |fs| open(fs, "repo/to_tests/test_b.py", WRITE),
            Some((B, Attempted::Write)),
        ),
        (
            "with a descriptor that only reads",
            |fs| {
                let node = fs.open(
                    NodeId::ROOT,
                    "repo/tests/test_b.py",
                    Follow::Yes,
                    OpenFlags::default(),
                )?;
                assert_eq!(fs.set_len(node, 0), Err(Errno::Rofs));
                assert_eq!(fs.set_len(node, 11), Err(Errno::Rofs));
                assert_eq!(fs.allocate(node, 0, 50), Err(Errno::Rofs));
                let written = fs.write_at(node, 0, b"pass");
                fs.close(node);
                written.map(|_| ())
            },
            Some((B, Attempted::Write)),
        ),
        (
            "times",
            |fs| {
                let node = fs.existing(NodeId::ROOT, "repo/tests/test_b.py", Follow::Yes)?;
                fs.set_times(
                    node,
                    NewTimes {
                        modified: Some(1),
                        ..NewTimes::default()
                    },
                )
            },
            None,
        ),
        (
            "unlink",
            |fs| fs.unlink(NodeId::ROOT, "repo/tests/test_b.py"),
            Some((B, Attempted::Remove)),
        ),
        (
            "unlink of a link",
            |fs| fs.unlink(NodeId::ROOT, "repo/tests/conftest.py"),
            Some(("/repo/tests/conftest.py", Attempted::Remove)),
        ),
        (
            "rename",
            |fs| rename(fs, "repo/tests/test_b.py", "tmp/b"),
            Some((B, Attempted::Remove)),
        ),
        (
            "rename of the folder",
            |fs| rename(fs, "repo/tests", "repo/old"),
            Some(("/repo/tests", Attempted::Remove)),
        ),
        (
            "rename over it",
            |fs| {
                open(fs, "tmp/b", MAKE)?;
                rename(fs, "tmp/b", "repo/tests/test_b.py")
            },
            Some((B, Attempted::Replace)),
        ),
        (
            "a second name, to write through",
            |fs| {
                fs.hard_link(
                    (NodeId::ROOT, "repo/tests/test_b.py"),
                    Follow::No,
                    (NodeId::ROOT, "tmp/b"),
                )
            },
            None,
        ),
        (
            "a package beside it",
            |fs| fs.make_directory(NodeId::ROOT, "repo/tests/test_b"),
            Some(("/repo/tests/test_b", Attempted::Make)),
        ),
        (
            "a link beside it",
            |fs| fs.symlink("/tmp", NodeId::ROOT, "repo/tests/test_b"),
            Some(("/repo/tests/test_b", Attempted::Make)),
        ),
        (
            "a package moved beside it",
            |fs| {
                fs.make_directory(NodeId::ROOT, "tmp/p")?;
                rename(fs, "tmp/p", "repo/tests/test_b")
            },
            Some(("/repo/tests/test_b", Attempted::Make)),
        ),
    ];
    for (what, call, attempt) in calls {
        let mut fs = filesystem();
        assert_eq!(call(&mut fs), Err(Errno::Rofs), "{what}");
        assert_eq!(attempts(&fs), Vec::from_iter(*attempt), "{what}");
        assert_eq!(
            text(&mut fs, "repo/tests/test_b.py"),
            b"assert True",
            "{what}"
        );
        assert_eq!(text(&mut fs, "repo/tests/conftest.py"), b"x = 1", "{what}");
        // What goes on from there has the seals, and its own list.
        let mut next = fs.fork();
        assert!(next.attempts().is_empty());
        assert_eq!(
            open(&mut next, "repo/tests/test_b.py", WRITE),
            Err(Errno::Rofs)
        );
        assert_eq!(next.attempts().len(), 1);
    }
}

#[test]
fn closed_names_are_not_made_moved_or_linked() {
    let calls: &[Attack<&[Note]>] = &[
        (
            "make",
            |fs| open(fs, "repo/src/conftest.py", MAKE),
            &[("/repo/src/conftest.py", Attempted::Make)],
        ),
        (
            "make in a new folder",
            |fs| {
                fs.make_directory(NodeId::ROOT, "repo/new")?;
                fs.make_directory(NodeId::ROOT, "repo/new/er")?;
                open(fs, "repo/new/er/conftest.py", MAKE)
            },
            &[("/repo/new/er/conftest.py", Attempted::Make)],
        ),
        (
            "a folder",
            |fs| fs.make_directory(NodeId::ROOT, "repo/conftest.py"),
            &[("/repo/conftest.py", Attempted::Make)],
        ),
        (
            "a link",
            |fs| fs.symlink("/tmp/x", NodeId::ROOT, "repo/conftest.py"),
            &[("/repo/conftest.py", Attempted::Make)],
        ),
        (
            "a move",
            |fs| rename(fs, "repo/src/pkg.py", "repo/src/conftest.py"),
            &[("/repo/src/conftest.py", Attempted::Make)],
        ),
        (
            "a second name",
            |fs| {
                fs.hard_link(
                    (NodeId::ROOT, "repo/src/pkg.py"),
                    Follow::No,
                    (NodeId::ROOT, "repo/src/conftest.py"),
                )
            },
            &[("/repo/src/conftest.py", Attempted::Make)],
        ),
        (
            "a folder that holds one, from elsewhere",
            |fs| {
                fs.make_directory(NodeId::ROOT, "tmp/a")?;
                fs.make_directory(NodeId::ROOT, "tmp/a/b")?;
                open(fs, "tmp/a/b/conftest.py", MAKE)?;
                rename(fs, "tmp/a", "repo/src/a")
            },
            &[("/repo/src/conftest.py", Attempted::Make)],
        ),
        (
            "compiled code, which tools write unasked",
            |fs| {
                fs.make_directory(NodeId::ROOT, "repo/tests/__pycache__")?;
                open(fs, "repo/tests/__pycache__/test_b.cpython-315.pyc", MAKE)
            },
            &[],
        ),
    ];
    for (what, call, expected) in calls {
        let mut fs = filesystem();
        assert_eq!(call(&mut fs), Err(Errno::Rofs), "{what}");
        assert_eq!(attempts(&fs), *expected, "{what}");
    }
}

#[test]
fn the_rest_of_the_tree_can_be_changed() {
    let mut fs = filesystem();
    open(&mut fs, "repo/tests/data/a.json", WRITE).unwrap();
    open(&mut fs, "repo/tests/data/new.py", MAKE).unwrap();
    open(&mut fs, "repo/tests/test_new.py", MAKE).unwrap();
    fs.make_directory(NodeId::ROOT, "repo/tests/test_c")
        .unwrap();
    open(&mut fs, "repo/shared.py", WRITE).unwrap();
    rename(&mut fs, "repo/src", "repo/lib").unwrap();
    rename(&mut fs, "repo/lib", "repo/tests/lib").unwrap();
    fs.unlink(NodeId::ROOT, "repo/to_b").unwrap();
    // Elsewhere nothing is closed, and a name that nothing sealed has means nothing.
    open(&mut fs, "tmp/conftest.py", MAKE).unwrap();
    open(&mut fs, "tmp/a.pyc", MAKE).unwrap();
    fs.make_directory(NodeId::ROOT, "repo/gone").unwrap();
    open(&mut fs, "repo/gone/x.py", MAKE).unwrap();
    assert!(fs.attempts().is_empty(), "{:?}", fs.attempts());
}

#[test]
fn what_is_noted_is_bounded() {
    let mut fs = filesystem();
    for n in 0..100 {
        fs.make_directory(NodeId::ROOT, &format!("repo/d{n}"))
            .unwrap();
        let path = format!("repo/d{n}/conftest.py");
        assert_eq!(open(&mut fs, &path, MAKE), Err(Errno::Rofs));
        if n >= 40 {
            fs.remove_directory(NodeId::ROOT, &format!("repo/d{n}"))
                .unwrap();
        }
    }
    assert_eq!(fs.attempts().len(), super::MAX_ATTEMPTS);
}
