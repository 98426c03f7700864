//! Times calls to the filesystem from inside a guest, for `cargo xtask bench calls`.
//!
//! `guest_calls MODULE FOLDER` copies a folder into the guest's filesystem and then reads
//! lines `KIND COUNT`; for each it runs the module with these two as arguments and prints
//! the nanoseconds from its first instruction to its last. With a capital letter the same
//! calls go to the kernel instead, without a guest or a sandbox between: the least that any
//! sandbox over a host's folder can take.

#![allow(
    clippy::print_stdout,
    reason = "the results are what this program is run for"
)]

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use probity_core::budget::Budget;
use probity_core::quantity::{Fuel, WallTime};
use probity_sandbox::fs::{Access, Mounts};
use probity_sandbox::{Ending, Invocation, Sandbox, Trust};
use probity_worktree::{Ignored, Worktree};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args_os().skip(1);
    let (Some(module), Some(folder)) = (args.next(), args.next()) else {
        return Err("usage: guest_calls MODULE FOLDER".into());
    };
    let sandbox = Sandbox::in_process(None)?;
    let module = wat::parse_file(module)?;
    let module = sandbox.module(&module, &Budget::check(), Trust::Untrusted)??;
    let folder = PathBuf::from(folder);
    let repo = Worktree::open(&folder)?.load(Ignored::Include)?.repo;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.starts_with(char::is_uppercase) {
            println!("{}", kernel(&folder, &line)?);
            continue;
        }
        let mut args = vec!["calls".to_owned()];
        args.extend(line.split(' ').map(str::to_owned));
        let budget = Budget {
            fuel: Fuel(u64::MAX / 2),
            wall_time: WallTime::secs(600),
            ..Budget::check()
        };
        let mut mounts = Mounts::default();
        mounts.folder("/repo", repo.root(), Access::ReadOnly);
        let invocation = Invocation {
            preopens: vec!["/repo".to_owned()],
            ..Invocation::command(args, mounts, budget)
        };
        let run = sandbox.run(invocation, &module)?;
        if run.ending != Ending::Exited(0) {
            return Err(format!("`{line}` ended with {:?}", run.ending).into());
        }
        println!("{}", run.wall_time.0);
    }
    Ok(())
}

/// Nanoseconds that the kernel alone takes for the same calls.
#[cfg(target_os = "linux")]
fn kernel(folder: &Path, line: &str) -> Result<u128, Failure> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, open, openat2};
    let (kind, count) = line.split_once(' ').ok_or("no count")?;
    let count: u32 = count.parse()?;
    let root = open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let open = |path: &str, flags: OFlags| {
        openat2(
            &root,
            path,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
    };
    let file = open("src/file.txt", OFlags::RDONLY)?;
    let many = rustix::fs::openat(CWD, folder.join("many"), OFlags::DIRECTORY, Mode::empty())?;
    let mut bytes = vec![0; 4096];
    bytes.reserve_exact(16_384);
    let started = std::time::Instant::now();
    for _ in 0..count {
        match kind {
            "O" => drop(open("src/file.txt", OFlags::RDONLY)?),
            "S" => drop(fstat(open("src/file.txt", OFlags::PATH)?)?),
            "R" => {
                rustix::io::pread(&file, &mut bytes[..], 0)?;
            }
            "D" => {
                rustix::fs::seek(&many, rustix::fs::SeekFrom::Start(0))?;
                let mut rows = rustix::fs::RawDir::new(&many, bytes.spare_capacity_mut());
                while rows.next().is_some() {}
            }
            other => return Err(format!("there is no call `{other}`").into()),
        }
    }
    Ok(started.elapsed().as_nanos())
}

#[cfg(not(target_os = "linux"))]
fn kernel(_folder: &Path, _line: &str) -> Result<u128, Failure> {
    Err("only Linux has these calls".into())
}
