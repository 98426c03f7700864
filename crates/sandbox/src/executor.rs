//! The executor of the sandbox: packs and suites of a spec.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use probity_core::spec::{Check, CheckKind, PackCheck, PackRef, SuiteCheck};
use probity_core::verify::{Assurance, Cause, CheckReport, Executor, Observer, VerifyInput};
use probity_core::{Budget, Repo};

use crate::engine::{Module, ModuleError};
use crate::guest::Conditions;
use crate::pack;
use crate::runtime::{Runtime, RuntimeError, RuntimeStore};
use crate::sandbox::{Sandbox, Trust};
use crate::sealed::Seals;
use crate::suite::{
    Environment, EnvironmentError, EnvironmentStore, Lock, SuiteRun, WheelStore, default_lock,
};

/// Reads a file that a spec names, relative to the spec's folder.
pub type SpecFiles = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// Where the sandbox keeps what it needs again.
#[derive(Debug, Clone)]
pub struct Stores {
    /// Installed runtimes.
    pub runtimes: RuntimeStore,
    /// Wheels.
    pub wheels: WheelStore,
    /// Runtimes with packages installed.
    pub environments: EnvironmentStore,
}

impl Stores {
    /// The stores in the folder `cache`, each in a folder of its own.
    #[must_use]
    pub fn in_folder(cache: &Path, seals: &Seals) -> Self {
        Self {
            runtimes: RuntimeStore::new(seals.folder(cache.join("runtimes"))),
            wheels: WheelStore::new(cache.join("wheels")),
            environments: EnvironmentStore::new(seals.folder(cache.join("environments"))),
        }
    }
}

/// Runs the packs and suites of a spec in a sandbox.
pub struct SpecExecutor {
    sandbox: Sandbox,
    stores: Stores,
    files: Arc<SpecFiles>,
    conditions: Conditions,
    /// Packs that were read, each with its size in bytes and what came of compiling it under
    /// the budget given.
    packs: BTreeMap<PackRef, (u64, Budget, Result<Module, ModuleError>)>,
    runtimes: HashMap<String, Runtime>,
    environments: HashMap<(String, Option<String>), Environment>,
}

/// Why a pack has no module to run.
enum Unusable {
    /// The fault of whoever made it.
    Refused(ModuleError),
    /// Ours, or the request's.
    Host {
        message: String,
        hint: Option<String>,
    },
}

impl SpecExecutor {
    /// An executor over `sandbox`. `files` reads what the spec names.
    #[must_use]
    pub fn new(
        sandbox: Sandbox,
        stores: Stores,
        files: Arc<SpecFiles>,
        conditions: Conditions,
    ) -> Self {
        Self {
            sandbox,
            stores,
            files,
            conditions,
            packs: BTreeMap::new(),
            runtimes: HashMap::new(),
            environments: HashMap::new(),
        }
    }

    fn pack(&mut self, check: &Check, wanted: &PackCheck, repo: &Repo) -> CheckReport {
        let module = match self.module(&wanted.pack, &check.budget) {
            Ok(module) => module,
            Err(Unusable::Refused(refused)) => return refused_module(check, refused),
            Err(Unusable::Host { message, hint }) => {
                return CheckReport::host_failed(check, message, hint);
            }
        };
        let sandbox = &self.sandbox;
        pack::run_check(sandbox, &module, check, wanted, repo, &self.conditions)
    }

    /// The module of a pack. It is read and compiled, or refused, once; the cap of each check
    /// on its size holds nevertheless, and one refused is tried again under another budget.
    fn module(&mut self, pack: &PackRef, budget: &Budget) -> Result<Module, Unusable> {
        match self.packs.get(pack) {
            Some((size, _, Ok(module))) if *size <= budget.module_size.0 => {
                return Ok(module.clone());
            }
            Some((_, tried, Err(refused))) if tried == budget => {
                return Err(Unusable::Refused(refused.clone()));
            }
            Some(_) | None => {}
        }
        let bytes: Cow<'_, [u8]> = match pack {
            PackRef::BuiltIn(name) => match pack::built_in(name) {
                Some(pack) => Cow::Borrowed(pack.module),
                None => {
                    let known: Vec<&str> = pack::BUILT_IN.iter().map(|pack| pack.name).collect();
                    return Err(Unusable::Host {
                        message: format!("there is no built-in pack `{name}`"),
                        hint: Some(format!("built-in packs: {}", known.join(", "))),
                    });
                }
            },
            PackRef::File(path) => match (self.files)(path) {
                Ok(bytes) => Cow::Owned(bytes),
                Err(problem) => {
                    return Err(Unusable::Host {
                        message: format!("cannot read the pack `{path}`: {problem}"),
                        hint: None,
                    });
                }
            },
        };
        let module = self
            .sandbox
            .module_unless(&bytes, budget, Trust::Untrusted, &self.conditions.cancel)
            .map_err(|error| Unusable::Host {
                message: error.to_string(),
                hint: None,
            })?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.packs
            .insert(pack.clone(), (size, *budget, module.clone()));
        module.map_err(Unusable::Refused)
    }

    fn suite(
        &mut self,
        check: &Check,
        wanted: &SuiteCheck,
        repo: &Repo,
        observe: Observer<'_>,
    ) -> CheckReport {
        let runtime = match self.runtime(&wanted.runtime) {
            Ok(runtime) => runtime,
            Err(error) => {
                let hint = match &error {
                    RuntimeError::Missing { name } => {
                        Some(format!("run `probity runtime add {name}` once"))
                    }
                    _ => None,
                };
                return CheckReport::host_failed(check, error.to_string(), hint);
            }
        };
        let environment = match self.environment(&runtime, wanted) {
            Ok(environment) => environment,
            Err((message, hint)) => return CheckReport::host_failed(check, message, hint),
        };
        let conditions = &self.conditions;
        SuiteRun::new(
            &self.sandbox,
            &environment,
            (check, wanted),
            repo,
            conditions,
        )
        .report(observe)
    }

    fn runtime(&mut self, name: &str) -> Result<Runtime, RuntimeError> {
        if let Some(runtime) = self.runtimes.get(name) {
            return Ok(runtime.clone());
        }
        let runtime = self
            .stores
            .runtimes
            .open(name, &self.sandbox, &self.conditions.cancel)?;
        self.runtimes.insert(name.to_owned(), runtime.clone());
        Ok(runtime)
    }

    fn environment(
        &mut self,
        runtime: &Runtime,
        wanted: &SuiteCheck,
    ) -> Result<Environment, (String, Option<String>)> {
        let key = (wanted.runtime.clone(), wanted.lock.clone());
        if let Some(environment) = self.environments.get(&key) {
            return Ok(environment.clone());
        }
        let text = match &wanted.lock {
            None => default_lock().to_owned(),
            Some(path) => {
                let bytes = (self.files)(path).map_err(|problem| {
                    (format!("cannot read the lock `{path}`: {problem}"), None)
                })?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let lock = Lock::parse(&text).map_err(|error| {
            let path = wanted.lock.as_deref().unwrap_or("(built in)");
            (format!("the lock `{path}` cannot be used: {error}"), None)
        })?;
        let environment = self
            .stores
            .environments
            .open(
                &lock,
                &self.stores.wheels,
                runtime,
                &self.sandbox,
                &self.conditions.cancel,
                &mut |_| {},
            )
            .map_err(|error| {
                let hint = match &error {
                    EnvironmentError::Missing { .. } => Some(match &wanted.lock {
                        Some(path) => format!(
                            "run `probity env build --runtime {} --lock {path}` once",
                            wanted.runtime
                        ),
                        None => format!("run `probity runtime add {}` once", wanted.runtime),
                    }),
                    _ => None,
                };
                (error.to_string(), hint)
            })?;
        self.environments.insert(key, environment.clone());
        Ok(environment)
    }
}

impl Executor for SpecExecutor {
    fn execute(
        &mut self,
        check: &Check,
        input: VerifyInput<'_>,
        observe: Observer<'_>,
    ) -> CheckReport {
        match &check.kind {
            CheckKind::Pack(wanted) => self.pack(check, wanted, input.repo),
            CheckKind::Suite(wanted) => self.suite(check, wanted, input.repo, observe),
            CheckKind::FileExists(_)
            | CheckKind::FileContains(_)
            | CheckKind::Diff(_)
            | CheckKind::Predicate(_) => {
                let message = "this kind of check is not run in the sandbox";
                CheckReport::host_failed(check, message, None)
            }
        }
    }
}

/// The report of a check whose module was refused: a limit keeps its name, use and cap.
fn refused_module(check: &Check, refused: ModuleError) -> CheckReport {
    let (cause, limits) = match refused {
        ModuleError::Limit(hit) => (Cause::Limit(hit), vec![hit]),
        refused @ (ModuleError::Invalid(_) | ModuleError::Shape(_)) => {
            let message = refused.to_string();
            (Cause::Refused { message }, Vec::new())
        }
        ModuleError::Compiler(message) => {
            let message = format!("compiling it ended the process that did: {message}");
            (Cause::Refused { message }, Vec::new())
        }
    };
    let message = cause.to_string();
    CheckReport {
        limits,
        ..CheckReport::stopped(check, Assurance::Isolated, cause, message)
    }
}
