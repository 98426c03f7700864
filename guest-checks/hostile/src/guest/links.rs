//! Symbolic and hard links, trailing slashes and renames: ways out of a folder that a
//! host forgot.

#![allow(
    deprecated,
    reason = "the only stable way to make a symbolic link under WASI"
)]

use std::fs::{self, File, soft_link};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use super::walls::{refused, verdict};

/// Makes a folder with what the attack needs; a failure to do so shows as an attempt that
/// went through, since then the wall was not tried.
fn set_up(what: &str, result: io::Result<()>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => {
            println!("cannot set up {what}: {error}");
            false
        }
    }
}

pub(crate) fn symlink_loop(_: &[String]) -> ExitCode {
    let mut tried = vec![
        set_up("a pair", soft_link("pair-b", "/tmp/pair-a")),
        set_up("a pair", soft_link("pair-a", "/tmp/pair-b")),
        set_up("a link to itself", soft_link("self", "/tmp/self")),
        set_up("a link below itself", soft_link("below/x", "/tmp/below")),
        set_up("the end of a chain", File::create("/tmp/chain-0").map(drop)),
    ];
    for step in 1..=60_u32 {
        tried.push(set_up(
            "a chain",
            soft_link(
                format!("chain-{}", step.saturating_sub(1)),
                format!("/tmp/chain-{step}"),
            ),
        ));
    }
    for path in ["pair-a", "self", "below", "chain-60"] {
        let path = Path::new("/tmp").join(path);
        tried.extend([
            refused("open", File::open(&path)),
            refused("stat", fs::metadata(&path)),
            refused("list", fs::read_dir(&path)),
            refused("create through", File::create(path.join("x"))),
            refused("make a folder in", fs::create_dir(path.join("x"))),
        ]);
    }
    verdict(&tried)
}

pub(crate) fn symlink_escape(_: &[String]) -> ExitCode {
    let targets = [
        "..",
        "../repo",
        "../repo/a.txt",
        "../../../../etc/passwd",
        "./../etc",
        "inner/../../repo",
    ];
    let mut tried = vec![set_up("a folder", fs::create_dir("/tmp/inner"))];
    for (index, target) in targets.iter().enumerate() {
        let link = format!("/tmp/escape-{index}");
        tried.extend([
            set_up("a link", soft_link(target, &link)),
            refused("stat", fs::metadata(&link)),
            refused("open", File::open(&link)),
            refused("list", fs::read_dir(&link)),
            refused("write below", fs::write(format!("{link}/x"), "x")),
            refused("read below", fs::read(format!("{link}/a.txt"))),
            refused("read below", fs::read(format!("{link}/repo/a.txt"))),
        ]);
    }
    verdict(&tried)
}

/// A link that is harmless where it is made, and leads out from where it is moved to.
pub(crate) fn rename_link_escape(_: &[String]) -> ExitCode {
    let mut tried = vec![
        set_up("folders", fs::create_dir_all("/tmp/a/b/c")),
        set_up("a folder", fs::create_dir("/tmp/repo")),
        set_up("a link", soft_link("../../../repo", "/tmp/a/b/c/up")),
    ];
    // Where it is, it leads to `/tmp/repo`.
    tried.push(set_up(
        "the use of a link",
        fs::read_dir("/tmp/a/b/c/up").map(drop),
    ));
    tried.push(set_up(
        "a move of the folder with the link",
        fs::rename("/tmp/a/b/c", "/tmp/c"),
    ));
    tried.extend([
        refused("list through the moved folder", fs::read_dir("/tmp/c/up")),
        refused("read through the moved folder", fs::read("/tmp/c/up/a.txt")),
    ]);
    tried.push(set_up(
        "a move of the link",
        fs::rename("/tmp/c/up", "/tmp/up"),
    ));
    tried.extend([
        refused("list through the moved link", fs::read_dir("/tmp/up")),
        refused("read through the moved link", fs::read("/tmp/up/a.txt")),
        refused("write through the moved link", fs::write("/tmp/up/x", "x")),
    ]);
    verdict(&tried)
}

/// A slash at the end says that a folder is meant, and must not make a link or a file
/// something else.
pub(crate) fn trailing_slash(_: &[String]) -> ExitCode {
    let tried = [
        set_up("a file", fs::write("/tmp/file", "x")),
        set_up("a link to the file", soft_link("file", "/tmp/to-file")),
        set_up("a link that leads out", soft_link("../repo", "/tmp/out")),
        set_up("a dangling link", soft_link("nothing", "/tmp/dangling")),
        refused("open a file", File::open("/tmp/file/")),
        refused("open a file as a folder", File::open("/tmp/file/.")),
        refused("leave a file", File::open("/tmp/file/../file")),
        refused("open a link to a file", File::open("/tmp/to-file/")),
        refused("open a link that leads out", File::open("/tmp/out/")),
        refused("list a link that leads out", fs::read_dir("/tmp/out/")),
        refused("stat a link that leads out", fs::metadata("/tmp/out/")),
        refused("read below it", fs::read("/tmp/out//a.txt")),
        refused("create a file", File::create("/tmp/new/")),
        refused(
            "create through a dangling link",
            File::create("/tmp/dangling/"),
        ),
        refused("delete a file", fs::remove_file("/tmp/file/")),
        refused("delete a link as a file", fs::remove_file("/tmp/to-file/")),
        refused("rename a file", fs::rename("/tmp/file/", "/tmp/moved")),
        refused("rename to a file", fs::rename("/tmp/file", "/tmp/moved/")),
        refused("hard link from", fs::hard_link("/tmp/file/", "/tmp/linked")),
        refused("hard link to", fs::hard_link("/tmp/file", "/tmp/linked/")),
        refused("open a file of the repository", File::open("/repo/a.txt/")),
    ];
    verdict(&tried)
}

/// Gives one file ever more names until that is refused.
pub(crate) fn hard_links(_: &[String]) -> ExitCode {
    let padding = "n".repeat(200);
    let mut names = 0_u64;
    let mut file = 0_u64;
    let error = 'files: loop {
        let first = format!("/tmp/file-{file}");
        if let Err(error) = File::create(&first) {
            break error;
        }
        loop {
            match fs::hard_link(&first, format!("/tmp/{padding}{names}")) {
                Ok(()) => names = names.saturating_add(1),
                Err(error) if error.raw_os_error() == Some(34) => break,
                Err(error) => break 'files error,
            }
        }
        file = file.saturating_add(1);
    };
    println!("{names} names, then: {error}");
    ExitCode::SUCCESS
}

/// Makes links with the longest targets until that is refused.
pub(crate) fn symlink_farm(_: &[String]) -> ExitCode {
    let target = "t/".repeat(2047);
    let mut count = 0_u64;
    let error = loop {
        match soft_link(&target, format!("/tmp/{count}")) {
            Ok(()) => count = count.saturating_add(1),
            Err(error) => break error,
        }
    };
    println!("{count} links, then: {error}");
    ExitCode::SUCCESS
}

/// Looks at a path whose links have to be walked for long, for ever.
pub(crate) fn resolve_bomb(_: &[String]) -> ExitCode {
    let mut made = File::create("/tmp/l0").map(drop);
    for step in 1..=39_u32 {
        let target = format!("{}l{}", "./".repeat(2040), step.saturating_sub(1));
        made = made.and_then(|()| soft_link(target, format!("/tmp/l{step}")));
    }
    if let Err(error) = made {
        println!("cannot set up: {error}");
        return ExitCode::SUCCESS;
    }
    loop {
        if let Err(error) = fs::metadata("/tmp/l39") {
            println!("refused: {error}");
            return ExitCode::SUCCESS;
        }
    }
}

/// Mount points and the folders above them stay where they are; a folder cannot be moved
/// into itself.
pub(crate) fn mount_points(_: &[String]) -> ExitCode {
    let tried = [
        set_up("folders", fs::create_dir_all("/tmp/a/b")),
        refused("remove /tmp", fs::remove_dir("/tmp")),
        refused("remove /repo", fs::remove_dir("/repo")),
        refused("remove /tmp/.", fs::remove_dir("/tmp/.")),
        refused("rename /tmp", fs::rename("/tmp", "/tmp/x")),
        refused("rename /repo", fs::rename("/repo", "/tmp/repo")),
        refused("rename onto /tmp", fs::rename("/tmp/a", "/tmp/.")),
        refused("rename into itself", fs::rename("/tmp/a", "/tmp/a/b/c")),
        refused("rename onto its child", fs::rename("/tmp/a", "/tmp/a/b")),
        refused("rename by ..", fs::rename("/tmp/a/b/..", "/tmp/z")),
        refused("remove by ..", fs::remove_dir("/tmp/a/b/..")),
        refused("link a folder", fs::hard_link("/tmp/a", "/tmp/hard")),
        refused("remove one that is full", fs::remove_dir("/tmp/a")),
        refused("unlink a folder", fs::remove_file("/tmp/a/b")),
    ];
    verdict(&tried)
}
