//! Attacks on a filesystem's quotas, and a look at all that it shows.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints all that is below `/`, or below the paths in the next arguments, in the order
/// in which `read_dir` gives it.
pub(crate) fn read_tree(arguments: &[String]) -> ExitCode {
    let mut open: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    if open.is_empty() {
        open.push(PathBuf::from("/"));
    }
    while let Some(folder) = open.pop() {
        if let Err(error) = read_folder(&folder, &mut open) {
            println!("{}\terror\t{error}", folder.display());
        }
    }
    ExitCode::SUCCESS
}

fn read_folder(folder: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        let kind = if found.is_dir() {
            "folder"
        } else if found.is_symlink() {
            "link"
        } else if found.is_file() {
            "file"
        } else {
            "other"
        };
        println!("{}\t{kind}\t{}", path.display(), found.len());
        if found.is_dir() {
            open.push(path);
        }
    }
    Ok(())
}

pub(crate) fn fill_tmp(_: &[String]) -> ExitCode {
    let chunk = [0x5a; 64 * 1024];
    let mut total = 0_u64;
    let error = match File::create("/tmp/f") {
        Err(error) => error,
        Ok(mut file) => loop {
            match file.write(&chunk) {
                Ok(0) => break io::Error::from(io::ErrorKind::WriteZero),
                Ok(written) => total = total.saturating_add(written as u64),
                Err(error) => break error,
            }
        },
    };
    ended(total, "bytes", &error)
}

pub(crate) fn sparse_tmp(_: &[String]) -> ExitCode {
    let mut reached = 0_u64;
    let error = match File::create("/tmp/s") {
        Err(error) => error,
        Ok(mut file) => loop {
            let next = reached.saturating_mul(2).max(1024 * 1024);
            if next == reached {
                break io::Error::from(io::ErrorKind::FileTooLarge);
            }
            let written = file
                .seek(SeekFrom::Start(next))
                .and_then(|_| file.write_all(b"x"));
            match written {
                Ok(()) => reached = next,
                Err(error) => break error,
            }
        },
    };
    ended(reached, "bytes offset", &error)
}

pub(crate) fn many_files(_: &[String]) -> ExitCode {
    let mut count = 0_u64;
    let error = loop {
        match File::create(format!("/tmp/{count}")) {
            Ok(_) => count = count.saturating_add(1),
            Err(error) => break error,
        }
    };
    ended(count, "files", &error)
}

pub(crate) fn deep_dirs(_: &[String]) -> ExitCode {
    let mut path = String::from("/tmp");
    let mut count = 0_u64;
    let error = loop {
        path.push_str("/d");
        match fs::create_dir(&path) {
            Ok(()) => count = count.saturating_add(1),
            Err(error) => break error,
        }
    };
    ended(count, "levels", &error)
}

pub(crate) fn long_name(_: &[String]) -> ExitCode {
    let mut length = 0_u64;
    let mut name = String::from("n");
    let error = loop {
        match File::create(format!("/tmp/{name}")) {
            Ok(_) => length = name.len() as u64,
            Err(error) => break error,
        }
        name.push('n');
        if name.len() > 64 * 1024 {
            break io::Error::from(io::ErrorKind::InvalidFilename);
        }
    };
    ended(length, "bytes of name", &error)
}

/// Opens `/tmp/one`, or what the next argument names, again and again.
pub(crate) fn open_many(arguments: &[String]) -> ExitCode {
    let path = match arguments.first() {
        Some(path) => path.as_str(),
        None => {
            if let Err(error) = File::create("/tmp/one") {
                return ended(0, "descriptors", &error);
            }
            "/tmp/one"
        }
    };
    let mut kept = Vec::new();
    let error = loop {
        match File::open(path) {
            Ok(file) => kept.push(file),
            Err(error) => break error,
        }
    };
    ended(kept.len() as u64, "descriptors", &error)
}

fn ended(count: u64, what: &str, error: &io::Error) -> ExitCode {
    println!("{count} {what}, then: {error}");
    ExitCode::SUCCESS
}
