//! Modules that are ready to run, and why some are refused.

use std::fs::File;
use std::sync::{Arc, OnceLock};

use probity_core::Digest;
use probity_core::budget::LimitHit;
use serde::{Deserialize, Serialize};

use super::{Engine, ScanError};
use crate::fs::fresh_id;

/// The two forms in which programs come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A core module, which speaks WASI 0.1.
    Core,
    /// A component, which speaks WASI 0.2.
    Component,
}

/// A module was refused before it ran: the fault of whoever made it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// It goes past a limit: in its size or shape, or in the work of compiling it.
    #[error("limit reached: {0}")]
    Limit(LimitHit),
    /// The pre-scan found too much of something, or something that is not offered.
    #[error(transparent)]
    Shape(#[from] ScanError),
    /// The process that compiled it came to an end.
    #[error("compiling it ended the compiler: {0}")]
    Compiler(String),
    /// The bytes are not a WebAssembly module that this engine accepts.
    #[error("not an acceptable WebAssembly module: {0}")]
    Invalid(String),
}

/// Compiled code in this process.
#[derive(Clone)]
pub(crate) enum Code {
    Core(wasmtime::Module),
    Component(wasmtime::component::Component),
}

impl Code {
    /// The code as bytes that [`Engine::load`] takes back.
    pub(crate) fn serialize(&self) -> wasmtime::Result<Vec<u8>> {
        match self {
            Self::Core(module) => module.serialize(),
            Self::Component(component) => component.serialize(),
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Core(_) => Kind::Core,
            Self::Component(_) => Kind::Component,
        }
    }

    fn engine(&self) -> &wasmtime::Engine {
        match self {
            Self::Core(module) => module.engine(),
            Self::Component(component) => component.engine(),
        }
    }
}

/// A module that is ready to run. Cloning is cheap.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    digest: Digest,
    kind: Kind,
    id: u64,
    /// The compiled code, for whoever loads it.
    file: Option<File>,
    /// The compiled code as it was loaded here.
    code: OnceLock<Code>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("digest", &self.inner.digest)
            .field("kind", &self.inner.kind)
            .finish_non_exhaustive()
    }
}

impl Module {
    /// A module whose code is in `file`.
    pub(crate) fn in_file(digest: Digest, kind: Kind, file: File) -> Self {
        Self::new(digest, kind, Some(file), OnceLock::new())
    }

    /// A module whose code was made in this process.
    pub(crate) fn in_memory(digest: Digest, kind: Kind, code: Code) -> Self {
        Self::new(digest, kind, None, OnceLock::from(code))
    }

    fn new(digest: Digest, kind: Kind, file: Option<File>, code: OnceLock<Code>) -> Self {
        Self {
            inner: Arc::new(Inner {
                digest,
                kind,
                id: fresh_id(),
                file,
                code,
            }),
        }
    }

    /// The digest of the module's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// Core module or component.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.inner.kind
    }

    /// What tells this module from every other shared thing of this process.
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    /// The file that holds the code, if there is one.
    pub(crate) fn file(&self) -> Option<&File> {
        self.inner.file.as_ref()
    }

    /// The code, loaded into `engine`.
    ///
    /// # Errors
    /// When the file cannot be loaded, or the code belongs to another engine.
    pub(crate) fn code(&self, engine: &Engine) -> wasmtime::Result<&Code> {
        let code = match (self.inner.code.get(), &self.inner.file) {
            (Some(code), _) => code,
            (None, Some(file)) => {
                let loaded = engine.load(file, self.inner.kind)?;
                self.inner.code.get_or_init(|| loaded)
            }
            (None, None) => return Err(wasmtime::Error::msg("the module has no code")),
        };
        if !wasmtime::Engine::same(code.engine(), engine.raw()) {
            return Err(wasmtime::Error::msg("the module belongs to another engine"));
        }
        Ok(code)
    }
}
