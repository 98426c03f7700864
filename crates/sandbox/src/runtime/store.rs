//! Installed runtimes: verified files in the cache, and the compiled module.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use probity_core::quantity::{ByteSize, WallTime};
use probity_core::{Budget, Digest};
use sha2::{Digest as _, Sha256};

use super::manifest::Manifest;
use crate::engine::{EngineError, Module, private_folder};
use crate::fs::{Access, Content, Mounts};
use crate::sandbox::{Sandbox, Trust};

/// What compiling a runtime may take: it is pinned, large, and compiled once.
const COMPILE: Budget = Budget {
    module_size: ByteSize::gib(1),
    compile_time: WallTime::secs(3_600),
    compile_memory: ByteSize::gib(16),
    ..Budget::suite()
};

/// The folder of the cache that holds runtimes.
#[derive(Debug, Clone)]
pub struct RuntimeStore {
    folder: PathBuf,
}

/// A runtime whose files are in the cache.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Its manifest.
    pub manifest: Manifest,
    folder: PathBuf,
}

/// A runtime that is ready to run.
#[derive(Clone)]
pub struct Runtime {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its compiled module.
    pub module: Module,
    files: Vec<(String, Content)>,
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
    /// A file cannot be read or written.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The archive is damaged.
    #[error("cannot read the archive: {0}")]
    Archive(#[from] zip::result::ZipError),
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
    Engine(#[from] EngineError),
}

impl RuntimeStore {
    /// The store in `folder`, which is made when something is installed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
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
        let found = digest_of_file(archive)?;
        if found != manifest.source.sha256 {
            return Err(RuntimeError::Digest {
                file: manifest.source.file.clone(),
                wanted: manifest.source.sha256,
                found,
            });
        }
        observe(Phase::Unpack);
        let installed = self.unpack(manifest, archive)?;
        observe(Phase::Compile);
        installed.module(sandbox)?;
        Ok(installed)
    }

    fn unpack(&self, manifest: &Manifest, archive: &Path) -> Result<Installed, RuntimeError> {
        private_folder(&self.folder).map_err(|source| RuntimeError::Io {
            path: self.folder.clone(),
            source,
        })?;
        let target = self.folder.join(manifest.folder());
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| RuntimeError::Io { path, source }
        };
        let staging = tempfile::tempdir_in(&self.folder).map_err(io_error(&self.folder))?;
        let file = File::open(archive).map_err(io_error(archive))?;
        let mut zip = zip::ZipArchive::new(file)?;
        let wanted = std::iter::once((&manifest.module.path, manifest.module.sha256))
            .chain(manifest.files.iter().map(|file| (&file.path, file.sha256)));
        for (path, digest) in wanted {
            let to = staging.path().join(digest.to_hex());
            let mut from = zip.by_name(path)?;
            let mut out = File::create(&to).map_err(io_error(&to))?;
            io::copy(&mut from, &mut out).map_err(io_error(&to))?;
            let found = digest_of_file(&to)?;
            if found != digest {
                return Err(RuntimeError::Digest {
                    file: path.clone(),
                    wanted: digest,
                    found,
                });
            }
        }
        let staged = staging.keep();
        if target.exists() {
            fs::remove_dir_all(&target).map_err(io_error(&target))?;
        }
        fs::rename(&staged, &target).map_err(io_error(&target))?;
        Ok(Installed {
            manifest: manifest.clone(),
            folder: target,
        })
    }

    /// The installed runtime of this manifest, if there is one.
    #[must_use]
    pub fn find(&self, manifest: &Manifest) -> Option<Installed> {
        let folder = self.folder.join(manifest.folder());
        let complete = std::iter::once(manifest.module.sha256)
            .chain(manifest.files.iter().map(|file| file.sha256))
            .all(|digest| folder.join(digest.to_hex()).is_file());
        complete.then(|| Installed {
            manifest: manifest.clone(),
            folder,
        })
    }

    /// Opens a runtime by name.
    ///
    /// # Errors
    /// When it is unknown or not installed, or its files cannot be used.
    pub fn open(&self, name: &str, sandbox: &Sandbox) -> Result<Runtime, RuntimeError> {
        let manifests = Manifest::built_in().unwrap_or_default();
        let Some(manifest) = manifests.iter().find(|manifest| manifest.name == name) else {
            let names: Vec<&str> = manifests.iter().map(|m| m.name.as_str()).collect();
            return Err(RuntimeError::Unknown {
                name: name.to_owned(),
                known: names.join(", "),
            });
        };
        let installed = self.find(manifest).ok_or_else(|| RuntimeError::Missing {
            name: name.to_owned(),
        })?;
        installed.open(sandbox)
    }
}

impl Installed {
    /// Where the runtime's files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the module's code is in the sandbox's cache, so that opening takes no time.
    #[must_use]
    pub fn is_compiled(&self, sandbox: &Sandbox) -> bool {
        sandbox.cached(self.manifest.module.sha256).is_some()
    }

    fn module(&self, sandbox: &Sandbox) -> Result<Module, RuntimeError> {
        if let Some(module) = sandbox.cached(self.manifest.module.sha256) {
            return Ok(module);
        }
        let path = self.folder.join(self.manifest.module.sha256.to_hex());
        let bytes = fs::read(&path).map_err(|source| RuntimeError::Io { path, source })?;
        sandbox
            .module(&bytes, &COMPILE, Trust::Pinned)?
            .map_err(|error| RuntimeError::Compile {
                name: self.manifest.name.clone(),
                reason: error.to_string(),
            })
    }

    /// Loads the module, compiling it if the engine has changed, and maps the files.
    ///
    /// # Errors
    /// When a file cannot be used or the module does not compile.
    pub fn open(&self, sandbox: &Sandbox) -> Result<Runtime, RuntimeError> {
        let module = self.module(sandbox)?;
        let files = self
            .manifest
            .files
            .iter()
            .map(|file| {
                let path = self.folder.join(file.sha256.to_hex());
                let content =
                    Content::map(&path).map_err(|source| RuntimeError::Io { path, source })?;
                Ok((file.mount.clone(), content))
            })
            .collect::<Result<_, RuntimeError>>()?;
        Ok(Runtime {
            manifest: self.manifest.clone(),
            module,
            files,
        })
    }
}

impl Runtime {
    /// Mounts the runtime's files, read-only.
    pub fn mount(&self, mounts: &mut Mounts) {
        for (path, content) in &self.files {
            mounts.file(path, content.clone(), Access::ReadOnly);
        }
    }
}

/// The digest of a file's content.
pub(crate) fn digest_of_file(path: &Path) -> Result<Digest, RuntimeError> {
    let io_error = |source| RuntimeError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(io_error)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 20];
    loop {
        let count = file.read(&mut buffer).map_err(io_error)?;
        match buffer.get(..count) {
            Some([]) | None => break,
            Some(bytes) => hasher.update(bytes),
        }
    }
    Ok(Digest::from_bytes(hasher.finalize().into()))
}
