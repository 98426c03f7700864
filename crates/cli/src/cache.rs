//! Where Probity keeps what it needs again: `$PROBITY_CACHE`, else `$XDG_CACHE_HOME/probity`,
//! else `~/.cache/probity`. The key that proves what is kept to be our own lies elsewhere,
//! so that a cache from another machine proves nothing: in `$PROBITY_STATE`, else
//! `$XDG_STATE_HOME/probity`, else `~/.local/state/probity`.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use probity_sandbox::engine::EngineError;
use probity_sandbox::executor::Stores;
use probity_sandbox::{CodeCache, Sandbox, Seals};

use crate::args::Isolation;
use crate::failure::Failure;

/// The cache's folders.
pub(crate) struct Cache {
    root: PathBuf,
    seals: Seals,
}

impl Cache {
    /// Finds the cache; makes nothing but the key of its seals, if there is none yet.
    pub(crate) fn find() -> Result<Self, Failure> {
        let root = place("PROBITY_CACHE", "XDG_CACHE_HOME", ".cache/probity")?;
        let state = place("PROBITY_STATE", "XDG_STATE_HOME", ".local/state/probity")?;
        let seals = Seals::open(&state.join("seals.key")).map_err(Failure::host)?;
        Ok(Self { root, seals })
    }

    /// A sandbox whose compiled code is kept here.
    pub(crate) fn sandbox(&self, isolation: Isolation) -> Result<Sandbox, Failure> {
        let code = CodeCache::new(self.seals.folder(self.root.join("compiled")));
        match isolation {
            Isolation::Process => processes(code),
            Isolation::Thread => Sandbox::in_process(Some(code)),
        }
        .context("cannot start the sandbox")
        .map_err(Failure::Host)
    }

    pub(crate) fn stores(&self) -> Stores {
        Stores::in_folder(&self.root, &self.seals)
    }
}

/// A folder that a variable names, or one at the usual place.
fn place(own: &'static str, base: &'static str, home: &str) -> Result<PathBuf, Failure> {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty());
    given(own)
        .map(PathBuf::from)
        .or_else(|| given(base).map(|base| PathBuf::from(base).join("probity")))
        .or_else(|| given("HOME").map(|folder| PathBuf::from(folder).join(home)))
        .ok_or_else(|| anyhow!("no place for Probity's own files: set {own} to a folder"))
        .map_err(Failure::Request)
}

#[cfg(target_os = "linux")]
fn processes(code: CodeCache) -> Result<Sandbox, EngineError> {
    use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
    let command = WorkerCommand::this_program();
    Sandbox::new(Process::new(command, PoolSettings::default())?, Some(code))
}

#[cfg(not(target_os = "linux"))]
fn processes(code: CodeCache) -> Result<Sandbox, EngineError> {
    Sandbox::in_process(Some(code))
}
