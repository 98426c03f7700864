//! Times suites through the library, with everything warm: `suites CACHE KEY REPO`.
//!
//! For each line `KIND COUNT` on standard input it prints the nanoseconds that COUNT suites
//! took. KIND is `thread` or `process`, by where guests run, with `2` after it for two suites
//! at a time, such as `process2`. The suite is that of the file `probity.toml` in REPO; each
//! must pass.

#![allow(clippy::print_stdout, reason = "it is asked for figures")]

use std::collections::HashMap;
use std::error::Error;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use probity_core::Repo;
use probity_core::spec::Spec;
use probity_core::verify::{Status, VerifyInput, verify};
use probity_sandbox::executor::Stores;
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{CodeCache, Conditions, Sandbox, Seals, SpecExecutor};
use probity_worktree::{Ignored, Worktree};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = probity_sandbox::worker::serve_if_asked() {
        return Ok(code);
    }
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [cache, key, repo] = args.as_slice() else {
        return Err("usage: suites CACHE KEY REPO".into());
    };
    let bench = Bench::new(cache, key, repo)?;
    let mut executors: HashMap<String, Vec<SpecExecutor>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (kind, count) = line.split_once(' ').ok_or("a line is `KIND COUNT`")?;
        let count: u32 = count.parse()?;
        if !executors.contains_key(kind) {
            executors.insert(kind.to_owned(), bench.executors(kind)?);
        }
        let ready = executors.get_mut(kind).ok_or("no executors")?;
        let each = count / u32::try_from(ready.len())?;
        let started = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = ready
                .iter_mut()
                .map(|executor| scope.spawn(|| (0..each).all(|_| bench.passes(executor))))
                .collect();
            threads
                .into_iter()
                .all(|thread| thread.join().unwrap_or(false))
                .then_some(())
                .ok_or("a suite did not pass")
        })?;
        println!("{}", started.elapsed().as_nanos());
    }
    Ok(ExitCode::SUCCESS)
}

struct Bench {
    stores: Stores,
    seals: Seals,
    cache: PathBuf,
    spec: Spec,
    base: Repo,
}

impl Bench {
    fn new(cache: &Path, key: &Path, repo: &Path) -> Result<Self, Box<dyn Error>> {
        let seals = Seals::open(key)?;
        let text = std::fs::read_to_string(repo.join("probity.toml"))?;
        Ok(Self {
            stores: Stores::in_folder(cache, &seals),
            seals,
            cache: cache.to_owned(),
            spec: Spec::parse(
                "probity.toml",
                &text,
                &|_| Err("no file is read".to_owned()),
            )?,
            base: Worktree::open(repo)?.load(Ignored::LeaveOut)?.repo,
        })
    }

    /// As many executors as suites run at a time, all on one sandbox.
    fn executors(&self, kind: &str) -> Result<Vec<SpecExecutor>, Box<dyn Error>> {
        let count = if kind.ends_with('2') { 2 } else { 1 };
        let code = CodeCache::new(self.seals.folder(self.cache.join("compiled")));
        let sandbox = match kind.trim_end_matches('2') {
            "thread" => Sandbox::in_process(Some(code))?,
            "process" => {
                let pool = Process::new(WorkerCommand::this_program(), PoolSettings::default())?;
                Sandbox::new(pool, Some(code))?
            }
            other => return Err(format!("there is no kind `{other}`").into()),
        };
        let executor = || {
            let files = Arc::new(|_: &str| Err("no file is read".to_owned()));
            let stores = self.stores.clone();
            SpecExecutor::new(sandbox.clone(), stores, files, Conditions::default())
        };
        Ok((0..count).map(|_| executor()).collect())
    }

    fn passes(&self, executor: &mut SpecExecutor) -> bool {
        let input = VerifyInput {
            repo: &self.base,
            base: None,
        };
        verify(&self.spec, input, executor, &mut |_| {}).status() == Status::Passed
    }
}
