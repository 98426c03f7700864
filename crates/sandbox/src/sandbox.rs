//! The sandbox: compiles modules and runs guests, in this process or in workers.

use std::io::Seek as _;
use std::sync::Arc;

use probity_core::Digest;
use probity_core::budget::{Budget, Limit, LimitHit};
use tracing::warn;

use crate::cancel::Cancel;
use crate::engine::{
    Code, CodeCache, EngineError, Kind, Module, ModuleError, ModuleLimits, Shape, compatibility,
    scan,
};
use crate::guest::{Invocation, Run, RunError};
use crate::isolation::{Compiled, CompiledCode, InProcess, Isolation, Paused};

/// Compiles modules and runs guests. Cloning is cheap.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    isolation: Box<dyn Isolation>,
    cache: Option<CodeCache>,
    /// What tells the engine, its version and settings from any other.
    compatibility: String,
}

/// Whose module it is: how far its shape may go, and how long it may take to compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Anybody's.
    Untrusted,
    /// One that a manifest of ours pins by its digest.
    Pinned,
}

impl Trust {
    /// The bounds on a module's shape.
    #[must_use]
    pub const fn limits(self) -> ModuleLimits {
        match self {
            Self::Untrusted => ModuleLimits::untrusted(),
            Self::Pinned => ModuleLimits::runtime(),
        }
    }
}

impl Sandbox {
    /// A sandbox that runs guests by `isolation` and keeps compiled code in `cache`.
    ///
    /// # Errors
    /// When the engine refuses its configuration.
    pub fn new(
        isolation: impl Isolation + 'static,
        cache: Option<CodeCache>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            inner: Arc::new(Inner {
                isolation: Box::new(isolation),
                cache,
                compatibility: compatibility()?,
            }),
        })
    }

    /// A sandbox that runs guests as threads of this process.
    ///
    /// # Errors
    /// When the engine refuses its configuration.
    pub fn in_process(cache: Option<CodeCache>) -> Result<Self, EngineError> {
        Self::new(InProcess::new()?, cache)
    }

    /// Compiles a module or takes it from the cache. `budget` bounds its size and the work
    /// of compiling it, `trust` its shape.
    ///
    /// # Errors
    /// The outer error is ours (the cache, the compiler process), the inner one the
    /// module's.
    pub fn module(
        &self,
        bytes: &[u8],
        budget: &Budget,
        trust: Trust,
    ) -> Result<Result<Module, ModuleError>, EngineError> {
        self.module_unless(bytes, budget, trust, &Cancel::default())
    }

    /// The same, unless `cancel` ends it.
    ///
    /// # Errors
    /// As [`module`](Self::module), and when it was cancelled.
    pub fn module_unless(
        &self,
        bytes: &[u8],
        budget: &Budget,
        trust: Trust,
        cancel: &Cancel,
    ) -> Result<Result<Module, ModuleError>, EngineError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let cap = budget.module_size.0;
        if size > cap {
            return Ok(Err(ModuleError::Limit(LimitHit {
                limit: Limit::ModuleSize,
                cap,
                used: size,
            })));
        }
        // Whether a module is accepted must not depend on what is in the cache.
        // Its size was measured already, by the budget.
        let limits = trust.limits().with(Shape::ModuleSize, cap);
        let kind = match scan(bytes, &limits) {
            Ok(facts) => facts.kind,
            Err(refused) => return Ok(Err(refused.into())),
        };
        let digest = Digest::of(bytes);
        if let Some(module) = self.find(digest, kind) {
            return Ok(Ok(module));
        }
        let compiled = match self.inner.isolation.compile(bytes, kind, budget, cancel)? {
            Ok(compiled) => compiled,
            Err(refused) => return Ok(Err(refused)),
        };
        self.kept(digest, kind, compiled).map(Ok)
    }

    /// The compiled code of the module with this digest, if the cache has it.
    #[must_use]
    pub fn cached(&self, digest: Digest) -> Option<Module> {
        self.find(digest, Kind::Core)
            .or_else(|| self.find(digest, Kind::Component))
    }

    fn find(&self, digest: Digest, kind: Kind) -> Option<Module> {
        let cache = self.inner.cache.as_ref()?;
        let file = cache.find(digest, kind, self.compatibility())?;
        Some(Module::in_file(digest, kind, file))
    }

    /// The module of what was compiled, which the cache keeps if there is one.
    fn kept(&self, digest: Digest, kind: Kind, compiled: Compiled) -> Result<Module, EngineError> {
        let Some(cache) = &self.inner.cache else {
            return Ok(match compiled.0 {
                CompiledCode::Here(code) => Module::in_memory(digest, kind, code),
                CompiledCode::File(file) => Module::in_file(digest, kind, file),
            });
        };
        // What cannot be kept is used nevertheless, and compiled again the next time.
        let keep = |code: &mut dyn std::io::Read| {
            cache
                .keep(digest, kind, self.compatibility(), code)
                .inspect_err(|error| warn!(%error, "compiled code is not kept"))
                .ok()
        };
        match compiled.0 {
            CompiledCode::Here(code) => {
                keep(&mut serialized(&code)?.as_slice());
                Ok(Module::in_memory(digest, kind, code))
            }
            CompiledCode::File(mut file) => {
                let rewound = |file: &mut std::fs::File| {
                    file.rewind()
                        .map_err(|error| EngineError::Compiler(error.to_string()))
                };
                rewound(&mut file)?;
                let kept = keep(&mut file);
                rewound(&mut file)?;
                Ok(Module::in_file(digest, kind, kept.unwrap_or(file)))
            }
        }
    }

    /// Runs `module` to its end.
    ///
    /// # Errors
    /// Only for faults of the host; whatever the guest does is an
    /// [`Ending`](crate::Ending).
    pub fn run(&self, invocation: Invocation, module: &Module) -> Result<Run, RunError> {
        self.inner.isolation.run(invocation, module)
    }

    /// Runs `module`; a guest that returns by itself rests afterwards, see
    /// [`Isolation::pause`].
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn pause(&self, invocation: Invocation, module: &Module) -> Result<Paused, RunError> {
        self.inner.isolation.pause(invocation, module)
    }

    /// What tells code and states of this engine, its version and settings from those of any
    /// other.
    pub(crate) fn compatibility(&self) -> &str {
        &self.inner.compatibility
    }

    /// How many guests can run at a time, at best.
    #[must_use]
    pub fn parallelism(&self) -> usize {
        self.inner.isolation.parallelism()
    }
}

fn serialized(code: &Code) -> Result<Vec<u8>, EngineError> {
    code.serialize()
        .map_err(|error| EngineError::Setup(format!("{error:#}")))
}
