//! A small CI runner: judges each patch against one repository, several at a time.
//!
//! `cargo run --example embed -- REPO PATCH…`, where REPO holds a `probity.toml`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use probity_core::patch::{apply, detect, parse};
use probity_core::spec::Spec;
use probity_sandbox::executor::Stores;
use probity_sandbox::service::{JobEvent, Request, Service, ServiceSettings};
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand, serve_if_asked};
use probity_sandbox::{CodeCache, Conditions, Sandbox, Seals};
use probity_worktree::{Ignored, Worktree};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Workers are this program again: first of all, see whether this is one.
    if let Some(code) = serve_if_asked() {
        return Ok(code);
    }
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let repo = args.next().ok_or("usage: embed REPO PATCH…")?;
    tokio::runtime::Runtime::new()?.block_on(judge_all(&repo, args.collect()))
}

async fn judge_all(repo: &Path, patches: Vec<PathBuf>) -> Result<ExitCode, Box<dyn Error>> {
    let base = Worktree::open(repo)?.load(Ignored::LeaveOut)?.repo;
    let folder = repo.to_owned();
    let files = Arc::new(move |path: &str| {
        std::fs::read(folder.join(path)).map_err(|error| error.to_string())
    });
    let text = std::fs::read_to_string(repo.join("probity.toml"))?;
    let spec = Arc::new(Spec::parse("probity.toml", &text, &|path| files(path))?);

    let cache = std::env::temp_dir().join("probity-embed");
    let seals = Seals::open(&cache.join("key"))?;
    let code = CodeCache::new(seals.folder(cache.join("compiled")));
    let pool = Process::new(WorkerCommand::this_program(), PoolSettings::default())?;
    let sandbox = Sandbox::new(pool, Some(code))?;
    let stores = Stores::in_folder(&cache, &seals);
    let service = Service::new(sandbox, stores, ServiceSettings::default());

    let mut reports = tokio::task::JoinSet::new();
    for path in patches {
        let bytes = std::fs::read(&path)?;
        let mut patched = base.clone();
        apply(&mut patched, &parse(detect(&bytes)?, &bytes)?, &spec.guard)?;
        let request = Request {
            name: path.display().to_string(),
            spec: Arc::clone(&spec),
            base: Some(base.clone()),
            repo: patched,
            files: files.clone(),
            trusted: Arc::default(),
            conditions: Conditions::default(),
            deadline: Duration::from_secs(600),
        };
        // Waits while the queue is full.
        let mut job = service.submit(request).await?;
        reports.spawn(async move {
            while let Some(event) = job.next_event().await {
                if let JobEvent::CheckFinished { report, .. } = event {
                    println!("{}: {}: {}", path.display(), report.name, report.message);
                }
            }
            let verdict = job.verdict().await;
            (path, verdict)
        });
    }
    let mut worst = 0;
    while let Some(report) = reports.join_next().await {
        let (path, verdict) = report?;
        let verdict = verdict?;
        println!("{}: {:?}", path.display(), verdict.status());
        worst = worst.max(verdict.exit_code());
    }
    service.shut_down(Duration::from_secs(10)).await;
    Ok(ExitCode::from(worst))
}
