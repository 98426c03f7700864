//! Environments: a runtime with the packages of a lock installed, warmed up and kept.
//!
//! Packages and our own Python files become images that guests map. A guest of the runtime
//! compiles them to bytecode once. If the runtime can be taken snapshots of, another guest
//! imports what suites need and runs small sessions, and its state is kept: the sessions of
//! every test runner begin there. Everything is kept sealed, by a key that is a digest of what
//! went in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Cursor, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use probity_core::repo::File;
use probity_core::{Budget, Digest, Repo, RepoPath};
use serde::{Deserialize, Serialize};

use super::lock::{Lock, WheelStore};
use super::support;
use super::wheel::{MAX_BYTES, MAX_FILES, install};
use crate::cancel::Cancel;
use crate::fs::{Access, Device, Devices, ImageChild, ImageFolder, Mapping, Mounts, write_image};
use crate::guest::{Ending, Invocation, Keep, Run, RunError, START_TIME};
use crate::runtime::{EntryName, Program, Runtime};
use crate::sandbox::Sandbox;
use crate::sealed::{SealError, SealedFolder};
use crate::snapshot::{Rest, Snapshot, Taken};

/// Changes whenever the form of what is kept does.
const LAYOUT: &str = "probity environment 2";
/// What the name of an environment's facts ends in.
const FACTS: &str = ".json";
/// Largest facts, in bytes.
const MAX_FACTS: usize = 1 << 20;
/// Virtual time at which a warm-up starts: a day before the earliest session by default.
const WARM_UP_TIME: u64 = START_TIME - 86_400 * 1_000_000_000;
const RESULTS: &str = "/dev/results";

/// A runtime with packages, ready to begin sessions. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Environment {
    /// What there is to know about it.
    pub facts: Arc<Facts>,
    runtime: Runtime,
    packages: ImageFolder,
    support: ImageFolder,
    warm: Option<Snapshot>,
}

/// What there is to know about an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The digest of all that sessions begin with: runtime, packages, our own files, state.
    pub digest: Digest,
    /// The runtime's name.
    pub runtime: String,
    /// The runtime's language and version.
    pub title: String,
    /// The packages, as `name==version`, in the order of the lock.
    pub packages: Vec<String>,
    /// Bytes on disk.
    pub bytes: u64,
    /// The state of the warmed-up interpreter apart from its memory, if there is one.
    warm: Option<Rest>,
}

/// A step of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildPhase {
    /// Wheels are installed.
    Install,
    /// Bytecode is made.
    Compile,
    /// The interpreter is warmed up.
    WarmUp,
}

/// An environment cannot be built or used.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Wheels of the lock are not in the cache.
    #[error("not in the cache: {}", names.join(", "))]
    Missing {
        /// The packages, as `name==version`.
        names: Vec<String>,
    },
    /// A wheel cannot be installed.
    #[error("cannot install `{wheel}`: {problem}")]
    Wheel {
        /// The package, as `name==version`.
        wheel: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of the cache cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] SealError),
    /// A guest of the build did not end as it should.
    #[error("cannot {what}: {problem}")]
    Build {
        /// What it was to do.
        what: &'static str,
        /// How it ended.
        problem: String,
    },
    /// A guest of the build could not be run.
    #[error("cannot build the environment")]
    Run(#[from] RunError),
}

/// The environments in the cache.
#[derive(Debug, Clone)]
pub struct EnvironmentStore {
    folder: SealedFolder,
}

impl EnvironmentStore {
    /// The store in `folder`.
    #[must_use]
    pub const fn new(folder: SealedFolder) -> Self {
        Self { folder }
    }

    /// The environment of `lock` on `runtime`, if it is kept.
    #[must_use]
    pub fn find(&self, lock: &Lock, runtime: &Runtime, sandbox: &Sandbox) -> Option<Environment> {
        self.kept(&key(lock, runtime, sandbox), runtime)
    }

    fn kept(&self, key: &str, runtime: &Runtime) -> Option<Environment> {
        let facts = self.facts(&format!("{key}{FACTS}"))?;
        let map = |suffix: &str| Mapping::of(self.folder.find(&format!("{key}.{suffix}"))?).ok();
        let warm = match &facts.warm {
            Some(rest) => Some(Snapshot::new(map("memory")?, rest.clone())),
            None => None,
        };
        Some(Environment {
            runtime: runtime.clone(),
            packages: ImageFolder::root(map("packages")?)?,
            support: ImageFolder::root(map("support")?)?,
            warm,
            facts: Arc::new(facts),
        })
    }

    fn facts(&self, name: &str) -> Option<Facts> {
        serde_json::from_slice(&self.folder.read(name, MAX_FACTS)?).ok()
    }

    /// The environment of `lock` on `runtime`, from the cache or built now, unless `cancel`
    /// ends it.
    ///
    /// # Errors
    /// When wheels are missing or damaged, or the cache cannot be used.
    pub fn open(
        &self,
        lock: &Lock,
        wheels: &WheelStore,
        runtime: &Runtime,
        sandbox: &Sandbox,
        cancel: &Cancel,
        observe: &mut dyn FnMut(BuildPhase),
    ) -> Result<Environment, EnvironmentError> {
        let key = key(lock, runtime, sandbox);
        if let Some(found) = self.kept(&key, runtime) {
            return Ok(found);
        }
        observe(BuildPhase::Install);
        let mut trees = Trees {
            packages: packages(lock, wheels)?,
            support: support::tree().clone(),
        };
        let builder = Builder {
            runtime,
            sandbox,
            cancel,
        };
        observe(BuildPhase::Compile);
        builder.compile(&mut trees)?;
        let images = Images {
            packages: self.keep_image(&format!("{key}.packages"), &trees.packages)?,
            support: self.keep_image(&format!("{key}.support"), &trees.support)?,
        };
        let mut bytes = images.packages.1.saturating_add(images.support.1);
        let mut parts = vec![
            LAYOUT.as_bytes().to_vec(),
            runtime.manifest.digest().as_bytes().to_vec(),
            trees.packages.digest().as_bytes().to_vec(),
            trees.support.digest().as_bytes().to_vec(),
        ];
        let warm = match runtime.manifest.module.entry {
            EntryName::Command => None,
            EntryName::Turn => {
                observe(BuildPhase::WarmUp);
                let taken = builder.warm_up(&images)?;
                parts.push(Digest::of(&taken.memory).as_bytes().to_vec());
                parts.push(serde_json::to_vec(&taken.rest).unwrap_or_default());
                bytes = bytes.saturating_add(count(taken.memory.len()));
                let name = format!("{key}.memory");
                let file = self.folder.keep(&name, &mut taken.memory.as_slice())?;
                let mut warm = Snapshot::new(self.map(file)?, taken.rest);
                let after = builder.try_out(&images, &warm)?;
                warm.heat(&after.memory);
                Some(warm)
            }
        };
        let facts = Facts {
            digest: Digest::of_parts(parts.iter().map(Vec::as_slice)),
            runtime: runtime.manifest.name.clone(),
            title: runtime.manifest.title(),
            packages: lock.requirements.iter().map(ToString::to_string).collect(),
            bytes,
            warm: warm.as_ref().map(Snapshot::rest),
        };
        let text = serde_json::to_vec(&facts).unwrap_or_default();
        self.folder
            .keep(&format!("{key}{FACTS}"), &mut text.as_slice())?;
        Ok(Environment {
            facts: Arc::new(facts),
            runtime: runtime.clone(),
            packages: images.packages.0,
            support: images.support.0,
            warm,
        })
    }

    /// Every kept environment with its key, sorted by the key.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<(String, Facts)>, EnvironmentError> {
        let names = self.folder.names()?;
        Ok(names
            .iter()
            .filter_map(|name| {
                let key = name.strip_suffix(FACTS)?;
                Some((key.to_owned(), self.facts(name)?))
            })
            .collect())
    }

    /// Takes away the environment that is kept under `key`. Sessions that run keep what they
    /// have.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, key: &str) -> Result<(), EnvironmentError> {
        // Without its facts nothing finds the rest.
        self.folder.remove(&format!("{key}{FACTS}"))?;
        for suffix in ["packages", "support", "memory"] {
            self.folder.remove(&format!("{key}.{suffix}"))?;
        }
        Ok(())
    }

    /// Takes away everything, also what no environment lists any more.
    ///
    /// # Errors
    /// When the folder cannot be listed or a file cannot be removed.
    pub fn clear(&self) -> Result<(), EnvironmentError> {
        for name in self.folder.names()? {
            self.folder.remove(&name)?;
        }
        Ok(())
    }

    /// Keeps a tree as an image; its root and size.
    fn keep_image(&self, name: &str, tree: &Repo) -> Result<(ImageFolder, u64), EnvironmentError> {
        let mut image = Vec::new();
        write_image(tree.root(), &mut image).map_err(|source| self.io_error(source))?;
        let file = self.folder.keep(name, &mut image.as_slice())?;
        let root = ImageFolder::root(self.map(file)?)
            .ok_or_else(|| self.io_error(std::io::Error::other("an image is damaged")))?;
        Ok((root, count(image.len())))
    }

    fn map(&self, file: std::fs::File) -> Result<Arc<Mapping>, EnvironmentError> {
        Mapping::of(file).map_err(|source| self.io_error(source))
    }

    fn io_error(&self, source: std::io::Error) -> EnvironmentError {
        EnvironmentError::Io {
            path: self.folder.path().to_owned(),
            source,
        }
    }
}

/// What tells an environment from every other one before it is built.
fn key(lock: &Lock, runtime: &Runtime, sandbox: &Sandbox) -> String {
    let lock: Vec<_> = lock
        .requirements
        .iter()
        .map(|wanted| (&wanted.name, &wanted.version, &wanted.hashes))
        .collect();
    let parts = (
        LAYOUT,
        env!("CARGO_PKG_VERSION"),
        sandbox.compatibility(),
        runtime.manifest.digest(),
        runtime.module.digest(),
        support::tree().digest(),
        lock,
    );
    Digest::of(&serde_json::to_vec(&parts).unwrap_or_default()).to_hex()
}

/// The packages of a lock, installed.
fn packages(lock: &Lock, wheels: &WheelStore) -> Result<Repo, EnvironmentError> {
    let missing = wheels.missing(lock);
    if !missing.is_empty() {
        return Err(EnvironmentError::Missing {
            names: missing.iter().map(ToString::to_string).collect(),
        });
    }
    let mut tree = Repo::new();
    for wanted in &lock.requirements {
        let problem = |problem: String| EnvironmentError::Wheel {
            wheel: wanted.to_string(),
            problem,
        };
        let wheel = wheels.read(wanted).map_err(problem)?;
        install(&mut tree, &wheel).map_err(problem)?;
    }
    Ok(tree)
}

/// What is installed, while it is built.
struct Trees {
    packages: Repo,
    support: Repo,
}

/// The same as images, each with its size in bytes.
struct Images {
    packages: (ImageFolder, u64),
    support: (ImageFolder, u64),
}

/// Runs the guests of a build.
struct Builder<'a> {
    runtime: &'a Runtime,
    sandbox: &'a Sandbox,
    cancel: &'a Cancel,
}

impl Builder<'_> {
    /// Adds bytecode to both trees, made by the runtime itself.
    fn compile(&self, trees: &mut Trees) -> Result<(), EnvironmentError> {
        let mut mounts = Mounts::new(Devices::None);
        mounts.folder("/site", trees.packages.root(), Access::ReadOnly);
        mounts.folder("/probity", trees.support.root(), Access::ReadOnly);
        mounts.empty("/tmp", Access::Writable);
        mounts.device(RESULTS, Device::Results);
        let invocation = self.runtime.invocation(Program {
            script: "/probity/compile_site.py",
            args: &[RESULTS, "/site", "/probity"],
            mounts,
            budget: Budget::suite(),
        });
        let run = self.run("compile the packages", invocation)?;
        let trees = BTreeMap::from([
            ("site", &mut trees.packages),
            ("probity", &mut trees.support),
        ]);
        add_from_zip(&run.results, trees).map_err(|problem| EnvironmentError::Build {
            what: "compile the packages",
            problem,
        })
    }

    /// The state of an interpreter that has run small sessions.
    fn warm_up(&self, images: &Images) -> Result<Taken, EnvironmentError> {
        let text = "import sys\nsys.path.insert(0, '/probity')\nimport probity_warm_up\nprobity_warm_up.main(['/site'])\n";
        self.turn("warm the interpreter up", images, text, None)
    }

    /// The state after one more small session of each runner, begun in the warm state.
    fn try_out(&self, images: &Images, warm: &Snapshot) -> Result<Taken, EnvironmentError> {
        let text = "import probity_warm_up\nprobity_warm_up.sessions(['/site'])\n";
        self.turn(
            "run a session in the warm interpreter",
            images,
            text,
            Some(warm),
        )
    }

    /// The state of an interpreter, or of one that begins in `from`, after a program.
    fn turn(
        &self,
        what: &'static str,
        images: &Images,
        text: &str,
        from: Option<&Snapshot>,
    ) -> Result<Taken, EnvironmentError> {
        let mut mounts = Mounts::new(Devices::Usual);
        mounts.image("/site", &images.packages.0, Access::ReadOnly);
        mounts.image("/probity", &images.support.0, Access::ReadOnly);
        mounts.empty("/tmp", Access::Writable);
        let mut invocation = self.runtime.turn(text.to_owned(), mounts, Budget::suite());
        if let Some(from) = from {
            invocation.from = Some(from.clone());
        }
        invocation.start_time = WARM_UP_TIME;
        invocation.keep = Keep::Snapshot;
        self.run(what, invocation)?
            .taken
            .ok_or(EnvironmentError::Build {
                what,
                problem: "it left no state".to_owned(),
            })
    }

    fn run(&self, what: &'static str, mut invocation: Invocation) -> Result<Run, EnvironmentError> {
        invocation.cancel = self.cancel.clone();
        let run = self.sandbox.run(invocation, &self.runtime.module)?;
        if run.ending == Ending::Exited(0) {
            return Ok(run);
        }
        let said = [run.stdout.bytes, run.stderr.bytes].concat();
        Err(EnvironmentError::Build {
            what,
            problem: format!("{:?}: {}", run.ending, String::from_utf8_lossy(&said)),
        })
    }
}

/// The text with which a session that was paused goes on: with these tests or calls.
pub(crate) fn proceed(ids: &impl Serialize) -> String {
    call("probity_session", &[json(ids)])
}

/// The same with these answers from the other side of a border.
pub(super) fn proceed_with(ids: &[String], answers: &[String]) -> String {
    call("probity_session", &[json(ids), json(answers)])
}

/// The text with which the other side of a border, once paused, answers these messages.
pub(super) fn answer(messages: &[String]) -> String {
    call("probity_candidate", &[json(messages)])
}

fn json<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Calls `proceed` of a module with texts in hexadecimal.
fn call(module: &str, texts: &[Vec<u8>]) -> String {
    let mut text = format!("import {module}\n{module}.proceed(");
    for bytes in texts {
        text.push('\'');
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        text.push_str("',");
    }
    text.push_str(")\n");
    text
}

impl Environment {
    /// Whether sessions begin in a snapshot, and can be paused.
    #[must_use]
    pub const fn is_warm(&self) -> bool {
        self.warm.is_some()
    }

    /// The runtime.
    #[must_use]
    pub const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The top-level names of the installed modules and packages.
    #[must_use]
    pub fn installed(&self) -> BTreeSet<String> {
        let names = self.packages.entries().into_iter();
        names
            .filter_map(|(name, child)| match child {
                ImageChild::Folder(_) => (!name.contains('.')).then(|| name.to_string()),
                ImageChild::File(_) => name.strip_suffix(".py").map(str::to_owned),
                ImageChild::Link(_) => None,
            })
            .filter(|name| name != "__pycache__")
            .collect()
    }

    /// The guest that runs the session which the file `config` describes, with the packages
    /// and our own files added to `mounts`.
    #[must_use]
    pub fn session(&self, config: &str, mut mounts: Mounts, budget: Budget) -> Invocation {
        mounts.image("/site", &self.packages, Access::ReadOnly);
        mounts.image("/probity", &self.support, Access::ReadOnly);
        match &self.warm {
            Some(warm) => {
                let text = format!("import probity_session\nprobity_session.resume({config:?})\n");
                let mut invocation = self.runtime.turn(text, mounts, budget);
                invocation.from = Some(warm.clone());
                invocation
            }
            None => self.runtime.invocation(Program {
                script: "/probity/main.py",
                args: &[config],
                mounts,
                budget,
            }),
        }
    }
}

/// Adds the members of an archive to the trees named by their first folder.
fn add_from_zip(bytes: &[u8], mut trees: BTreeMap<&str, &mut Repo>) -> Result<(), String> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    if zip.len() > MAX_FILES {
        return Err("more than 100,000 files".to_owned());
    }
    let mut room = MAX_BYTES;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| error.to_string())?;
        let name = entry.name().to_owned();
        let (top, path) = name.split_once('/').ok_or("a file without a folder")?;
        let tree = trees.get_mut(top).ok_or("a file in an unknown folder")?;
        let path = RepoPath::new(path).map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        entry
            .by_ref()
            .take(room.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        room = room
            .checked_sub(count(content.len()))
            .ok_or("more than 1 GiB of files")?;
        tree.insert(&path, File::regular(content))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
