//! The filesystem against what POSIX and WASI promise.

use std::sync::Arc;

use probity_core::budget::Limit;
use probity_core::repo::{File, FileMode};
use probity_core::{Repo, RepoPath};

use super::{
    Access, Device, Errno, FileType, Filesystem, Follow, LowerDirectory, NodeId, OpenFlags, Quota,
    Source,
};

const QUOTA: Quota = Quota {
    bytes: 1000,
    inodes: 10,
    depth: 5,
};

pub(super) fn repo() -> Repo {
    let mut repo = Repo::new();
    for (path, bytes, mode) in [
        ("a.txt", "hello", FileMode::Regular),
        ("src/lib.py", "x = 1\n", FileMode::Regular),
        ("src/deep/er/file", "deep", FileMode::Regular),
        ("link", "src/lib.py", FileMode::Symlink),
        ("loop", "loop", FileMode::Symlink),
        ("out", "../../etc/passwd", FileMode::Symlink),
        ("absolute", "/rw/a.txt", FileMode::Symlink),
    ] {
        let path: RepoPath = path.parse().unwrap();
        repo.insert(&path, File::new(bytes.as_bytes(), mode))
            .unwrap();
    }
    repo
}

/// The same tree read-only at `/ro` and writable at `/rw`, and an empty `/tmp`.
fn filesystem() -> Filesystem {
    let repo = repo();
    let mut fs = Filesystem::new(QUOTA, 7);
    let folder = || Source::Folder(LowerDirectory::Tree(Arc::clone(repo.root())));
    fs.mount("/ro", folder(), Access::ReadOnly, None).unwrap();
    fs.mount("/rw", folder(), Access::Writable, None).unwrap();
    fs.mount("/tmp", Source::Empty, Access::Writable, None)
        .unwrap();
    fs.mount(
        "/dev/null",
        Source::Device(Device::Null),
        Access::ReadOnly,
        None,
    )
    .unwrap();
    fs
}

const WRITE: OpenFlags = OpenFlags {
    create: true,
    directory: false,
    exclusive: false,
    truncate: false,
    write: true,
};

fn write(fs: &mut Filesystem, path: &str, bytes: &[u8]) -> Result<(), Errno> {
    let node = fs.open(NodeId::ROOT, path, Follow::Yes, WRITE)?;
    let result = fs.write_at(node, 0, bytes).map(|_| ());
    fs.close(node);
    result
}

fn read(fs: &mut Filesystem, path: &str) -> Result<Vec<u8>, Errno> {
    let node = fs.existing(NodeId::ROOT, path, Follow::Yes)?;
    let mut bytes = vec![0; 100];
    let count = fs.read_at(node, 0, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn grant(fs: &mut Filesystem, path: &str) -> NodeId {
    fs.existing(NodeId::ROOT, path, Follow::No).unwrap()
}

#[test]
fn layers_are_read_through_links() {
    let mut fs = filesystem();
    assert_eq!(read(&mut fs, "ro/a.txt").unwrap(), b"hello");
    assert_eq!(read(&mut fs, "ro/link").unwrap(), b"x = 1\n");
    assert_eq!(read(&mut fs, "ro/src/../a.txt").unwrap(), b"hello");
    assert_eq!(read(&mut fs, "ro/nothing"), Err(Errno::Noent));
    assert_eq!(read(&mut fs, "ro/a.txt/x"), Err(Errno::Notdir));
    assert_eq!(read(&mut fs, "ro/a.txt/"), Err(Errno::Notdir));
    assert_eq!(read(&mut fs, ""), Err(Errno::Noent));
    assert_eq!(read(&mut fs, "ro/loop"), Err(Errno::Loop));
}

#[test]
fn no_path_leads_out_of_a_grant() {
    let mut fs = filesystem();
    let ro = grant(&mut fs, "ro");
    for path in [
        "..",
        "../rw/a.txt",
        "src/../../rw/a.txt",
        "/rw/a.txt",
        "out",
        "absolute",
    ] {
        assert_eq!(
            fs.existing(ro, path, Follow::Yes),
            Err(Errno::Notcapable),
            "{path}"
        );
    }
    // A link may be looked at, it only cannot be followed.
    assert!(fs.existing(ro, "out", Follow::No).is_ok());
    // Below the root everything is granted, and the root is its own parent.
    assert_eq!(read(&mut fs, "../../rw/a.txt").unwrap(), b"hello");
    assert_eq!(read(&mut fs, "ro/absolute").unwrap(), b"hello");
}

#[test]
fn writing_copies_and_the_layer_stays() {
    let repo = repo();
    let mut fs = filesystem();
    write(&mut fs, "rw/a.txt", b"HE").unwrap();
    assert_eq!(read(&mut fs, "rw/a.txt").unwrap(), b"HEllo");
    assert_eq!(read(&mut fs, "ro/a.txt").unwrap(), b"hello");
    assert_eq!(
        repo.get(&"a.txt".parse().unwrap()).unwrap().bytes(),
        b"hello"
    );
}

#[test]
fn read_only_mounts_refuse_every_change() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    assert_eq!(write(&mut fs, "ro/a.txt", b"x"), Err(Errno::Rofs));
    assert_eq!(write(&mut fs, "ro/new", b"x"), Err(Errno::Rofs));
    assert_eq!(fs.unlink(root, "ro/a.txt"), Err(Errno::Rofs));
    assert_eq!(fs.make_directory(root, "ro/d"), Err(Errno::Rofs));
    assert_eq!(
        fs.remove_directory(root, "ro/src/deep/er"),
        Err(Errno::Notempty)
    );
    assert_eq!(fs.symlink("x", root, "ro/s"), Err(Errno::Rofs));
    let (a, b) = ((root, "ro/a.txt"), (root, "rw/b"));
    assert_eq!(fs.rename(a, b), Err(Errno::Rofs));
    assert_eq!(
        fs.rename((root, "rw/a.txt"), (root, "ro/b")),
        Err(Errno::Rofs)
    );
    assert_eq!(fs.hard_link(a, Follow::No, b), Err(Errno::Rofs));
    let node = grant(&mut fs, "ro/a.txt");
    assert_eq!(fs.set_len(node, 1), Err(Errno::Rofs));
    assert_eq!(
        fs.set_times(node, super::NewTimes::default()),
        Err(Errno::Rofs)
    );
    let truncate = OpenFlags {
        truncate: true,
        ..OpenFlags::default()
    };
    assert_eq!(
        fs.open(root, "ro/a.txt", Follow::No, truncate),
        Err(Errno::Rofs)
    );
    // Mount points stay where they are.
    assert_eq!(fs.rename((root, "rw"), (root, "tmp/x")), Err(Errno::Busy));
    assert_eq!(fs.unlink(root, "dev/null"), Err(Errno::Busy));
}

#[test]
fn renames_follow_posix() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    fs.rename((root, "rw/a.txt"), (root, "tmp/b")).unwrap();
    assert_eq!(read(&mut fs, "tmp/b").unwrap(), b"hello");
    assert_eq!(read(&mut fs, "rw/a.txt"), Err(Errno::Noent));
    fs.rename((root, "tmp/b"), (root, "rw/src/lib.py")).unwrap();
    assert_eq!(read(&mut fs, "rw/src/lib.py").unwrap(), b"hello");
    fs.rename((root, "rw/src"), (root, "tmp/moved")).unwrap();
    assert_eq!(read(&mut fs, "tmp/moved/deep/er/file").unwrap(), b"deep");
    let into_itself = fs.rename((root, "tmp/moved"), (root, "tmp/moved/deep/x"));
    assert_eq!(into_itself, Err(Errno::Inval));
    fs.make_directory(root, "tmp/empty").unwrap();
    fs.rename((root, "tmp/moved"), (root, "tmp/empty")).unwrap();
    assert_eq!(read(&mut fs, "tmp/empty/lib.py").unwrap(), b"hello");
    let over_file = fs.rename((root, "tmp/empty"), (root, "rw/link"));
    assert_eq!(over_file, Err(Errno::Notdir));
}

#[test]
fn a_removed_file_lives_while_it_is_open() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    write(&mut fs, "tmp/f", b"still here").unwrap();
    let node = fs
        .open(root, "tmp/f", Follow::No, OpenFlags::default())
        .unwrap();
    fs.unlink(root, "tmp/f").unwrap();
    let mut bytes = [0; 10];
    assert_eq!(fs.read_at(node, 0, &mut bytes), Ok(10));
    assert_eq!(fs.quota_use().bytes, 10);
    fs.close(node);
    assert_eq!((fs.quota_use().bytes, fs.quota_use().inodes), (0, 0));
}

#[test]
fn hard_links_share_their_content() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    write(&mut fs, "tmp/f", b"one").unwrap();
    fs.hard_link((root, "tmp/f"), Follow::No, (root, "tmp/g"))
        .unwrap();
    write(&mut fs, "tmp/g", b"two").unwrap();
    assert_eq!(read(&mut fs, "tmp/f").unwrap(), b"two");
    let node = grant(&mut fs, "tmp/g");
    assert_eq!(fs.stat(node).links, 2);
    fs.unlink(root, "tmp/f").unwrap();
    assert_eq!(read(&mut fs, "tmp/g").unwrap(), b"two");
}

#[test]
fn the_byte_quota_counts_what_is_owned_and_is_given_back() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    write(&mut fs, "tmp/f", &[1; 900]).unwrap();
    assert_eq!(write(&mut fs, "tmp/g", &[1; 101]), Err(Errno::Nospc));
    // A hole counts as what it would hold.
    let node = grant(&mut fs, "tmp/g");
    assert_eq!(fs.write_at(node, 1 << 40, b"x"), Err(Errno::Nospc));
    assert_eq!(fs.write_at(node, u64::MAX, b"x"), Err(Errno::Fbig));
    assert_eq!(fs.set_len(node, 101), Err(Errno::Nospc));
    // So does the copy of a layer's file.
    write(&mut fs, "rw/a.txt", b"HELLO").unwrap();
    assert_eq!(fs.quota_use().bytes, 905);
    fs.unlink(root, "tmp/f").unwrap();
    assert_eq!(write(&mut fs, "tmp/g", &[1; 995]), Ok(()));
    assert_eq!(write(&mut fs, "tmp/h", b"y"), Err(Errno::Nospc));
    let hit = fs
        .quota_use()
        .hits()
        .find(|hit| hit.limit == Limit::FileBytes);
    assert_eq!(hit.unwrap().cap, 1000);
}

#[test]
fn the_inode_and_depth_quotas_hold() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    fs.make_directory(root, "tmp/1").unwrap();
    fs.make_directory(root, "tmp/1/2").unwrap();
    fs.make_directory(root, "tmp/1/2/3").unwrap();
    fs.make_directory(root, "tmp/1/2/3/4").unwrap();
    let deeper = fs.make_directory(root, "tmp/1/2/3/4/5");
    assert_eq!(deeper, Err(Errno::Nametoolong));
    for index in 0..6 {
        write(&mut fs, &format!("tmp/{index}f"), b"").unwrap();
    }
    assert_eq!(write(&mut fs, "tmp/more", b""), Err(Errno::Nospc));
    assert_eq!(fs.symlink("x", root, "tmp/s"), Err(Errno::Nospc));
    let limits: Vec<Limit> = fs.quota_use().hits().map(|hit| hit.limit).collect();
    assert_eq!(limits, [Limit::Inodes, Limit::PathDepth]);
    fs.unlink(root, "tmp/0f").unwrap();
    assert_eq!(write(&mut fs, "tmp/more", b""), Ok(()));
}

#[test]
fn listings_are_sorted_and_inodes_are_stable() {
    let mut fs = filesystem();
    let node = grant(&mut fs, "rw");
    write(&mut fs, "rw/b", b"").unwrap();
    let names: Vec<String> = fs
        .list(node)
        .unwrap()
        .iter()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(
        names,
        [
            ".", "..", "a.txt", "absolute", "b", "link", "loop", "out", "src"
        ]
    );
    let first = grant(&mut fs, "rw/a.txt");
    let inode = fs.stat(first).inode;
    let again = grant(&mut fs, "rw/a.txt");
    assert_eq!(fs.stat(again).inode, inode);
    assert_eq!(fs.stat(node).file_type, FileType::Directory);
}

#[test]
fn the_read_set_names_what_was_read_listed_and_missed() {
    let mut fs = filesystem();
    read(&mut fs, "ro/link").unwrap();
    let _ = read(&mut fs, "ro/src/absent.py");
    let folder = grant(&mut fs, "ro/src/deep");
    fs.list(folder).unwrap();
    // What the guest made itself follows from the rest.
    write(&mut fs, "tmp/own", b"1").unwrap();
    read(&mut fs, "tmp/own").unwrap();
    let reads = fs.read_set();
    assert!(!reads.incomplete);
    let sorted = |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
    assert_eq!(sorted(&reads.read), ["/ro/link", "/ro/src/lib.py"]);
    assert_eq!(sorted(&reads.listed), ["/ro/src/deep"]);
    assert_eq!(sorted(&reads.missed), ["/ro/src/absent.py", "/tmp/own"]);
}

#[test]
fn the_read_set_names_what_a_guest_knows_without_reading() {
    let mut fs = filesystem();
    let node = fs
        .open(NodeId::ROOT, "ro/a.txt", Follow::Yes, OpenFlags::default())
        .unwrap();
    fs.close(node);
    let made = fs.make_directory(NodeId::ROOT, "ro/src");
    assert_eq!(made, Err(Errno::Exist));
    assert_eq!(read(&mut fs, "ro/src/lib.py/x"), Err(Errno::Notdir));
    // What the guest took away was there.
    fs.unlink(NodeId::ROOT, "rw/a.txt").unwrap();
    assert_eq!(read(&mut fs, "rw/a.txt"), Err(Errno::Noent));
    let file = grant(&mut fs, "ro/link");
    assert_eq!(fs.list(file), Err(Errno::Notdir));
    let reads = fs.read_set();
    assert_eq!(
        reads.read.iter().collect::<Vec<_>>(),
        ["/ro/a.txt", "/ro/src", "/ro/src/lib.py", "/rw/a.txt"]
    );
    assert!(reads.listed.is_empty() && reads.missed.is_empty());
}

#[test]
fn mounts_are_checked() {
    let mut fs = filesystem();
    for path in ["relative", "/a/../b", "/a//b", "/", "/ro", "/ro/a.txt/x"] {
        assert!(
            fs.mount(path, Source::Empty, Access::ReadOnly, None)
                .is_err(),
            "{path}"
        );
    }
}

#[test]
fn a_name_with_a_slash_is_a_folder_s_and_no_link_is_followed_for_it() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    fs.make_directory(root, "tmp/d").unwrap();
    fs.symlink("d", root, "tmp/to-d").unwrap();
    fs.symlink("nothing", root, "tmp/dangling").unwrap();
    // The folder behind a link is neither removed nor moved nor made through it.
    assert_eq!(fs.remove_directory(root, "tmp/to-d/"), Err(Errno::Notdir));
    assert_eq!(
        fs.rename((root, "tmp/to-d/"), (root, "tmp/e")),
        Err(Errno::Notdir)
    );
    assert_eq!(fs.make_directory(root, "tmp/dangling/"), Err(Errno::Exist));
    assert_eq!(fs.unlink(root, "tmp/to-d/"), Err(Errno::Notdir));
    // What is only looked at is followed.
    let folder = grant(&mut fs, "tmp/to-d/");
    assert_eq!(folder, grant(&mut fs, "tmp/d"));
    // A file is not made under a folder's name.
    for path in ["tmp/new/", "tmp/d/", "tmp/to-d/"] {
        assert_eq!(
            fs.open(root, path, Follow::Yes, WRITE),
            Err(Errno::Isdir),
            "{path}"
        );
    }
    let both = OpenFlags {
        directory: true,
        ..WRITE
    };
    assert_eq!(
        fs.open(root, "tmp/new", Follow::Yes, both),
        Err(Errno::Inval)
    );
    let directory = OpenFlags {
        directory: true,
        ..OpenFlags::default()
    };
    assert_eq!(
        fs.open(root, "tmp/to-d", Follow::No, directory),
        Err(Errno::Notdir)
    );
}

#[test]
fn a_path_that_ends_in_dots_names_nothing_to_change() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    fs.make_directory(root, "tmp/d").unwrap();
    assert_eq!(fs.remove_directory(root, "tmp/d/."), Err(Errno::Inval));
    assert_eq!(fs.remove_directory(root, "tmp/d/.."), Err(Errno::Notempty));
    assert_eq!(fs.unlink(root, "tmp/d/."), Err(Errno::Isdir));
    let dots = fs.rename((root, "tmp/nothing"), (root, "tmp/d/.."));
    assert_eq!(dots, Err(Errno::Busy));
    assert_eq!(fs.symlink("", root, "tmp/s"), Err(Errno::Noent));
    assert_eq!(
        fs.symlink(&"s".repeat(4096), root, "tmp/s"),
        Err(Errno::Nametoolong)
    );
    let longest = "./".repeat(2047) + "x";
    assert_eq!(fs.existing(root, &longest, Follow::No), Err(Errno::Noent));
    let longer = format!("{longest}x");
    assert_eq!(
        fs.existing(root, &longer, Follow::No),
        Err(Errno::Nametoolong)
    );
}

#[test]
fn a_removed_folder_keeps_nothing_of_the_one_above() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    fs.make_directory(root, "tmp/above").unwrap();
    fs.make_directory(root, "tmp/above/d").unwrap();
    let open = OpenFlags::default();
    let held = fs.open(root, "tmp/above/d", Follow::No, open).unwrap();
    fs.remove_directory(root, "tmp/above/d").unwrap();
    fs.remove_directory(root, "tmp/above").unwrap();
    // The node of the folder above serves for something else now.
    write(&mut fs, "tmp/file", b"").unwrap();
    let rows = fs.list(held).unwrap();
    let types: Vec<FileType> = rows
        .iter()
        .map(|(_, node)| fs.node(*node).file_type())
        .collect();
    assert_eq!(types, [FileType::Directory; 2]);
    assert_eq!(fs.stat(held).links, 0);
    assert_eq!(fs.make_directory(held, "new"), Err(Errno::Noent));
    fs.close(held);
    fs.unlink(root, "tmp/file").unwrap();
    assert_eq!(fs.quota_use().inodes, 0);
}

#[test]
fn further_names_count_as_inodes() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    write(&mut fs, "tmp/f", b"").unwrap();
    let link = |fs: &mut Filesystem, from: &str, to: &str| {
        fs.hard_link((root, from), Follow::No, (root, to))
    };
    for index in 0..9 {
        link(&mut fs, "tmp/f", &format!("tmp/{index}")).unwrap();
    }
    assert_eq!(link(&mut fs, "tmp/f", "tmp/more"), Err(Errno::Nospc));
    assert_eq!(link(&mut fs, "rw/a.txt", "tmp/more"), Err(Errno::Nospc));
    // Moving a name needs no room.
    fs.rename((root, "tmp/0"), (root, "rw/0")).unwrap();
    fs.unlink(root, "tmp/f").unwrap();
    link(&mut fs, "rw/a.txt", "tmp/more").unwrap();
    assert_eq!(fs.quota_use().inodes, 10);
}

#[test]
fn a_folder_takes_its_depth_along() {
    let mut fs = filesystem();
    let root = NodeId::ROOT;
    for path in ["tmp/a", "tmp/a/b", "tmp/a/b/c", "tmp/x", "tmp/x/y"] {
        fs.make_directory(root, path).unwrap();
    }
    // The root is 0, so `tmp/x/y/a/b/c` would be 6; the quota is 5.
    let deep = fs.rename((root, "tmp/a"), (root, "tmp/x/y/a"));
    assert_eq!(deep, Err(Errno::Nametoolong));
    fs.rename((root, "tmp/a"), (root, "tmp/x/a")).unwrap();
    fs.rename((root, "tmp/x/a"), (root, "tmp/a")).unwrap();
}

#[test]
fn allocating_within_a_file_changes_only_its_times() {
    let mut fs = filesystem();
    let node = grant(&mut fs, "rw/a.txt");
    fs.now = 9;
    assert_eq!(fs.allocate(node, 0, 0), Err(Errno::Inval));
    assert_eq!(fs.allocate(node, u64::MAX, 1), Err(Errno::Fbig));
    fs.allocate(node, 0, 3).unwrap();
    let stat = fs.stat(node);
    assert_eq!((stat.size, stat.modified), (5, 9));
    assert_eq!(fs.quota_use().bytes, 0);
    fs.allocate(node, 3, 5).unwrap();
    assert_eq!(read(&mut fs, "rw/a.txt").unwrap(), b"hello\0\0\0");
    let read_only = grant(&mut fs, "ro/a.txt");
    assert_eq!(fs.allocate(read_only, 0, 3), Err(Errno::Rofs));
}
