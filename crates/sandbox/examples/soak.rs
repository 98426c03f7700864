//! Random guests for a while: `soak stream|calls SECONDS [SEED]`; `cargo xtask soak` runs it.
//!
//! - `stream`: modules and components from standard input, as `fuzz/random-guests` writes
//!   them, through the whole path: scan, compilation in a child, a run in a worker.
//! - `calls`: random calls of every function of WASI 0.1, in this process, on a memory full
//!   of buffers, paths and subscriptions that are nearly right.
//!
//! `soak example` prints a module whose imports and exports those of the stream may have.
//!
//! It fails when the host does: a panic, an error that no guest may cause, a guest that
//! takes much longer than its budget, or this process growing beyond a bound.

#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "it tests, and has nobody else to report to"
)]

use std::io::{Read, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use probity_core::budget::Budget;
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand, serve_if_asked};
use probity_sandbox::{Ending, Invocation, Sandbox, Trust};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Every function of WASI 0.1: its name and parameters (`i` for 32, `l` for 64 bits). All
/// but the last return a number.
const FUNCTIONS: [(&str, &str); 46] = [
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_raise", "i"),
    ("random_get", "ii"),
    ("sched_yield", ""),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
    ("proc_exit", "i"),
];

/// Bytes by which this process may grow.
const MAX_GROWTH: u64 = 512 << 20;
/// Longest time of one guest, compilation included; the machine may be busy.
const LONGEST: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    if let Some(code) = serve_if_asked() {
        return Ok(code);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["example"] {
        std::io::stdout().write_all(&example()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let [kind, seconds, rest @ ..] = &args[..] else {
        return Err("usage: soak stream|calls SECONDS [SEED]".into());
    };
    let until = Instant::now() + Duration::from_secs(seconds.parse()?);
    let seed: u64 = rest.first().map_or(Ok(1), |seed| seed.parse())?;
    let sandbox = match kind.as_str() {
        "calls" => Sandbox::in_process(None)?,
        "stream" => {
            let command = WorkerCommand::this_program();
            Sandbox::new(Process::new(command, PoolSettings::default())?, None)?
        }
        other => return Err(format!("there is no kind `{other}`").into()),
    };
    let mut stream = std::io::stdin().lock();
    let mut tally = Tally::default();
    let mut number = seed;
    let before = resident();
    while Instant::now() < until {
        let mut random = ChaCha8Rng::seed_from_u64(number);
        let bytes = match kind.as_str() {
            "calls" => calls(&mut random)?,
            _ => next(&mut stream)?,
        };
        if let Err(failure) = tally.run(&sandbox, &bytes, number) {
            let file = std::env::temp_dir().join(format!("probity-soak-{number}.wasm"));
            std::fs::write(&file, &bytes)?;
            return Err(format!("{failure}; kept as {}", file.display()).into());
        }
        number += 1;
        let grown = resident().saturating_sub(before);
        if grown > MAX_GROWTH {
            return Err(format!("this process grew by {} MiB", grown >> 20).into());
        }
    }
    println!(
        "{kind} from seed {seed}: {tally:?}, grown by {} MiB",
        resident().saturating_sub(before) >> 20
    );
    Ok(ExitCode::SUCCESS)
}

/// How guests ended.
#[derive(Debug, Default)]
struct Tally {
    unaccepted: u64,
    refused: u64,
    exited: u64,
    limited: u64,
    trapped: u64,
    longest: Duration,
}

impl Tally {
    fn run(&mut self, sandbox: &Sandbox, bytes: &[u8], number: u64) -> Result<(), Failure> {
        let budget = Budget {
            fuel: Fuel(5_000_000),
            memory: ByteSize::mib(8),
            table_elements: 10_000,
            wall_time: WallTime::secs(10),
            output: ByteSize::kib(16),
            results: ByteSize::kib(16),
            file_bytes: ByteSize::kib(256),
            inodes: 100,
            open_files: 30,
            path_depth: 10,
            compile_time: WallTime::secs(20),
            ..Budget::check()
        };
        let started = Instant::now();
        match sandbox.module(bytes, &budget, Trust::Untrusted) {
            Ok(Ok(module)) => {
                let run = sandbox
                    .run(invocation(budget)?, &module)
                    .map_err(|error| format!("guest {number}: {error}"))?;
                match run.ending {
                    Ending::Exited(_) => self.exited += 1,
                    Ending::Limit(_) => self.limited += 1,
                    Ending::Trapped(_) => self.trapped += 1,
                    Ending::Refused(_) => self.refused += 1,
                }
            }
            Ok(Err(probity_sandbox::engine::ModuleError::Compiler(problem))) => {
                return Err(format!("guest {number} ended its compiler: {problem}").into());
            }
            Ok(Err(_)) => self.unaccepted += 1,
            Err(error) => return Err(format!("guest {number}: {error}").into()),
        }
        let took = started.elapsed();
        self.longest = self.longest.max(took);
        if took > LONGEST {
            return Err(format!("guest {number} took {took:?}").into());
        }
        Ok(())
    }
}

fn invocation(budget: Budget) -> Result<Invocation, Failure> {
    let mut repo = Repo::new();
    for (path, text) in [("a", "one\n"), ("d/b", "two\n"), ("d/e/c", "")] {
        repo.insert(&RepoPath::new(path)?, File::regular(text.as_bytes()))?;
    }
    let mut mounts = Mounts::new(Devices::Usual);
    mounts.folder("/r", repo.root(), Access::ReadOnly);
    mounts.folder("/w", repo.root(), Access::Writable);
    mounts.empty("/t", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let mut invocation = Invocation::command(vec!["soak".to_owned()], mounts, budget);
    invocation.env = vec![("A".to_owned(), "b".to_owned())];
    invocation.stdin = b"some input".to_vec();
    invocation.preopens = ["/r", "/w", "/t", "/"].map(str::to_owned).to_vec();
    Ok(invocation)
}

/// A module with every function of WASI to import, and what a command exports.
fn example() -> Result<Vec<u8>, Failure> {
    let text = format!(
        "(module {} (memory (export \"memory\") 1) (func (export \"_start\")))",
        imports()
    );
    Ok(wat::parse_str(text)?)
}

fn imports() -> String {
    let mut text = String::new();
    for (name, params) in FUNCTIONS {
        let params: String = params
            .chars()
            .map(|kind| if kind == 'l' { " i64" } else { " i32" })
            .collect();
        let params = if params.is_empty() {
            String::new()
        } else {
            format!("(param{params})")
        };
        let result = if name == "proc_exit" {
            ""
        } else {
            "(result i32)"
        };
        text.push_str(&format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} {params} {result}))\n"
        ));
    }
    text
}

/// The next guest of a stream, which never ends: its length, 32 bits little-endian, and its
/// bytes.
fn next(stream: &mut impl Read) -> Result<Vec<u8>, Failure> {
    let mut length = [0; 4];
    stream
        .read_exact(&mut length)
        .map_err(|error| format!("the stream of guests broke off: {error}"))?;
    let mut bytes = vec![0; usize::try_from(u32::from_le_bytes(length))?.min(64 << 20)];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A module that makes random calls on random memory.
fn calls(random: &mut ChaCha8Rng) -> Result<Vec<u8>, Failure> {
    let mut pick = |below: u64| random.next_u64() % below;
    let mut body = String::new();
    for _ in 0..60 {
        let (name, params) = FUNCTIONS[usize::try_from(pick(46))?];
        // It would be over too soon.
        if name == "proc_exit" && pick(8) > 0 {
            continue;
        }
        let mut args = String::new();
        for kind in params.chars() {
            let value: i64 = match pick(9) {
                0 | 1 => i64::try_from(pick(12))?,
                2 | 3 => i64::try_from(pick(256) * 8)?,
                4 => i64::try_from(pick(1 << 16))?,
                5 => i64::try_from(pick(64))?,
                6 => -1 - i64::try_from(pick(16))?,
                7 => 65_536 - i64::try_from(pick(32))?,
                _ => i64::from_ne_bytes(pick(u64::MAX).to_ne_bytes()),
            };
            let value = if kind == 'l' {
                format!(" (i64.const {value})")
            } else {
                let low = i32::from_ne_bytes(
                    u32::try_from(value & 0xffff_ffff)
                        .unwrap_or(0)
                        .to_ne_bytes(),
                );
                format!(" (i32.const {low})")
            };
            args.push_str(&value);
        }
        let call = format!("(call ${name}{args})");
        body.push_str(&if name == "proc_exit" {
            call
        } else {
            format!("(drop {call})")
        });
        body.push('\n');
    }
    // Small numbers, which make vectors, subscriptions and sizes that are often right, and
    // paths.
    let mut data = Vec::new();
    for _ in 0..256 {
        let number = match pick(4) {
            0 => pick(64),
            1 => pick(2048),
            2 => pick(4),
            _ => pick(u64::MAX),
        };
        data.extend_from_slice(&number.to_le_bytes());
    }
    for place in (0..data.len()).step_by(64) {
        let path = [
            "a", "d/b", "../a", "d", "new", "x/y", "..", "/", "d/", "", "l", ".",
        ];
        let path = path[usize::try_from(pick(12))?];
        data[place..place + path.len()].copy_from_slice(path.as_bytes());
    }
    let data: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        "(module {} (memory (export \"memory\") 1) (data (i32.const 0) \"{data}\")
        (func (export \"_start\") {body}))",
        imports()
    );
    Ok(wat::parse_str(text)?)
}

/// Bytes of memory that this process uses.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
