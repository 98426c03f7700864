//! Making and unmaking without end: what is given back has to be free again, and what is
//! still held has to be counted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::ExitCode;

fn stopped(count: u64, error: &io::Error) -> ExitCode {
    println!("stopped after {count}: {error}");
    ExitCode::SUCCESS
}

/// Repeats `turn` for ever; comes back only when it fails.
fn for_ever(mut turn: impl FnMut(u64) -> io::Result<()>) -> ExitCode {
    let mut count = 0_u64;
    loop {
        if let Err(error) = turn(count) {
            return stopped(count, &error);
        }
        count = count.wrapping_add(1);
    }
}

pub(crate) fn open_close(_: &[String]) -> ExitCode {
    for_ever(|_| File::open("/repo/a.txt").map(drop))
}

pub(crate) fn create_delete(_: &[String]) -> ExitCode {
    let chunk = [0x5a; 4096];
    for_ever(|count| {
        let path = format!("/tmp/{count}");
        File::create(&path)?.write_all(&chunk)?;
        fs::remove_file(&path)
    })
}

pub(crate) fn folder_churn(_: &[String]) -> ExitCode {
    for_ever(|count| {
        let path = format!("/tmp/{count}");
        fs::create_dir(&path)?;
        fs::remove_dir(&path)
    })
}

pub(crate) fn rename_churn(_: &[String]) -> ExitCode {
    if let Err(error) = File::create("/tmp/a") {
        return stopped(0, &error);
    }
    for_ever(|_| {
        File::create("/tmp/b")?;
        fs::rename("/tmp/a", "/tmp/b")?;
        fs::rename("/tmp/b", "/tmp/a")
    })
}

/// Lists a folder from its start for ever.
pub(crate) fn list_churn(_: &[String]) -> ExitCode {
    for count in 0..400_u32 {
        if let Err(error) = File::create(format!("/tmp/{count}")) {
            return stopped(0, &error);
        }
    }
    for_ever(|_| {
        fs::read_dir("/tmp").map(|names| {
            names.count();
        })
    })
}

/// Files without a name still take up room.
pub(crate) fn unlinked_open(_: &[String]) -> ExitCode {
    let chunk = vec![0x5a; 256 * 1024];
    let mut kept = Vec::new();
    let error = loop {
        let grown = File::create("/tmp/gone").and_then(|mut file| {
            fs::remove_file("/tmp/gone")?;
            file.write_all(&chunk)?;
            Ok(file)
        });
        match grown {
            Ok(file) => kept.push(file),
            Err(error) => break error,
        }
    };
    println!("{} files without a name, then: {error}", kept.len());
    ExitCode::SUCCESS
}

/// Makes a large file shorter by a byte at a time, and long again.
pub(crate) fn shrink_by_one(_: &[String]) -> ExitCode {
    const LARGE: u64 = 3 << 20;
    let file = match File::create("/tmp/large") {
        Ok(file) => file,
        Err(error) => return stopped(0, &error),
    };
    for_ever(|count| match count % 1000 {
        0 => file.set_len(LARGE),
        step => file.set_len(LARGE.saturating_sub(step)),
    })
}

/// Makes files large and empty again, one after the other: room that was given back must
/// not stay with the host.
pub(crate) fn grow_and_empty(_: &[String]) -> ExitCode {
    let mut kept = Vec::new();
    let error = loop {
        let grown = File::create(format!("/tmp/{}", kept.len())).and_then(|file| {
            file.set_len(3 << 20)?;
            file.set_len(1)?;
            Ok(file)
        });
        match grown {
            Ok(file) => kept.push(file),
            Err(error) => break error,
        }
        if kept.len() >= 40 {
            break io::Error::other("none");
        }
    };
    println!("{} files, then: {error}", kept.len());
    ExitCode::SUCCESS
}

/// Asks for names that are not there, each another one, for ever.
pub(crate) fn miss_many(_: &[String]) -> ExitCode {
    let padding = "m".repeat(230);
    for_ever(
        |count| match fs::metadata(format!("/repo/{padding}{count}")) {
            Ok(_) => Err(io::Error::other("it is there")),
            Err(_) => Ok(()),
        },
    )
}
