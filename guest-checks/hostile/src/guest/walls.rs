//! Attempts to reach what a guest must not reach: network, processes, threads, paths
//! outside its tree, and writes to a read-only tree.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::process::{Command, ExitCode};

use super::REFUSED;

/// Prints how one attempt ended and tells whether it was refused.
pub(super) fn refused<T>(what: &str, result: io::Result<T>) -> bool {
    match result {
        Ok(_) => println!("{what}: went through"),
        Err(ref error) => println!("{what}: refused: {error}"),
    }
    result.is_err()
}

/// The exit code for a list of attempts: refused only if every one was.
pub(super) fn verdict(refused: &[bool]) -> ExitCode {
    if refused.iter().all(|refused| *refused) {
        ExitCode::from(REFUSED)
    } else {
        ExitCode::SUCCESS
    }
}

pub(crate) fn socket(_: &[String]) -> ExitCode {
    verdict(&[refused("connect", TcpStream::connect("127.0.0.1:80"))])
}

pub(crate) fn spawn(_: &[String]) -> ExitCode {
    verdict(&[refused(
        "spawn",
        Command::new("/bin/sh").arg("-c").arg("true").spawn(),
    )])
}

pub(crate) fn thread(_: &[String]) -> ExitCode {
    verdict(&[refused("thread", std::thread::Builder::new().spawn(|| ()))])
}

pub(crate) fn passwd(_: &[String]) -> ExitCode {
    verdict(&[refused("open /etc/passwd", File::open("/etc/passwd"))])
}

pub(crate) fn dotdot(_: &[String]) -> ExitCode {
    verdict(&[
        refused(
            "open ../../../etc/passwd",
            File::open("/repo/../../../etc/passwd"),
        ),
        refused("open ../etc/passwd", File::open("/repo/../etc/passwd")),
        refused(
            "open with a trailing slash",
            File::open("/repo/../etc/passwd/"),
        ),
        refused("list ..", fs::read_dir("/repo/../etc")),
        refused("create ../x", fs::create_dir("/repo/../x")),
    ])
}

/// Uses the first file that it finds in `/repo`; a repository without files proves less.
pub(crate) fn write_repo(_: &[String]) -> ExitCode {
    let mut attempts = vec![
        refused("create a file", File::create("/repo/new-file")),
        refused("create a folder", fs::create_dir("/repo/new-folder")),
        refused("write a file", fs::write("/repo/new-file", "x")),
    ];
    let entries = fs::read_dir("/repo").into_iter().flatten().flatten();
    let file = entries
        .map(|entry| entry.path())
        .find(|path| path.is_file());
    match file {
        None => println!("no file in /repo to attack"),
        Some(file) => attempts.extend([
            refused(
                "open for writing",
                OpenOptions::new().write(true).open(&file),
            ),
            refused(
                "open for appending",
                OpenOptions::new().append(true).open(&file),
            ),
            refused(
                "truncate by opening",
                OpenOptions::new().write(true).truncate(true).open(&file),
            ),
            refused(
                "truncate a reader",
                File::open(&file).and_then(|reader| reader.set_len(0)),
            ),
            refused("rename within", fs::rename(&file, "/repo/renamed")),
            refused("rename out", fs::rename(&file, "/tmp/renamed")),
            refused("hard link within", fs::hard_link(&file, "/repo/linked")),
            refused("hard link out", fs::hard_link(&file, "/tmp/linked")),
            refused("delete", fs::remove_file(&file)),
        ]),
    }
    verdict(&attempts)
}
