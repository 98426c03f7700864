//! Installed runtimes: verified files in the cache, and the compiled module.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use probity_core::quantity::{ByteSize, WallTime};
use probity_core::{Budget, Digest};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::archive::{copy_bounded, members};
use super::manifest::{EntryName, Manifest};
use crate::cancel::Cancel;
use crate::engine::{EngineError, Module};
use crate::fs::{Access, Content, Mapped, Mapping, Mounts};
use crate::guest::{Entry, Invocation};
use crate::sandbox::{Sandbox, Trust};
use crate::sealed::{SealError, SealedFolder};
use crate::snapshot::{Rest, Snapshot, StripError, strip};

/// What compiling a runtime may take: it is pinned, large, and compiled once.
const COMPILE: Budget = Budget {
    module_size: ByteSize::gib(1),
    compile_time: WallTime::secs(3_600),
    compile_memory: ByteSize::gib(16),
    ..Budget::suite()
};
/// Largest file of a runtime, in bytes.
const MAX_FILE: u64 = 1 << 30;
/// Most memory that a runtime begins with, in bytes.
const MAX_MEMORY: u64 = 1 << 30;

/// The folder of the cache that holds runtimes.
#[derive(Debug, Clone)]
pub struct RuntimeStore {
    folder: SealedFolder,
}

/// A runtime whose files are in the cache.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Its manifest.
    pub manifest: Manifest,
    folder: SealedFolder,
}

/// A runtime that is ready to run.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its compiled module.
    pub module: Module,
    /// The state in which its guests begin, if not that of the module itself.
    pub begin: Option<Snapshot>,
    files: Vec<(String, Content)>,
}

/// A program in the runtime's language, and what its guest is given.
#[derive(Debug)]
pub struct Program<'a> {
    /// Guest path of the script.
    pub script: &'a str,
    /// Its arguments: printable ASCII, without the script's own name.
    pub args: &'a [&'a str],
    /// The filesystem, to which the runtime's files are added. All of it is granted.
    pub mounts: Mounts,
    /// Every bound.
    pub budget: Budget,
}

/// What is known of a bare module, beside the module that it was made of.
#[derive(Debug, Serialize, Deserialize)]
struct BareFacts {
    module: Digest,
}

/// A step of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The archive is checked against its digest.
    Verify,
    /// Files are taken out of the archive and checked.
    Unpack,
    /// The module is compiled, which takes minutes.
    Compile,
}

/// A runtime cannot be installed or opened.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// It was never added.
    #[error("the runtime `{name}` is not installed")]
    Missing {
        /// The name.
        name: String,
    },
    /// No manifest has this name.
    #[error("there is no runtime `{name}`; known: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A file is not the one that the manifest pins.
    #[error("`{file}` has the digest {found}, but {wanted} is pinned")]
    Digest {
        /// The file.
        file: String,
        /// The pinned digest.
        wanted: Digest,
        /// The digest of what is there.
        found: Digest,
    },
    /// The archive lacks a file.
    #[error("there is no `{file}` in the archive")]
    Absent {
        /// The file.
        file: String,
    },
    /// A file cannot be read or written.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// No snapshots can be made of the module.
    #[error("cannot prepare the module of `{name}`")]
    Strip {
        /// The runtime.
        name: String,
        /// Why.
        source: StripError,
    },
    /// The engine refused the module or cannot keep its code.
    #[error("cannot compile the module of `{name}`: {reason}")]
    Compile {
        /// The runtime.
        name: String,
        /// What the engine says.
        reason: String,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] SealError),
    /// The sandbox cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl RuntimeStore {
    /// The store in `folder`.
    #[must_use]
    pub const fn new(folder: SealedFolder) -> Self {
        Self { folder }
    }

    /// Installs a runtime from its archive: checks the digest, unpacks, compiles. Installing
    /// again is cheap and repairs what is missing.
    ///
    /// # Errors
    /// When a digest differs, a file cannot be used or the module does not compile.
    pub fn install(
        &self,
        manifest: &Manifest,
        archive: &Path,
        sandbox: &Sandbox,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Installed, RuntimeError> {
        observe(Phase::Verify);
        let io_error = |source| RuntimeError::Io {
            path: archive.to_owned(),
            source,
        };
        let mut file = File::open(archive).map_err(io_error)?;
        check(&mut file, manifest.source.sha256, &manifest.source.file).map_err(io_error)??;
        observe(Phase::Unpack);
        self.unpack(manifest, archive)?;
        let installed = Installed {
            manifest: manifest.clone(),
            folder: self.folder.clone(),
        };
        observe(Phase::Compile);
        installed.open(sandbox, &Cancel::default())?;
        Ok(installed)
    }

    /// Keeps the files that the manifest names, if they are what it pins.
    fn unpack(&self, manifest: &Manifest, archive: &Path) -> Result<(), RuntimeError> {
        let wanted: Vec<(&str, Digest)> = pinned(manifest).collect();
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let mut kept = vec![false; wanted.len()];
        let mut refused = None;
        let read = members(archive, &names, &mut |place, content| {
            let (Some((name, digest)), Some(kept)) = (wanted.get(place), kept.get_mut(place))
            else {
                return Ok(());
            };
            let mut staged = tempfile::tempfile()?;
            copy_bounded(content, &mut staged, MAX_FILE)?;
            let outcome = check(&mut staged, *digest, name)?.and_then(|()| {
                self.folder.keep(&digest.to_hex(), &mut staged)?;
                Ok(())
            });
            match outcome {
                Ok(()) => *kept = true,
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
            Ok(())
        });
        if let Some(error) = refused {
            return Err(error);
        }
        read.map_err(|source| RuntimeError::Io {
            path: archive.to_owned(),
            source,
        })?;
        match kept.iter().zip(&names).find(|(kept, _)| !**kept) {
            Some((_, name)) => Err(RuntimeError::Absent {
                file: (*name).to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The installed runtime of this manifest, if there is one.
    #[must_use]
    pub fn find(&self, manifest: &Manifest) -> Option<Installed> {
        pinned(manifest)
            .all(|(_, digest)| self.folder.find(&digest.to_hex()).is_some())
            .then(|| Installed {
                manifest: manifest.clone(),
                folder: self.folder.clone(),
            })
    }

    /// Opens a runtime by name, unless `cancel` ends it.
    ///
    /// # Errors
    /// When it is unknown or not installed, or its files cannot be used.
    pub fn open(
        &self,
        name: &str,
        sandbox: &Sandbox,
        cancel: &Cancel,
    ) -> Result<Runtime, RuntimeError> {
        let manifests = Manifest::built_in().unwrap_or_default();
        let Some(manifest) = manifests.iter().find(|manifest| manifest.is_called(name)) else {
            let names: Vec<&str> = manifests.iter().map(|m| m.name.as_str()).collect();
            return Err(RuntimeError::Unknown {
                name: name.to_owned(),
                known: names.join(", "),
            });
        };
        let installed = self.find(manifest).ok_or_else(|| RuntimeError::Missing {
            name: name.to_owned(),
        })?;
        installed.open(sandbox, cancel)
    }
}

/// The files of a runtime, in the archive and by their digests; the module first.
fn pinned(manifest: &Manifest) -> impl Iterator<Item = (&str, Digest)> {
    std::iter::once((manifest.module.path.as_str(), manifest.module.sha256)).chain(
        manifest
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.sha256)),
    )
}

impl Installed {
    /// Whether the module's code is in the sandbox's cache, so that opening takes no time.
    #[must_use]
    pub fn is_compiled(&self, sandbox: &Sandbox) -> bool {
        self.compiled(sandbox).is_some()
    }

    /// The module, if it is compiled, and where its guests begin.
    fn compiled(&self, sandbox: &Sandbox) -> Option<(Module, Option<Snapshot>)> {
        let digest = self.manifest.module.sha256;
        match self.manifest.module.entry {
            EntryName::Command => Some((sandbox.cached(digest)?, None)),
            EntryName::Turn => {
                let facts = self.folder.read(&facts_name(digest), 1 << 16)?;
                let facts: BareFacts = serde_json::from_slice(&facts).ok()?;
                let module = sandbox.cached(facts.module)?;
                let memory = Mapping::of(self.folder.find(&memory_name(digest))?).ok()?;
                let begin = Snapshot::new(memory, Rest::default());
                Some((module, Some(begin)))
            }
        }
    }

    fn compile(
        &self,
        sandbox: &Sandbox,
        cancel: &Cancel,
    ) -> Result<(Module, Option<Snapshot>), RuntimeError> {
        let digest = self.manifest.module.sha256;
        let name = || self.manifest.name.clone();
        let file = self.file(digest)?;
        let compile = |bytes: &[u8]| {
            sandbox
                .module_unless(bytes, &COMPILE, Trust::Pinned, cancel)?
                .map_err(|error| RuntimeError::Compile {
                    name: name(),
                    reason: error.to_string(),
                })
        };
        let bytes = self.map(file)?;
        if self.manifest.module.entry == EntryName::Command {
            return Ok((compile(bytes.bytes())?, None));
        }
        let bare = strip(bytes.bytes(), MAX_MEMORY).map_err(|source| RuntimeError::Strip {
            name: name(),
            source,
        })?;
        let module = compile(&bare.module)?;
        let memory = self
            .folder
            .keep(&memory_name(digest), &mut bare.memory.as_slice())?;
        let facts = BareFacts {
            module: module.digest(),
        };
        let facts = serde_json::to_vec(&facts).unwrap_or_default();
        self.folder
            .keep(&facts_name(digest), &mut facts.as_slice())?;
        let begin = Snapshot::new(self.map(memory)?, Rest::default());
        Ok((module, Some(begin)))
    }

    /// A file of the runtime.
    fn file(&self, digest: Digest) -> Result<File, RuntimeError> {
        self.folder
            .find(&digest.to_hex())
            .ok_or_else(|| RuntimeError::Missing {
                name: self.manifest.name.clone(),
            })
    }

    fn map(&self, file: File) -> Result<std::sync::Arc<Mapping>, RuntimeError> {
        Mapping::of(file).map_err(|source| RuntimeError::Io {
            path: self.folder.path().to_owned(),
            source,
        })
    }

    /// Loads the module, compiling it if the engine has changed, and maps the files; unless
    /// `cancel` ends it.
    ///
    /// # Errors
    /// When a file cannot be used or the module does not compile.
    pub fn open(&self, sandbox: &Sandbox, cancel: &Cancel) -> Result<Runtime, RuntimeError> {
        let (module, begin) = match self.compiled(sandbox) {
            Some(found) => found,
            None => self.compile(sandbox, cancel)?,
        };
        let files = self
            .manifest
            .files
            .iter()
            .map(|file| {
                let mapping = self.map(self.file(file.sha256)?)?;
                Ok((file.mount.clone(), Content::Mapped(Mapped::whole(mapping))))
            })
            .collect::<Result<_, RuntimeError>>()?;
        Ok(Runtime {
            manifest: self.manifest.clone(),
            module,
            begin,
            files,
        })
    }
}

/// The name of what is known of the bare form of a module.
fn facts_name(module: Digest) -> String {
    format!("{}.bare.json", module.to_hex())
}

/// The name of what a bare module's memory holds at first.
fn memory_name(module: Digest) -> String {
    format!("{}.memory", module.to_hex())
}

impl Runtime {
    /// The guest that runs a program from the beginning.
    #[must_use]
    pub fn invocation(&self, program: Program<'_>) -> Invocation {
        let Program {
            script,
            args,
            mounts,
            budget,
        } = program;
        let argv: Vec<&str> = std::iter::once(script)
            .chain(args.iter().copied())
            .collect();
        if self.manifest.module.entry == EntryName::Turn {
            return self.turn(python::script(&argv), mounts, budget);
        }
        let command = std::iter::once(self.manifest.module.program.as_str())
            .chain(argv)
            .map(str::to_owned)
            .collect();
        self.guest(command, mounts, budget)
    }

    /// The guest that hands `text` to the interpreter where it was started already, see
    /// [`Entry::Turn`]. All of `mounts` is granted.
    #[must_use]
    pub fn turn(&self, text: String, mounts: Mounts, budget: Budget) -> Invocation {
        let command = vec![self.manifest.module.program.clone()];
        let mut invocation = self.guest(command, mounts, budget);
        invocation.entry = Entry::Turn(text);
        invocation.from = self.begin.clone();
        invocation
    }

    /// A guest with the runtime's files and environment.
    fn guest(&self, command: Vec<String>, mut mounts: Mounts, budget: Budget) -> Invocation {
        for (path, content) in &self.files {
            mounts.file(path, content.clone(), Access::ReadOnly);
        }
        let mut invocation = Invocation::command(command, mounts, budget);
        invocation.env = self.manifest.env.clone().into_iter().collect();
        invocation.preopens = vec!["/".to_owned()];
        invocation
    }
}

/// Texts for an interpreter of Python.
mod python {
    /// Runs the script `argv[0]` as a command would.
    pub(super) fn script(argv: &[&str]) -> String {
        // A JSON list of printable ASCII is one of Python's, too.
        let list = serde_json::to_string(argv).unwrap_or_default();
        format!(
            "import runpy, sys\nsys.argv[:] = {list}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
    }
}

/// Whether the file's content has this digest; it is then at its start again. The outer error
/// is that of reading it.
fn check(file: &mut File, wanted: Digest, name: &str) -> io::Result<Result<(), RuntimeError>> {
    file.rewind()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        match buffer.get(..count) {
            Some([]) | None => break,
            Some(bytes) => hasher.update(bytes),
        }
    }
    file.rewind()?;
    let found = Digest::from_bytes(hasher.finalize().into());
    Ok(if found == wanted {
        Ok(())
    } else {
        Err(RuntimeError::Digest {
            file: name.to_owned(),
            wanted,
            found,
        })
    })
}
