//! Where Probity keeps what it needs again: `$PROBITY_CACHE`, else `$XDG_CACHE_HOME/probity`,
//! else `~/.cache/probity`.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use probity_sandbox::Engine;
use probity_sandbox::executor::Stores;
use probity_sandbox::runtime::RuntimeStore;
use probity_sandbox::suite::{SiteStore, WheelStore};

use crate::failure::Failure;

/// The cache's folders.
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Finds the cache; makes nothing.
    pub(crate) fn find() -> Result<Self, Failure> {
        let given = |name| env::var_os(name).filter(|value| !value.is_empty());
        let root = given("PROBITY_CACHE")
            .map(PathBuf::from)
            .or_else(|| given("XDG_CACHE_HOME").map(|base| PathBuf::from(base).join("probity")))
            .or_else(|| given("HOME").map(|home| PathBuf::from(home).join(".cache/probity")))
            .ok_or_else(|| anyhow!("no place for a cache: set PROBITY_CACHE to a folder"))
            .map_err(Failure::Request)?;
        Ok(Self { root })
    }

    /// An engine whose compiled code is kept here.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        Engine::new(Some(&self.root.join("compiled")))
            .context("cannot start the sandbox")
            .map_err(Failure::Host)
    }

    pub(crate) fn runtimes(&self) -> RuntimeStore {
        RuntimeStore::new(self.root.join("runtimes"))
    }

    pub(crate) fn wheels(&self) -> WheelStore {
        WheelStore::new(self.root.join("wheels"))
    }

    pub(crate) fn stores(&self) -> Stores {
        Stores {
            runtimes: self.runtimes(),
            wheels: self.wheels(),
            sites: SiteStore::new(self.root.join("sites")),
        }
    }
}
