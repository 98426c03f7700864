//! The executor of the sandbox: what runs of a spec.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use probity_core::repo::Kind;
use probity_core::spec::{
    Check, CheckKind, Interpreter, PackCheck, PackRef, Program, ProgramCheck, SuiteCheck, TestsFrom,
};
use probity_core::verify::{
    Apart, Assurance, Cause, CheckReport, Executor, Laid, Observer, Trusting, VerifyInput,
    lay_trusted, take_apart,
};
use probity_core::{Budget, Repo};

use crate::engine::{Module, ModuleError};
use crate::guest::Conditions;
use crate::isolated::{Bench, Runs, check_calls, check_oracle, check_program};
use crate::pack;
use crate::runtime::{Runtime, RuntimeError, RuntimeStore};
use crate::sandbox::{Sandbox, Trust};
use crate::sealed::Seals;
use crate::suite::{
    Environment, EnvironmentError, EnvironmentStore, Lock, SuiteRun, WheelStore, default_lock,
};

/// Reads a file that a spec names, relative to the spec's folder.
pub type SpecFiles = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// The folders of trusted tests that a spec or a request names, read: each holds files under
/// the paths that they have in the repository.
pub type TrustedTests = BTreeMap<TestsFrom, Repo>;

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

/// Runs in a sandbox what a spec has to run.
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
    trusted: Arc<TrustedTests>,
}

/// The environment that a check asks for.
#[derive(Clone, Copy)]
struct Python<'a> {
    runtime: &'a str,
    lock: Option<&'a str>,
}

impl<'a> From<&'a Interpreter> for Python<'a> {
    fn from(interpreter: &'a Interpreter) -> Self {
        Self {
            runtime: &interpreter.runtime,
            lock: interpreter.lock.as_deref(),
        }
    }
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
            trusted: Arc::default(),
        }
    }

    /// The same with folders of trusted tests. Default none; a suite that names one which is
    /// not here ends as a failure of the host.
    #[must_use]
    pub fn with_trusted_tests(mut self, trusted: Arc<TrustedTests>) -> Self {
        self.trusted = trusted;
        self
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
        input: VerifyInput<'_>,
        observe: Observer<'_>,
    ) -> CheckReport {
        let folder = match &wanted.trust.tests_from {
            TestsFrom::Base | TestsFrom::Patched => None,
            from @ (TestsFrom::Folder(_) | TestsFrom::Given) => match self.trusted.get(from) {
                Some(folder) => Some(folder.clone()),
                None => {
                    let message = "the folder of its trusted tests was not read";
                    return CheckReport::host_failed(check, message, None);
                }
            },
        };
        let python = Python {
            runtime: &wanted.runtime,
            lock: wanted.lock.as_deref(),
        };
        let environment = match self.python(check, python) {
            Ok(environment) => environment,
            Err(report) => return *report,
        };
        let trusting = Trusting {
            folder: folder.as_ref(),
            installed: &environment.installed(),
        };
        let laid = lay_trusted(input, wanted, trusting).and_then(|laid| {
            if wanted.across.is_empty() {
                return Ok((laid, None));
            }
            let Apart { tests, candidate } = take_apart(input, wanted, trusting)?;
            // All of its tree is trusted, and all that runs in it.
            let laid = Laid {
                repo: tests,
                sealed: BTreeSet::new(),
                closed_names: BTreeSet::new(),
                ..laid
            };
            Ok((laid, Some(candidate)))
        });
        let (laid, candidate) = match laid {
            Ok(laid) => laid,
            Err(error) => return CheckReport::host_failed(check, error.to_string(), None),
        };
        SuiteRun::new(
            &self.sandbox,
            &environment,
            (check, wanted),
            (&laid, candidate.as_ref()),
            &self.conditions,
        )
        .report(observe)
    }

    /// Runs a check in the environment of `interpreter`.
    fn isolated(
        &mut self,
        check: &Check,
        interpreter: &Interpreter,
        repo: &Repo,
        run: impl FnOnce(Bench<'_>, &Environment, &Arc<SpecFiles>) -> CheckReport,
    ) -> CheckReport {
        match self.python(check, Python::from(interpreter)) {
            Ok(environment) => run(self.bench(check, repo), &environment, &self.files),
            Err(report) => *report,
        }
    }

    fn program(&mut self, check: &Check, wanted: &ProgramCheck, repo: &Repo) -> CheckReport {
        match &wanted.program {
            Program::Python { interpreter, argv } => {
                self.isolated(check, interpreter, repo, |bench, environment, _| {
                    let runs = Runs::Python {
                        environment,
                        python_path: &interpreter.python_path,
                        argv,
                    };
                    check_program(bench, &runs, wanted)
                })
            }
            Program::Module { path, argv } => {
                let Some(file) = repo
                    .get(path)
                    .filter(|_| repo.kind(path) == Some(Kind::File))
                else {
                    let message = format!("`{path}` is not a file");
                    let cause = Cause::Refused { message };
                    let message = cause.to_string();
                    return CheckReport::stopped(check, Assurance::Isolated, cause, message);
                };
                let module = self.sandbox.module_unless(
                    file.bytes(),
                    &check.budget,
                    Trust::Untrusted,
                    &self.conditions.cancel,
                );
                match module {
                    Err(error) => CheckReport::host_failed(check, error.to_string(), None),
                    Ok(Err(refused)) => refused_module(check, refused),
                    Ok(Ok(module)) => {
                        let runs = Runs::Module {
                            module: &module,
                            name: path.to_string(),
                            argv,
                        };
                        check_program(self.bench(check, repo), &runs, wanted)
                    }
                }
            }
        }
    }

    const fn bench<'a>(&'a self, check: &'a Check, repo: &'a Repo) -> Bench<'a> {
        Bench {
            sandbox: &self.sandbox,
            check,
            repo,
            conditions: &self.conditions,
        }
    }

    /// The environment of a check. The error is its report.
    fn python(
        &mut self,
        check: &Check,
        wanted: Python<'_>,
    ) -> Result<Environment, Box<CheckReport>> {
        let runtime = self.runtime(wanted.runtime).map_err(|error| {
            let hint = match &error {
                RuntimeError::Missing { name } => {
                    Some(format!("run `probity runtime add {name}` once"))
                }
                _ => None,
            };
            Box::new(CheckReport::host_failed(check, error.to_string(), hint))
        })?;
        self.environment(&runtime, wanted)
            .map_err(|(message, hint)| Box::new(CheckReport::host_failed(check, message, hint)))
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
        wanted: Python<'_>,
    ) -> Result<Environment, (String, Option<String>)> {
        let key = (wanted.runtime.to_owned(), wanted.lock.map(str::to_owned));
        if let Some(environment) = self.environments.get(&key) {
            return Ok(environment.clone());
        }
        let text = match wanted.lock {
            None => default_lock().to_owned(),
            Some(path) => {
                let bytes = (self.files)(path).map_err(|problem| {
                    (format!("cannot read the lock `{path}`: {problem}"), None)
                })?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let lock = Lock::parse(&text).map_err(|error| {
            let path = wanted.lock.unwrap_or("(built in)");
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
                    EnvironmentError::Missing { .. } => Some(match wanted.lock {
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
            CheckKind::Suite(wanted) => self.suite(check, wanted, input, observe),
            CheckKind::Call(wanted) => self.isolated(
                check,
                &wanted.interpreter,
                input.repo,
                |bench, environment, _| check_calls(bench, environment, wanted),
            ),
            CheckKind::Oracle(wanted) => self.isolated(
                check,
                &wanted.interpreter,
                input.repo,
                |bench, environment, files| check_oracle(bench, environment, wanted, files),
            ),
            CheckKind::Program(wanted) => self.program(check, wanted, input.repo),
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
